// Downloads, a link that reopens the comparison, and the command that repeats it.
import { byId, element, say, state } from "./page.js";
import { titleOf } from "./trackers.js";

export function showDownloads() {
  const { run, phase } = state;
  const ready = Boolean(run?.count) && phase === "idle" && !run.gone;
  byId("downloads").hidden = !ready;
  byId("share").hidden = !(run?.count && phase === "idle" && state.video?.kind !== "camera");
  if (!ready || byId("download-links").dataset.run === run.id) return;
  byId("download-links").dataset.run = run.id;
  const base = `/api/runs/${run.id}`;
  const link = (id, text, href) => element("a", { id, textContent: text, href, download: "" });
  byId("download-links").replaceChildren(
    link("download-csv", "Boxes (CSV)", `${base}/boxes.csv`),
    link("download-json", "Boxes (JSON)", `${base}/boxes.json`),
    ...run.names.map((name, place) => link(`download-mot-${place}`, `MOT: ${titleOf(name)}`, `${base}/mot.txt?tracker=${encodeURIComponent(name)}`)),
    link("download-video", `Video with boxes (${(state.videoSuffix ?? ".mp4").slice(1).toUpperCase()})`, `${base}/video`),
  );
}

const short = (box) => box.map((value) => Number(value.toFixed(1)));

// Contains the run's settings, which work even after a server restart, and the run's id for as long as the server has it.
export function setUpLink(run) {
  const words = new URLSearchParams({
    video: run.video, frame: run.start + 1, boxes: run.objects.map(({ box }) => short(box).join(",")).join(";"), trackers: run.names.join(","), run: run.id,
  });
  return `${location.origin}/#${words}`;
}

export function readLink() {
  const words = new URLSearchParams(location.hash.slice(1));
  const boxes = (words.get("boxes") ?? "").split(";").map((one) => one.split(",").map(Number));
  if (!words.get("video")) return null;
  return {
    video: words.get("video"), run: words.get("run"),
    frame: Math.max(0, (Number(words.get("frame")) || 1) - 1),
    boxes: boxes.filter((box) => box.length === 4 && box.every(Number.isFinite) && box[2] >= 2 && box[3] >= 2),
    trackers: (words.get("trackers") ?? "").split(",").filter(Boolean),
  };
}

const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

export function command(run, video) {
  const source = video.kind === "demo" ? `demo:${video.title.replace(/^demo: /, "")}` : video.title;
  return run.names.map((name) => {
    const words = ["pytracking", "video", name, quoted(source)];
    for (const { box } of run.objects) words.push("--box", ...short(box));
    if (run.start) words.push("--start", run.start + 1);
    return [...words, ...changeOptions(run), "--save-results"].join(" ");
  }).join("\n");
}

// Options for targets that were added or removed during the run; the command numbers targets in this order.
function changeOptions(run) {
  const first = run.objects.map(({ id }) => id);
  const later = run.ids.filter((id) => !first.includes(id));
  return [...first, ...later].flatMap((id, place) => {
    const track = run.track(0, id);
    const end = track.start + track.count;
    return [
      ...(later.includes(id) ? ["--box-at", track.start + 1, ...short(track.boxes.at(0))] : []),
      ...(end <= run.last ? ["--remove-at", end + 1, place + 1] : []),
    ];
  });
}

export function enableSharing() {
  const copy = async (text, done) => {
    try {
      await navigator.clipboard.writeText(text);
      say(done);
    } catch {
      say(text); // browsers allow clipboard access only over secure connections
    }
    byId("share").open = false;
  };
  byId("copy-link").addEventListener("click", () => {
    const link = setUpLink(state.run);
    history.replaceState(null, "", link);
    copy(link, "Link copied.");
  });
  byId("copy-command").addEventListener("click", () => {
    const note = state.run.corrected.length ? " It does not repeat your corrections." : "";
    copy(command(state.run, state.video), `Command copied.${note}`);
  });
}
