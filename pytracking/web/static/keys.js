// The keyboard, in every state: a focused button keeps its own keys, all others work.
import { at, state } from "./page.js";
import { select, selected, targetIds } from "./targets.js";
import { addTarget, beginCorrection, removeTarget, step, stop, togglePause } from "./tracking.js";
import { follow, look, move, stageFocus, togglePlaying, videoLength } from "./viewer.js";

// What a focused element does with a key itself.
const OWN_KEYS = {
  "input[type=number], input[type=search]": /^(?!Escape$)/,
  "input[type=range], input[type=radio], select": /^(Arrow|Home|End|Page| $|.$)/,
  "button, summary, a, input[type=file]": /^( |Enter)$/,
};

export function playOrPause() {
  if (state.phase === "idle") togglePlaying();
  else togglePause();
}

export function nextParting() {
  const all = state.run?.partings() ?? [];
  const next = all.find(([from]) => from > state.shown) ?? all[0];
  if (next) look(next[0]);
}

function nextTarget() {
  const ids = targetIds();
  if (ids.length > 1) select(ids[(ids.indexOf(selected()) + 1) % ids.length]);
}

export function letKeys(nextMode) {
  const actions = {
    " ": playOrPause, ".": step, c: beginCorrection, a: addTarget, x: removeTarget, t: nextTarget, n: nextParting, v: nextMode, Escape: stop, "?": () => at("keys").showModal(),
    ArrowLeft: (event) => move(event.shiftKey ? -10 : -1), ArrowRight: (event) => move(event.shiftKey ? 10 : 1),
    PageUp: () => move(-10), PageDown: () => move(10),
    Home: () => look(state.run?.start ?? 0), End: () => (state.run?.count ? follow() : look(videoLength() - 1)),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || at("keys").open) return;
    const menu = event.key === "Escape" && document.querySelector("details.menu[open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
      return;
    }
    const own = Object.entries(OWN_KEYS).find(([selector]) => event.target.matches?.(selector));
    if (own?.[1].test(event.key) || !actions[event.key]) return;
    event.preventDefault();
    actions[event.key](event);
  });
  // After a click the button would keep the space key; the mouse's user means the video.
  at("controls").addEventListener("click", (event) => {
    if (event.detail > 0 && event.target.closest("button")) stageFocus();
  });
}
