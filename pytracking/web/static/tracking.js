// A run from the Track button to its end: the page's requests, and how it handles the answers.
import { closeCamera, isCamera, latency, pictureFor, resetCamera, sendFrame } from "./camera.js";
import { listVideos } from "./gallery.js";
import { say, state } from "./page.js";
import { RunData } from "./run_data.js";
import { Connection, sentence, whenBack } from "./server.js";
import { addBeforeRun, followedIds, MAX_TARGETS, nextId, removeBeforeRun, selected, targetIds } from "./targets.js";
import { chosen } from "./trackers.js";
import { redraw, show, showPictureOf, stopPlaying, videoLength } from "./viewer.js";

export const connection = new Connection(handleMessage, connectionLost);
const ask = (type, more = {}) => connection.send({ type, run: state.run?.id, ...more });

function setPhase(phase) {
  state.phase = phase;
  if (phase === "idle") Object.assign(state, { paused: false, correcting: false, following: true });
  redraw();
}

export async function start() {
  const { video, choice } = state;
  if (state.phase !== "idle") return false; // a second press must not start a second run
  if (!video || !choice.objects.length) {
    say("First draw a box around what you want to track.", true);
    return false;
  }
  stopPlaying();
  resetCamera();
  const trackers = chosen();
  state.run = new RunData({ id: null, video: video.id, start: choice.frame, trackers, objects: choice.objects });
  choice.used = true;
  setPhase("starting");
  say("Loading the tracker …");
  try {
    await connection.open();
  } catch (error) {
    state.run = null;
    setPhase("idle");
    say(error.message, true);
    return false;
  }
  connection.send({ type: "start", video: video.id, frame: choice.frame, objects: state.run.objects, trackers });
  return true;
}

async function handleMessage(message, picture) {
  const { run } = state;
  if (message.type === "started" && run && run.id === null) {
    run.id = message.run;
    if (run.unwanted) ask("stop"); // Stop was pressed before the run had an id
  } else if (message.type === "refused") {
    say(sentence(message.message), true);
    if (run?.id === null) giveUp();
  } else if (message.run !== run?.id) {
    if (message.type === "frame") connection.send({ type: "stop", run: message.run }); // a run that is no longer displayed
    return;
  } else if (message.type === "loaded") {
    run.networks = message.networks;
    if (isCamera()) await sendFrame(connection, 0);
  } else if (message.type === "frame") {
    await frameArrived(run, message, picture);
  } else if (message.type === "end" || message.type === "error") {
    ended(run, message);
  }
}

async function frameArrived(run, message, blob) {
  run.add(message);
  state.phase = "running";
  const picture = isCamera() ? await pictureFor(message.index) : null;
  const seen = state.following ? picture ?? await createImageBitmap(blob) : null;
  if (seen && state.following) showPictureOf(message.index, seen, message); // checked again: the user may have gone elsewhere meanwhile
  else redraw();
  progress(run, message);
  if (isCamera() && state.phase === "running") sendFrame(connection, message.index + 1);
}

function progress(run, message) {
  if (state.correcting) return;
  const of = message.of ? ` of ${message.of}` : "";
  const parts = [`${state.paused ? "Paused at frame" : "Frame"} ${message.index + 1}${of}`];
  const speed = run.speed();
  if (speed) parts.push(`${speed < 10 ? speed.toFixed(1) : speed.toFixed(0)} fps`);
  if (isCamera() && latency()) parts.push(`${latency().toFixed(0)} ms from camera to box`);
  if (speed && message.of && !state.paused && message.index > run.start + 3) parts.push(`${timeLeft((message.of - message.index - 1) / speed)} left`);
  say(parts.join(" · "));
  document.title = message.of ? `${Math.round((100 * (message.index + 1)) / message.of)} % – Track your video` : "Track your video";
}

function timeLeft(seconds) {
  if (seconds < 90) return `about ${Math.max(1, Math.round(seconds))} s`;
  return `about ${Math.round(seconds / 60)} min`;
}

function ended(run, message) {
  run.ended = message.reason ?? message.message;
  setPhase("idle");
  document.title = "Track your video";
  const frames = `${message.frames} frame${message.frames === 1 ? "" : "s"} tracked`;
  if (message.type === "error") say(`The tracker failed. ${sentence(message.message)}`, true);
  else if (message.complete) say(`Done: ${frames}.`);
  else if (message.reason === "stopped") say(`Stopped: ${frames}.`);
  else say(`${frames}, then: ${sentence(message.reason)}`, true);
  if (!run.count) giveUp();
}

function giveUp() {
  state.run = null;
  state.choice.used = false;
  setPhase("idle");
}

function connectionLost() {
  const { run, phase } = state;
  if (phase === "idle" && !run) return;
  if (run) run.gone = true;
  if (phase !== "idle") {
    const where = run?.count ? ` at frame ${run.last + 1} of ${videoLength()}` : "";
    if (run?.count) setPhase("idle");
    else giveUp();
    say(`The server has stopped, or the connection was lost${where}. Waiting for it to come back …`, true);
  }
  whenBack(async ({ boot }) => {
    const same = boot === state.boot;
    state.boot = boot;
    if (run) run.gone = !same;
    const videos = await listVideos();
    const there = isCamera() || videos.some((video) => video.id === state.video?.id);
    if (!there) state.video = null;
    redraw();
    say(there ? "The server is back. Press Track to start again." : "The server is back, but this video is no longer there. Choose another, or upload it again.", !there);
  });
}

export function stop() {
  if (state.correcting) {
    state.correcting = false;
    say("Correction cancelled. Press space to continue.");
    redraw();
  } else if (state.run?.id === null) state.run.unwanted = true;
  else if (state.phase !== "idle") ask("stop");
}

// Another video was chosen: ignore what still arrives from this run.
export function abandon() {
  if (state.phase !== "idle") ask("stop");
  state.run = null;
  if (isCamera()) closeCamera();
  setPhase("idle");
}

export function togglePause() {
  if (state.phase !== "running") return;
  state.paused = !state.paused;
  ask(state.paused ? "pause" : "resume");
  if (!state.paused) Object.assign(state, { correcting: false, following: true });
  else say(`Paused at frame ${state.shown + 1}.`);
  redraw();
}

export function step() {
  if (state.phase !== "running") return;
  Object.assign(state, { paused: true, following: true });
  ask("step");
  redraw();
}

export function beginCorrection() {
  if (state.phase !== "running") return;
  if (!state.paused) { state.paused = true; ask("pause"); }
  Object.assign(state, { correcting: "correct", following: false });
  if (isCamera() || !state.run.has(state.shown)) { state.following = true; if (!isCamera()) show(state.run.last); }
  const which = targetIds().length > 1 ? `target ${selected()}` : "the target";
  say(`Draw the box where ${which} is in frame ${state.shown + 1}. Tracking continues from there.`);
  redraw();
}

// Adds a target from the displayed frame on.
export function addTarget() {
  if (addBeforeRun() || state.phase !== "running") return;
  if (followedIds().length >= MAX_TARGETS) { say(`At most ${MAX_TARGETS} targets can be tracked at a time.`, true); return; }
  beginCorrection();
  state.correcting = "add";
  say(`Draw a box around target ${nextId()} in frame ${state.shown + 1}. It is tracked from there on.`);
}

export function removeTarget() {
  if (removeBeforeRun() || state.phase !== "running") return;
  const id = selected();
  if (followedIds().length < 2 || !followedIds().includes(id)) return;
  const frame = state.run.has(state.shown) ? state.shown : state.run.last;
  Object.assign(state, { correcting: false, following: true, target: followedIds().find((one) => one !== id) });
  ask("correct", { frame, removed: [id] });
  say(`Target ${id} is tracked up to frame ${frame}.`);
  redraw();
}

export function correct(box) {
  const id = state.correcting === "add" ? nextId() : selected();
  Object.assign(state, { correcting: false, following: true, paused: false, target: id });
  ask("correct", { frame: state.shown, objects: [{ id, box }] });
  ask("resume");
  redraw();
}
