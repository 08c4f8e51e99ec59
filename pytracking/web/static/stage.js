// The picture in view with the trackers' boxes: side by side, both on one picture, or a wipe between them.
import { boxColour } from "./shared/colours.js";
import { showBox, showPicture } from "./shared/drawing.js";
import { at } from "./page.js";
import { titleOf } from "./trackers.js";

const views = [at("view-a"), at("view-b")];
const captions = [at("caption-a"), at("caption-b")];
const FLAG_TEXT = { uncertain: "unsure", not_found: "lost", hard_negative: "distractor near" };
export const stage = { mode: "side", wipe: 0.5 };

// picture: of the frame in view. rows: what each tracker says there. chosen: a box that the user has drawn.
export function drawStage({ picture, rows, names, chosen }) {
  if (!picture) return;
  const two = names.length > 1;
  const side = two && stage.mode === "side";
  views[1].closest("figure").hidden = !side;
  at("modes").hidden = !two;
  at("wipe-label").hidden = !(two && stage.mode === "wipe" && rows.length);
  at("views").dataset.count = side ? 2 : 1;
  at("stage").dataset.mode = two ? stage.mode : "one";
  at("views").style.setProperty("--aspect", picture.width / picture.height);
  showPicture(views[0], picture);
  if (side) showPicture(views[1], picture);
  if (two && stage.mode === "wipe" && rows.length) drawWipe(rows);
  else rows.forEach((row, place) => showBox(views[side ? place : 0], row.box, boxColour(place), row));
  if (chosen) for (const view of side ? views : [views[0]]) showBox(view, chosen, boxColour(5), { dash: [5, 4] });
  caption(side, rows, names);
}

function drawWipe(rows) {
  const [view] = views;
  const pen = view.getContext("2d");
  const x = stage.wipe * view.width;
  [[0, x], [x, view.width]].forEach(([from, to], place) => {
    pen.save();
    pen.beginPath();
    pen.rect(from, 0, to - from, view.height);
    pen.clip();
    showBox(view, rows[place].box, boxColour(place), rows[place]);
    pen.restore();
  });
  pen.fillStyle = "rgb(255 255 255 / 90%)";
  pen.fillRect(x - view.width / 640, 0, Math.max(1, view.width / 320), view.height);
}

function caption(side, rows, names) {
  const parts = names.map((name, place) => [name, rows[place], place]);
  captions[0].replaceChildren(...(side ? parts.slice(0, 1) : parts).map(label));
  captions[1].replaceChildren(...(side ? parts.slice(1) : []).map(label));
}

function label([name, row, place]) {
  const text = document.createElement("span");
  text.className = `tracker place-${place}`;
  const facts = [];
  if (row && row.score !== null) facts.push(`score ${row.score.toFixed(2)}`);
  if (row && FLAG_TEXT[row.flag]) facts.push(FLAG_TEXT[row.flag]);
  const strong = document.createElement("strong");
  strong.textContent = titleOf(name);
  text.append(strong, facts.length ? ` ${facts.join(" · ")}` : "");
  return text;
}
