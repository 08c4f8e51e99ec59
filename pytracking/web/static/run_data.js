// The trackers' results of one run in typed arrays: about a hundred bytes per frame and tracker.

export class Column {
  constructor(per = 1) {
    this.per = per;
    this.values = new Float32Array(256 * per);
    this.count = 0;
  }

  push(...numbers) {
    const needed = (this.count + 1) * this.per;
    if (needed > this.values.length) {
      const larger = new Float32Array(2 * this.values.length);
      larger.set(this.values);
      this.values = larger;
    }
    numbers.forEach((number, i) => { this.values[this.count * this.per + i] = number ?? NaN; });
    this.count += 1;
  }

  cut(count) {
    this.count = Math.min(this.count, count);
  }

  at(place) {
    return this.per === 1 ? this.values[place] : [...this.values.subarray(place * this.per, (place + 1) * this.per)];
  }
}

const FLAGS = [null, "normal", "uncertain", "hard_negative", "not_found"];
export const FLAG_TEXT = { normal: "sure", uncertain: "unsure", hard_negative: "distractor nearby", not_found: "lost" };
const DISAGREE = 0.5; // two trackers disagree below this overlap

export function overlap(a, b) {
  const width = Math.min(a[0] + a[2], b[0] + b[2]) - Math.max(a[0], b[0]);
  const height = Math.min(a[1] + a[3], b[1] + b[3]) - Math.max(a[1], b[1]);
  const shared = Math.max(0, width) * Math.max(0, height);
  return shared / Math.max(1e-9, a[2] * a[3] + b[2] * b[3] - shared);
}

// One tracker's results for one target, from the first frame in which it was tracked.
class Track {
  constructor(id, start) {
    Object.assign(this, { id, start });
    this.boxes = new Column(4);
    this.scores = new Column();
    this.flags = new Column();
    this.updated = new Column();
    this.learner = new Map();
    this.updates = 0;
    this.learns = false; // whether it has reported anything about a learner
  }

  get count() { return this.scores.count; }
  has(frame) { return frame >= this.start && frame < this.start + this.count; }

  add({ box, score, flag, learner }) {
    const place = this.count;
    this.boxes.push(...box);
    this.scores.push(score);
    this.flags.push(Math.max(0, FLAGS.indexOf(flag)));
    this.updated.push(learner.updated ? 1 : 0);
    this.updates += learner.updated ? 1 : 0;
    for (const [key, value] of Object.entries(learner)) {
      this.learns = true;
      if (!this.learner.has(key)) this.learner.set(key, new Column());
      const column = this.learner.get(key);
      while (column.count < place) column.push(NaN);
      column.push(value === null ? NaN : Number(value));
    }
  }

  // Drops the results from a frame on.
  cut(frame) {
    const count = Math.max(0, frame - this.start);
    for (const column of [this.boxes, this.scores, this.flags, this.updated, ...this.learner.values()]) column.cut(count);
    this.updates = this.updated.values.subarray(0, this.count).reduce((sum, one) => sum + one, 0);
  }

  row(frame) {
    const place = frame - this.start;
    const score = this.scores.at(place);
    return { id: this.id, box: this.boxes.at(place), score: Number.isNaN(score) ? null : score, flag: FLAGS[this.flags.at(place)] };
  }

  // Intervals [[from, to], ...] of frames whose indices satisfy `predicate`.
  spans(predicate) {
    return spans(this.count, this.start, predicate);
  }
}

function spans(count, start, predicate) {
  const found = [];
  for (let i = 0; i < count; i += 1) {
    if (!predicate(i)) continue;
    if (found.length && found.at(-1)[1] === start + i - 1) found.at(-1)[1] = start + i;
    else found.push([start + i, start + i]);
  }
  return found;
}

class TrackerData {
  constructor(name) {
    this.name = name;
    this.tracks = new Map(); // by the target's id
    this.seconds = new Column();
  }

  add(frame, objects, seconds) {
    this.seconds.push(seconds);
    for (const one of objects) {
      if (!this.tracks.has(one.id)) this.tracks.set(one.id, new Track(one.id, frame));
      this.tracks.get(one.id).add(one);
    }
  }

  cut(frame, count) {
    this.seconds.cut(count);
    for (const [id, track] of this.tracks) {
      track.cut(frame);
      if (!track.count) this.tracks.delete(id);
    }
  }

  rows(frame) {
    return [...this.tracks.values()].filter((track) => track.has(frame)).map((track) => track.row(frame));
  }
}

export class RunData {
  constructor({ id, video, start, trackers, objects }) {
    Object.assign(this, { id, video, start, objects, networks: {}, corrected: [], length: null, fps: 30, stride: 1, ended: null });
    this.trackers = trackers.map((name) => new TrackerData(name));
    this.agreement = new Column(); // smallest overlap of the first two trackers over all targets
  }

  get count() { return this.trackers[0].seconds.count; }
  get last() { return this.start + this.count - 1; }
  get names() { return this.trackers.map((tracker) => tracker.name); }
  get ids() { return [...this.trackers[0].tracks.keys()].sort((a, b) => a - b); }
  has(frame) { return frame >= this.start && frame <= this.last; }
  track(place, id) { return this.trackers[place].tracks.get(id ?? this.ids[0]); }

  add({ index, of, fps, corrected, trackers }) {
    if (index <= this.last) this.cut(index);
    for (const id of corrected) this.corrected.push([index, id]);
    this.length = of ?? this.length;
    this.fps = fps;
    trackers.forEach((output, place) => this.trackers[place].add(index, output.objects, output.seconds));
    this.#compare(index);
  }

  #compare(frame) {
    if (this.trackers.length < 2) return;
    const [first, second] = this.rows(frame);
    const other = new Map(second.map((row) => [row.id, row.box]));
    this.agreement.push(Math.min(1, ...first.filter((row) => other.has(row.id)).map((row) => overlap(row.box, other.get(row.id)))));
  }

  // Drops the results from a changed frame on; these frames are tracked again.
  cut(frame) {
    const count = Math.max(0, frame - this.start);
    this.trackers.forEach((tracker) => tracker.cut(frame, count));
    this.agreement.cut(count);
    this.corrected = this.corrected.filter(([one]) => one < frame);
  }

  // Builds the data from the server's summary of an existing run.
  static from(summary) {
    const run = new RunData({ ...summary, trackers: summary.trackers.map((tracker) => tracker.name) });
    Object.assign(run, { networks: summary.networks, length: summary.length, fps: summary.fps, stride: summary.stride, ended: summary.ended, corrected: summary.corrected });
    const { rows } = summary;
    summary.trackers.forEach((columns, t) => summary.frames.forEach((frame, i) => {
      const objects = [];
      for (let row = rows[i]; row < (rows[i + 1] ?? columns.objects.length); row += 1) {
        objects.push({
          id: columns.objects[row], box: columns.boxes.slice(4 * row, 4 * row + 4), score: columns.scores[row], flag: columns.flags[row],
          learner: Object.fromEntries(Object.entries(columns.learner).map(([key, values]) => [key, values[row]])),
        });
      }
      run.trackers[t].add(frame, objects, columns.seconds[rows[i]] ?? 0);
    }));
    summary.frames.forEach((frame) => run.#compare(frame));
    return run;
  }

  // Each tracker's results for its targets.
  rows(frame) {
    return this.has(frame) ? this.trackers.map((tracker) => tracker.rows(frame)) : [];
  }

  seconds(place, frame) {
    return this.has(frame) ? this.trackers[place].seconds.at(frame - this.start) : null;
  }

  // Intervals of frames in which the two trackers disagree.
  disagreements() {
    return spans(this.agreement.count, this.start, (i) => this.agreement.at(i) < DISAGREE);
  }

  // Frames per second over the last frames; the median, because the first frames fill caches.
  speed(window = 30) {
    const times = [];
    for (let i = Math.max(1, this.count - window); i < this.count; i += 1) {
      times.push(this.trackers.reduce((sum, tracker) => sum + tracker.seconds.at(i), 0));
    }
    times.sort((a, b) => a - b);
    return times.length ? 1 / Math.max(1e-4, times[Math.floor(times.length / 2)]) : null;
  }
}
