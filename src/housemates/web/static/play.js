// Playing: choosing a game, commanding one robot by pointer, keys or touch, and what came of it.

import { $, el, robotTint, tell, thingTint, typing } from "./page.js";
import { actionNumber, entityNumber, named, time, wish } from "./words.js";

const DRIVE = { KeyW: "forward", ArrowUp: "forward", KeyA: "left", ArrowLeft: "left", KeyD: "right", ArrowRight: "right" };
const PADS = { "move-forward": "forward", "turn-left": "left", "turn-right": "right" };
const VIEWS = [
  ["follow", "Over the shoulder"],
  ["eyes", "Through its eyes"],
  ["orbit", "The whole home"],
  ["top", "From above"],
];
const STILL = 6; // Pixels a pointer may move in a click.
const FINGERS = matchMedia("(hover: none), (pointer: coarse)"); // No mouse, no keys.
const HOLD = 450; // Milliseconds after which a touch opens the menu.

export class Play {
  constructor(start, viewer, socket) {
    Object.assign(this, { start, viewer, socket, game: null, over: null, down: new Set(), inputs: [], latencies: [] });
    this.choice = {
      task: start.tasks.find((t) => t.name === "tidy_house")?.name ?? start.tasks[0].name,
      view: "follow",
      robot: 0,
      episode: 3,
      hz: start.hz.usual,
      consent: false,
    };
    this.#keys();
    this.#pointer();
    viewer.ondrawn = (frame) => frame && this.#answered(frame);
  }

  /** Whether a person's game is on. */
  get on() {
    return Boolean(this.game) && this.game.human >= 0 && this.game.owner && !this.over;
  }

  /** The sheet that asks for task, partner and view. */
  setup() {
    const { start, choice } = this;
    const partners = start.partners.filter((p) => p.kind !== "person" && (!p.task || p.task === choice.task));
    const preferred = partners.find((p) => p.name === "script/second_half");
    if (!partners.some((p) => p.name === choice.partner))
      choice.partner = (partners.find((p) => p.kind === "learned") ?? preferred ?? partners[0])?.name;
    const cards = start.tasks.map((task) =>
      el(
        "button.choice",
        {
          type: "button",
          role: "radio",
          "data-task": task.name,
          "aria-checked": String(task.name === choice.task),
          onclick: () => {
            choice.task = task.name;
            this.setup();
          },
        },
        el("h3", {}, task.title),
        el("span.faint", {}, task.instructions[0] ?? ""),
      ),
    );
    const pick = (id, title, options, value, change) =>
      el(
        "label",
        {},
        title,
        el(
          "select",
          { id, onchange: (e) => change(e.target.value) },
          ...options.map(([v, text]) => el("option", { value: v, selected: String(v) === String(value) }, text)),
        ),
      );
    $("setup").replaceChildren(
      el(
        "div.inner",
        {},
        el("h2", {}, "Take one robot, tidy a home together"),
        el(
          "p.faint",
          {},
          "You command one robot, your partner commands itself. You share one goal and you must not touch each other.",
        ),
        el("div.choices", { role: "radiogroup", "aria-label": "Task" }, ...cards),
        el(
          "div.fields",
          {},
          pick(
            "partner",
            "Partner",
            partners.map((p) => [p.name, p.title]),
            choice.partner,
            (v) => (choice.partner = v),
          ),
          pick(
            "robot",
            "You are",
            [
              [0, "robot 0 (blue)"],
              [1, "robot 1 (orange)"],
            ],
            choice.robot,
            (v) => (choice.robot = Number(v)),
          ),
          pick("your-view", "Your view", VIEWS, choice.view, (v) => (choice.view = v)),
          pick(
            "pace",
            "Pace",
            [
              [6, "calm"],
              [start.hz.usual, "usual"],
              [20, "brisk"],
            ],
            choice.hz,
            (v) => (choice.hz = Number(v)),
          ),
          el(
            "label",
            {},
            "Episode",
            el("input", {
              id: "episode",
              type: "number",
              min: 0,
              max: start.episodes - 1,
              value: choice.episode,
              onchange: (e) => (choice.episode = this.#episode(e.target)),
            }),
          ),
          el(
            "label.line",
            {},
            el("input", {
              id: "consent",
              type: "checkbox",
              checked: choice.consent,
              onchange: (e) => (choice.consent = e.target.checked),
            }),
            start.consent,
          ),
        ),
        el(
          "div.buttons",
          {},
          el(
            "button.primary",
            { type: "button", id: "begin", disabled: !choice.partner, onclick: () => this.begin() },
            "Begin",
          ),
        ),
      ),
    );
    $("setup").hidden = false;
  }

  #episode(input) {
    const value = Math.max(0, Math.min(this.start.episodes - 1, Math.floor(Number(input.value) || 0)));
    input.value = value;
    return value;
  }

  /** Begin the chosen game. */
  begin() {
    const { task, partner, robot, episode, hz, consent } = this.choice;
    this.socket.leave();
    this.socket.send({
      type: "new_game",
      task,
      episode,
      robots: robot === 0 ? ["person", partner] : [partner, "person"],
      hz: Math.min(hz, this.start.hz.most),
      consent,
    });
  }

  /** A game has begun, or was joined again. */
  enter(game) {
    // The clock waits until the person has read what there is to do.
    if (game.paused || game.game !== this.known) {
      if (!game.paused) this.socket.send({ type: "pause", paused: true });
      this.#ready(game);
    }
    this.known = game.game;
    this.game = game;
    this.over = null;
    this.down.clear();
    this.inputs = [];
    this.#names();
    this.camera(this.choice.view);
    this.#bar();
    this.#task();
  }

  /** Whom the following cameras follow: me and my partner, or robots by number. */
  #names() {
    const own = this.game?.human ?? -1;
    for (const r of [0, 1]) {
      const word = own < 0 ? `Follow ${r}` : r === own ? "Follow me" : "Partner";
      $("cameras").querySelector(`[data-camera=follow${r}]`).textContent = word;
    }
  }

  #ready(game) {
    const colour = ["blue", "orange", "green", "violet"][game.human];
    const partner = this.start.partners.find((p) => p.name === game.robots.find((_, r) => r !== game.human));
    $("ready").replaceChildren(
      el(
        "form",
        { method: "dialog" },
        el("h2", { id: "ready-title" }, game.title.split(",")[0]),
        el("ul", {}, ...game.instructions.map((line) => el("li", {}, line))),
        el(
          "p",
          {},
          el("span.dot", { tint: robotTint(game.human) }),
          ` You are the ${colour} robot. Your partner: ${partner?.title ?? "somebody you have never met"}.`,
        ),
        el(
          "p.faint",
          {},
          FINGERS.matches
            ? "Tap a thing to fetch it, then its see-through copy to bring it there, or use the buttons below. The round buttons drive."
            : "Click a thing to fetch it, then its see-through copy to bring it there, or use the buttons below (keys 1 to 6). W A D or the arrow keys drive.",
        ),
        el("div.buttons", {}, el("button.primary", { id: "go", autofocus: true }, "Go")),
      ),
    );
    $("ready").onclose = () => {
      this.socket.send({ type: "pause", paused: false });
      document.activeElement?.blur();
    };
    $("ready").showModal();
  }

  camera(view) {
    this.choice.view = view;
    const own = this.game?.human ?? 0;
    this.viewer.camera(view === "follow" ? `follow${Math.max(0, own)}` : view);
  }

  /** Keep the task card and the skill buttons up to date with a frame. */
  frame(frame) {
    if (!this.game) return;
    const done = [...frame.doneBy].slice(0, this.game.subgoals.length);
    if (done.join() !== this.done) {
      this.done = done.join();
      this.#task(done);
      for (const skill of this.skills ?? []) {
        const over = skill.ends.some((k) => done[k] >= 0);
        skill.button.classList.toggle("done", over);
        skill.button.disabled = over;
      }
    }
    if (this.game.human < 0) return;
    const running = frame.action[this.game.human];
    const possible = frame.possible[this.game.human];
    const key = `${running} ${possible} ${frame.held.join()}`;
    if (key === this.state) return;
    this.state = key;
    for (const { button, entity, uses } of this.skills ?? []) {
      button.setAttribute("aria-pressed", String(running === entity || uses.includes(running)));
      button.classList.toggle(
        "now",
        uses.some((action) => possible & (1 << action)),
      );
    }
  }

  #task(done = []) {
    const { game } = this;
    const last = game.subgoals.length;
    $("task").replaceChildren(
      el("h3", {}, game.title.split(",")[0]),
      ...game.instructions.map((line) => el("p.faint.long", {}, line)),
      el(
        "ul",
        {},
        ...game.subgoals.map((text, k) =>
          el(
            `li${done[k] >= 0 ? ".done" : ""}`,
            {},
            el("span.dot.square", { tint: done[k] >= 0 ? robotTint(done[k]) : "var(--line)" }),
            el("span", {}, text),
          ),
        ),
      ),
      el(
        "p.faint.long",
        {},
        game.human >= 0 && last
          ? "Click a thing, its see-through copy or a piece of furniture. Right-click for all skills."
          : "",
      ),
    );
    $("task").hidden = false;
  }

  #bar() {
    const { game } = this;
    const { things } = game;
    const table = game.task === "set_table";
    const wanted = [
      [0, `Fetch the ${things[0]}`, "1"],
      [2, `Bring the ${things[0]}`, "2"],
      [1, `Fetch the ${things[1]}`, "3"],
      [3, `Bring the ${things[1]}`, "4"],
      ...(table
        ? [
            [entityNumber("drawer_right"), "Open the right drawer", "5"],
            [entityNumber("fridge"), "Open the fridge", "6"],
          ]
        : []),
    ];
    this.skills = wanted.map(([entity, text, key]) => {
      const button = el(
        "button",
        { type: "button", "data-entity": entity, "aria-pressed": "false", onclick: () => this.click(entity) },
        entity < 4 ? el("span.dot", { tint: thingTint(entity % 2) }) : null,
        el("span", {}, text),
        el("kbd", {}, key),
      );
      return { button, entity, key, uses: this.#uses(entity), ends: this.#ends(entity) };
    });
    const stop = el(
      "button",
      { type: "button", onclick: () => this.stop() },
      el("span", {}, "Stand still"),
      el("kbd", {}, "S"),
    );
    $("skills").replaceChildren(...this.skills.map((skill) => skill.button), stop);
    this.state = "";
  }

  /** Numbers of the sub-goals after which nobody needs the button of an entity. */
  #ends(entity) {
    const { subgoals, things } = this.game;
    const done =
      { 0: `pick the ${things[0]}`, 1: `pick the ${things[1]}`, 2: `place the ${things[0]}`, 3: `place the ${things[1]}` }[
        entity
      ] ?? `open the ${named(entity, things)}`;
    return subgoals.flatMap((text, k) => (text === done ? [k] : []));
  }

  /** Skills besides going there that work on an entity. */
  #uses(entity) {
    const name = ["obj0", "obj1", "goal0", "goal1"][entity];
    const verbs = entity < 2 ? [`pick ${name}`] : entity < 4 ? [`place ${name}`] : [`open ${this.start.entities[entity]}`];
    return verbs.map(actionNumber).filter((action) => action >= 0);
  }

  /** Do the sensible thing with an entity. */
  click(entity) {
    if (!this.on || entity < 0) return;
    this.hideMenu();
    this.socket.hint({ type: "click", entity });
    this.said = named(entity, this.game.things);
  }

  act(action) {
    if (!this.on) return;
    this.hideMenu();
    this.socket.hint({ type: "action", action });
  }

  stop() {
    if (!this.on) return;
    this.down.clear();
    this.socket.hint({ type: "stop" });
  }

  /** Hold or release one of the keys forward, left, right. */
  hold(key, down, at = performance.now()) {
    if (!this.on || this.down.has(key) === down) return;
    if (down) {
      this.down.add(key);
      this.inputs.push({ at, action: actionNumber({ forward: "move-forward", left: "turn-left", right: "turn-right" }[key]) });
    } else this.down.delete(key);
    this.socket.hint({ type: "key", key, down });
  }

  /** A frame has been drawn: how long did the oldest unanswered key take to be seen? */
  #answered(frame) {
    const [input] = this.inputs;
    if (!input || !this.game || this.game.human < 0 || frame.executed[this.game.human] !== input.action) return;
    this.inputs = [];
    // The browser asks for the next picture when this one has left the page.
    requestAnimationFrame(() => this.latencies.push(performance.now() - input.at));
  }

  #keys() {
    addEventListener("keydown", (event) => {
      if (!this.on || typing(event)) return;
      if (DRIVE[event.code]) this.hold(DRIVE[event.code], true, event.timeStamp);
      else if (event.code === "KeyS" || event.code === "ArrowDown") this.stop();
      else if (event.code === "KeyE" || event.code === "Enter") this.use();
      else if (event.code === "KeyC")
        this.camera(VIEWS[(VIEWS.findIndex(([v]) => v === this.choice.view) + 1) % VIEWS.length][0]);
      else if (event.code === "KeyP") this.viewer.toggle();
      else if (event.code === "Escape") this.hideMenu();
      else {
        const skill = this.skills.find((s) => s.key === event.key);
        if (!skill) return;
        if (!skill.button.disabled) this.click(skill.entity);
      }
      event.preventDefault();
    });
    addEventListener("keyup", (event) => DRIVE[event.code] && this.hold(DRIVE[event.code], false));
    addEventListener("blur", () => {
      for (const key of [...this.down]) this.hold(key, false);
    });
    for (const button of $("pad").querySelectorAll("button")) {
      const key = PADS[button.dataset.primitive];
      const set = (down) => (event) => {
        event.preventDefault();
        button.classList.toggle("down", down);
        this.hold(key, down, event.timeStamp);
      };
      button.addEventListener("pointerdown", set(true));
      for (const end of ["pointerup", "pointerleave", "pointercancel"]) button.addEventListener(end, set(false));
      button.addEventListener("contextmenu", (event) => event.preventDefault());
    }
  }

  /** Use whatever is within reach: pick, place or open. */
  use() {
    const frame = this.viewer.latest;
    const ready = this.skills.flatMap((s) => s.uses).find((action) => frame?.possible[this.game.human] & (1 << action));
    if (ready !== undefined) this.act(ready);
    else tell("nothing to pick, place or open within reach", 2);
  }

  #pointer() {
    const canvas = $("view");
    let start = null;
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const entity = (event) =>
      this.viewer.stage.pick(
        ...at(event),
        [...(this.viewer.latest?.held ?? [])],
        event.pointerType === "touch" ? 34 : undefined,
      );
    canvas.addEventListener("pointerdown", (event) => {
      this.hideMenu();
      start = { at: at(event), time: performance.now(), button: event.button };
    });
    canvas.addEventListener("pointerup", (event) => {
      const [from, now] = [start, at(event)];
      start = null;
      if (!this.on || !from || from.button !== 0 || Math.hypot(now[0] - from.at[0], now[1] - from.at[1]) > STILL) return;
      const found = entity(event);
      if (found < 0) return;
      if (event.shiftKey || (event.pointerType === "touch" && performance.now() - from.time > HOLD)) this.menu(found, now);
      else this.click(found);
    });
    canvas.addEventListener("contextmenu", (event) => {
      event.preventDefault();
      if (!this.on) return;
      const found = entity(event);
      if (found >= 0) this.menu(found, at(event));
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!this.on || event.buttons) return;
      canvas.style.cursor = entity(event) >= 0 ? "pointer" : "";
    });
  }

  /** All skills that work on an entity. */
  menu(entity, [x, y]) {
    const frame = this.viewer.latest;
    const { things, human } = this.game;
    const items = [entity, ...this.#uses(entity)].map((action, n) =>
      el(
        "button",
        {
          type: "button",
          role: "menuitem",
          "data-action": action,
          disabled: n > 0 && !(frame.possible[human] & (1 << action)),
          onclick: () => this.act(action),
        },
        wish(action, things),
      ),
    );
    $("menu").replaceChildren(
      el("p", {}, named(entity, things)),
      el("button.primary", { type: "button", role: "menuitem", onclick: () => this.click(entity) }, "the sensible thing"),
      ...items,
    );
    $("menu").hidden = false;
    const box = $("stage").getBoundingClientRect();
    $("menu").style.left = `${Math.max(8, Math.min(x, box.width - $("menu").offsetWidth - 8))}px`;
    $("menu").style.top = `${Math.max(8, Math.min(y, box.height - $("menu").offsetHeight - 8))}px`;
    $("menu").querySelector("button").focus();
  }

  hideMenu() {
    $("menu").hidden = true;
  }

  /** The end of a person's game. */
  end(over) {
    this.over = over;
    this.hideMenu();
    const { game } = this;
    const who = (r) => (r < 0 ? "nobody" : r === game.human ? "you" : "your partner");
    const solo = over.solo_steps > 0 ? over.solo_steps : null;
    const won = over.outcome === "success";
    const against = !solo
      ? "unknown"
      : !won
        ? "–"
        : over.steps < solo
          ? `${Math.round(100 * (1 - over.steps / solo))} % faster`
          : over.steps === solo
            ? "the same"
            : `${Math.round(100 * (over.steps / solo - 1))} % slower`;
    const consent = el("input", {
      type: "checkbox",
      id: "end-consent",
      checked: over.consent,
      onchange: (e) => this.socket.send({ type: "consent", consent: e.target.checked }),
    });
    const own = game.human;
    const others = over.idle.map((_, r) => r).filter((r) => r !== own);
    $("end").replaceChildren(
      el(
        "div.inner",
        {},
        el(
          "h2",
          { id: "end-title", className: won ? "good" : "bad" },
          { success: "Done: everything is in its place", collision: "You touched each other", timeout: "The time is over" }[
            over.outcome
          ] ?? over.text,
        ),
        el(
          "div.figures",
          {},
          el(
            "div",
            {},
            el("span.faint", {}, "steps together"),
            el("b", {}, String(over.steps)),
            el("span.faint", {}, `${time(over.steps)} min`),
          ),
          el(
            "div",
            {},
            el("span.faint", {}, "one robot alone"),
            el("b", {}, solo ? String(solo) : "–"),
            el("span.faint", {}, solo ? `${time(solo)} min` : ""),
          ),
          el("div", {}, el("span.faint", {}, "compared"), el("b", {}, against), el("span.faint", {}, "")),
        ),
        el(
          "table",
          {},
          el("tr", {}, el("th", {}, "what"), el("th", {}, "who did it")),
          ...over.subgoals.map((text, k) =>
            el(
              "tr",
              {},
              el("td", {}, text),
              el(
                "td",
                {},
                el("span.dot", { tint: over.done_by[k] >= 0 ? robotTint(over.done_by[k]) : "var(--line)" }),
                ` ${who(over.done_by[k])}`,
              ),
            ),
          ),
          el(
            "tr",
            {},
            el("td", {}, "way driven"),
            el("td", {}, [own, ...others].map((r) => `${who(r)} ${over.distance[r].toFixed(1)} m`).join(", ")),
          ),
          el(
            "tr",
            {},
            el("td", {}, "stood still"),
            el("td", {}, [own, ...others].map((r) => `${who(r)} ${over.idle[r]} steps`).join(", ")),
          ),
        ),
        el("label.line", {}, consent, " ", this.start.consent),
        el(
          "div.buttons",
          {},
          el(
            "button",
            { type: "button", id: "replay", onclick: () => this.#close(() => this.onreplay(over.recording)) },
            "Watch the replay",
          ),
          el("button", { type: "button", id: "again", onclick: () => this.#close(() => this.begin()) }, "Once more"),
          el(
            "button.primary",
            { type: "button", id: "another", autofocus: true, onclick: () => this.#close(() => this.#another()) },
            "Another game",
          ),
        ),
      ),
    );
    $("end").showModal();
  }

  #close(then) {
    $("end").close();
    then();
  }

  #another() {
    this.choice.episode = (this.choice.episode + 1) % this.start.episodes;
    this.quit();
    this.setup();
  }

  /** Leave the game. */
  quit() {
    $("ready").onclose = null;
    $("ready").close();
    this.socket.leave();
    this.game = null;
    this.over = null;
    this.#names();
    this.hideMenu();
  }
}
