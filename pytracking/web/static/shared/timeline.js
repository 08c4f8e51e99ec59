// The timeline: curves, marks and a cursor over all frames of a video; click, drag or use the keys to go to a frame.
import { themeColour } from "./colours.js";

const SIDE = 34; // pixels for the scale on the left
const LANE = 9; // height of a lane of marks

export class Timeline {
  // canvas: gets the role of a slider. onSeek(frame): called when the user chooses a frame.
  constructor(canvas, onSeek) {
    this.canvas = canvas;
    this.onSeek = onSeek;
    this.content = { length: 1, cursor: 0, series: [], lanes: [], points: [], pictures: [], done: null, low: 0, high: 1 };
    this.drawPending = false;
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "slider");
    canvas.setAttribute("aria-valuemin", 1);
    const seek = (event) => this.onSeek(this.#frameAt(event));
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      canvas.focus({ preventScroll: true });
      seek(event);
    });
    canvas.addEventListener("pointermove", (event) => canvas.hasPointerCapture(event.pointerId) && seek(event));
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  // length: number of frames. cursor: displayed frame. done: [first, last] frame that has results.
  // series: [{ colour, start, values }]. lanes: [{ colour, marks: [[from, to], ...] }]. points: [{ frame, colour }].
  // low, high: the curves' scale. pictures: a film strip, shown until there are results. Omitted entries stay as they are.
  update(content) {
    Object.assign(this.content, content);
    const { cursor, length } = this.content;
    this.canvas.setAttribute("aria-valuemax", length);
    this.canvas.setAttribute("aria-valuenow", cursor + 1);
    this.canvas.setAttribute("aria-valuetext", `frame ${cursor + 1} of ${length}`);
    if (this.drawPending) return;
    this.drawPending = true;
    requestAnimationFrame(() => { this.drawPending = false; this.draw(); });
  }

  #x(frame) {
    const width = this.canvas.clientWidth - SIDE - 8;
    return SIDE + (width * frame) / Math.max(1, this.content.length - 1);
  }

  #frameAt(event) {
    const area = this.canvas.getBoundingClientRect();
    const part = (event.clientX - area.left - SIDE) / (area.width - SIDE - 8);
    return Math.round(Math.min(Math.max(part, 0), 1) * Math.max(0, this.content.length - 1));
  }

  draw() {
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (!width || !height) return;
    this.canvas.width = width * ratio;
    this.canvas.height = height * ratio;
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "11px system-ui, sans-serif";
    const bottom = height - 18 - LANE * this.content.lanes.length;
    this.#background(pen, width, height, bottom);
    for (const series of this.content.series) this.#curve(pen, series, bottom);
    this.content.lanes.forEach((lane, place) => this.#lane(pen, lane, bottom + 5 + LANE * place));
    for (const point of this.content.points) this.#point(pen, point, bottom);
    this.#cursor(pen, height);
  }

  #background(pen, width, height, bottom) {
    const { low, high, done, length } = this.content;
    if (done) {
      pen.fillStyle = themeColour("--done");
      pen.fillRect(this.#x(done[0]), 0, Math.max(1, this.#x(done[1]) - this.#x(done[0])), height - 14);
    } else this.#film(pen, height - 16);
    pen.strokeStyle = themeColour("--line");
    pen.fillStyle = themeColour("--soft");
    pen.lineWidth = 1;
    if (this.content.series.length) {
      for (const level of [low, (low + high) / 2, high]) {
        const y = Math.round(this.#y(level, bottom)) + 0.5;
        pen.beginPath();
        pen.moveTo(SIDE, y);
        pen.lineTo(width - 8, y);
        pen.stroke();
        pen.textAlign = "right";
        pen.fillText(level.toFixed(1), SIDE - 6, y + 4);
      }
    }
    pen.textAlign = "left";
    pen.fillText("1", SIDE, height - 3);
    pen.textAlign = "right";
    pen.fillText(String(length), width - 8, height - 3);
  }

  #film(pen, height) {
    const { pictures, length } = this.content;
    const width = (this.#x(length - 1) - SIDE) / Math.max(1, pictures.length);
    pictures.forEach((picture, place) => {
      const scale = Math.max(width / picture.width, height / picture.height); // fills its slot, cropped around the centre
      const [w, h] = [width / scale, height / scale];
      pen.drawImage(picture, (picture.width - w) / 2, (picture.height - h) / 2, w, h, SIDE + place * width, 0, width, height);
    });
  }

  #y(value, bottom) {
    const { low, high } = this.content;
    return bottom - (bottom - 7) * ((value - low) / (high - low || 1));
  }

  // Of several frames in one column of pixels the extremes are drawn, so that no dip is lost.
  #curve(pen, { colour, start, values }, bottom) {
    pen.strokeStyle = colour;
    pen.lineWidth = 1.6;
    pen.lineJoin = "round";
    pen.beginPath();
    let column = -1, least = 0, most = 0, drawing = false;
    const flush = () => {
      if (column < 0) return;
      if (drawing) pen.lineTo(column, this.#y(most, bottom));
      else pen.moveTo(column, this.#y(most, bottom));
      if (least !== most) pen.lineTo(column, this.#y(least, bottom));
      drawing = true;
    };
    for (let i = 0; i < values.length; i += 1) {
      const value = values[i];
      if (value === null || Number.isNaN(value)) {
        flush();
        [column, drawing] = [-1, false];
        continue;
      }
      const x = Math.round(this.#x(start + i) * 2) / 2;
      if (x === column) [least, most] = [Math.min(least, value), Math.max(most, value)];
      else {
        flush();
        [column, least, most] = [x, value, value];
      }
    }
    flush();
    pen.stroke();
  }

  #lane(pen, { colour, marks }, top) {
    pen.fillStyle = colour;
    for (const [from, to] of marks) {
      const left = this.#x(from - 0.4);
      pen.fillRect(left, top, Math.max(1.5, this.#x(to + 0.4) - left), LANE - 3);
    }
  }

  #point(pen, { frame, colour }, bottom) {
    const x = this.#x(frame);
    pen.fillStyle = colour;
    pen.beginPath();
    pen.moveTo(x - 5, 0);
    pen.lineTo(x + 5, 0);
    pen.lineTo(x, 8);
    pen.fill();
    pen.fillRect(x - 0.5, 0, 1, bottom);
  }

  #cursor(pen, height) {
    const x = this.#x(this.content.cursor);
    pen.fillStyle = themeColour("--ink");
    pen.fillRect(x - 0.75, 0, 1.5, height - 14);
    pen.beginPath();
    pen.arc(x, height - 18, 4.5, 0, 7); // above the numbers
    pen.fill();
  }
}
