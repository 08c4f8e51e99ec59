// Small things that all parts of the page use.

export const at = (id) => document.getElementById(id);

export function say(text, isError = false) {
  if (at("status").textContent !== text) at("status").textContent = text;
  at("status").classList.toggle("error", isError);
}

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// Everything the page knows; parts read it, main.js changes it.
export const state = {
  videos: [],
  video: null, // the chosen one, with its length
  choice: { frame: 0, objects: [], used: false }, // where the next run starts, and on what
  target: 1, // id of the one that is selected
  shown: 0, // frame in view
  picture: null, // of that frame
  run: null, // RunData of the last run
  phase: "idle", // "idle", "starting", "running"
  paused: false,
  correcting: false, // "correct" or "add" while the box is being drawn
  following: true, // whether the view goes along with the tracking
  playing: false,
  boot: null,
};
