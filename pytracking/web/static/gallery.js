// Thumbnails of the server's videos; uploading by dropping or choosing a file.
import { json, upload } from "./server.js";
import { byId, element, say, state } from "./page.js";

const MANY = 12; // above this number of videos a search field is shown

export async function listVideos() {
  state.videos = await json("/api/videos");
  byId("filter").hidden = state.videos.length <= MANY;
  draw();
  return state.videos;
}

function draw() {
  const words = byId("filter").value.trim().toLowerCase();
  const found = state.videos.filter((video) => video.title.toLowerCase().includes(words));
  byId("gallery").replaceChildren(...found.map((video) => element("li", {}, tile(video))));
  markChosen();
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
  button.addEventListener("click", () => byId("gallery").dispatchEvent(new CustomEvent("choose", { detail: video.id })));
  return button;
}

export function markChosen() {
  for (const button of byId("gallery").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button.dataset.video === state.video?.id));
  }
  byId("camera").setAttribute("aria-pressed", String(state.video?.kind === "camera"));
}

// onDone(video) is called when the file has been uploaded.
export function enableUpload(onDone) {
  const take = async (file) => {
    if (!file) return;
    const bar = byId("upload-progress");
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
      byId("upload").value = "";
    }
  };
  byId("upload").addEventListener("change", (event) => take(event.target.files[0]));
  byId("filter").addEventListener("input", draw);
  // files can be dropped anywhere in the window
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
