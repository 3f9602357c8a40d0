// One card per robot: its head camera, what it does and holds, and its last decision.

import { $, ask, el, robotTint } from "./page.js";
import { depthPixels, doing, imperative, partnerTitle, pictureSide } from "./words.js";

let colours = null;
let image = null;

/** Draw inverse depths [side * side] as colours: near is bright. */
function draw(canvas, depth) {
  colours ??= depthPixels();
  image ??= new ImageData(pictureSide(), pictureSide());
  const pixels = new Uint32Array(image.data.buffer);
  for (let k = 0; k < depth.length; k++) pixels[k] = colours[depth[k]];
  canvas.getContext("2d").putImageData(image, 0, 0);
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
      const side = pictureSide();
      const label = `Head camera of robot ${r}: depth, near is bright`;
      const eye = el("canvas", { width: side, height: side, role: "img", "aria-label": label });
      if (before[r]) eye.getContext("2d").drawImage(before[r].eye, 0, 0);
      const [busy, hand, value] = [el("b"), el("span"), el("span.faint")];
      const likely = el("div.actions");
      const who = film.me === r ? "You" : film.me >= 0 ? "Partner" : `Robot ${r}`;
      const card = el(
        "article.robot.card",
        { tint: robotTint(r) },
        el("div.who", el("span.dot"), el("span", who)),
        film.me === r ? null : el("p.name.faint", { title: name }, partnerTitle(name)),
        el("div.row", eye, el("div.words", busy, hand, value)),
        likely,
      );
      return { eye, busy, hand, value, likely, card };
    });
    $("robots").replaceChildren(...this.parts.map((part) => part.card));
  }

  /** Show the film at frame `at` (whole). */
  show(at, frame) {
    const { film } = this;
    this.parts.forEach((part, r) => {
      part.busy.textContent = film.hidden && r !== film.me ? "" : film.doing(at, r);
      part.hand.textContent = frame.held[r] >= 0 ? `holds the ${film.things[frame.held[r]]}` : "hand empty";
      // The server tells no decisions while a player is not to see them.
      if (film.me !== r) this.#decision(part, film.decision(at, r));
      if (frame.depth) draw(part.eye, frame.depth[r]);
    });
    if (!film.live) this.#look(at);
  }

  /** The likeliest actions of a policy at its last decision, and its value. */
  #decision(part, decision) {
    const key = decision ? `${decision.tick} ${decision.action} ${decision.robot}` : "";
    if (part.key === key) return;
    part.key = key;
    const known = decision?.value !== null && decision?.value !== undefined;
    part.value.textContent = known ? `value ${decision.value.toFixed(2)}` : "";
    const rows = (decision?.top ?? []).map(([action, share]) => {
      const bar = el("i");
      bar.style.width = `${Math.round(100 * share)}%`;
      return el(
        `div.action${action === decision.action ? ".taken" : ""}`,
        { title: doing(action, this.film.things) },
        el("span", imperative(action, this.film.things)),
        el("div.bar", bar),
        el("span", `${Math.round(100 * share)} %`),
      );
    });
    part.likely.replaceChildren(...rows);
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
      if (this.film === film) draw(part.eye, this.pictures.get(key));
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
