// Details about the trackers: score map, facts, and a small chart for every number that a learner reports.
import { lineColour, themeColour } from "./shared/colours.js";
import { byId, element, state } from "./page.js";
import { FLAG_TEXT } from "./run_data.js";
import { selected } from "./targets.js";
import { titleOf } from "./trackers.js";

const MEBI = 2 ** 20;
// Descriptions of the numbers that learners report; other numbers get a chart titled with their key.
const KNOWN = {
  rank: { title: "Rank of P", line: "Number of past directions that the learner protects.", text: (x) => x.toFixed(0) },
  nbytes: { title: "Size of P", line: "Memory used by P.", text: (x) => `${(x / MEBI).toFixed(1)} MiB` },
  error_bound: { title: "Error bound", line: "Upper bound on P's distance from the exact inverse.", text: (x) => x.toPrecision(2) },
  past_margin: { title: "Margin on old frames", line: "How clearly the model still tells the target from the rest in frames more than 100 frames old.", text: (x) => x.toFixed(2) },
  loss: { title: "Loss", line: "On the samples in memory, before the last update.", text: (x) => x.toPrecision(2) },
  rejected: { title: "Rejected updates", line: "Updates that would have made the model worse.", text: (x) => x.toFixed(0) },
};
const HIDDEN = ["updated", "num_iter", "iterations"];
let shownRun = null;

export function drawInsight() {
  const { run } = state;
  byId("insight").hidden = !run?.count;
  if (!run?.count) return;
  if (shownRun !== run) {
    shownRun = run;
    byId("insight").replaceChildren(...run.trackers.map(panel));
  }
  run.trackers.forEach(fillPanel);
  keys(run).forEach((key, place) => drawChart(key, run, run.trackers.length + place));
}

function panel(tracker, place) {
  const map = element("canvas", { className: "map", width: 1, height: 1 });
  map.setAttribute("role", "img");
  map.setAttribute("aria-label", `Score map of ${tracker.name}`);
  const head = element("h2", { className: `place-${place}`, textContent: titleOf(tracker.name) });
  return element("article", { className: "card panel" }, head, map, element("dl", { className: "numbers" }), element("p", { className: "hint network" }));
}

function fillPanel(tracker, place) {
  const { run, shown } = state;
  const card = byId("insight").children[place];
  const track = run.track(place, selected());
  const row = track?.has(shown) ? track.row(shown) : null;
  const map = state.message?.trackers?.[place]?.objects.find((one) => one.id === selected())?.score_map;
  card.querySelector(".map").hidden = !map;
  if (map) drawMap(card.querySelector(".map"), map);
  const network = run.networks[tracker.name];
  card.querySelector(".network").textContent = network ? `network ${network}` : "";
  const facts = {};
  if (row && row.score !== null) facts.score = row.score.toFixed(2);
  if (row?.flag) facts.state = FLAG_TEXT[row.flag];
  if (track?.learns) facts.updates = track.updates;
  if (row) facts.time = `${(1000 * run.seconds(place, shown)).toFixed(0)}\u00a0ms`;
  card.querySelector("dl").replaceChildren(...Object.entries(facts).flatMap(([name, value]) => [
    element("dt", { textContent: name }), element("dd", { textContent: value }),
  ]));
}

// The selected target's track by each tracker.
const tracks = (run) => run.trackers.map((_, place) => run.track(place, selected()));

// Keys worth a chart; e.g. not the rank of a baseline, which is always 0.
function keys(run) {
  const found = new Set();
  for (const track of tracks(run)) {
    for (const [key, column] of track?.learner ?? []) {
      const last = column.at(column.count - 1);
      if (!HIDDEN.includes(key) && (found.has(key) || (last && !Number.isNaN(last)))) found.add(key);
    }
  }
  const known = Object.keys(KNOWN).filter((key) => found.has(key));
  return [...known, ...[...found].filter((key) => !KNOWN[key])];
}

function drawChart(key, run, order) {
  const about = KNOWN[key] ?? { title: key.replaceAll("_", " "), line: "", text: (x) => x.toPrecision(3) };
  let card = byId("insight").querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (!card) {
    const canvas = element("canvas", { className: "spark" });
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", about.title);
    const head = element("h2", { textContent: about.title });
    card = element("article", { className: "card chart" }, head, element("p", { className: "values numbers" }), canvas, element("p", { className: "hint", textContent: about.line }));
    card.dataset.key = key;
    byId("insight").append(card);
  }
  card.style.order = order;
  const lines = tracks(run).map((track, place) => ({ column: track?.learner.get(key), place })).filter(({ column }) => column?.count && spread(column)[1]);
  const track = tracks(run).find(Boolean);
  const shownPlace = Math.min(Math.max(0, state.shown - track.start), track.count - 1);
  card.querySelector(".values").replaceChildren(...lines.map(({ column, place }) => {
    const value = column.at(Math.min(shownPlace, column.count - 1));
    return element("span", { className: `place-${place}`, textContent: Number.isNaN(value) ? "–" : about.text(value) });
  }));
  spark(card.querySelector("canvas"), lines, track.count, shownPlace);
}

function spread(column) {
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < column.count; i += 1) {
    const value = column.values[i];
    if (!Number.isNaN(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
  }
  return [low, high];
}

function spark(canvas, lines, count, shownPlace) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth || 160, canvas.clientHeight || 44];
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const bounds = lines.map(({ column }) => spread(column));
  const low = Math.min(0, ...bounds.map(([least]) => least));
  const high = Math.max(...bounds.map(([, most]) => most), low + 1e-9);
  const x = (i) => 2 + ((width - 4) * i) / Math.max(1, count - 1);
  const y = (value) => height - 3 - (height - 6) * ((value - low) / (high - low));
  pen.fillStyle = themeColour("--line");
  pen.fillRect(x(shownPlace) - 0.5, 0, 1, height);
  for (const { column, place } of lines) {
    const step = Math.max(1, Math.floor(column.count / (2 * width)));
    pen.strokeStyle = lineColour(place);
    pen.lineWidth = 1.6;
    pen.beginPath();
    let drawing = false;
    for (let i = 0; i < column.count; i += step) {
      const value = column.values[i];
      if (Number.isNaN(value)) { drawing = false; continue; }
      if (drawing) pen.lineTo(x(i), y(value));
      else pen.moveTo(x(i), y(value));
      drawing = true;
    }
    pen.stroke();
  }
}

function drawMap(canvas, map) {
  canvas.width = map.columns;
  canvas.height = map.rows;
  const pen = canvas.getContext("2d");
  const pixels = pen.createImageData(map.columns, map.rows);
  map.levels.forEach((level, place) => pixels.data.set(heatColour(level / 255), 4 * place));
  pen.putImageData(pixels, 0, 0);
}

// dark blue, violet, orange, yellow, in order of lightness
function heatColour(t) {
  const stops = [[8, 12, 60], [110, 30, 120], [230, 90, 50], [255, 235, 120]];
  const place = Math.min(t * 3, 2.999);
  const [a, b, part] = [stops[Math.floor(place)], stops[Math.floor(place) + 1], place % 1];
  return [...a.map((value, i) => value + (b[i] - value) * part), 255];
}
