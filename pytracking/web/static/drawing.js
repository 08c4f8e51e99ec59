// Drawing a box on a canvas with mouse, pen or finger, and showing boxes on it.

const FLAG_DASH = { uncertain: [6, 4], not_found: [2, 4], hard_negative: [10, 3] };

export function showPicture(canvas, picture) {
  if (canvas.width !== picture.width || canvas.height !== picture.height) {
    canvas.width = picture.width;
    canvas.height = picture.height;
  }
  canvas.getContext("2d").drawImage(picture, 0, 0);
}

export function showBox(canvas, box, colour, flag) {
  const pen = canvas.getContext("2d");
  pen.lineWidth = Math.max(2, canvas.width / 240);
  pen.setLineDash(FLAG_DASH[flag] ?? []);
  pen.strokeStyle = "rgba(0, 0, 0, .6)";
  pen.strokeRect(box[0] - 1, box[1] - 1, box[2] + 2, box[3] + 2);
  pen.strokeStyle = colour;
  pen.strokeRect(...box);
  pen.setLineDash([]);
}

// Calls onBox([x, y, w, h]) while the box is drawn and once more with done = true.
export function letDraw(canvas, isAllowed, onBox) {
  let from = null;
  const place = (event) => {
    const area = canvas.getBoundingClientRect();
    const limit = (value, most) => Math.min(Math.max(value, 0), most);
    return [
      limit(((event.clientX - area.left) / area.width) * canvas.width, canvas.width),
      limit(((event.clientY - area.top) / area.height) * canvas.height, canvas.height),
    ];
  };
  const boxTo = (event) => {
    const to = place(event);
    return [Math.min(from[0], to[0]), Math.min(from[1], to[1]), Math.abs(to[0] - from[0]), Math.abs(to[1] - from[1])];
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (!isAllowed()) return;
    from = place(event);
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => from && onBox(boxTo(event), false));
  canvas.addEventListener("pointerup", (event) => {
    if (!from) return;
    const box = boxTo(event);
    from = null;
    if (box[2] >= 2 && box[3] >= 2) onBox(box, true);
  });
  canvas.addEventListener("pointercancel", () => { from = null; });
}

export function showScoreMap(canvas, map) {
  const pen = canvas.getContext("2d");
  if (!map) {
    pen.clearRect(0, 0, canvas.width, canvas.height);
    return;
  }
  canvas.width = map.columns;
  canvas.height = map.rows;
  const pixels = pen.createImageData(map.columns, map.rows);
  map.levels.forEach((level, at) => pixels.data.set(warm(level / 255), 4 * at));
  pen.putImageData(pixels, 0, 0);
}

// dark blue, violet, orange, yellow: ordered in lightness too
function warm(t) {
  const stops = [[8, 12, 60], [110, 30, 120], [230, 90, 50], [255, 235, 120]];
  const at = Math.min(t * 3, 2.999);
  const [a, b, part] = [stops[Math.floor(at)], stops[Math.floor(at) + 1], at % 1];
  return [...a.map((value, i) => value + (b[i] - value) * part), 255];
}
