// One picture, one box, one answer.
import { letDraw, showBox, showPicture } from "./drawing.js";

const canvas = document.getElementById("picture");
const take = document.getElementById("take");
const status = document.getElementById("status");
const picture = await createImageBitmap(await (await fetch("/frame.png")).blob());
const colour = getComputedStyle(document.documentElement).getPropertyValue("--first");
let box = null;

showPicture(canvas, picture);
letDraw(canvas, () => true, (drawn) => {
  box = drawn;
  take.disabled = false;
  showPicture(canvas, picture);
  showBox(canvas, box, colour);
});
take.addEventListener("click", async () => {
  const answer = await fetch("/box", { method: "POST", body: JSON.stringify({ type: "correct", box }) });
  take.disabled = answer.ok;
  status.textContent = answer.ok ? "Tracking has begun; this page may be closed." : (await answer.json()).error;
});
