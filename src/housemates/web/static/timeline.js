// Time as a picture: a lane of skills for each robot, sub-goals as marks, the end in its colour, a cursor to drag.

import { called } from "./film.js";
import { $, css } from "./page.js";
import { kindOf } from "./words.js";

const STRENGTH = { manipulate: 1, navigate: 0.5, drive: 0.38, wait: 0.14 };
const LANE = 24;
const MARKS = 24;
const LEFT = 66;
const RIGHT = 14;

export class Timeline {
  /** seek(step) is called while the cursor is dragged. */
  constructor(seek) {
    this.canvas = $("timeline");
    this.films = [];
    let down = false;
    const go = (event) => seek(this.step(event.offsetX));
    this.canvas.addEventListener("pointerdown", (event) => {
      down = true;
      this.canvas.setPointerCapture(event.pointerId);
      go(event);
    });
    this.canvas.addEventListener("pointermove", (event) => (down ? go(event) : this.#explain(event)));
    this.canvas.addEventListener("pointerup", () => (down = false));
    this.canvas.addEventListener("pointercancel", () => (down = false));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /** The step of the episode under pixel x. */
  step(x) {
    const share = (x - LEFT) / Math.max(1, this.canvas.clientWidth - LEFT - RIGHT);
    return Math.round(this.low + Math.max(0, Math.min(1, share)) * (this.high - this.low));
  }

  /** films: the recorded one, and the other future if there is one; cursor: step of the episode. */
  set(films, low, high, cursor) {
    Object.assign(this, { films, low, high, cursor });
    const lanes = films.reduce((sum, film) => sum + film.robots.length, 0);
    const tall = MARKS + LANE * lanes + (films.length > 1 ? 6 : 0) + 14;
    if (this.tall !== tall) this.canvas.style.height = `${tall}px`;
    this.tall = tall;
    this.canvas.setAttribute("aria-valuemin", low);
    this.canvas.setAttribute("aria-valuemax", high);
    this.canvas.setAttribute("aria-valuenow", Math.floor(cursor));
    this.draw();
  }

  /** Describe what is under the pointer. */
  #explain({ offsetX, offsetY }) {
    const step = this.step(offsetX);
    const slack = this.step(offsetX + 7) - step;
    const texts = this.films.flatMap((film) =>
      film.events.filter((e) => Math.abs(film.first + e.tick - step) <= slack).map((e) => e.text),
    );
    let lane = Math.floor((offsetY - MARKS) / LANE);
    for (const film of this.films) {
      const band = film.bands.find((b) => b.robot === lane && film.first + b.first <= step && step < film.first + b.last);
      if (band) texts.push(`${called(film, lane)} ${band.text}`);
      lane -= film.robots.length;
    }
    this.canvas.title = [...new Set(texts)].join("\n");
  }

  draw() {
    const { canvas } = this;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (!width || !this.films.length) return;
    const scale = Math.min(devicePixelRatio, 2);
    canvas.width = width * scale;
    canvas.height = height * scale;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const x = (step) => LEFT + ((step - this.low) / Math.max(1, this.high - this.low)) * (width - LEFT - RIGHT);
    let y = MARKS;
    this.films.forEach((film, n) => {
      this.#lanes(pen, film, n, x, y);
      y += LANE * film.robots.length + 6;
    });
    this.films.forEach((film, n) => {
      this.#marks(pen, film, n, x);
    });
    pen.strokeStyle = pen.fillStyle = css("--ink");
    pen.lineWidth = 1.5;
    const at = x(this.cursor);
    pen.beginPath();
    pen.moveTo(at, 3);
    pen.lineTo(at, height - 13);
    pen.stroke();
    pen.beginPath();
    pen.arc(at, 5, 4.5, 0, 7);
    pen.fill();
    pen.fillStyle = css("--faint");
    pen.font = "11px system-ui";
    pen.textAlign = "center";
    const every = [5, 10, 20, 50, 100, 200].find((v) => x(v) - x(0) > 44) ?? 400;
    for (let step = Math.ceil(this.low / every) * every; step <= this.high; step += every)
      pen.fillText(String(step), x(step), height - 2);
  }

  #lanes(pen, film, n, x, top) {
    film.robots.forEach((_, r) => {
      const y = top + LANE * r;
      const tint = css(`--robot${r % 4}`);
      pen.fillStyle = css("--hover");
      pen.fillRect(x(film.first), y, Math.max(1, x(film.first + film.length - 1) - x(film.first)), LANE - 4);
      pen.fillStyle = css("--ink");
      pen.font = "12px system-ui";
      pen.textAlign = "left";
      pen.fillText(`${n ? "↳ " : ""}${called(film, r)}`, 6, y + 14);
      for (const band of film.bands) {
        if (band.robot !== r) continue;
        const [from, to] = [x(film.first + band.first), x(film.first + band.last)];
        pen.globalAlpha = STRENGTH[kindOf(band.action)];
        pen.fillStyle = tint;
        pen.fillRect(from, y, Math.max(1.5, to - from - 1), LANE - 4);
        pen.globalAlpha = 1;
        pen.fillStyle = css(kindOf(band.action) === "manipulate" ? "--on-work" : "--ink");
        pen.font = "11px system-ui";
        // The words stand right of a mark near the band's beginning, and before the next one.
        const marks = film.events.filter((e) => e.kind === "subgoal" && e.robot === r).map((e) => x(film.first + e.tick));
        const begin = Math.max(from, ...marks.filter((at) => at < from + 24 && at > from - 9)) + 11;
        const end = Math.min(to - 4, ...marks.filter((at) => at > begin).map((at) => at - 9));
        if (band.short && pen.measureText(band.short).width < end - begin) pen.fillText(band.short, begin, y + 14);
      }
    });
  }

  #marks(pen, film, n, x) {
    for (const event of film.events) {
      const at = x(film.first + event.tick);
      if (event.kind === "subgoal") {
        const lane = this.films.slice(0, n).reduce((sum, f) => sum + LANE * f.robots.length + 6, MARKS) + LANE * event.robot;
        pen.fillStyle = css(event.what.endsWith("1") ? "--object1" : event.what.endsWith("0") ? "--object0" : "--ink");
        pen.strokeStyle = css("--paper");
        pen.lineWidth = 1.5;
        pen.beginPath();
        for (const [dx, dy] of [
          [0, -7],
          [7, 0],
          [0, 7],
          [-7, 0],
        ])
          pen.lineTo(at + dx, lane + 10 + dy);
        pen.closePath();
        pen.fill();
        pen.stroke();
      } else if (event.kind === "infeasible" || event.kind === "interruption") {
        pen.fillStyle = css(event.kind === "infeasible" ? "--failure" : "--faint");
        pen.fillRect(at - 1, MARKS - 7, 2, 6);
      } else {
        pen.fillStyle = css(event.kind === "success" ? "--success" : "--failure");
        // Through the film's own lanes, and up to its words.
        const above = this.films.slice(0, n).reduce((sum, f) => sum + LANE * f.robots.length + 6, MARKS);
        const top = n ? above - 4 : MARKS - 14;
        pen.fillRect(at - 1.5, top, 3, above + LANE * film.robots.length - top);
        if (n) pen.fillRect(at - 1.5, MARKS - 14, 3, 8);
        pen.font = "600 11px system-ui";
        pen.textAlign = "right";
        pen.fillText(event.text, at - 5, MARKS - 7);
      }
    }
  }
}
