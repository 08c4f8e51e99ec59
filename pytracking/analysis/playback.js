// Shows a sequence with several trackers' boxes; all data is in this file. The code above is shared with the tracking page.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const pictures = data.images.map((text) => Object.assign(new Image(), { src: `data:image/jpeg;base64,${text}` }));
const shown = new Map([["truth", true], ...data.trackers.map((tracker) => [tracker.name, true])]);
let place = 0; // index of the displayed frame among those in this file
let timer = null;

const scaled = (box) => box.map((value) => value * data.scale);
const timeline = new Timeline(byId("timeline"), (frame) => go(nearest(frame)));

function nearest(frame) {
  let best = 0;
  data.indices.forEach((index, k) => { if (Math.abs(index - frame) < Math.abs(data.indices[best] - frame)) best = k; });
  return best;
}

function draw() {
  const [frame, picture] = [data.indices[place], pictures[place]];
  if (!picture.complete) { picture.onload = draw; return; }
  showPicture(byId("view"), picture);
  if (shown.get("truth") && data.truth[frame]) showBox(byId("view"), scaled(data.truth[frame]), themeColour("--truth"), { dash: [6, 4] });
  data.trackers.forEach((tracker, t) => {
    if (shown.get(tracker.name) && tracker.boxes[frame]) showBox(byId("view"), scaled(tracker.boxes[frame]), boxColour(t));
    tracker.value.textContent = tracker.overlap[frame] === null ? "–" : tracker.overlap[frame].toFixed(2);
  });
  byId("where").textContent = `frame ${frame + 1} of ${data.frames}`;
  for (const button of byId("moments").children) button.setAttribute("aria-pressed", String(Number(button.dataset.place) === place));
  timeline.update({
    length: data.frames, cursor: frame,
    series: data.trackers.map((tracker, t) => ({ colour: lineColour(t), start: 0, values: tracker.overlap, name: tracker.name })).filter((series) => shown.get(series.name)),
  });
}

function go(k) {
  place = Math.max(0, Math.min(data.images.length - 1, k));
  draw();
}

function toggle() {
  if (timer) { clearInterval(timer); timer = null; }
  else timer = setInterval(() => (place + 1 < data.images.length ? go(place + 1) : toggle()), 1000 / data.fps);
  byId("play").firstChild.textContent = timer ? "Pause " : "Play ";
}

function legendRow(name, text, colour, dashed) {
  const row = document.createElement("label");
  const check = Object.assign(document.createElement("input"), { type: "checkbox", checked: true });
  const swatch = Object.assign(document.createElement("span"), { className: dashed ? "swatch dashed" : "swatch" });
  const value = Object.assign(document.createElement("span"), { className: "value numbers" });
  check.onchange = () => { shown.set(name, check.checked); draw(); };
  swatch.style.color = colour;
  row.append(check, swatch, text, value);
  byId("legend").append(row);
  return value;
}

byId("title").textContent = data.name;
byId("facts").textContent = `${data.frames} frames` + (data.images.length < data.frames ? `, ${data.images.length} of them in this page` : "");
byId("view").style.setProperty("--aspect", data.width / data.height);
legendRow("truth", "annotation", "var(--truth)", true);
data.trackers.forEach((tracker, t) => {
  const names = ["first", "second", "third", "fourth", "fifth", "sixth"];
  tracker.value = legendRow(tracker.name, tracker.name, `var(--${names[t % names.length]})`, false);
});
for (const moment of data.moments) {
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: moment.text });
  button.dataset.place = nearest(moment.frame);
  button.onclick = () => go(Number(button.dataset.place));
  byId("moments").append(button);
}
byId("moments-card").hidden = !data.moments.length;
byId("play").onclick = toggle;
byId("back").onclick = () => go(place - 1);
byId("forward").onclick = () => go(place + 1);
document.onkeydown = (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -data.frames, End: data.frames }[event.key];
  if (step) { go(place + step); event.preventDefault(); } else if (event.key === " " && !event.target.matches("button, input")) { toggle(); event.preventDefault(); }
};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
go(data.moments.length ? nearest(data.moments[0].frame) : 0);
