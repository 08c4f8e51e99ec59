// The videos on the server as thumbnails; dropping and choosing files.
import { json, upload } from "./server.js";
import { at, element, say, state } from "./page.js";

const MANY = 12; // from here on a search field helps

export async function listVideos() {
  state.videos = await json("/api/videos");
  at("filter").hidden = state.videos.length <= MANY;
  draw();
  return state.videos;
}

function draw() {
  const words = at("filter").value.trim().toLowerCase();
  const found = state.videos.filter((video) => video.title.toLowerCase().includes(words));
  at("gallery").replaceChildren(...found.map((video) => element("li", {}, tile(video))));
  mark();
}

function tile(video) {
  const picture = element("img", {
    src: `/api/videos/${encodeURIComponent(video.id)}/thumbnail.jpg`, alt: "", loading: "lazy", width: 120, height: 80,
  });
  const name = element("span", { textContent: video.title.replace(/^demo: /, ""), title: video.title });
  const button = element("button", { type: "button", className: "tile" }, picture, name);
  picture.addEventListener("error", () => {
    picture.classList.add("broken");
    button.append(element("small", { textContent: "cannot be read" }));
  });
  button.dataset.video = video.id;
  if (video.kind === "demo") button.append(element("small", { textContent: "demo" }));
  button.addEventListener("click", () => at("gallery").dispatchEvent(new CustomEvent("choose", { detail: video.id })));
  return button;
}

export function mark() {
  for (const button of at("gallery").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button.dataset.video === state.video?.id));
  }
  at("camera").setAttribute("aria-pressed", String(state.video?.kind === "camera"));
}

// onDone(video): the file is on the server.
export function letUpload(onDone) {
  const take = async (file) => {
    if (!file) return;
    const bar = at("upload-progress");
    bar.hidden = false;
    say(`Uploading ${file.name} …`);
    try {
      const video = await upload(file, (part) => { bar.value = part; });
      await listVideos();
      await onDone(video);
    } catch (error) {
      say(error.message, true);
    } finally {
      bar.hidden = true;
      at("upload").value = "";
    }
  };
  at("upload").addEventListener("change", (event) => take(event.target.files[0]));
  at("filter").addEventListener("input", draw);
  // the whole window takes the file: nobody aims well while dragging
  for (const kind of ["dragenter", "dragover"]) {
    window.addEventListener(kind, (event) => {
      if (![...(event.dataTransfer?.types ?? [])].includes("Files")) return;
      event.preventDefault();
      document.body.classList.add("dropping");
    });
  }
  window.addEventListener("dragleave", (event) => !event.relatedTarget && document.body.classList.remove("dropping"));
  window.addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dropping");
    if (state.phase === "idle") take(event.dataTransfer.files[0]);
  });
}
