// Puts the parts together: what is chosen, what is in view, what can be pressed.
import { freeze, isCamera, openCamera, resumePreview } from "./camera.js";
import { letUpload, listVideos, mark } from "./gallery.js";
import { drawInsight } from "./insight.js";
import { letKeys, playOrPause } from "./keys.js";
import { at, element, say, state } from "./page.js";
import { RunData } from "./run_data.js";
import { json } from "./server.js";
import { boxColour, lineColour, themeColour } from "./shared/colours.js";
import { letDraw, showBox, showPicture } from "./shared/drawing.js";
import { Timeline } from "./shared/timeline.js";
import { letShare, readLink, showDownloads } from "./sharing.js";
import { drawStage, stage } from "./stage.js";
import { boxOf, drawTargets, nextId, place, selected, targetColour } from "./targets.js";
import { abandon, addTarget, beginCorrection, correct, removeTarget, start, step, stop } from "./tracking.js";
import { choose, chosen, listTrackers, titleOf } from "./trackers.js";
import { filmStrip, follow, look, move, onView, redraw, show, showPictureOf, stageFocus, videoLength } from "./viewer.js";

const timeline = new Timeline(at("timeline"), look);
const boxFields = ["x", "y", "w", "h"].map((name) => at(`box-${name}`));
const MODES = ["side", "overlay", "wipe"];

function render() {
  const { run, choice, shown, phase } = state;
  const rows = run?.rows(shown) ?? [];
  const pending = phase === "idle" && choice.frame === shown && !(choice.used && run?.has(shown));
  drawStage({ picture: state.picture, rows, names: run?.names ?? [], chosen: pending ? choice.objects : [] });
  drawTargets();
  drawTimeline();
  drawControls();
  drawInsight();
  showDownloads();
}

function drawTimeline() {
  const { run, shown } = state;
  const content = { length: videoLength(), cursor: shown, series: [], lanes: [], points: [], done: null, low: 0, high: 1 };
  const legend = [];
  if (run?.count) {
    content.done = [run.start, run.last];
    const of = run.ids.length > 1 ? ` of target ${selected()}` : "";
    const tracks = run.trackers.map((_, place) => run.track(place, selected()));
    tracks.forEach((track, place) => {
      const values = track.scores.values.subarray(0, track.count);
      if (!values.every(Number.isNaN)) {
        content.series.push({ colour: lineColour(place), start: track.start, values });
        for (const value of values) if (value > content.high) content.high = value; else if (value < content.low) content.low = value;
      }
      if (track.learns) content.lanes.push({ colour: lineColour(place), marks: track.spans((i) => track.updated.at(i)) });
      const doubt = track.spans((i) => track.flags.at(i) > 1);
      if (doubt.length) content.lanes.push({ colour: themeColour("--doubt"), marks: doubt });
    });
    if (content.series.length) legend.push(`curve: score${of}`);
    if (tracks.some((track) => track.learns)) legend.push("ticks: model updates");
    if (tracks.some((track) => track.spans((i) => track.flags.at(i) > 1).length)) legend.push("red: in doubt or lost");
    const partings = run.partings();
    if (partings.length) content.lanes.push({ colour: themeColour("--apart"), marks: partings });
    if (partings.length) legend.push("purple: the trackers disagree");
    content.points = run.corrected.map(([frame]) => ({ frame, colour: themeColour("--ink") }));
    if (run.corrected.length) legend.push("▼ corrected by you");
    drawMoments(partings);
  } else drawMoments([]);
  const sentences = [legend.length ? `${capital(legend.join(" · "))}.` : "", run?.count ? "Click to see a moment." : ""];
  at("legend").textContent = run ? sentences.filter(Boolean).join(" ") : "Drag here to choose the frame to start at.";
  at("time").hidden = !state.video || (isCamera() && !run?.count);
  at("timeline").classList.toggle("bare", !run?.count);
  timeline.update(content);
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

let momentsShown = "";
function drawMoments(partings) {
  const longest = [...partings].sort((a, b) => (b[1] - b[0]) - (a[1] - a[0])).slice(0, 5).sort((a, b) => a[0] - b[0]);
  if (momentsShown === String(longest)) return;
  momentsShown = String(longest);
  at("moments").replaceChildren(...longest.map(([from, to]) => {
    const button = element("button", { type: "button", textContent: from === to ? `apart at ${from + 1}` : `apart ${from + 1}–${to + 1}` });
    button.addEventListener("click", () => look(from));
    return button;
  }));
}

function drawControls() {
  const { run, phase, choice, video } = state;
  const active = phase === "running";
  at("controls").hidden = !video;
  at("play").disabled = phase === "starting" || !run?.count;
  const text = phase === "idle" ? (state.playing ? "Pause" : "Play") : (state.paused ? "Resume" : "Pause");
  if (at("play").firstChild.textContent !== `${text} `) at("play").firstChild.textContent = `${text} `;
  for (const id of ["step", "correct"]) at(id).hidden = !active;
  at("stop").hidden = phase === "idle";
  at("newest").hidden = !(active && run && state.shown < run.last && !state.following);
  at("start").disabled = !(phase === "idle" && video && choice.objects.length && chosen().length);
  at("start").textContent = choice.frame ? `Track from frame ${choice.frame + 1}` : "Track";
  at("view-a").classList.toggle("drawable", phase === "idle" || state.correcting);
  document.body.classList.toggle("correcting", Boolean(state.correcting));
  showNumbers();
  at("status").setAttribute("aria-live", active && !state.paused ? "off" : "polite"); // not every frame is read out
}

// The boxes that the next run starts with.
function setBoxes(boxes, frame) {
  Object.assign(state.choice, { objects: boxes.map((box, i) => ({ id: i + 1, box })), frame, used: false });
  state.target = 1;
  redraw();
}

function showNumbers() {
  if (boxFields.includes(document.activeElement)) return; // somebody is typing
  const box = boxOf(selected());
  boxFields.forEach((field, i) => { field.value = box ? box[i].toFixed(1) : ""; });
}

function showSetup(open) {
  document.body.classList.toggle("watching", !open);
  at("setup-toggle").setAttribute("aria-expanded", String(open));
  at("setup-toggle").hidden = open;
  window.dispatchEvent(new Event("resize"));
}

async function chooseVideo(id, { frame = 0, boxes = [] } = {}) {
  if (state.run && state.run.id === null) return; // it is just being started
  abandon();
  Object.assign(state, { video: null, shown: 0 });
  setBoxes([], 0);
  say("Loading the first frame …");
  try {
    state.video = await json(`/api/videos/${encodeURIComponent(id)}`);
    mark();
    const suggested = state.video.suggested_box && frame === 0 ? [state.video.suggested_box] : [];
    const set = boxes.length ? boxes : suggested;
    setBoxes(set, set.length ? frame : 0);
    await show(frame);
    drawFilm(state.video);
    say(set.length ? "The box is set: press Track, or draw another." : "Draw a box around what you want to follow.");
  } catch (error) {
    mark();
    say(error.message, true);
  }
}

// A folder may start with a file that cannot be read: the page opens with one that can.
async function chooseFirst(videos) {
  for (const { id } of videos.slice(0, 5)) {
    await chooseVideo(id);
    if (state.picture) return;
  }
}

async function drawFilm(video) {
  timeline.update({ pictures: [] });
  const pictures = await filmStrip(video).catch(() => []); // it is only an ornament
  if (state.video === video) timeline.update({ pictures });
}

async function chooseCamera() {
  const before = isCamera() ? null : state.video?.id;
  abandon();
  setBoxes([], 0);
  state.video = { id: "camera", kind: "camera", title: "camera", length: null };
  showPictureOf(0, null); // until the camera is open there is nothing to draw on: such a box would be of the last video
  mark();
  try {
    await openCamera();
    say("Draw a box around what you want to follow: the picture freezes while you draw.");
  } catch (error) {
    state.video = null;
    mark();
    if (before) await chooseVideo(before); // what was there is still of use
    say(error.message, true);
  }
}

async function track() {
  if (!(await start())) return;
  showSetup(false);
  stageFocus();
  window.scrollTo({ top: 0 });
}

async function openLink() {
  const link = readLink();
  choose(link.trackers[0], link.trackers[1]);
  await chooseVideo(link.video, link);
  if (link.run) {
    try {
      state.run = RunData.from(await json(`/api/runs/${encodeURIComponent(link.run)}`));
      state.choice.used = true;
      showSetup(false);
      await show(state.run.last);
      say(`${state.run.count} frames of ${state.run.names.map(titleOf).join(" and ")}.`);
    } catch { /* the server has started again since: the set-up is there, one click repeats the run */ }
  }
}

function setMode(mode) {
  stage.mode = mode;
  for (const button of at("modes").children) button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
  redraw();
}
const nextMode = () => state.run?.names.length > 1 && setMode(MODES[(MODES.indexOf(stage.mode) + 1) % MODES.length]);

function letDrawBoxes() {
  for (const view of [at("view-a"), at("view-b")]) {
    const allowed = () => {
      const may = Boolean(state.picture) && (state.phase === "idle" || state.correcting);
      if (may && isCamera() && state.phase === "idle") freeze();
      return may;
    };
    letDraw(view, allowed, (box, done) => {
      if (state.correcting) {
        if (done) { correct(box); stageFocus(); return; }
        showPicture(view, state.picture);
        showBox(view, box, state.correcting === "add" ? targetColour(nextId()) : boxColour(0));
        return;
      }
      if (!done) {
        showPicture(view, state.picture);
        showBox(view, box, boxColour(5), { dash: [5, 4] });
        return;
      }
      if (isCamera() && state.run) state.run = null; // a new take
      place(box, state.shown);
      redraw();
      showSetup(true);
      const many = state.choice.objects.length > 1 ? ` ${state.choice.objects.length} targets.` : "";
      say(`${state.shown ? `Press Track to start at frame ${state.shown + 1}.` : "Press Track."}${many}`);
    });
  }
}

let frameAsked = false;
onView(() => {
  if (frameAsked) return;
  frameAsked = true;
  requestAnimationFrame(() => { frameAsked = false; render(); });
});
letDrawBoxes();
letUpload((video) => chooseVideo(video.id));
letShare();
letKeys(nextMode);
boxFields.forEach((field) => field.addEventListener("input", () => {
  const box = boxFields.map((other) => Number(other.value));
  const good = boxFields.every((other) => other.value) && box[2] >= 2 && box[3] >= 2;
  if (good) place(box, state.shown);
  else state.choice.objects = state.choice.objects.filter((one) => one.id !== selected());
  redraw();
}));
at("gallery").addEventListener("choose", (event) => chooseVideo(event.detail));
at("camera").addEventListener("click", chooseCamera);
at("setup").addEventListener("submit", (event) => { event.preventDefault(); track(); });
at("setup-toggle").addEventListener("click", () => { showSetup(true); if (isCamera() && state.phase === "idle") { state.run = null; setBoxes([], 0); resumePreview(); } at("start").focus(); });
at("play").addEventListener("click", playOrPause);
at("back").addEventListener("click", () => move(-1));
at("forward").addEventListener("click", () => move(1));
at("step").addEventListener("click", step);
at("correct").addEventListener("click", beginCorrection);
at("stop").addEventListener("click", stop);
at("add-target").addEventListener("click", addTarget);
at("remove-target").addEventListener("click", removeTarget);
at("newest").addEventListener("click", follow);
at("modes").addEventListener("click", (event) => event.target.dataset.mode && setMode(event.target.dataset.mode));
at("wipe").addEventListener("input", (event) => { stage.wipe = event.target.value / 100; redraw(); });
at("help").addEventListener("click", () => at("keys").showModal());
at("theme").addEventListener("click", () => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  localStorage.setItem("theme", document.documentElement.dataset.theme);
  redraw();
});
if (localStorage.getItem("theme")) document.documentElement.dataset.theme = localStorage.getItem("theme");
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
window.addEventListener("resize", redraw);
document.addEventListener("click", (event) => { // a menu closes when something else is pressed
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
window.trackingPage = { state, chosen, stage }; // for whoever scripts the page

async function begin() {
  const server = await json("/api/server");
  Object.assign(state, { boot: server.boot, videoSuffix: server.video_suffix });
  const trackers = listTrackers().then(redraw); // takes a moment at the server's first time; the picture does not wait
  const videos = await listVideos();
  if (readLink()) {
    await trackers;
    await openLink();
  } else if (videos.length) await chooseFirst(videos);
  else say("Drop a video on the page, or use the camera.");
  await trackers;
}
begin().catch((error) => say(error.message, true));
redraw();
