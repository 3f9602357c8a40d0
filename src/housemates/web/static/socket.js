// The websocket: JSON out, JSON and frames in. It reconnects by itself and joins its game again.

import { readFrame } from "./film.js";
import { withToken } from "./page.js";

const DELAYS = [300, 800, 2000, 4000]; // Milliseconds before the next attempt to reconnect.
const FINAL = {
  4400: "the server did not understand this page - reload it",
  4401: "a token is needed - open the address that was printed",
  4403: "the server refused this page",
  4409: "too many pages are open - try again later",
  4429: "too many messages - reload the page",
};

const IDLE = 4410; // The server has closed an idle connection: the next message opens it again.
const JOIN = 1; // Id of the message that joins a game again.

/** The game this tab was in before it was loaded again, or null. */
function stored(game) {
  try {
    if (game === undefined) return JSON.parse(sessionStorage.getItem("game"));
    if (game) sessionStorage.setItem("game", JSON.stringify({ game: game.game, key: game.key }));
    else sessionStorage.removeItem("game");
  } catch {
    // Storage may be forbidden; then a reload leaves the game.
  }
  return null;
}

export class Socket {
  /** handlers: {type: (message) => ..., frame: (frame) => ..., state: (connected, reason) => ...}. */
  constructor(handlers) {
    this.handlers = handlers;
    this.connected = false;
    this.game = stored();
    this.robots = 0; // Of the last game; its frames may still arrive after it was left.
    this.queue = [];
    this.asleep = false;
    this.tries = 0;
    this.drops = 0;
    this.seen = 0;
  }

  open() {
    const address = new URL(withToken("/ws"), location.href);
    address.protocol = address.protocol.replace("http", "ws");
    const ws = new WebSocket(address);
    this.ws = ws;
    ws.binaryType = "arraybuffer";
    ws.onopen = () => ws.send(JSON.stringify({ type: "hello", depth: true }));
    ws.onmessage = ({ data }) => {
      if (typeof data === "string") this.#message(JSON.parse(data));
      else this.#frame(readFrame(data, this.robots));
    };
    ws.onclose = ({ code }) => {
      if (this.ws !== ws) return;
      this.connected = false;
      this.asleep = code === IDLE;
      if (this.asleep) return;
      this.drops += 1;
      this.handlers.state(false, FINAL[code] ?? "");
      if (FINAL[code]) return;
      setTimeout(() => this.open(), DELAYS[Math.min(this.tries++, DELAYS.length - 1)]);
    };
  }

  /** Whether a message would arrive: a websocket may be closed before its close event. */
  get usable() {
    return this.connected && this.ws.readyState === WebSocket.OPEN;
  }

  /** Send a message, now or as soon as there is a connection. */
  send(message) {
    if (this.usable) this.ws.send(JSON.stringify(message));
    else {
      this.queue.push(message);
      this.#wake();
    }
  }

  /** Send a message now or never: input that is worth nothing later. */
  hint(message) {
    if (this.usable) this.ws.send(JSON.stringify(message));
    else this.#wake();
  }

  #wake() {
    if (!this.asleep) return;
    this.asleep = false;
    this.open();
  }

  /** The frame has been drawn: the server may send the newest. */
  drawn(frame) {
    if (frame.number <= this.seen) return;
    this.seen = frame.number;
    this.hint({ type: "ack", frame: frame.number });
  }

  leave() {
    if (this.game) this.hint({ type: "leave" });
    this.game = stored(null);
  }

  #message(message) {
    if (message.type === "welcome") {
      this.connected = true;
      this.tries = 0;
      this.seen = 0;
      this.handlers.state(true, "");
      if (this.game)
        this.send({ type: "join", id: JOIN, game: this.game.game, ...(this.game.key ? { key: this.game.key } : {}) });
      for (const queued of this.queue.splice(0)) this.send(queued);
    }
    if (message.type === "game") {
      this.game = message;
      this.robots = message.robots.length;
      stored(message);
    }
    if (message.type === "over") stored(null);
    if (message.type === "error" && message.id === JOIN) {
      this.game = stored(null);
      this.handlers.lost();
      return;
    }
    this.handlers[message.type]?.(message);
  }

  #frame(frame) {
    this.handlers.frame(frame);
    // A tab in the background draws nothing; it must not look like a slow one.
    if (document.hidden) this.drawn(frame);
  }
}
