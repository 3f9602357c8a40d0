// The line to the server: JSON out, JSON and frames in. It comes back by itself, and into the game it was in.

import { readFrame } from "./film.js";
import { withToken } from "./page.js";

const PATIENCE = [300, 800, 2000, 4000]; // Milliseconds before the next attempt to come back.
const FINAL = {
  4400: "the server did not understand this page - reload it",
  4401: "this address needs its token: use the one that was printed",
  4403: "the server refused this page",
  4409: "too many people are watching already",
  4429: "too many messages - reload the page",
};

const ASLEEP = 4410; // The server has closed a line over which nothing was said: it is opened again when there is something to say.

const JOIN = 1; // Id of the message that asks to come back.

/** The game this tab was in before it was loaded again, or null. */
function kept(game) {
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
  /** hear: {type: (message) => ..., frame: (frame) => ..., state: (connected, reason) => ...}. */
  constructor(hear) {
    this.hear = hear;
    this.connected = false;
    this.game = kept();
    this.waiting = [];
    this.asleep = false;
    this.tries = 0;
    this.drops = 0;
    this.seen = 0;
  }

  open() {
    const address = new URL(withToken("/ws"), location.href);
    address.protocol = address.protocol.replace("http", "ws");
    const line = new WebSocket(address);
    this.line = line;
    line.binaryType = "arraybuffer";
    line.onopen = () => line.send(JSON.stringify({ type: "hello", depth: true }));
    line.onmessage = ({ data }) => (typeof data === "string" ? this.#told(JSON.parse(data)) : this.#frame(readFrame(data)));
    line.onclose = ({ code }) => {
      if (this.line !== line) return;
      this.connected = false;
      this.asleep = code === ASLEEP;
      if (this.asleep) return;
      this.drops += 1;
      this.hear.state(false, FINAL[code] ?? "");
      if (FINAL[code]) return;
      setTimeout(() => this.open(), PATIENCE[Math.min(this.tries++, PATIENCE.length - 1)]);
    };
  }

  /** Whether a message would arrive: a line is cut a moment before its end is told. */
  get usable() {
    return this.connected && this.line.readyState === WebSocket.OPEN;
  }

  /** Send a message, now or as soon as the line is there. */
  send(message) {
    if (this.usable) this.line.send(JSON.stringify(message));
    else {
      this.waiting.push(message);
      this.#wake();
    }
  }

  /** Input of a moment: worth nothing later. */
  hint(message) {
    if (this.usable) this.line.send(JSON.stringify(message));
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
    this.game = kept(null);
  }

  #told(message) {
    if (message.type === "welcome") {
      this.connected = true;
      this.tries = 0;
      this.seen = 0;
      this.hear.state(true, "");
      if (this.game)
        this.send({ type: "join", id: JOIN, game: this.game.game, ...(this.game.key ? { key: this.game.key } : {}) });
      for (const waiting of this.waiting.splice(0)) this.send(waiting);
    }
    if (message.type === "game") {
      this.game = message;
      kept(message);
    }
    if (message.type === "over") kept(null);
    if (message.type === "error" && message.id === JOIN) {
      this.game = kept(null);
      this.hear.lost();
      return;
    }
    this.hear[message.type]?.(message);
  }

  #frame(frame) {
    this.hear.frame(frame);
    // A tab in the background draws nothing; it must not look like a slow one.
    if (document.hidden) this.drawn(frame);
  }
}
