// This device's camera: a live preview to draw on, then frames sent to the server for tracking.
import { say, state, byId } from "./page.js";
import { showPictureOf } from "./viewer.js";

const WIDTH = 640; // pixels; more would take longer to send without tracking better
const QUALITY = 0.85;
const video = byId("camera-video");
let stream = null;
let live = false; // whether the preview is running
let first = null; // the frozen picture that the box was drawn on
const pending = new Map(); // frame -> its picture and the time when it was taken
const latencies = [];

export async function openCamera() {
  if (!navigator.mediaDevices?.getUserMedia) {
    throw new Error("Browsers allow camera access only for pages on this machine or over https.");
  }
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: WIDTH }, facingMode: "environment" } });
  } catch (error) {
    throw new Error(error.name === "NotAllowedError" ? "The browser was not allowed to use the camera." : `No camera is available (${error.name}).`);
  }
  video.srcObject = stream;
  await video.play();
  live = true;
  preview();
}

export function closeCamera() {
  live = false;
  stream?.getTracks().forEach((track) => track.stop());
  [stream, first] = [null, null];
  pending.clear();
}

async function preview() {
  if (!live) return;
  const picture = await createImageBitmap(video);
  if (live) showPictureOf(0, picture);
  setTimeout(preview, 40);
}

// Freezes the preview while the user draws.
export function freeze() {
  if (!live) return;
  live = false;
  first = grab();
}

function grab() {
  const canvas = new OffscreenCanvas(video.videoWidth, video.videoHeight);
  canvas.getContext("2d").drawImage(video, 0, 0);
  return { canvas, taken: performance.now() };
}

// Sends the frozen picture as the first frame, and the camera's current picture as any later one.
export async function sendFrame(connection, frame) {
  const { canvas, taken } = frame === 0 && first ? first : grab();
  const blob = await canvas.convertToBlob({ type: "image/jpeg", quality: QUALITY });
  pending.set(frame, { canvas, taken: frame === 0 ? performance.now() : taken });
  connection.send(blob);
}

// Returns the picture that an answer belongs to, and records the latency from camera to box.
export async function pictureFor(frame) {
  const found = pending.get(frame);
  pending.delete(frame);
  for (const old of pending.keys()) if (old < frame) pending.delete(old);
  if (!found) return null;
  latencies.push(performance.now() - found.taken);
  if (latencies.length > 30) latencies.shift();
  return createImageBitmap(found.canvas);
}

export function latency() {
  const sorted = [...latencies].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.floor(sorted.length / 2)] : null;
}

export function resetCamera() {
  latencies.length = 0;
  pending.clear();
}

export function resumePreview() {
  if (!stream || live) return;
  [live, first] = [true, null];
  preview();
  say("Draw a box around what you want to track: the picture freezes while you draw.");
}

export const isCamera = () => state.video?.kind === "camera";
