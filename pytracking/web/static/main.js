// Connects the parts of the page: choosing, displaying and the controls.
import { freeze, isCamera, openCamera, resumePreview } from "./camera.js";
import { enableUpload, listVideos, markChosen } from "./gallery.js";
import { drawInsight } from "./insight.js";
import { enableKeys, playOrPause } from "./keys.js";
import { byId, element, say, state } from "./page.js";
import { RunData } from "./run_data.js";
import { json } from "./server.js";
import { boxColour, lineColour, themeColour } from "./shared/colours.js";
import { enableDrawing, showBox, showPicture } from "./shared/drawing.js";
import { Timeline } from "./shared/timeline.js";
import { enableSharing, readLink, showDownloads } from "./sharing.js";
import { drawStage, stage } from "./stage.js";
import { boxOf, drawTargets, nextId, selected, setBox, targetColour } from "./targets.js";
import { abandon, addTarget, beginCorrection, correct, removeTarget, start, step, stop } from "./tracking.js";
import { choose, chosen, listTrackers, titleOf } from "./trackers.js";
import { filmStrip, followNewest, goTo, move, onView, redraw, show, showPictureOf, stageFocus, videoLength } from "./viewer.js";

const timeline = new Timeline(byId("timeline"), goTo);
const boxFields = ["x", "y", "w", "h"].map((name) => byId(`box-${name}`));
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
    if (tracks.some((track) => track.spans((i) => track.flags.at(i) > 1).length)) legend.push("red: uncertain or lost");
    const disagreements = run.disagreements();
    if (disagreements.length) content.lanes.push({ colour: themeColour("--apart"), marks: disagreements });
    if (disagreements.length) legend.push("purple: the trackers disagree");
    content.points = run.corrected.map(([frame]) => ({ frame, colour: themeColour("--ink") }));
    if (run.corrected.length) legend.push("▼ corrected by you");
    drawMoments(disagreements);
  } else drawMoments([]);
  const sentences = [legend.length ? `${capitalised(legend.join(" · "))}.` : "", run?.count ? "Click to go to a frame." : ""];
  byId("legend").textContent = run ? sentences.filter(Boolean).join(" ") : "Drag here to choose the first frame.";
  byId("time").hidden = !state.video || (isCamera() && !run?.count);
  byId("timeline").classList.toggle("bare", !run?.count);
  timeline.update(content);
}

const capitalised = (text) => text.charAt(0).toUpperCase() + text.slice(1);

let momentsShown = "";
function drawMoments(disagreements) {
  const longest = [...disagreements].sort((a, b) => (b[1] - b[0]) - (a[1] - a[0])).slice(0, 5).sort((a, b) => a[0] - b[0]);
  if (momentsShown === String(longest)) return;
  momentsShown = String(longest);
  byId("moments").replaceChildren(...longest.map(([from, to]) => {
    const button = element("button", { type: "button", textContent: from === to ? `disagree at ${from + 1}` : `disagree ${from + 1}–${to + 1}` });
    button.addEventListener("click", () => goTo(from));
    return button;
  }));
}

function drawControls() {
  const { run, phase, choice, video } = state;
  const active = phase === "running";
  byId("controls").hidden = !video;
  byId("play").disabled = phase === "starting" || !run?.count;
  const text = phase === "idle" ? (state.playing ? "Pause" : "Play") : (state.paused ? "Resume" : "Pause");
  if (byId("play").firstChild.textContent !== `${text} `) byId("play").firstChild.textContent = `${text} `;
  for (const id of ["step", "correct"]) byId(id).hidden = !active;
  byId("stop").hidden = phase === "idle";
  byId("newest").hidden = !(active && run && state.shown < run.last && !state.following);
  byId("start").disabled = !(phase === "idle" && video && choice.objects.length && chosen().length);
  byId("start").textContent = choice.frame ? `Track from frame ${choice.frame + 1}` : "Track";
  byId("view-a").classList.toggle("drawable", phase === "idle" || state.correcting);
  document.body.classList.toggle("correcting", Boolean(state.correcting));
  showNumbers();
  byId("status").setAttribute("aria-live", active && !state.paused ? "off" : "polite"); // screen readers should not read out every frame
}

// The boxes that the next run starts with.
function setBoxes(boxes, frame) {
  Object.assign(state.choice, { objects: boxes.map((box, i) => ({ id: i + 1, box })), frame, used: false });
  state.target = 1;
  redraw();
}

function showNumbers() {
  if (boxFields.includes(document.activeElement)) return; // the user is typing
  const box = boxOf(selected());
  boxFields.forEach((field, i) => { field.value = box ? box[i].toFixed(1) : ""; });
}

function showSetup(open) {
  document.body.classList.toggle("watching", !open);
  byId("setup-toggle").setAttribute("aria-expanded", String(open));
  byId("setup-toggle").hidden = open;
  window.dispatchEvent(new Event("resize"));
}

async function chooseVideo(id, { frame = 0, boxes = [] } = {}) {
  if (state.run && state.run.id === null) return; // a run is being started
  abandon();
  Object.assign(state, { video: null, shown: 0 });
  setBoxes([], 0);
  say("Loading the first frame …");
  try {
    state.video = await json(`/api/videos/${encodeURIComponent(id)}`);
    markChosen();
    const suggested = state.video.suggested_box && frame === 0 ? [state.video.suggested_box] : [];
    const set = boxes.length ? boxes : suggested;
    setBoxes(set, set.length ? frame : 0);
    await show(frame);
    drawFilm(state.video);
    say(set.length ? "The box is set: press Track, or draw another." : "Draw a box around what you want to track.");
  } catch (error) {
    markChosen();
    say(error.message, true);
  }
}

// Opens the first readable video, as a folder may start with unreadable files.
async function chooseFirst(videos) {
  for (const { id } of videos.slice(0, 5)) {
    await chooseVideo(id);
    if (state.picture) return;
  }
}

async function drawFilm(video) {
  timeline.update({ pictures: [] });
  const pictures = await filmStrip(video).catch(() => []); // decoration only
  if (state.video === video) timeline.update({ pictures });
}

async function chooseCamera() {
  const before = isCamera() ? null : state.video?.id;
  abandon();
  setBoxes([], 0);
  state.video = { id: "camera", kind: "camera", title: "camera", length: null };
  showPictureOf(0, null); // until the camera is open, a box would be drawn on the previous video
  markChosen();
  try {
    await openCamera();
    say("Draw a box around what you want to track: the picture freezes while you draw.");
  } catch (error) {
    state.video = null;
    markChosen();
    if (before) await chooseVideo(before);
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
    } catch { /* the server was restarted and has lost the run; Track repeats it */ }
  }
}

function setMode(mode) {
  stage.mode = mode;
  for (const button of byId("modes").children) button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
  redraw();
}
const nextMode = () => state.run?.names.length > 1 && setMode(MODES[(MODES.indexOf(stage.mode) + 1) % MODES.length]);

function enableBoxDrawing() {
  for (const view of [byId("view-a"), byId("view-b")]) {
    const allowed = () => {
      const canDraw = Boolean(state.picture) && (state.phase === "idle" || state.correcting);
      if (canDraw && isCamera() && state.phase === "idle") freeze();
      return canDraw;
    };
    enableDrawing(view, allowed, (box, done) => {
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
      if (isCamera() && state.run) state.run = null; // a new recording
      setBox(box, state.shown);
      redraw();
      showSetup(true);
      const many = state.choice.objects.length > 1 ? ` ${state.choice.objects.length} targets.` : "";
      say(`${state.shown ? `Press Track to start at frame ${state.shown + 1}.` : "Press Track."}${many}`);
    });
  }
}

let renderPending = false;
onView(() => {
  if (renderPending) return;
  renderPending = true;
  requestAnimationFrame(() => { renderPending = false; render(); });
});
enableBoxDrawing();
enableUpload((video) => chooseVideo(video.id));
enableSharing();
enableKeys(nextMode);
boxFields.forEach((field) => field.addEventListener("input", () => {
  const box = boxFields.map((other) => Number(other.value));
  const valid = boxFields.every((other) => other.value) && box[2] >= 2 && box[3] >= 2;
  if (valid) setBox(box, state.shown);
  else state.choice.objects = state.choice.objects.filter((one) => one.id !== selected());
  redraw();
}));
byId("gallery").addEventListener("choose", (event) => chooseVideo(event.detail));
byId("camera").addEventListener("click", chooseCamera);
byId("setup").addEventListener("submit", (event) => { event.preventDefault(); track(); });
byId("setup-toggle").addEventListener("click", () => { showSetup(true); if (isCamera() && state.phase === "idle") { state.run = null; setBoxes([], 0); resumePreview(); } byId("start").focus(); });
byId("play").addEventListener("click", playOrPause);
byId("back").addEventListener("click", () => move(-1));
byId("forward").addEventListener("click", () => move(1));
byId("step").addEventListener("click", step);
byId("correct").addEventListener("click", beginCorrection);
byId("stop").addEventListener("click", stop);
byId("add-target").addEventListener("click", addTarget);
byId("remove-target").addEventListener("click", removeTarget);
byId("newest").addEventListener("click", followNewest);
byId("modes").addEventListener("click", (event) => event.target.dataset.mode && setMode(event.target.dataset.mode));
byId("wipe").addEventListener("input", (event) => { stage.wipe = event.target.value / 100; redraw(); });
byId("help").addEventListener("click", () => byId("keys").showModal());
byId("theme").addEventListener("click", () => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  localStorage.setItem("theme", document.documentElement.dataset.theme);
  redraw();
});
if (localStorage.getItem("theme")) document.documentElement.dataset.theme = localStorage.getItem("theme");
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
window.addEventListener("resize", redraw);
document.addEventListener("click", (event) => { // closes a menu on a click outside it
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
window.trackingPage = { state, chosen, stage }; // for tests and scripts

async function begin() {
  const server = await json("/api/server");
  Object.assign(state, { boot: server.boot, videoSuffix: server.video_suffix });
  const trackers = listTrackers().then(redraw); // not awaited yet: slow on a new server, and the picture can be shown first
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
