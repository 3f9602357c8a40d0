// Time: which film is shown at which step, whether it runs, and the pictures that belong to it.
// The cursor counts steps of the episode, so that two futures of one episode stay side by side.

import { Cards } from "./cards.js";
import { between, Film, LiveFilm } from "./film.js";
import { aheadAt, chances, tell } from "./overlay.js";
import { $, askJson, el, fast, notify, press } from "./page.js";
import { Stage } from "./stage.js";
import { Timeline } from "./timeline.js";

const CAPTION = 14; // Steps for which an event stays written.
const ENDS = ["success", "collision", "timeout"];
const scenes = new Map();

export class Viewer {
  /** most: the fastest clock of the server, steps per second. */
  constructor(bodies, socket, most) {
    this.socket = socket;
    this.most = most;
    this.stage = new Stage(bodies);
    this.cards = new Cards();
    this.timeline = new Timeline((step) => this.seek(step));
    this.film = null;
    this.other = null;
    this.future = "recorded";
    this.cursor = 0;
    this.playing = false;
    this.rate = 10;
    this.overlay = -1; // The robot whose look-ahead is shown, -1 for none.
    this.listening = false;
    this.dirty = true;
    this.before = performance.now();
    this.stage.controls.addEventListener("change", () => (this.dirty = true));
    new ResizeObserver(() => (this.dirty = true)).observe($("view"));
    this.#controls();
    const loop = (now) => {
      this.#turn(now);
      requestAnimationFrame(loop);
    };
    requestAnimationFrame(loop);
  }

  get low() {
    return this.film?.first ?? 0;
  }
  get high() {
    return Math.max(...[this.film, this.other].filter(Boolean).map((film) => film.first + film.length - 1), 0);
  }
  /** The film whose time is the server's. */
  get live() {
    return [this.other, this.film].find((film) => film?.live) ?? null;
  }
  get front() {
    return this.other && this.future !== "recorded" ? this.other : this.film;
  }

  /** Show a recording from its beginning. */
  async open(id) {
    const film = new Film(await askJson(`/api/recording/${id}`));
    await this.#begin(film);
    return film;
  }

  /** Show a live game; a fork of the present recording becomes its second future. */
  async enter(game) {
    const film = new LiveFilm(game);
    const fork = game.fork && this.film && !this.film.live && this.film.id === game.fork.recording && game.human < 0;
    if (fork) {
      this.other = film;
      this.choose("both");
      this.cursor = film.first;
      this.cards.set(this.front);
    } else await this.#begin(film);
    this.playing = !game.paused;
    this.#setRate(game.hz);
    this.#chrome();
    return film;
  }

  async #begin(film) {
    if (!scenes.has(film.home_hash)) scenes.set(film.home_hash, await askJson(`/api/scene/${film.home_hash}`));
    this.film = film;
    this.other = null;
    this.future = "recorded";
    this.latest = this.previous = null;
    this.cursor = film.first;
    this.playing = false;
    this.stage.self = Math.max(0, film.human);
    this.stage.set(scenes.get(film.home_hash), film);
    this.cards.set(film);
    $("title").textContent = film.title;
    this.#chrome();
  }

  /** The live future has ended and is a recording now: both can be scrubbed. me: the robot that was mine, or -1. */
  async finished(id, me) {
    const film = new Film(await askJson(`/api/recording/${id}`));
    film.me = me;
    if (this.other?.live) this.other = film;
    else if (this.film?.live) {
      this.film = film;
      this.cards.set(film);
    }
    this.playing = false;
    this.cursor = this.high;
    if (this.other) this.cards.set(this.front);
    this.#chrome();
  }

  /** A frame of the live game. */
  frame(frame) {
    const film = this.live;
    if (!film) return;
    film.add(frame);
    this.previous = this.latest ?? frame;
    this.latest = frame;
    this.arrived = performance.now();
    if (!this.back) this.cursor = frame.step;
    if (frame.paused === this.playing) this.playing = !frame.paused;
    this.dirty = true;
  }

  toggle() {
    if (this.live) {
      this.back = false;
      this.socket.send({ type: "pause", paused: this.playing });
      return;
    }
    if (!this.film) return;
    if (!this.playing && this.cursor >= this.high) this.cursor = this.low;
    this.playing = !this.playing;
    this.dirty = true;
  }

  step(by) {
    if (this.live && by > 0 && this.cursor >= this.latest?.step) this.socket.send({ type: "step" });
    else this.seek(Math.floor(this.cursor) + by);
  }

  /** Go to a step of the episode; a live game goes on meanwhile. */
  seek(step) {
    if (!this.film) return;
    this.cursor = Math.max(this.low, Math.min(this.high, step));
    this.back = Boolean(this.live) && this.cursor < (this.latest?.step ?? 0);
    if (!this.live) this.playing = false;
    this.dirty = true;
  }

  choose(future) {
    this.future = future;
    press($("futures"), (button) => button.dataset.future === future);
    if (this.front) this.cards.set(this.front);
    this.#offer();
    this.dirty = true;
  }

  speed(times) {
    this.#setRate(this.live ? Math.min(10 * times, this.most) : 10 * times);
    if (this.live) this.socket.send({ type: "speed", hz: this.rate });
  }

  dress() {
    this.stage.dress();
    this.dirty = true;
  }

  /** What has just happened: the latest events, all of the same step. */
  news() {
    const film = this.front;
    const at = Math.floor(this.cursor) - film.first;
    const last = film.events.findLast((e) => e.tick <= at && (at - e.tick <= CAPTION || ENDS.includes(e.kind)));
    return last ? film.events.filter((e) => e.tick === last.tick) : [];
  }

  /** Show the look-ahead of a robot, -1 for none. */
  lookAhead(robot) {
    this.overlay = robot;
    $("overlay").value = String(robot);
    this.listen();
    this.#fetchAheads();
    this.dirty = true;
  }

  /** The next robot whose look-ahead can be shown, after the last one none. */
  nextOverlay() {
    const values = [...$("overlay").options].map((option) => Number(option.value));
    if (!$("overlay").hidden) this.lookAhead(values[(values.indexOf(this.overlay) + 1) % values.length]);
  }

  /** Tell the server whether live games are to carry their look-ahead. */
  listen() {
    if (this.listening === this.overlay >= 0) return;
    this.listening = this.overlay >= 0;
    this.socket.send({ type: "overlay", look_ahead: this.listening });
  }

  /** A new connection knows nothing of what was asked for. */
  reconnected() {
    this.listening = false;
    this.listen();
  }

  /** A decision of the live game. */
  ahead(message) {
    const film = this.live;
    if (!film) return;
    film.aheads[message.robot] ??= [];
    film.aheads[message.robot].push(message);
    this.dirty = true;
  }

  /** Ask for the look-aheads of the recordings that are shown, once for each robot. */
  #fetchAheads() {
    const robot = this.overlay;
    for (const film of [this.film, this.other]) {
      if (robot < 0 || !film || film.live || !film.look_ahead[robot] || film.aheads[robot]) continue;
      film.aheads[robot] = [];
      askJson(`/api/recording/${film.id}/lookahead?robot=${robot}`)
        .then(({ decisions }) => {
          film.aheads[robot] = decisions;
          this.dirty = true;
        })
        .catch((error) => notify(error.message));
    }
  }

  /** Offer the robots whose look-ahead is known. */
  #offer() {
    const known = (this.front?.look_ahead ?? []).map((row, r) => (row ? r : -1)).filter((r) => r >= 0);
    const text = (r) => `Look-ahead of robot ${r}${this.front.look_ahead[r].acts ? "" : " (only shown)"}`;
    $("overlay").replaceChildren(
      el("option", { value: -1 }, "Look-ahead: off"),
      ...known.map((r) => el("option", { value: r }, text(r))),
    );
    $("overlay").hidden = !known.length;
    this.lookAhead(known.includes(this.overlay) ? this.overlay : -1);
  }

  #setRate(rate) {
    this.rate = rate;
    const options = [...$("speed").options].map((option) => Number(option.value));
    const nearest = options.reduce((a, b) => (Math.abs(b * 10 - rate) < Math.abs(a * 10 - rate) ? b : a));
    $("speed").value = String(nearest);
  }

  #controls() {
    $("play").onclick = () => this.toggle();
    $("back").onclick = () => this.step(-1);
    $("forth").onclick = () => this.step(1);
    $("overlay").onchange = (event) => this.lookAhead(Number(event.target.value));
    $("speed").onchange = (event) => this.speed(Number(event.target.value));
    for (const button of $("futures").querySelectorAll("button")) button.onclick = () => this.choose(button.dataset.future);
    for (const button of $("cameras").querySelectorAll("button")) button.onclick = () => this.camera(button.dataset.camera);
  }

  camera(kind) {
    this.stage.camera(kind);
    this.dirty = true;
  }

  #chrome() {
    $("futures").hidden = !this.other;
    $("empty").hidden = Boolean(this.film);
    $("swap").disabled = !this.film || this.film.live;
    this.#offer();
    this.dirty = true;
  }

  #turn(now) {
    const passed = Math.min(0.25, (now - this.before) / 1000);
    this.before = now;
    if (!this.film) return;
    if (this.playing && !this.live) {
      this.cursor = Math.min(this.high, this.cursor + passed * this.rate);
      if (this.cursor >= this.high) this.playing = false;
      this.dirty = true;
    }
    const gliding = this.live && !fast && now - (this.arrived ?? 0) < 1100 / this.rate;
    if (!this.dirty && !gliding && !this.stage.moving) return;
    this.dirty = false;
    this.#draw(now);
    if (this.latest) this.socket.drawn(this.latest);
    this.ondrawn?.(this.latest);
  }

  #draw(now) {
    const shown = this.other && this.future === "both" ? [this.film, this.other] : [this.front];
    const pictures = shown.map((film) => this.#frame(film, now)).filter(Boolean);
    const words = shown.length > 1 ? ["as recorded", "with the new partner"] : [];
    const aheads = shown.map((film) => this.#aheadOf(film));
    this.stage.note(shown.length > 1 ? [] : chances(aheads[0]));
    this.stage.draw(pictures, words, aheads);
    $("ahead").hidden = this.overlay < 0 || $("transport").hidden;
    if (!$("ahead").hidden) tell(this.#aheadOf(this.front), this.front, this.overlay);
    const at = Math.floor(this.cursor) - this.front.first;
    const frame = this.front.frame(Math.max(0, at));
    if (frame) this.cards.show(Math.max(0, Math.min(this.front.length - 1, at)), frame);
    if (!$("transport").hidden) this.timeline.set([this.film, this.other].filter(Boolean), this.low, this.high, this.cursor);
    const news = this.news();
    const kind = news.at(-1)?.kind;
    const paused = this.live && this.front.me >= 0 && this.latest?.paused && !$("ready").open;
    $("caption").textContent = paused
      ? "paused: press P to continue"
      : news.map((event) => (this.front.me >= 0 ? event.for_player : event.text)).join(" · ");
    $("caption").className = kind === "success" ? "good" : ["collision", "timeout", "infeasible"].includes(kind) ? "bad" : "";
    $("clock").textContent = `step ${Math.floor(this.cursor)} of ${this.high}`;
    $("play")
      .querySelector("path")
      .setAttribute("d", this.playing ? "M4 3h3v10H4zM9 3h3v10H9z" : "M4 2.5v11l9-5.5z");
    $("play").setAttribute("aria-label", this.playing ? "Pause" : "Play");
  }

  /** The look-ahead that a film shows at the cursor, or null. */
  #aheadOf(film) {
    if (this.overlay < 0 || $("transport").hidden) return null;
    return aheadAt(film.aheads[this.overlay], this.overlay, Math.floor(this.cursor) - film.first);
  }

  /** The picture of a film at the cursor, gliding between steps. */
  #frame(film, now) {
    const at = Math.max(0, Math.min(film.length - 1, this.cursor - film.first));
    if (film.live && !this.back && this.latest) {
      // Things change hands at once; only robots and doors glide to where they are now.
      const glide = between(this.previous, this.latest, Math.min(1, ((now - this.arrived) / 1000) * this.rate));
      return fast ? this.latest : { ...this.latest, pose: glide.pose, arm: glide.arm, door: glide.door };
    }
    const low = film.frame(at);
    return film.live || !low ? low : between(low, film.frame(Math.min(film.length - 1, Math.floor(at) + 1)), at % 1);
  }
}
