// What the trackers of one run said, in typed arrays: a long video costs some hundred bytes per frame, not megabytes.

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
export const APART = 0.5; // overlap of two trackers below which they follow different things

export function overlap(a, b) {
  const width = Math.min(a[0] + a[2], b[0] + b[2]) - Math.max(a[0], b[0]);
  const height = Math.min(a[1] + a[3], b[1] + b[3]) - Math.max(a[1], b[1]);
  const shared = Math.max(0, width) * Math.max(0, height);
  return shared / Math.max(1e-9, a[2] * a[3] + b[2] * b[3] - shared);
}

class TrackerColumns {
  constructor(name) {
    this.name = name;
    this.boxes = new Column(4);
    this.scores = new Column();
    this.flags = new Column();
    this.seconds = new Column();
    this.updated = new Column();
    this.learner = new Map();
    this.updates = 0;
    this.learns = false; // whether it ever spoke of a learner
  }

  add({ box, score, flag, learner }, seconds) {
    const place = this.scores.count;
    this.boxes.push(...box);
    this.scores.push(score);
    this.flags.push(Math.max(0, FLAGS.indexOf(flag)));
    this.seconds.push(seconds);
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

  cut(count) {
    for (const column of [this.boxes, this.scores, this.flags, this.seconds, this.updated, ...this.learner.values()]) column.cut(count);
    this.updates = this.updated.values.subarray(0, count).reduce((sum, one) => sum + one, 0);
  }

  row(place) {
    const score = this.scores.at(place);
    return {
      box: this.boxes.at(place), score: Number.isNaN(score) ? null : score, flag: FLAGS[this.flags.at(place)],
      seconds: this.seconds.at(place),
    };
  }

  // [[from, to], ...] of frames with a property
  spans(start, is) {
    const found = [];
    for (let i = 0; i < this.scores.count; i += 1) {
      if (!is(i)) continue;
      if (found.length && found.at(-1)[1] === start + i - 1) found.at(-1)[1] = start + i;
      else found.push([start + i, start + i]);
    }
    return found;
  }
}

export class RunData {
  constructor({ id, video, start, trackers, objects }) {
    Object.assign(this, { id, video, start, objects, networks: {}, corrected: new Set(), length: null, fps: 30, stride: 1, ended: null });
    this.trackers = trackers.map((name) => new TrackerColumns(name));
    this.agreement = new Column(); // overlap of the first two
  }

  get count() { return this.trackers[0].scores.count; }
  get last() { return this.start + this.count - 1; }
  get names() { return this.trackers.map((tracker) => tracker.name); }
  has(frame) { return frame >= this.start && frame <= this.last; }

  add(message) {
    if (message.index <= this.last) this.cut(message.index);
    if (message.corrected) this.corrected.add(message.index);
    this.length = message.of ?? this.length;
    this.fps = message.fps;
    message.trackers.forEach((output, place) => this.trackers[place].add(output.objects[0], output.seconds));
    this.#compare(this.count - 1);
  }

  #compare(place) {
    const [a, b] = this.trackers;
    if (b) this.agreement.push(overlap(a.boxes.at(place), b.boxes.at(place)));
  }

  // A correction: the frames from here on will be tracked again.
  cut(frame) {
    const count = Math.max(0, frame - this.start);
    this.trackers.forEach((tracker) => tracker.cut(count));
    this.agreement.cut(count);
    this.corrected = new Set([...this.corrected].filter((one) => one < frame));
  }

  // From the server's summary of a run that is already there.
  static from(summary) {
    const run = new RunData({ ...summary, trackers: summary.trackers.map((tracker) => tracker.name) });
    Object.assign(run, { networks: summary.networks, length: summary.length, fps: summary.fps, stride: summary.stride, ended: summary.ended });
    run.corrected = new Set(summary.corrected);
    summary.trackers.forEach((columns, t) => summary.frames.forEach((_, i) => {
      const learner = Object.fromEntries(Object.entries(columns.learner).map(([key, values]) => [key, values[i]]));
      run.trackers[t].add({
        box: columns.boxes.slice(4 * i, 4 * i + 4), score: columns.scores[i], flag: columns.flags[i], learner,
      }, columns.seconds[i]);
    }));
    summary.frames.forEach((_, i) => run.#compare(i));
    return run;
  }

  rows(frame) {
    return this.has(frame) ? this.trackers.map((tracker) => tracker.row(frame - this.start)) : [];
  }

  // Frames at which two trackers follow different things, the longest parting first.
  partings() {
    if (this.trackers.length < 2) return [];
    return this.trackers[0].spans(this.start, (i) => this.agreement.at(i) < APART);
  }

  // Frames a second, over the last ones: their median, because the first of them loads caches.
  speed(window = 30) {
    const times = [];
    for (let i = Math.max(1, this.count - window); i < this.count; i += 1) {
      times.push(this.trackers.reduce((sum, tracker) => sum + tracker.seconds.at(i), 0));
    }
    times.sort((a, b) => a - b);
    return times.length ? 1 / Math.max(1e-4, times[Math.floor(times.length / 2)]) : null;
  }
}
