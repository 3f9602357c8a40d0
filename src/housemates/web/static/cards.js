// What each robot sees, does, holds and thinks: one card per robot.

import { $, ask, el, robotTint } from "./page.js";
import { report, titled, wish } from "./words.js";

const STOPS = [
  [0, 0, 4],
  [59, 15, 112],
  [140, 41, 129],
  [222, 73, 104],
  [254, 159, 109],
  [252, 253, 191],
];
const SIDE = 128;

// Inverse depth 0..255 as colours, far to near.
const COLOURS = new Uint32Array(
  Uint8ClampedArray.from({ length: 256 * 4 }, (_, k) => {
    const at = (Math.floor(k / 4) / 255) * (STOPS.length - 1);
    const low = Math.min(Math.floor(at), STOPS.length - 2);
    return k % 4 === 3 ? 255 : STOPS[low][k % 4] + (STOPS[low + 1][k % 4] - STOPS[low][k % 4]) * (at - low);
  }).buffer,
);
const picture = new ImageData(SIDE, SIDE);
const pixels = new Uint32Array(picture.data.buffer);

function paint(canvas, depth) {
  for (let k = 0; k < depth.length; k++) pixels[k] = COLOURS[depth[k]];
  canvas.getContext("2d").putImageData(picture, 0, 0);
}

export class Cards {
  /** Make the cards of a film's robots. */
  set(film) {
    // The same home goes on, as when a game becomes a recording: what was seen last stays until there is something newer.
    const before = this.film?.home_hash === film.home_hash ? this.parts : [];
    this.film = film;
    this.pictures = new Map();
    this.asked = null;
    this.shown = "";
    this.parts = film.robots.map((name, r) => {
      const eye = el("canvas", {
        width: SIDE,
        height: SIDE,
        role: "img",
        "aria-label": `What robot ${r} sees: depth, near is bright`,
      });
      if (before[r]) eye.getContext("2d").drawImage(before[r].eye, 0, 0);
      const [doing, hand, value] = [el("b"), el("span"), el("span.faint")];
      const thoughts = el("div.thoughts");
      const who = film.me === r ? "You" : film.me >= 0 ? "Partner" : `Robot ${r}`;
      const card = el(
        "article.robot.card",
        { tint: robotTint(r) },
        el("div.who", {}, el("span.dot"), el("span", {}, who)),
        film.me === r ? null : el("p.name.faint", { title: name }, titled(name)),
        el("div.row", {}, eye, el("div.words", {}, doing, hand, value)),
        thoughts,
      );
      return { eye, doing, hand, value, thoughts, card };
    });
    $("robots").replaceChildren(...this.parts.map((part) => part.card));
  }

  /** Show the film at frame `at` (whole). */
  show(at, frame) {
    const { film } = this;
    this.parts.forEach((part, r) => {
      part.doing.textContent = film.doing(at, r);
      part.hand.textContent = frame.held[r] >= 0 ? `holds the ${film.things[frame.held[r]]}` : "hand empty";
      this.#think(part, film.decision(at, r));
      if (frame.depth) paint(part.eye, frame.depth[r]);
    });
    if (!film.live) this.#look(at);
  }

  #think(part, decision) {
    const key = decision ? `${decision.tick} ${decision.action} ${decision.robot}` : "";
    if (part.key === key) return;
    part.key = key;
    const known = decision?.value !== null && decision?.value !== undefined;
    part.value.textContent = known ? `expects ${decision.value.toFixed(2)}` : "";
    const rows = (decision?.top ?? []).map(([action, share]) => {
      const bar = el("i");
      bar.style.width = `${Math.round(100 * share)}%`;
      return el(
        `div.thought${action === decision.action ? ".taken" : ""}`,
        { title: report(action, this.film.things) },
        el("span", {}, wish(action, this.film.things)),
        el("div.bar", {}, bar),
        el("span", {}, `${Math.round(100 * share)} %`),
      );
    });
    part.thoughts.replaceChildren(...rows);
  }

  /** Ask for the head pictures of a recording; one request at a time, always for the newest frame. */
  #look(at) {
    this.wanted = at;
    if (this.asked !== null || this.shown === at) return;
    const film = this.film;
    this.asked = at;
    const got = this.parts.map(async (part, r) => {
      const key = `${at} ${r}`;
      if (!this.pictures.has(key)) {
        const answer = await ask(`/api/recording/${film.id}/depth?frame=${at}&robot=${r}`);
        this.pictures.set(key, new Uint8Array(await answer.arrayBuffer()));
      }
      if (this.film === film) paint(part.eye, this.pictures.get(key));
    });
    Promise.allSettled(got).then((results) => {
      if (this.film !== film) return;
      this.asked = null;
      this.shown = at;
      this.blind = results.some((result) => result.status === "rejected");
      if (this.pictures.size > 600) this.pictures.clear();
      if (this.wanted !== at && !this.blind) this.#look(this.wanted);
    });
  }
}
