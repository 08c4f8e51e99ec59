// Several targets: listing, selecting, adding and removing them.
import { boxColour } from "./shared/colours.js";
import { byId, element, say, state } from "./page.js";
import { redraw } from "./viewer.js";

export const MAX_TARGETS = 8; // tracked at the same time
export const targetColour = (id) => boxColour(id - 1);
let adding = false; // whether the next box drawn is for a new target

// Ids of the targets that can be selected now.
export function targetIds() {
  return state.run?.count ? state.run.ids : state.choice.objects.map((one) => one.id);
}

// Ids of the targets tracked in the newest frame or, before a run, of those to be tracked.
export function followedIds() {
  const { run, choice } = state;
  return run?.count ? run.trackers[0].rows(run.last).map((row) => row.id) : choice.objects.map((one) => one.id);
}

// The selected id, or the first one if that target does not exist.
export function selected() {
  const ids = targetIds();
  return ids.includes(state.target) ? state.target : ids[0] ?? 1;
}

export function select(id) {
  state.target = id;
  adding = false;
  redraw();
}

export const nextId = () => Math.max(0, ...targetIds(), ...state.choice.objects.map((one) => one.id)) + 1;
export const boxOf = (id) => state.choice.objects.find((one) => one.id === id)?.box ?? null;

// Sets a target's box in the frame at which the next run starts.
export function setBox(box, frame) {
  const { choice } = state;
  const fresh = choice.used || choice.frame !== frame || !choice.objects.length;
  if (fresh) [choice.objects, state.target] = [[], 1];
  else if (adding) state.target = nextId();
  adding = false;
  const id = fresh ? 1 : selectedChoice();
  choice.objects = [...choice.objects.filter((one) => one.id !== id), { id, box }].sort((a, b) => a.id - b.id);
  Object.assign(choice, { frame, used: false });
}

function selectedChoice() {
  const { choice } = state;
  const known = choice.objects.some((one) => one.id === state.target);
  return known || state.target === nextId() ? state.target : choice.objects[0].id;
}

// Before a run: lets the next box drawn be a new target's. Returns false during a run.
export function addBeforeRun() {
  if (state.phase !== "idle") return false;
  if (!state.choice.objects.length || state.choice.used) return true;
  if (state.choice.objects.length >= MAX_TARGETS) say(`At most ${MAX_TARGETS} targets can be tracked at a time.`, true);
  else {
    adding = true;
    say(`Draw a box around target ${nextId()}.`);
  }
  return true;
}

export function removeBeforeRun() {
  if (state.phase !== "idle") return false;
  const { choice } = state;
  if (!choice.used && choice.objects.length > 1) {
    const id = selected();
    choice.objects = choice.objects.filter((one) => one.id !== id);
    state.target = choice.objects[0].id;
    redraw();
  }
  return true;
}

let shownChips = "";
export function drawTargets() {
  const { phase, run, choice } = state;
  const ids = targetIds();
  const idle = phase === "idle";
  const changeable = phase === "running" || (idle && choice.objects.length > 0 && !choice.used);
  byId("targets").hidden = !state.video || !(ids.length > 1 || changeable);
  byId("add-target").hidden = !changeable;
  byId("remove-target").hidden = !changeable || followedIds().length < 2;
  if (byId("remove-target").firstChild.textContent !== `Remove target ${selected()} `) byId("remove-target").firstChild.textContent = `Remove target ${selected()} `;
  const text = JSON.stringify([ids, selected(), Boolean(run?.count)]);
  if (text === shownChips) return;
  shownChips = text;
  const focused = byId("target-chips").contains(document.activeElement);
  byId("target-chips").replaceChildren(...(ids.length > 1 ? ids.map(chip) : []));
  if (focused) byId("target-chips").querySelector("[aria-pressed=true]")?.focus();
}

function chip(id) {
  const dot = element("span", { className: "dot" });
  dot.style.background = targetColour(id);
  const button = element("button", { type: "button" }, dot, `Target ${id}`);
  button.dataset.target = id;
  button.setAttribute("aria-pressed", String(id === selected()));
  button.addEventListener("click", () => select(id));
  return button;
}
