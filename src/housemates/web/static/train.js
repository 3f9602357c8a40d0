// Training while it runs: the curves of a run's log, and a new episode with its newest checkpoint.

import { $, askJson, el, notify } from "./page.js";

const FIRST = [
  "charts/success",
  "charts/collision",
  "charts/timeout",
  "charts/episodic_return",
  "charts/episodic_length",
  "charts/decisions_per_second",
  "losses/entropy",
  "losses/policy_loss",
  "losses/value_loss",
  "losses/approx_kl",
  "losses/explained_variance",
];
const EVERY = 3000; // Milliseconds between two looks at the log.
const POINTS = 400; // Points of a curve.

const SPACE = "http://www.w3.org/2000/svg";

/** Curves as an SVG in a 240 x 90 box; each of them {stage, xs, ys}, all to the same scale. */
function curves(found) {
  const svg = document.createElementNS(SPACE, "svg");
  svg.setAttribute("viewBox", "0 0 240 90");
  svg.setAttribute("preserveAspectRatio", "none");
  const [xs, ys] = [found.flatMap((one) => one.xs), found.flatMap((one) => one.ys)];
  const [first, last, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  for (const one of found) {
    const across = (x) => ((x - first) / (last - first || 1)) * 240;
    const down = (y) => 86 - ((y - low) / (high - low || 1)) * 82;
    const points = one.ys.map((y, k) => `${across(one.xs[k]).toFixed(1)},${down(y).toFixed(1)}`);
    const curve = document.createElementNS(SPACE, "polyline");
    for (const [name, value] of Object.entries({
      points: points.join(" "),
      fill: "none",
      stroke: tint(one.stage),
      "stroke-width": 1.6,
      "vector-effect": "non-scaling-stroke",
      "stroke-linejoin": "round",
      "data-stage": one.stage,
    }))
      curve.setAttribute(name, value);
    svg.append(curve);
  }
  return svg;
}

const tint = (stage) => `var(--stage${stage})`;

/** Some of the rows of a run that have a value, in their order: about POINTS, and always the last. */
function thinned(rows, key) {
  const some = rows.filter((row) => Number.isFinite(row[key]));
  const every = Math.max(1, Math.ceil(some.length / POINTS));
  return some.filter((_, k) => k % every === 0 || k === some.length - 1);
}

const brief = (v) =>
  Math.abs(v) >= 10000
    ? `${(v / 1000).toFixed(0)}k`
    : Math.abs(v) >= 100
      ? v.toFixed(0)
      : Math.abs(v) >= 0.01 || v === 0
        ? v.toFixed(2)
        : Math.abs(v) >= 0.0005
          ? v.toFixed(3)
          : v.toExponential(0);

export class Train {
  constructor(start, socket) {
    Object.assign(this, { start, socket, rows: [], next: 0, run: null });
  }

  /** Show a run and keep looking at its log. */
  show(id) {
    if (this.run !== id) Object.assign(this, { run: id, rows: [], next: 0, log: null });
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
      const log = await askJson(`/api/run/${run}?from=${this.next}`);
      if (run !== this.run) return;
      this.rows.push(...log.rows);
      if (log.rows.length || !this.log) {
        this.log = log;
        this.#draw();
      }
      this.log = log;
      this.next = log.next;
      this.trouble = false;
    } catch (error) {
      if (!this.trouble) notify(error.message);
      this.trouble = true;
    }
    if (!$("training").hidden) this.timer = setTimeout(() => this.#look(), EVERY);
  }

  #draw() {
    const { rows, log } = this;
    const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const shown = [
      ...FIRST.filter((key) => keys.includes(key)),
      ...keys.filter((key) => !FIRST.includes(key) && key.includes("/")).sort(),
    ];
    // Decisions are counted anew in each stage: each has its own curve.
    const stages = [...new Set(rows.map((row) => row.stage))];
    const cards = shown.slice(0, 24).flatMap((key) => {
      const found = stages.flatMap((stage) => {
        const some = thinned(
          rows.filter((row) => row.stage === stage),
          key,
        );
        return some.length ? [{ stage, xs: some.map((row, k) => row.decisions ?? k), ys: some.map((row) => row[key]) }] : [];
      });
      if (!found.length) return [];
      const all = found.flatMap((one) => one.ys);
      return [
        el(
          "article.curve.card",
          el("span.now", brief(found.at(-1).ys.at(-1))),
          el("span.faint", key.split("/").at(-1).replaceAll("_", " ")),
          curves(found),
          el("p.range.faint", `${brief(Math.min(...all))} to ${brief(Math.max(...all))}`),
        ),
      ];
    });
    const names = { 1: "stage 1: population", 2: "stage 2: coordination agent" };
    const legend =
      stages.length > 1
        ? el(
            "p.legend",
            ...stages.map((stage) => el("span", el("span.dot", { tint: tint(stage) }), ` ${names[stage] ?? `stage ${stage}`}`)),
          )
        : "";
    const spent = stages.map((stage) => rows.findLast((row) => row.stage === stage).decisions).filter(Number.isFinite);
    const count = spent.length ? spent.reduce((a, b) => a + b, 0) : rows.length;
    const task = el("select", { id: "run-task" }, ...this.start.tasks.map((t) => el("option", { value: t.name }, t.title)));
    if (log.task) task.value = log.task;
    const enter = (robots) => () =>
      this.socket.send({
        type: "new_game",
        task: task.value,
        episode: Math.floor(Math.random() * this.start.episodes),
        robots,
        hz: this.start.hz.usual,
      });
    const it = `run/${this.run}`;
    $("training").replaceChildren(
      el(
        "div.inner",
        el("h2", log.title),
        el(
          "p.faint",
          rows.length
            ? `${count.toLocaleString("en")} decisions${log.finished ? ", finished" : ""}. Numbers are the newest values.`
            : "No metrics yet. The first row appears after the first update.",
        ),
        el(
          "div.fields",
          log.task ? "" : el("label", "Task", task),
          el(
            "button.primary",
            { type: "button", id: "drop-in", disabled: !log.checkpoint, onclick: enter([it, it]) },
            "Watch the newest checkpoint",
          ),
          el(
            "button",
            { type: "button", disabled: !log.checkpoint, onclick: enter(["person", it]) },
            "Play with the newest checkpoint",
          ),
        ),
        legend,
        el("div.curves", ...cards),
      ),
    );
  }
}
