// The forms of a game: its setup, the instructions before it, and its result.

import { $, el, robotTint } from "./page.js";
import { colourName, outcomeTitle, partnerTitle, time } from "./words.js";

export const VIEWS = [
  ["follow", "Third person"],
  ["eyes", "Head camera"],
  ["orbit", "Whole home"],
  ["top", "From above"],
];
const TOUCH = matchMedia("(hover: none), (pointer: coarse)"); // No mouse, no keys.
const HELP = {
  keys: "Click an object to fetch it, then its goal to bring it there, or use the buttons below (keys 1 to 6).",
  touch: "Tap an object to fetch it, then its goal to bring it there, or use the buttons below.",
};

/** A labelled list of [value, text] options; change(value) is called with the chosen one. */
function choose(id, title, options, value, change) {
  const item = ([v, text]) => el("option", { value: v, selected: String(v) === String(value) }, text);
  return el("label", title, el("select", { id, onchange: (event) => change(event.target.value) }, ...options.map(item)));
}

/** The sheet that asks for task, partner and view; it writes into `choice` and calls begin(). */
export function showSetup(start, choice, begin) {
  const set = (name, read = (value) => value) => {
    return (value) => {
      choice[name] = read(value);
    };
  };
  const partners = start.partners.filter((p) => p.kind !== "person" && (!p.task || p.task === choice.task));
  if (choice.partner !== "surprise" && !partners.some((p) => p.name === choice.partner)) {
    choice.partner = "surprise";
  }
  const chooseTask = (name) => {
    choice.task = name;
    showSetup(start, choice, begin);
  };
  const card = ({ name, title, instructions }) => {
    const checked = String(name === choice.task);
    const options = {
      type: "button",
      role: "radio",
      "data-task": name,
      "aria-checked": checked,
      onclick: () => chooseTask(name),
    };
    return el("button.choice", options, el("h3", title), el("span.faint", instructions[0] ?? ""));
  };
  const robots = [0, 1].map((r) => [r, `robot ${r} (${colourName(r)})`]);
  const speeds = [
    [6, "slow"],
    [start.hz.usual, "normal"],
    [20, "fast"],
  ];
  const episode = el("input", { id: "episode", type: "number", min: 0, max: start.episodes - 1, value: choice.episode });
  episode.onchange = () => {
    choice.episode = Math.max(0, Math.min(start.episodes - 1, Math.floor(Number(episode.value) || 0)));
    episode.value = choice.episode;
  };
  const consent = el("input", { id: "consent", type: "checkbox", checked: choice.consent });
  consent.onchange = () => {
    choice.consent = consent.checked;
  };
  const reveal = el("input", { id: "reveal", type: "checkbox", checked: choice.reveal });
  reveal.onchange = () => {
    choice.reveal = reveal.checked;
  };
  const names = [["surprise", start.hidden.surprise], ...partners.map((p) => [p.name, p.title])];
  const form = el(
    "div.inner",
    el("h2", "Play with a robot"),
    el("p.faint", "You control one robot, your partner controls the other. Reach the goal together. Do not touch each other."),
    el("div.choices", { role: "radiogroup", "aria-label": "Task" }, ...start.tasks.map(card)),
    el(
      "div.fields",
      choose("partner", "Partner", names, choice.partner, set("partner")),
      choose("robot", "Your robot", robots, choice.robot, set("robot", Number)),
      choose("your-view", "Camera", VIEWS, choice.view, set("view")),
      choose("pace", "Speed", speeds, choice.hz, set("hz", Number)),
      el("label", "Episode", episode),
      el("label.line", reveal, "Show the name of my partner and what it is about to do."),
      el("label.line", consent, start.consent),
    ),
    el(
      "div.buttons",
      el("button.primary", { type: "button", id: "begin", disabled: !choice.partner, onclick: begin }, "Start"),
    ),
  );
  $("setup").replaceChildren(form);
  $("setup").hidden = false;
}

/** The instructions of a game; closed() is called when the player has read them. */
export function showInstructions(game, closed) {
  const partner = game.robots.find((_, r) => r !== game.human);
  const help = TOUCH.matches ? HELP.touch : HELP.keys;
  const drive = TOUCH.matches ? "The round buttons drive." : "W A D or the arrow keys drive.";
  const form = el(
    "form",
    { method: "dialog" },
    el("h2", { id: "ready-title" }, game.title.split(",")[0]),
    el("ul", ...game.instructions.map((text) => el("li", text))),
    el(
      "p",
      el("span.dot", { tint: robotTint(game.human) }),
      ` You are the ${colourName(game.human)} robot. Your partner: ${partner ? partnerTitle(partner) : "none"}.`,
    ),
    el("p.faint", `${help} ${drive}`),
    el("div.buttons", el("button.primary", { id: "go", autofocus: true }, "Go")),
  );
  $("ready").replaceChildren(form);
  $("ready").onclose = closed;
  $("ready").showModal();
}

/** Steps of a game against those of one robot alone, in words. */
function compared({ steps, outcome }, solo) {
  if (!solo || outcome !== "success") return "–";
  if (steps === solo) return "the same";
  return steps < solo ? `${Math.round(100 * (1 - steps / solo))} % faster` : `${Math.round(100 * (steps / solo - 1))} % slower`;
}

/** The result of a game. on: {consent(agreed), replay(), again(), another()}. */
export function showResult(over, game, consentText, on) {
  const who = (r) => (r < 0 ? "nobody" : r === game.human ? "you" : "your partner");
  const solo = over.solo_steps > 0 ? over.solo_steps : null;
  const robots = [game.human, ...over.idle.map((_, r) => r).filter((r) => r !== game.human)];
  const each = (text) => robots.map((r) => `${who(r)} ${text(r)}`).join(", ");
  const figure = (title, value, below = "") => el("div", el("span.faint", title), el("b", value), el("span.faint", below));
  const done = (text, k) => {
    const by = over.done_by[k];
    return el("tr", el("td", text), el("td", el("span.dot", { tint: by >= 0 ? robotTint(by) : "var(--line)" }), ` ${who(by)}`));
  };
  const consent = el("input", { type: "checkbox", id: "end-consent", checked: over.consent });
  consent.onchange = () => on.consent(consent.checked);
  const close = (then) => () => {
    $("end").close();
    then();
  };
  const partner = over.robots.find((_, r) => r !== game.human);
  const title = outcomeTitle(over.outcome);
  const form = el(
    "div.inner",
    el(
      "h2",
      { id: "end-title", className: over.outcome === "success" ? "good" : "bad" },
      title[0].toUpperCase() + title.slice(1),
    ),
    el(
      "div.figures",
      figure("steps together", String(over.steps), `${time(over.steps)} min`),
      figure("one robot alone", solo ? String(solo) : "–", solo ? `${time(solo)} min` : ""),
      figure("difference", compared(over, solo)),
    ),
    el(
      "table",
      partner ? el("caption", `Your partner: ${partnerTitle(partner)}`) : null,
      el("tr", el("th", "sub-goal"), el("th", "reached by")),
      ...over.subgoals.map(done),
      el(
        "tr",
        el("td", "distance"),
        el(
          "td",
          each((r) => `${over.distance[r].toFixed(1)} m`),
        ),
      ),
      el(
        "tr",
        el("td", "idle"),
        el(
          "td",
          each((r) => `${over.idle[r]} steps`),
        ),
      ),
    ),
    el("label.line", consent, " ", consentText),
    el(
      "div.buttons",
      el("button", { type: "button", id: "replay", onclick: close(on.replay) }, "Watch recording"),
      el("button", { type: "button", id: "again", onclick: close(on.again) }, "Repeat episode"),
      el("button.primary", { type: "button", id: "another", autofocus: true, onclick: close(on.another) }, "Next episode"),
    ),
  );
  $("end").replaceChildren(form);
  $("end").showModal();
}
