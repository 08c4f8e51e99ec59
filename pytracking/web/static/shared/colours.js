// The style sheet's colours for canvases, in the current theme.

const BOXES = ["--box-first", "--box-second", "--box-third", "--box-fourth", "--box-fifth", "--box-sixth"];
const LINES = ["--first", "--second", "--third", "--fourth", "--fifth", "--sixth"];
let probe = null;

// Resolves a custom property; light-dark() and var() are only resolved in the style of an element.
export function themeColour(name) {
  if (!probe) {
    probe = document.createElement("span");
    probe.hidden = true;
    document.body.append(probe);
  }
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

// For boxes on pictures, which are independent of the theme.
export const boxColour = (place) => themeColour(BOXES[place % BOXES.length]);

// For charts and text.
export const lineColour = (place) => themeColour(LINES[place % LINES.length]);
