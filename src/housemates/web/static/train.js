// Training as it happens: the run's curves as small pictures, and a door into a fresh episode of the newest checkpoint.

import { $, askJson, el, tell } from "./page.js";

const FIRST = ["charts/success", "charts/collision", "charts/timeout", "charts/episodic_return", "charts/episodic_length", "charts/decisions_per_second", "losses/entropy", "losses/policy_loss", "losses/value_loss", "losses/approx_kl", "losses/explained_variance"];
const EVERY = 3000; // Milliseconds between two looks at the log.
const POINTS = 400; // Points of a curve.

/** Curve of y over x, as an SVG polyline in a 240 x 90 box. */
function curve(xs, ys) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 240 90");
  svg.setAttribute("preserveAspectRatio", "none");
  const [low, high] = [Math.min(...ys), Math.max(...ys)];
  const [first, last] = [xs[0], xs.at(-1)];
  const points = ys.map((y, k) => `${(((xs[k] - first) / (last - first || 1)) * 240).toFixed(1)},${(86 - ((y - low) / (high - low || 1)) * 82).toFixed(1)}`);
  const line = document.createElementNS(space, "polyline");
  for (const [name, value] of Object.entries({ points: points.join(" "), fill: "none", stroke: "var(--accent)", "stroke-width": 1.6, "vector-effect": "non-scaling-stroke", "stroke-linejoin": "round" })) line.setAttribute(name, value);
  svg.append(line);
  return svg;
}

const brief = (v) => (Math.abs(v) >= 10000 ? `${(v / 1000).toFixed(0)}k` : Math.abs(v) >= 100 ? v.toFixed(0) : Math.abs(v) >= 0.01 || v === 0 ? v.toFixed(2) : v.toExponential(0));

export class Train {
  constructor(start, socket) {
    Object.assign(this, { start, socket, rows: [], next: 0, run: null });
  }

  /** Show a run and keep looking at its log. */
  show(id) {
    if (this.run !== id) Object.assign(this, { run: id, rows: [], next: 0, told: null });
    clearTimeout(this.timer);
    this.#look();
  }

  hide() {
    clearTimeout(this.timer);
    this.timer = null;
  }

  async #look() {
    const run = this.run;
    try {
      const told = await askJson(`/api/run/${run}?from=${this.next}`);
      if (run !== this.run) return;
      this.rows.push(...told.rows);
      if (told.rows.length || !this.told) {
        this.told = told;
        this.#draw();
      }
      this.told = told;
      this.next = told.next;
      this.trouble = false;
    } catch (error) {
      if (!this.trouble) tell(error.message);
      this.trouble = true;
    }
    if (!$("training").hidden) this.timer = setTimeout(() => this.#look(), EVERY);
  }

  #draw() {
    const { rows, told } = this;
    const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const shown = [...FIRST.filter((key) => keys.includes(key)), ...keys.filter((key) => !FIRST.includes(key) && key.includes("/")).sort()];
    const every = Math.max(1, Math.ceil(rows.length / POINTS));
    const cards = shown.slice(0, 24).flatMap((key) => {
      const some = rows.filter((row, k) => Number.isFinite(row[key]) && (k % every === 0 || k === rows.length - 1));
      if (!some.length) return [];
      return [el("article.curve.card", {}, el("span.now", {}, brief(some.at(-1)[key])), el("span.faint", {}, key.split("/").at(-1).replaceAll("_", " ")),
        curve(some.map((row, k) => row.decisions ?? k), some.map((row) => row[key])),
        el("p.range.faint", {}, `${brief(Math.min(...some.map((row) => row[key])))} to ${brief(Math.max(...some.map((row) => row[key])))}`))];
    });
    const task = el("select", { id: "run-task" }, ...this.start.tasks.map((t) => el("option", { value: t.name }, t.title)));
    if (told.task) task.value = told.task;
    const enter = (robots) => () => this.socket.send({ type: "new_game", task: task.value, episode: Math.floor(Math.random() * this.start.episodes), robots, hz: this.start.hz.usual });
    const [it, last] = [`run/${this.run}`, rows.at(-1)];
    $("training").replaceChildren(el("div.inner", {},
      el("h2", {}, told.title),
      el("p.faint", {}, rows.length ? `${(last.decisions ?? rows.length).toLocaleString("en")} decisions so far${told.finished ? ", finished" : ""}. Curves over decisions; the figure is the newest value.` : "Nothing logged yet: the first row appears after the first update."),
      el("div.fields", {}, told.task ? "" : el("label", {}, "Task", task),
        el("button.primary", { type: "button", id: "drop-in", disabled: !told.checkpoint, onclick: enter([it, it]) }, "Watch a fresh episode of the newest checkpoint"),
        el("button", { type: "button", disabled: !told.checkpoint, onclick: enter(["person", it]) }, "Play with it")),
      el("div.curves", {}, ...cards)));
  }
}
