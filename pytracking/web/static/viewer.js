// Which frame is displayed, and where its picture comes from: the run on the server, otherwise the video itself.
import { RunData } from "./run_data.js";
import { bytes, unpack } from "./server.js";
import { byId, say, state } from "./page.js";

let wanted = null; // the frame requested last while another is loading; requests in between are skipped
let busy = false;
const listeners = [];
export const onView = (listener) => listeners.push(listener);
export const redraw = () => listeners.forEach((listener) => listener());

export function videoLength() {
  const known = state.run?.length ?? state.video?.length;
  return Math.max(known ?? 0, (state.run?.last ?? 0) + 1, state.shown + 1);
}

// Shows a picture that is already loaded.
export function showPictureOf(frame, picture, message = null) {
  state.picture?.close?.();
  Object.assign(state, { shown: frame, picture, message });
  redraw();
}

export async function show(frame) {
  wanted = Math.min(Math.max(0, frame), videoLength() - 1);
  if (busy) return;
  busy = true;
  while (wanted !== null) {
    const target = wanted;
    wanted = null;
    try {
      const { found, blob, message } = await load(target);
      const picture = await createImageBitmap(blob);
      if (wanted === null || state.playing) showPictureOf(found, picture, message);
    } catch (error) {
      say(error.message, true);
    }
  }
  busy = false;
}

async function load(frame) {
  const { run, video } = state;
  if (run instanceof RunData && run.has(frame) && !run.gone) {
    try {
      const answer = await bytes(`/api/runs/${run.id}/frames/${frame}`);
      const { message, picture } = unpack(await answer.arrayBuffer());
      run.stride = Number(answer.headers.get("X-Stride") ?? 1);
      return { found: message.index, blob: picture, message };
    } catch (error) {
      if (video?.kind === "camera") throw error; // a camera's frames are nowhere else
      run.gone = true; // the server no longer has the run, but the page has its boxes and the video still exists
    }
  }
  if (!video || video.kind === "camera") throw new Error("There is no such frame.");
  const answer = await bytes(`/api/videos/${encodeURIComponent(video.id)}/frames/${frame}.jpg`);
  return { found: frame, blob: await answer.blob(), message: null };
}

// Loads a few small frames spread over the whole video, for the timeline.
export async function filmStrip(video, count = 12) {
  if (!video.length) return [];
  const address = (place) => {
    const frame = Math.floor(((place + 0.5) / count) * video.length);
    return `/api/videos/${encodeURIComponent(video.id)}/frames/${frame}.jpg?width=160`;
  };
  const pictures = [];
  for (let place = 0; place < count && state.video === video; place += 1) {
    pictures.push(await createImageBitmap(await (await bytes(address(place))).blob()));
  }
  return pictures;
}

export function move(frames) {
  const step = state.run?.has(state.shown) ? state.run.stride : 1;
  goTo(state.shown + frames * step);
}

// The user goes to a frame: the view stops following the tracking, unless it is the newest frame.
export function goTo(frame) {
  stopPlaying();
  if (state.phase !== "idle") state.following = Boolean(state.run && frame >= state.run.last);
  return show(frame);
}

export function followNewest() {
  state.following = true;
  if (state.run?.count) show(state.run.last);
}

let timer = null;
export function togglePlaying() {
  if (state.playing) { stopPlaying(); return; }
  if (!state.run?.count) return;
  state.playing = true;
  if (state.shown >= state.run.last || !state.run.has(state.shown)) show(state.run.start);
  const tick = async () => {
    if (!state.playing) return;
    const began = performance.now();
    if (state.shown + state.run.stride > state.run.last) { stopPlaying(); return; }
    await show(state.shown + state.run.stride);
    const pause = (1000 * state.run.stride) / state.run.fps - (performance.now() - began);
    timer = setTimeout(tick, Math.max(0, pause));
  };
  timer = setTimeout(tick, 30);
  redraw();
}

export function stopPlaying() {
  if (!state.playing) return;
  clearTimeout(timer);
  state.playing = false;
  redraw();
}

export function stageFocus() {
  byId("timeline").focus({ preventScroll: true });
}
