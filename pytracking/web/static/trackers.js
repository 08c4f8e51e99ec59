// Choosing trackers: recommended ones as cards, the others in a list; those that cannot run say why.
import { json } from "./server.js";
import { byId, element } from "./page.js";

let offers = [];
export const titleOf = (name) => offers.find((offer) => offer.name === name)?.title ?? name;

export async function listTrackers() {
  const answer = await json("/api/trackers");
  offers = answer.trackers;
  const cards = offers.filter((offer) => offer.recommended).map(card);
  const rest = offers.filter((offer) => !offer.recommended);
  const more = element("select", { id: "more" }, new Option("More trackers …", ""), ...rest.map(option));
  more.setAttribute("aria-label", "More trackers");
  more.addEventListener("change", () => {
    for (const radio of radios()) radio.checked = false;
    if (!more.value) choose(answer.default);
  });
  byId("trackers").replaceChildren(...cards, ...(rest.length ? [more] : []));
  byId("trackers").addEventListener("change", (event) => { if (event.target.type === "radio") more.value = ""; });
  const group = (label, some) => { const made = element("optgroup", { label }); made.append(...some.map(option)); return made; };
  byId("compare").replaceChildren(
    new Option("nothing", ""), group("Recommended", offers.filter((offer) => offer.recommended)), group("More", rest),
  );
  choose(answer.default);
}

const radios = () => [...byId("trackers").querySelectorAll("input")];

function card(offer) {
  const radio = element("input", { type: "radio", name: "tracker", value: offer.name, disabled: Boolean(offer.reason) });
  const text = element("span", {}, element("strong", { textContent: offer.title }), element("span", { className: "hint", textContent: offer.reason ?? offer.line }));
  return element("label", { className: offer.reason ? "tracker-card off" : "tracker-card" }, radio, text);
}

function option(offer) {
  const made = new Option(offer.recommended ? offer.title : offer.name, offer.name);
  made.disabled = Boolean(offer.reason);
  if (offer.reason) made.textContent += ` (cannot run: ${offer.reason})`;
  return made;
}

// Selects trackers; ignores names that are not on offer or cannot run.
export function choose(first, second = "") {
  const usable = (name) => offers.some((offer) => offer.name === name && !offer.reason);
  const name = usable(first) ? first : offers.find((offer) => !offer.reason)?.name;
  const radio = radios().find((one) => one.value === name);
  if (radio) radio.checked = true;
  else if (byId("more")) byId("more").value = name;
  byId("compare").value = usable(second) ? second : "";
}

export function chosen() {
  const first = radios().find((radio) => radio.checked)?.value || byId("more")?.value;
  return [first, byId("compare").value].filter((name, i, all) => name && all.indexOf(name) === i);
}
