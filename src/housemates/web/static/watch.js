// Watching: the list of recordings, dropping one onto the page, and swapping a partner.

import { $, ask, askJson, el, robotTint, tell, withToken } from "./page.js";
import { titled } from "./words.js";

const ENDS = { success: "task done", collision: "collision", timeout: "out of time", running: "stopped" };

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
      tell(error.message);
    }
  }

  /** Show or hide the list. */
  async list(on) {
    $("list").hidden = !on;
    $("open-list").setAttribute("aria-expanded", String(on));
    if (!on) return;
    const [{ recordings }, { games }] = await Promise.all([askJson("/api/recordings"), askJson("/api/start")]);
    this.start.games = games;
    this.draw(recordings);
  }

  draw(recordings) {
    const row = (r) =>
      el(
        "li",
        {},
        el(
          "button",
          {
            type: "button",
            "data-recording": r.id,
            "aria-current": r.id === this.viewer.film?.id ? "true" : null,
            onclick: () => this.open(r.id),
          },
          el("b", {}, r.title),
          el("span.faint", {}, r.robots.map(titled).join(" and ")),
          el(`span.${r.outcome === "success" ? "good" : "bad"}`, {}, `${ENDS[r.outcome] ?? r.outcome} after ${r.steps} steps`),
          el("span.faint", {}, [r.kind === "recording" ? "" : r.kind, r.folder, r.file].filter(Boolean).join(" / ")),
        ),
      );
    const games = this.start.games.map((game) =>
      el(
        "li",
        {},
        el(
          "button",
          { type: "button", "data-game": game.id, onclick: () => this.join(game.id) },
          el("b", {}, `live: ${game.title}`),
          el("span.faint", {}, game.robots.map(titled).join(" and ")),
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
        {},
        el("h2", {}, "Recordings"),
        el("div.spring"),
        el("button.quiet.icon", { type: "button", "aria-label": "Close", onclick: () => this.list(false) }, "✕"),
      ),
      el("ul", {}, ...games, ...recordings.toReversed().map(row)),
      recordings.length
        ? ""
        : el(
            "p.faint",
            {},
            "There is none yet. Drop one here, watch a fresh episode below, or make one: ",
            el("code", {}, "housemates watch --scripted --record game.npz"),
          ),
      el("button", { type: "button", onclick: () => file.click() }, "Open a file …"),
      file,
      this.#fresh(recordings.length),
      ...(this.viewer.film?.id
        ? [
            el(
              "a.faint",
              { href: withToken(`/api/recording/${this.viewer.film.id}/file`), download: "" },
              "Save the shown recording as a file",
            ),
          ]
        : []),
    );
  }

  /** A fresh episode that two partners play, live. */
  begin(task, episode, robots) {
    this.socket.leave();
    this.socket.send({ type: "new_game", task, episode, robots, hz: this.start.hz.usual });
    this.list(false);
  }

  /** A form for one; open where there is nothing else to watch. */
  #fresh(count) {
    const { tasks, partners, episodes } = this.start;
    const task = el("select", { id: "fresh-task" }, ...tasks.map((t) => el("option", { value: t.name }, t.title)));
    const episode = el("input", { id: "fresh-episode", type: "number", min: 0, max: episodes - 1, value: 3 });
    const who = [0, 1].map((r) => el("select", { id: `fresh-${r}` }));
    const fill = () =>
      who.forEach((select, r) => {
        const fit = partners.filter((p) => p.kind !== "person" && (!p.task || p.task === task.value));
        const likely = fit.find((p) => p.name === ["script/first_half", "script/second_half"][r]);
        select.replaceChildren(...fit.map((p) => el("option", { value: p.name, selected: p === likely }, p.title)));
      });
    task.onchange = fill;
    fill();
    const begin = () => {
      const number = Math.max(0, Math.min(episodes - 1, Math.floor(Number(episode.value) || 0)));
      this.begin(
        task.value,
        number,
        who.map((select) => select.value),
      );
    };
    return el(
      "details",
      { open: !count },
      el("summary", {}, "Watch a fresh episode"),
      el(
        "div.fields",
        {},
        el("label", {}, "Task", task),
        el("label", {}, "Episode", episode),
        ...who.map((select, r) => el("label", {}, `Robot ${r}`, select)),
        el("button.primary", { type: "button", id: "fresh-begin", onclick: begin }, "Begin"),
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
      tell(error.message);
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

  /** Ask who goes on with the episode from the cursor. */
  swap() {
    const { film, cursor } = this.viewer;
    if (!film || film.live) return;
    this.viewer.playing = false;
    const frame = Math.max(0, Math.min(film.length - 2, Math.floor(cursor) - film.first));
    const partners = this.start.partners.filter((p) => !p.task || p.task === film.task);
    const robot = el(
      "select",
      { id: "swap-robot" },
      ...film.robots.map((name, r) => el("option", { value: r, selected: r === 1 }, `robot ${r}: ${titled(name)}`)),
    );
    const who = el(
      "select",
      { id: "swap-partner" },
      ...partners.map((p) => el("option", { value: p.name }, p.title)),
      el("option", { value: "person" }, "me: I take over"),
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
      el("h2", { id: "swap-title" }, "Swap a partner from here"),
      el(
        "p.faint",
        {},
        `The episode goes on live from the very state after step ${film.first + frame}. Then you can compare both futures.`,
      ),
      el("div.fields", {}, el("label", {}, "Replace", robot), el("label", {}, "by", who)),
      el(
        "div.buttons",
        {},
        el("button", { value: "no", formNoValidate: true }, "Cancel"),
        el("button.primary", { value: "go", id: "swap-go" }, "Continue"),
      ),
    );
    $("swapper").replaceChildren(form);
    $("swapper").showModal();
  }

  /** Let the shown recording go on from a frame with somebody else as one of the robots. */
  continue(frame, robot, who) {
    const { film, rate } = this.viewer;
    const robots = film.robots.map((_, r) => (r === robot ? who : null));
    this.socket.send({ type: "swap", recording: film.id, frame, robots, hz: Math.min(rate, this.start.hz.most) });
    this.swapped = { robot, who, tint: robotTint(robot) };
  }
}
