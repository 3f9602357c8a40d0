// A user study: consent, games with hidden partners, questions, and a code at the end. The server says what comes next.

import { $, el, query } from "./page.js";
import { outcomeTitle } from "./words.js";

const ENDS = ["strongly disagree", "strongly agree"];

/** The participant's name: of the address, or the one that the server gave this browser before. */
function stored(name) {
  try {
    if (name) sessionStorage.setItem("participant", name);
    return query.get("pid") || sessionStorage.getItem("participant");
  } catch {
    return query.get("pid"); // Storage may be forbidden; then a reload begins again.
  }
}

export class Study {
  constructor(told, socket) {
    Object.assign(this, { told, socket, part: null, sent: null });
  }

  /** Show the present part; before the first one, what there is to agree to. */
  setup() {
    const { part } = this;
    if (!part) this.#consent();
    else if (part.kind === "game") this.#game(part);
    else if (part.kind === "questions") this.#questions(part);
    else this.#end(part);
    $("setup").hidden = false;
  }

  /** The server says what comes next. */
  next(part) {
    this.part = part;
    stored(part.participant);
    this.setup();
  }

  /** Ask for the present part again, after a game. */
  go() {
    this.socket.send({ type: "study_enter", participant: this.part?.participant ?? stored() });
  }

  /** A message was refused: what was sent can be sent again. */
  failed() {
    if (this.sent) this.sent.disabled = false;
    this.sent = null;
  }

  /** Send a message once: its button waits for the answer. */
  #once(button, message) {
    if (button.disabled) return;
    button.disabled = true;
    this.sent = button;
    this.socket.send(message);
  }

  /** The end of a game: nothing is told of the partner. */
  over(message, then) {
    const title = outcomeTitle(message.outcome);
    const close = () => $("end").close();
    $("end").onclose = () => {
      $("end").onclose = null;
      then();
    };
    $("end").replaceChildren(
      el(
        "div.inner",
        el("h2", { id: "end-title" }, title[0].toUpperCase() + title.slice(1)),
        el(
          "div.buttons",
          el("button.primary", { type: "button", id: "study-on", autofocus: true, onclick: close }, "Continue"),
        ),
      ),
    );
    $("end").showModal();
  }

  #show(...children) {
    $("setup").replaceChildren(el("div.inner", ...children));
  }

  #consent() {
    const { title, text, consent } = this.told;
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(stored() || "x")) {
      this.#show(
        el("h2", title),
        el("p", "This address has a participant number that is not valid. Please tell those who run the study."),
      );
      return;
    }
    const begin = el("button.primary", { type: "button", id: "study-begin", disabled: true }, "Begin");
    const agree = el("input", { id: "study-agree", type: "checkbox" });
    agree.onchange = () => {
      begin.disabled = !agree.checked;
    };
    begin.onclick = () => {
      const name = stored();
      this.#once(begin, { type: "study_enter", ...(name ? { participant: name } : {}) });
    };
    this.#show(
      el("h2", title),
      ...text.map((paragraph) => el("p", paragraph)),
      el("label.line", agree, " ", consent),
      el("div.buttons", begin),
    );
  }

  #game(part) {
    const start = (event) => this.#once(event.target, { type: "study_game", participant: part.participant });
    const what = part.practice ? "A game for practice." : "Your partner may differ from game to game.";
    this.#show(
      el("h2", `Game ${part.game} of ${part.games}`),
      el("p", what),
      el("p.faint", "Reach the goal together. Do not touch each other."),
      el("div.buttons", el("button.primary", { type: "button", id: "study-game", onclick: start }, "Start")),
    );
  }

  #questions(part) {
    const answers = part.questions.map(() => 0);
    const send = el("button.primary", { type: "button", id: "study-answer", disabled: true }, "Continue");
    const row = (question, k) => {
      const choice = (n) => {
        const input = el("input", {
          type: "radio",
          name: `question-${k}`,
          value: String(n),
          "aria-label": `${n} of ${part.scale}`,
        });
        input.onchange = () => {
          answers[k] = n;
          send.disabled = answers.includes(0);
        };
        return el("label.point", input, el("span", String(n)));
      };
      const points = Array.from({ length: part.scale }, (_, n) => choice(n + 1));
      return el(
        "fieldset.question",
        el("legend", question),
        el("div.points", ...points),
        el("div.ends.faint", el("span", ENDS[0]), el("span", ENDS[1])),
      );
    };
    send.onclick = () => {
      this.#once(send, { type: "study_answer", participant: part.participant, part: part.part, answers });
    };
    this.#show(el("h2", "Questions"), ...part.questions.map(row), el("div.buttons", send));
  }

  #end(part) {
    this.#show(
      el("h2", "Thank you"),
      el("p", "The study is complete. You can close this page."),
      part.code ? el("p", "Your completion code: ", el("b", { id: "study-code" }, part.code)) : null,
    );
  }
}
