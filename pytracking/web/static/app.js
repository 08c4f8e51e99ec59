// The page: choose, draw, watch, steer. All state lives in `state`; the server does the tracking.
import { ScoreChart } from "./chart.js";
import { letDraw, showBox, showPicture, showScoreMap } from "./drawing.js";

const COLOURS = ["--first", "--second"];
const at = (id) => document.getElementById(id);
const state = { video: null, picture: null, box: null, socket: null, running: false, paused: false, correcting: false, frames: 0 };
const chart = new ScoreChart(at("chart"), COLOURS);
const views = [at("view-a"), at("view-b")];
const captions = [at("caption-a"), at("caption-b")];
const boxFields = ["x", "y", "w", "h"].map((name) => at(`box-${name}`));
const colour = (place) => getComputedStyle(document.documentElement).getPropertyValue(COLOURS[place]);

function say(text, isError = false) {
  at("status").textContent = text;
  at("status").classList.toggle("error", isError);
}

async function json(address, options) {
  const answer = await fetch(address, options);
  const data = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
  if (!answer.ok) throw new Error(data.error ?? `the server answered ${answer.status}`);
  return data;
}

async function listVideos(chosen) {
  const videos = await json("/api/videos");
  at("video").replaceChildren(new Option("choose …", ""), ...videos.map((video) => new Option(video.title, video.id)));
  state.videos = new Map(videos.map((video) => [video.id, video]));
  if (chosen) {
    at("video").value = chosen;
    await chooseVideo(chosen);
  }
}

async function listTrackers() {
  const { trackers, default: preferred } = await json("/api/trackers");
  at("tracker-a").replaceChildren(...trackers.map((name) => new Option(name)));
  at("tracker-b").append(...trackers.map((name) => new Option(name)));
  if (trackers.includes(preferred)) at("tracker-a").value = preferred;
}

async function chooseVideo(id) {
  stop();
  state.video = id || null;
  setBox(null);
  if (!id) return;
  say("Loading the first frame …");
  try {
    const answer = await fetch(`/api/videos/${encodeURIComponent(id)}/first.jpg`);
    if (!answer.ok) throw new Error((await answer.json()).error);
    state.picture = await createImageBitmap(await answer.blob());
  } catch (error) {
    say(error.message, true);
    return;
  }
  say("Draw a box around what you want to follow.");
  const suggested = state.videos.get(id)?.suggested_box;
  boxFields.forEach((field) => { field.placeholder = ""; });
  if (suggested) suggested.forEach((value, i) => { boxFields[i].placeholder = value.toFixed(0); });
  redrawChoice();
}

function redrawChoice() {
  if (!state.picture) return;
  showPicture(views[0], state.picture);
  if (state.box) showBox(views[0], state.box, colour(0));
}

function setBox(box) {
  state.box = box;
  boxFields.forEach((field, i) => { field.value = box ? box[i].toFixed(1) : ""; });
  at("start").disabled = !(state.video && box);
}

function upload(file) {
  const request = new XMLHttpRequest(); // fetch does not report the progress of an upload
  const bar = at("upload-progress");
  request.open("POST", `/api/videos?name=${encodeURIComponent(file.name)}`);
  request.upload.onprogress = (event) => { bar.value = event.loaded / event.total; };
  request.onloadend = async () => {
    bar.hidden = true;
    let answer = {};
    try { answer = JSON.parse(request.responseText); } catch { /* the message below says it */ }
    if (request.status !== 201) say(answer.error ?? "The upload failed.", true);
    else await listVideos(answer.id);
  };
  bar.hidden = false;
  say(`Uploading ${file.name} …`);
  request.send(file);
}

function connect() {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/track`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => resolve(socket);
    socket.onerror = () => reject(new Error("The server does not answer."));
    socket.onclose = () => { if (state.socket === socket) { state.socket = null; setRunning(false); } };
    socket.onmessage = (event) => receive(socket, event.data);
  });
}

let queue = Promise.resolve(); // frames are decoded one after the other, in order
function receive(socket, data) {
  queue = queue.then(() => (typeof data === "string" ? heard(JSON.parse(data)) : frameArrived(socket, data))).catch((error) => say(error.message, true));
}

function heard(message) {
  if (message.type === "started") {
    at("download-csv").href = `/api/runs/${message.run}/boxes.csv`;
    at("download-video").href = `/api/runs/${message.run}/video.mp4`;
    makePanels(message.trackers);
    say("Loading the tracker …");
  } else if (message.type === "loaded") {
    state.networks = message.networks;
  } else if (message.type === "end") {
    setRunning(false);
    const early = message.reason !== "end of the video" && message.reason !== "stopped";
    say(`${message.frames} frames tracked: ${message.reason}.`, early);
    showDownloads(message.frames > 0);
  } else if (message.type === "error") {
    setRunning(false);
    say(`The tracker failed. ${message.message}`, true);
    showDownloads(state.frames > 0);
  } else if (message.type === "refused") {
    say(message.message, true);
    if (!state.frames) setRunning(false);
  }
}

async function frameArrived(socket, data) {
  const headLength = new DataView(data).getUint32(0);
  const message = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, headLength)));
  const picture = await createImageBitmap(new Blob([new Uint8Array(data, 4 + headLength)], { type: "image/jpeg" }));
  state.picture = picture;
  state.frames = message.index + 1;
  message.trackers.forEach((output, place) => {
    showPicture(views[place], picture);
    showBox(views[place], output.box, colour(place), output.flag);
    captions[place].textContent = `${output.name} · ${(1 / Math.max(output.seconds, 1e-4)).toFixed(0)} fps`;
    fillPanel(place, output);
  });
  chart.add(message.index, message.trackers);
  const of = message.of ? ` of ${message.of}` : "";
  say(state.paused ? `Paused at frame ${message.index + 1}${of}.` : `Frame ${message.index + 1}${of}`);
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: "drawn", index: message.index }));
}

function makePanels(names) {
  at("panels").replaceChildren(...names.map((name) => {
    const panel = at("panel").content.cloneNode(true);
    panel.querySelector("h2").textContent = name;
    return panel;
  }));
  views[1].parentElement.hidden = names.length < 2;
}

function fillPanel(place, output) {
  const panel = at("panels").children[place];
  if (!panel) return;
  showScoreMap(panel.querySelector(".map"), output.score_map);
  panel.querySelector("h2").style.color = colour(place);
  panel.updates = (panel.updates ?? 0) + (output.learner.updated ? 1 : 0);
  const facts = { score: output.score?.toFixed(2), state: output.flag?.replace("_", " "), updates: panel.updates };
  if (output.learner.rank || output.learner.nbytes) { // the baselines keep no P
    facts["rank of P"] = output.learner.rank;
    facts["size of P"] = `${(output.learner.nbytes / 2 ** 20).toFixed(2)}\u00a0MiB`;
  }
  if (state.networks[output.name]) facts.network = state.networks[output.name];
  const rows = Object.entries(facts).filter(([, value]) => value !== undefined);
  panel.querySelector("dl").replaceChildren(...rows.flatMap(([name, value]) => {
    const [term, text] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = name;
    text.textContent = value;
    return [term, text];
  }));
}

async function start() {
  const box = boxFields.map((field) => Number(field.value || field.placeholder));
  if (!box.every(Number.isFinite) || box[2] < 2 || box[3] < 2) { say("The box needs four numbers.", true); return; }
  const trackers = [at("tracker-a").value, at("tracker-b").value].filter((name, i, all) => name && all.indexOf(name) === i);
  showDownloads(false);
  chart.clear();
  Object.assign(state, { frames: 0, correcting: false, networks: {} });
  captions.forEach((caption) => { caption.textContent = ""; });
  setPaused(false);
  try {
    state.socket ??= await connect();
  } catch (error) {
    say(error.message, true);
    return;
  }
  setRunning(true);
  send({ type: "start", video: state.video, box, trackers });
}

function send(message) {
  if (state.socket?.readyState === WebSocket.OPEN) state.socket.send(JSON.stringify(message));
}

function stop() {
  if (state.running) send({ type: "stop" });
}

function setRunning(running) {
  state.running = running;
  for (const id of ["pause", "step", "correct", "stop"]) at(id).disabled = !running;
  at("start").disabled = !(state.video && state.box);
}

function setPaused(paused) {
  state.paused = paused;
  at("pause").firstChild.textContent = paused ? "Resume " : "Pause ";
}

function togglePause() {
  if (!state.running) return;
  setPaused(!state.paused);
  send({ type: state.paused ? "pause" : "resume" });
}

function step() {
  if (!state.running) return;
  setPaused(true);
  send({ type: "step" });
}

function beginCorrection() {
  if (!state.running) return;
  if (!state.paused) togglePause();
  state.correcting = true;
  say("Draw the box where the target is now.");
}

function showDownloads(show) {
  at("download-csv").hidden = at("download-video").hidden = !show;
}

views.forEach((view) => letDraw(view, () => state.picture && (!state.running || state.correcting), (box, done) => {
  showPicture(view, state.picture);
  showBox(view, box, colour(0));
  if (!state.running) setBox(box);
  else if (done) {
    state.correcting = false;
    send({ type: "correct", box });
    togglePause();
  }
}));
boxFields.forEach((field) => field.addEventListener("input", () => {
  const box = boxFields.map((other) => Number(other.value || other.placeholder));
  state.box = box.every(Number.isFinite) && box[2] >= 2 && box[3] >= 2 ? box : null;
  at("start").disabled = !(state.video && state.box);
  redrawChoice();
}));
at("video").addEventListener("change", (event) => chooseVideo(event.target.value));
at("upload").addEventListener("change", (event) => event.target.files[0] && upload(event.target.files[0]));
at("choices").addEventListener("submit", (event) => { event.preventDefault(); start(); });
at("pause").addEventListener("click", togglePause);
at("step").addEventListener("click", step);
at("correct").addEventListener("click", beginCorrection);
at("stop").addEventListener("click", stop);
document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, select, button, a")) return;
  const actions = { " ": togglePause, ".": step, c: beginCorrection, Escape: stop };
  if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
});
window.addEventListener("resize", () => chart.draw());
window.trackingPage = { state, chart }; // for whoever scripts the page
listVideos().then(listTrackers).catch((error) => say(error.message, true));
