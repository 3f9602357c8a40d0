// Watching: the list of recordings, uploading one, and replacing a robot from a step on.

import { $, ask, askJson, el, notify, withToken } from "./page.js";
import { outcomeTitle, partnerTitle } from "./words.js";

export class Watch {
  constructor(start, viewer, socket) {
    Object.assign(this, { start, viewer, socket });
    $("open-list").onclick = () => this.list($("list").hidden);
    $("swap").onclick = () => this.swap();
    this.#drops();
  }

  /** Open a recording by its id and begin to play it. */
  async open(id, play = true) {
    try {
      this.socket.leave();
      await this.viewer.open(id);
      this.list(false);
      this.onopened?.();
      if (play) this.viewer.toggle();
    } catch (error) {
      notify(error.message);
    }
  }

  /** Show or hide the list. */
  async list(on) {
    $("list").hidden = !on;
    $("open-list").setAttribute("aria-expanded", String(on));
    if (!on) return;
    const { recordings, games } = await askJson("/api/recordings");
    this.draw(recordings, games);
  }

  draw(recordings, running) {
    const row = (r) =>
      el(
        "li",
        el(
          "button",
          {
            type: "button",
            "data-recording": r.id,
            "aria-current": r.id === this.viewer.film?.id ? "true" : null,
            onclick: () => this.open(r.id),
          },
          el("b", r.title),
          el("span.faint", r.robots.map(partnerTitle).join(" and ")),
          el(`span.${r.outcome === "success" ? "good" : "bad"}`, `${outcomeTitle(r.outcome)} after ${r.steps} steps`),
          el("span.faint", [r.kind === "recording" ? "" : r.kind, r.folder, r.file].filter(Boolean).join(" / ")),
        ),
      );
    const games = running.map((game) =>
      el(
        "li",
        el(
          "button",
          { type: "button", "data-game": game.id, onclick: () => this.join(game.id) },
          el("b", `live: ${game.title}`),
          el("span.faint", game.robots.map(partnerTitle).join(" and ")),
        ),
      ),
    );
    const file = el("input", {
      type: "file",
      accept: ".npz",
      hidden: true,
      onchange: (event) => this.upload(event.target.files[0]),
    });
    $("list").replaceChildren(
      el(
        "div.head",
        el("h2", "Recordings"),
        el("div.spring"),
        el("button.quiet.icon", { type: "button", "aria-label": "Close", onclick: () => this.list(false) }, "✕"),
      ),
      el("ul", ...games, ...recordings.toReversed().map(row)),
      recordings.length
        ? ""
        : el(
            "p.faint",
            "No recordings yet. Drop one here, watch a new episode below, or record one: ",
            el("code", "housemates watch --scripted --record game.npz"),
          ),
      el("button", { type: "button", onclick: () => file.click() }, "Open a file"),
      file,
      this.#fresh(recordings.length),
      ...(this.viewer.film?.id
        ? [
            el(
              "a.faint",
              { href: withToken(`/api/recording/${this.viewer.film.id}/file`), download: "" },
              "Download this recording",
            ),
          ]
        : []),
    );
  }

  /** Start a live episode of two partners. */
  begin(task, episode, robots) {
    this.socket.leave();
    this.socket.send({ type: "new_game", task, episode, robots, hz: this.start.hz.usual });
    this.list(false);
  }

  /** The form for one; open where there is nothing else to watch. */
  #fresh(count) {
    const { tasks, partners, episodes } = this.start;
    const task = el("select", { id: "fresh-task" }, ...tasks.map((t) => el("option", { value: t.name }, t.title)));
    const { demo } = this.start;
    const episode = el("input", { id: "fresh-episode", type: "number", min: 0, max: episodes - 1, value: demo.episode });
    const who = [0, 1].map((r) => el("select", { id: `fresh-${r}` }));
    const ahead = [0, 1].map((r) => el("input", { id: `ahead-${r}`, type: "checkbox" }));
    const trained = (name) => Boolean(partners.find((p) => p.name === name)?.task);
    const allow = () =>
      who.forEach((select, r) => {
        ahead[r].disabled = !trained(select.value);
      });
    for (const select of who) select.onchange = allow;
    const fill = () =>
      who.forEach((select, r) => {
        const fit = partners.filter((p) => p.kind !== "person" && (!p.task || p.task === task.value));
        const likely = fit.find((p) => p.name === demo.robots[r]);
        select.replaceChildren(...fit.map((p) => el("option", { value: p.name, selected: p === likely }, p.title)));
        allow();
      });
    task.onchange = fill;
    fill();
    const begin = () => {
      const number = Math.max(0, Math.min(episodes - 1, Math.floor(Number(episode.value) || 0)));
      this.begin(
        task.value,
        number,
        who.map(({ value }, r) => (ahead[r].checked && trained(value) ? `${value}+lookahead` : value)),
      );
    };
    return el(
      "details",
      { open: !count },
      el("summary", "Watch a new episode"),
      el(
        "div.fields",
        el("label", "Task", task),
        el("label", "Episode", episode),
        ...who.flatMap((select, r) => [
          el("label", `Robot ${r}`, select),
          el("label.line", ahead[r], `robot ${r} looks ahead`),
        ]),
        el("button.primary", { type: "button", id: "fresh-begin", onclick: begin }, "Start"),
      ),
    );
  }

  join(game) {
    this.socket.leave();
    this.socket.send({ type: "join", game });
    this.list(false);
  }

  async upload(file) {
    if (!file) return;
    try {
      const { id } = await (
        await ask("/api/recordings", { method: "POST", body: file, headers: { "Content-Type": "application/octet-stream" } })
      ).json();
      await this.open(id);
    } catch (error) {
      notify(error.message);
    }
  }

  #drops() {
    let depth = 0;
    const enter = (now) => {
      depth = Math.max(0, now);
      $("drop").hidden = !depth;
    };
    addEventListener("dragenter", (event) => event.dataTransfer?.types.includes("Files") && enter(depth + 1));
    addEventListener("dragleave", () => enter(depth - 1));
    addEventListener("dragover", (event) => event.preventDefault());
    addEventListener("drop", (event) => {
      event.preventDefault();
      enter(0);
      this.onneeded?.();
      this.upload(event.dataTransfer.files[0]);
    });
  }

  /** Ask which robot is replaced by whom from the cursor on. */
  swap() {
    const { film, cursor } = this.viewer;
    if (!film || film.live) return;
    this.viewer.playing = false;
    const frame = Math.max(0, Math.min(film.length - 2, Math.floor(cursor) - film.first));
    const partners = this.start.partners.filter((p) => !p.task || p.task === film.task);
    const robot = el(
      "select",
      { id: "swap-robot" },
      ...film.robots.map((name, r) => el("option", { value: r, selected: r === 1 }, `robot ${r}: ${partnerTitle(name)}`)),
    );
    const who = el(
      "select",
      { id: "swap-partner" },
      ...partners.map((p) => el("option", { value: p.name }, p.title)),
      el("option", { value: "person" }, "me"),
    );
    const form = el(
      "form",
      {
        method: "dialog",
        onsubmit: (event) => {
          if (event.submitter?.value !== "go") return;
          this.continue(frame, Number(robot.value), who.value);
        },
      },
      el("h2", { id: "swap-title" }, "Replace a robot from here on"),
      el("p.faint", `The episode continues live from the state after step ${film.first + frame}. Then compare both futures.`),
      el("div.fields", el("label", "Replace", robot), el("label", "by", who)),
      el(
        "div.buttons",
        el("button", { value: "no", formNoValidate: true }, "Cancel"),
        el("button.primary", { value: "go", id: "swap-go" }, "Continue"),
      ),
    );
    $("swapper").replaceChildren(form);
    $("swapper").showModal();
  }

  /** Continue the shown recording from a frame with another partner as one of the robots. */
  continue(frame, robot, who) {
    const { film, rate } = this.viewer;
    const robots = film.robots.map((_, r) => (r === robot ? who : null));
    this.socket.send({ type: "swap", recording: film.id, frame, robots, hz: Math.min(rate, this.start.hz.most) });
  }
}
