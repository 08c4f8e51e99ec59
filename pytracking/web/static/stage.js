// The displayed frame with the trackers' boxes: side by side, overlaid, or with a wipe between them.
import { boxColour } from "./shared/colours.js";
import { showBox, showPicture } from "./shared/drawing.js";
import { byId } from "./page.js";
import { FLAG_TEXT } from "./run_data.js";
import { selected, targetColour, targetIds } from "./targets.js";
import { titleOf } from "./trackers.js";

const views = [byId("view-a"), byId("view-b")];
const captions = [byId("caption-a"), byId("caption-b")];
export const stage = { mode: "side", wipe: 0.5 };

// picture: the displayed frame. rows: each tracker's results for its targets. chosen: the user's boxes.
export function drawStage({ picture, rows, names, chosen }) {
  if (!picture) return;
  const two = names.length > 1;
  const side = two && stage.mode === "side";
  views[1].closest("figure").hidden = !side;
  byId("modes").hidden = !two;
  byId("wipe-label").hidden = !(two && stage.mode === "wipe" && rows.length);
  byId("views").dataset.count = side ? 2 : 1;
  byId("stage").dataset.mode = two ? stage.mode : "one";
  byId("views").style.setProperty("--aspect", picture.width / picture.height);
  showPicture(views[0], picture);
  if (side) showPicture(views[1], picture);
  const several = chosen.length > 1 || targetIds().length > 1;
  if (two && stage.mode === "wipe" && rows.length) drawWipe(rows, several);
  else rows.forEach((targets, place) => drawTracker(views[side ? place : 0], targets, place, several, !side));
  for (const { id, box } of chosen) {
    const colour = several ? targetColour(id) : boxColour(5);
    for (const view of side ? views : [views[0]]) showBox(view, box, colour, { dash: [5, 4], label: several && String(id) });
  }
  caption(side, rows, names);
}

// A single target has its tracker's colour; several have their own colours, and the second tracker's lines are thin.
function drawTracker(view, targets, place, several, together) {
  for (const { id, box, flag } of targets) {
    const colour = several ? targetColour(id) : boxColour(place);
    showBox(view, box, colour, { flag, label: several && String(id), thin: several && together && place > 0 });
  }
}

function drawWipe(rows, several) {
  const [view] = views;
  const pen = view.getContext("2d");
  const x = stage.wipe * view.width;
  [[0, x], [x, view.width]].forEach(([from, to], place) => {
    pen.save();
    pen.beginPath();
    pen.rect(from, 0, to - from, view.height);
    pen.clip();
    drawTracker(view, rows[place], place, several, false);
    pen.restore();
  });
  pen.fillStyle = "rgb(255 255 255 / 90%)";
  pen.fillRect(x - view.width / 640, 0, Math.max(1, view.width / 320), view.height);
}

function caption(side, rows, names) {
  const parts = names.map((name, place) => [name, rows[place]?.find((row) => row.id === selected()), place]);
  captions[0].replaceChildren(...(side ? parts.slice(0, 1) : parts).map(label));
  captions[1].replaceChildren(...(side ? parts.slice(1) : []).map(label));
}

function label([name, row, place]) {
  const text = document.createElement("span");
  text.className = `tracker place-${place}`;
  const facts = [];
  if (row && row.score !== null) facts.push(`score ${row.score.toFixed(2)}`);
  if (row?.flag && row.flag !== "normal") facts.push(FLAG_TEXT[row.flag]);
  const strong = document.createElement("strong");
  strong.textContent = titleOf(name);
  text.append(strong, facts.length ? ` ${facts.join(" · ")}` : "");
  return text;
}
