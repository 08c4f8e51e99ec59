// Helpers and state shared by all parts of the page.

export const byId = (id) => document.getElementById(id);

export function say(text, isError = false) {
  if (byId("status").textContent !== text) byId("status").textContent = text;
  byId("status").classList.toggle("error", isError);
}

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// The state of the page.
export const state = {
  videos: [],
  video: null, // the chosen video, with its length
  choice: { frame: 0, objects: [], used: false }, // start frame and boxes of the next run
  target: 1, // id of the selected target
  shown: 0, // index of the displayed frame
  picture: null, // the displayed frame
  run: null, // RunData of the last run
  phase: "idle", // "idle", "starting", "running"
  paused: false,
  correcting: false, // "correct" or "add" while the box is being drawn
  following: true, // whether the view shows the newest frame while tracking
  playing: false,
  boot: null, // id of the server process
};
