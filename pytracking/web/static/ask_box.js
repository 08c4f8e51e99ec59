// Asks for one box on one picture.
import { boxColour } from "./shared/colours.js";
import { enableDrawing, showBox, showPicture } from "./shared/drawing.js";

const canvas = document.getElementById("picture");
const take = document.getElementById("take");
const status = document.getElementById("status");
const picture = await createImageBitmap(await (await fetch("/frame.png")).blob());
let box = null;

showPicture(canvas, picture);
enableDrawing(canvas, () => true, (drawn) => {
  box = drawn;
  take.disabled = false;
  showPicture(canvas, picture);
  showBox(canvas, box, boxColour(0));
});
take.addEventListener("click", async () => {
  const answer = await fetch("/box", { method: "POST", body: JSON.stringify({ objects: [{ id: 1, box }] }) });
  take.disabled = answer.ok;
  status.textContent = answer.ok ? "Tracking has begun; you can close this page." : (await answer.json()).error;
});
