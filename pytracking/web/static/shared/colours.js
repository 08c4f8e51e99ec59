// Colours of the style sheet for canvases, in the theme that is on.

const BOXES = ["--box-first", "--box-second", "--box-third", "--box-fourth", "--box-fifth", "--box-sixth"];
const LINES = ["--first", "--second", "--third", "--fourth", "--fifth", "--sixth"];
let probe = null;

// What a custom property looks like now: light-dark() and var() are only resolved in a real colour.
export function themeColour(name) {
  if (!probe) {
    probe = document.createElement("span");
    probe.hidden = true;
    document.body.append(probe);
  }
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

// On pictures, which have no theme.
export const boxColour = (place) => themeColour(BOXES[place % BOXES.length]);

// In charts and text.
export const lineColour = (place) => themeColour(LINES[place % LINES.length]);
