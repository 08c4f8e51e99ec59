// Several targets: which there are, which one is selected, adding and removing.
import { boxColour } from "./shared/colours.js";
import { at, element, say, state } from "./page.js";
import { redraw } from "./viewer.js";

export const MOST = 8; // followed at a time
export const targetColour = (id) => boxColour(id - 1);
let adding = false; // the next box drawn is another target's

// Targets that can be selected now, by id.
export function targetIds() {
  return state.run?.count ? state.run.ids : state.choice.objects.map((one) => one.id);
}

// Those that are followed in the newest frame, or will be from the first.
export function followedIds() {
  const { run, choice } = state;
  return run?.count ? run.trackers[0].rows(run.last).map((row) => row.id) : choice.objects.map((one) => one.id);
}

// The id that is meant: the selected one, if there is such a target.
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

// The user has drawn a box where the next run starts.
export function place(box, frame) {
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

// Before a run: the next box drawn is another target's. Returns false if there is a run to add it to.
export function addBeforeRun() {
  if (state.phase !== "idle") return false;
  if (!state.choice.objects.length || state.choice.used) return true;
  if (state.choice.objects.length >= MOST) say(`At most ${MOST} targets are followed at a time.`, true);
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
  at("targets").hidden = !state.video || !(ids.length > 1 || changeable);
  at("add-target").hidden = !changeable;
  at("remove-target").hidden = !changeable || followedIds().length < 2;
  if (at("remove-target").firstChild.textContent !== `Remove target ${selected()} `) at("remove-target").firstChild.textContent = `Remove target ${selected()} `;
  const text = JSON.stringify([ids, selected(), Boolean(run?.count)]);
  if (text === shownChips) return;
  shownChips = text;
  const focused = at("target-chips").contains(document.activeElement);
  at("target-chips").replaceChildren(...(ids.length > 1 ? ids.map(chip) : []));
  if (focused) at("target-chips").querySelector("[aria-pressed=true]")?.focus();
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
