// Keyboard control; a focused element keeps the keys that it uses itself.
import { byId, state } from "./page.js";
import { select, selected, targetIds } from "./targets.js";
import { addTarget, beginCorrection, removeTarget, step, stop, togglePause } from "./tracking.js";
import { followNewest, goTo, move, stageFocus, togglePlaying, videoLength } from "./viewer.js";

// Keys that a focused element uses itself.
const OWN_KEYS = {
  "input[type=number], input[type=search]": /^(?!Escape$)/,
  "input[type=range], input[type=radio], select": /^(Arrow|Home|End|Page| $|.$)/,
  "button, summary, a, input[type=file]": /^( |Enter)$/,
};

export function playOrPause() {
  if (state.phase === "idle") togglePlaying();
  else togglePause();
}

export function nextDisagreement() {
  const all = state.run?.disagreements() ?? [];
  const next = all.find(([from]) => from > state.shown) ?? all[0];
  if (next) goTo(next[0]);
}

function nextTarget() {
  const ids = targetIds();
  if (ids.length > 1) select(ids[(ids.indexOf(selected()) + 1) % ids.length]);
}

export function enableKeys(nextMode) {
  const actions = {
    " ": playOrPause, ".": step, c: beginCorrection, a: addTarget, x: removeTarget, t: nextTarget, n: nextDisagreement, v: nextMode, Escape: stop, "?": () => byId("keys").showModal(),
    ArrowLeft: (event) => move(event.shiftKey ? -10 : -1), ArrowRight: (event) => move(event.shiftKey ? 10 : 1),
    PageUp: () => move(-10), PageDown: () => move(10),
    Home: () => goTo(state.run?.start ?? 0), End: () => (state.run?.count ? followNewest() : goTo(videoLength() - 1)),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
    const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
      return;
    }
    const ownKeys = Object.entries(OWN_KEYS).find(([selector]) => event.target.matches?.(selector));
    if (ownKeys?.[1].test(event.key) || !actions[event.key]) return;
    event.preventDefault();
    actions[event.key](event);
  });
  // After a click, space should control the video, not press the same button again.
  byId("controls").addEventListener("click", (event) => {
    if (event.detail > 0 && event.target.closest("button")) stageFocus();
  });
}
