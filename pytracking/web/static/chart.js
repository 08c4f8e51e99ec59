// The score of each tracker over time, with a tick for every update of its model.

const MOST_POINTS = 1200; // of the past, then the older half is thinned out

export class ScoreChart {
  constructor(canvas, colours) {
    this.canvas = canvas;
    this.colours = colours;
    this.clear();
  }

  clear() {
    this.series = [];
    this.last = 1;
    this.draw();
  }

  add(index, outputs) {
    this.last = Math.max(this.last, index);
    outputs.forEach((output, place) => {
      const points = (this.series[place] ??= []);
      points.push({ index, score: output.score, updated: Boolean(output.learner?.updated) });
      if (points.length > MOST_POINTS) {
        this.series[place] = points.filter((point, at) => at >= points.length / 2 || at % 2 === 0 || point.updated);
      }
    });
    this.draw();
  }

  get length() {
    return this.series[0]?.length ?? 0;
  }

  draw() {
    const ratio = window.devicePixelRatio || 1;
    const width = this.canvas.clientWidth || 280;
    const height = 160;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const style = getComputedStyle(document.documentElement);
    const scores = this.series.flat().map((point) => point.score).filter((score) => score !== null);
    const high = Math.max(1, ...scores);
    const low = Math.min(0, ...scores);
    const left = 30, right = width - 6, top = 8, bottom = height - 26;
    const x = (index) => left + (right - left) * (index / this.last);
    const y = (score) => bottom - (bottom - top) * ((score - low) / (high - low));
    pen.font = "11px system-ui";
    pen.fillStyle = style.getPropertyValue("--soft");
    pen.strokeStyle = style.getPropertyValue("--line");
    for (const level of [low, (low + high) / 2, high]) {
      pen.beginPath();
      pen.moveTo(left, y(level));
      pen.lineTo(right, y(level));
      pen.stroke();
      pen.fillText(level.toFixed(1), 4, y(level) + 4);
    }
    pen.fillText(`frame ${this.last + (this.length ? 1 : 0)}`, right - 60, height - 3);
    this.series.forEach((points, place) => this.#line(pen, points, style.getPropertyValue(this.colours[place]), x, y, bottom + 4 + 6 * place));
  }

  #line(pen, points, colour, x, y, tickAt) {
    pen.strokeStyle = colour;
    pen.lineWidth = 1.5;
    pen.beginPath();
    let drawing = false;
    for (const point of points) {
      if (point.score === null) { drawing = false; continue; }
      if (drawing) pen.lineTo(x(point.index), y(point.score));
      else pen.moveTo(x(point.index), y(point.score));
      drawing = true;
    }
    pen.stroke();
    pen.beginPath();
    for (const point of points.filter((candidate) => candidate.updated)) {
      pen.moveTo(x(point.index), tickAt);
      pen.lineTo(x(point.index), tickAt + 5);
    }
    pen.stroke();
    pen.lineWidth = 1;
  }
}
