// Playing: commands one robot by pointer, keys or touch.

import { showInstructions, showResult, showSetup, VIEWS } from "./dialogs.js";
import { $, el, notify, objectTint, robotTint, typing } from "./page.js";
import { entityActions, entityObject, entityTitle, imperative, keyAction } from "./words.js";

const DRIVE = { KeyW: "forward", ArrowUp: "forward", KeyA: "left", ArrowLeft: "left", KeyD: "right", ArrowRight: "right" };
const PADS = { "move-forward": "forward", "turn-left": "left", "turn-right": "right" };
const STILL = 6; // Pixels a pointer may move in a click.
const HOLD = 450; // Milliseconds after which a touch opens the menu.

export class Play {
  constructor(start, viewer, socket) {
    Object.assign(this, {
      start,
      viewer,
      socket,
      game: null,
      over: null,
      down: new Set(),
      inputs: [],
      latencies: [],
      unfolded: false,
    });
    this.choice = {
      task: start.demo.task,
      view: "follow",
      robot: 0,
      episode: start.demo.episode,
      hz: start.hz.usual,
      consent: false,
      reveal: false,
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
    showSetup(this.start, this.choice, () => this.begin());
  }

  /** Begin the chosen game. */
  begin() {
    const { task, partner, robot, episode, hz, consent, reveal } = this.choice;
    this.socket.leave();
    this.socket.send({
      type: "new_game",
      task,
      episode,
      robots: robot === 0 ? ["person", partner] : [partner, "person"],
      hz: Math.min(hz, this.start.hz.most),
      consent,
      reveal,
    });
  }

  /** A game has begun, or was joined again. */
  enter(game) {
    // The clock waits until the person has read what there is to do.
    if (game.paused || game.game !== this.known) {
      if (!game.paused) this.socket.send({ type: "pause", paused: true });
      showInstructions(game, () => {
        this.socket.send({ type: "pause", paused: false });
        document.activeElement?.blur();
      });
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

  camera(view) {
    if (this.on) this.socket.hint({ type: "view", view });
    this.choice.view = view;
    const own = this.game?.human ?? 0;
    this.viewer.camera(view === "follow" ? `follow${Math.max(0, own)}` : view);
  }

  /** Keep the task card and the skill buttons up to date with a frame. */
  frame(frame) {
    if (!this.game) return;
    const done = [...frame.done_by].slice(0, this.game.subgoals.length);
    if (done.join() !== this.done) {
      this.done = done.join();
      this.#task(done);
      for (const skill of this.skills ?? []) {
        const over = skill.subgoals.some((k) => done[k] >= 0);
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
    for (const { button, navigate, uses } of this.skills ?? []) {
      button.setAttribute("aria-pressed", String(running === navigate || uses.includes(running)));
      button.classList.toggle(
        "now",
        uses.some((action) => possible & (1 << action)),
      );
    }
  }

  /** The card with the task: its instructions and which sub-goals are done by whom. */
  #task(done = []) {
    const { game } = this;
    const row = (text, k) => {
      const tint = done[k] >= 0 ? robotTint(done[k]) : "var(--line)";
      return el(`li${done[k] >= 0 ? ".done" : ""}`, el("span.dot.square", { tint }), el("span", text));
    };
    $("task").replaceChildren(
      el("h3", game.title.split(",")[0]),
      el("ul", ...game.subgoals.map(row)),
      el(
        "details.faint.long",
        { open: this.unfolded, ontoggle: (event) => this.#unfold(event.target.open) },
        el("summary", "Instructions"),
        ...game.instructions.map((text) => el("p", text)),
        el("p", game.human >= 0 ? "Click an object, its goal or furniture. Right-click for all actions." : ""),
      ),
    );
    $("task").hidden = false;
  }

  /** Remember whether the instructions are shown: the card is made again with every sub-goal. */
  #unfold(open) {
    this.unfolded = open;
  }

  /** The buttons of the game, each with its key. */
  #bar() {
    this.skills = this.game.buttons.map(({ entity, title, subgoals }, n) => {
      const object = entityObject(entity);
      const button = el(
        "button",
        { type: "button", "data-entity": entity, "aria-pressed": "false", onclick: () => this.click(entity) },
        object === null ? null : el("span.dot", { tint: objectTint(object) }),
        el("span", title),
        el("kbd", String(n + 1)),
      );
      const [navigate, ...uses] = entityActions(entity);
      return { button, entity, key: String(n + 1), navigate, uses, subgoals };
    });
    const stop = el("button", { type: "button", onclick: () => this.stop() }, el("span", "Stop"), el("kbd", "S"));
    $("skills").replaceChildren(...this.skills.map((skill) => skill.button), stop);
    this.state = "";
  }

  /** Do what an entity is for: go there, then pick, place or open. */
  click(entity) {
    if (!this.on || entity < 0) return;
    this.hideMenu();
    this.socket.hint({ type: "click", entity });
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
      this.inputs.push({ at, action: keyAction(key) });
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
    else notify("nothing to pick, place or open within reach", 2);
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
    const item = (action) => {
      const disabled = !(frame.possible[human] & (1 << action));
      const options = { type: "button", role: "menuitem", "data-action": action, disabled, onclick: () => this.act(action) };
      return el("button", options, imperative(action, things));
    };
    $("menu").replaceChildren(
      el("p", entityTitle(entity, things)),
      el("button.primary", { type: "button", role: "menuitem", onclick: () => this.click(entity) }, "default action"),
      ...entityActions(entity).map(item),
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
    showResult(over, this.game, this.start.consent, {
      consent: (agreed) => this.socket.send({ type: "consent", consent: agreed }),
      replay: () => this.onreplay(over.recording),
      again: () => this.begin(),
      another: () => this.#another(),
    });
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
