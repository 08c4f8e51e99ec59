// Communication with the server: requests, uploads with progress, the websocket, and detecting that it is gone.

export async function json(address, options) {
  let answer;
  try {
    answer = await fetch(address, options);
  } catch {
    throw new Error("The server does not answer. Is it still running?");
  }
  const data = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(sentence(data.error ?? `the server answered ${answer.status}`));
  return data;
}

export async function bytes(address) {
  const answer = await fetch(address).catch(() => { throw new Error("The server does not answer. Is it still running?"); });
  if (!answer.ok) throw new Error(sentence((await answer.json().catch(() => ({}))).error ?? `the server answered ${answer.status}`));
  return answer;
}

// Turns a server message, written for terminals in lower case, into a sentence.
export function sentence(text) {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(first) ? first : `${first}.`;
}

export function upload(file, onProgress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(); // fetch does not report the progress of an upload
    request.open("POST", `/api/videos?name=${encodeURIComponent(file.name)}`);
    request.upload.onprogress = (event) => onProgress(event.loaded / Math.max(1, event.total));
    request.onloadend = () => {
      let answer = {};
      try { answer = JSON.parse(request.responseText); } catch { /* reported below */ }
      if (request.status === 201) resolve(answer);
      else reject(new Error(sentence(answer.error ?? "the upload failed; is the server still running?")));
    };
    request.send(file);
  });
}

// Splits a binary message into the message and its JPEG; the first four bytes are the message's length.
export function unpack(data) {
  const length = new DataView(data).getUint32(0);
  const message = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
  return { message, picture: new Blob([new Uint8Array(data, 4 + length)], { type: "image/jpeg" }) };
}

export class Connection {
  // onMessage(message, picture) is called in order; onLost() when the server closed the connection or died.
  constructor(onMessage, onLost) {
    this.onMessage = onMessage;
    this.onLost = onLost;
    this.socket = null;
    this.queue = Promise.resolve();
  }

  open() {
    if (this.socket?.readyState === WebSocket.OPEN) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/track`);
      socket.binaryType = "arraybuffer";
      socket.onopen = () => { this.socket = socket; resolve(); };
      socket.onerror = () => reject(new Error("The server does not answer. Is it still running?"));
      socket.onclose = () => {
        if (this.socket !== socket) return;
        this.socket = null;
        this.queue = this.queue.then(() => this.onLost());
      };
      socket.onmessage = ({ data }) => { this.queue = this.queue.then(() => this.#receive(data)); };
    });
  }

  async #receive(data) {
    const { message, picture } = typeof data === "string" ? { message: JSON.parse(data), picture: null } : unpack(data);
    try {
      await this.onMessage(message, picture);
    } finally {
      // even after an error, so that the server does not wait
      if (message.type === "frame") this.send({ type: "drawn", run: message.run, index: message.index });
    }
  }

  send(message) {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(message instanceof Blob || message instanceof ArrayBuffer ? message : JSON.stringify(message));
    return true;
  }
}

// Calls back when the server answers again; `boot` in its answer tells whether it was restarted.
export function whenBack(callback) {
  const ask = async () => {
    try {
      callback(await json("/api/server"));
    } catch {
      setTimeout(ask, 1500);
    }
  };
  setTimeout(ask, 1000);
}
