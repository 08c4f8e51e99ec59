// Shows pictures and boxes on a canvas, and lets the user draw a box with mouse, pen or finger.

const FLAG_DASH = { uncertain: [6, 4], not_found: [3, 4], hard_negative: [10, 3] };

export function showPicture(canvas, picture) {
  if (canvas.width !== picture.width || canvas.height !== picture.height) {
    canvas.width = picture.width;
    canvas.height = picture.height;
  }
  canvas.getContext("2d").drawImage(picture, 0, 0);
}

// A dashed box is one that the tracker is unsure of.
// label: the target, if there are several. thin: for the second of two trackers on one picture.
export function showBox(canvas, box, colour, { flag, dash, label, thin } = {}) {
  const pen = canvas.getContext("2d");
  const width = Math.max(2, canvas.width / 240) / (thin ? 2 : 1);
  pen.setLineDash((dash ?? FLAG_DASH[flag] ?? []).map((length) => (length * width) / 2));
  pen.lineJoin = "round";
  pen.lineWidth = width * 2;
  pen.strokeStyle = "rgb(0 0 0 / 55%)"; // keeps the box visible on any background
  pen.strokeRect(...box);
  pen.lineWidth = width;
  pen.strokeStyle = colour;
  pen.strokeRect(...box);
  pen.setLineDash([]);
  if (label) showLabel(pen, box, colour, label);
}

function showLabel(pen, [x, y], colour, label) {
  const size = Math.max(11, pen.canvas.width / 42);
  pen.font = `600 ${size}px system-ui, sans-serif`;
  const width = pen.measureText(label).width + size * 0.6;
  const [left, top] = [Math.min(Math.max(0, x), pen.canvas.width - width), Math.max(0, y - size * 1.3)]; // inside the picture
  pen.fillStyle = colour;
  pen.fillRect(left, top, width, size * 1.3);
  pen.fillStyle = "#10151b";
  pen.fillText(label, left + size * 0.3, top + size);
}

// Calls onBox([x, y, w, h], done) while a box is drawn, and a last time with done = true.
export function enableDrawing(canvas, isAllowed, onBox) {
  let from = null;
  const position = (event) => {
    const area = canvas.getBoundingClientRect();
    const limit = (value, most) => Math.min(Math.max(value, 0), most);
    return [
      limit(((event.clientX - area.left) / area.width) * canvas.width, canvas.width),
      limit(((event.clientY - area.top) / area.height) * canvas.height, canvas.height),
    ];
  };
  const boxTo = (event) => {
    const to = position(event);
    return [Math.min(from[0], to[0]), Math.min(from[1], to[1]), Math.abs(to[0] - from[0]), Math.abs(to[1] - from[1])];
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (!event.isPrimary || !isAllowed()) return;
    from = position(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!from) return;
    const box = boxTo(event);
    if (box[2] >= 2 && box[3] >= 2) onBox(box, false);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!from) return;
    const box = boxTo(event);
    from = null;
    if (box[2] >= 2 && box[3] >= 2) onBox(box, true);
  });
  canvas.addEventListener("pointercancel", () => { from = null; });
}
