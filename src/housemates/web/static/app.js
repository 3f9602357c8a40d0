// Entry point of the page: asks the server for its tables, then shows one of the modes watch, play and train.
// `window.housemates` holds plain values of the page's state for tests.

import { $, askJson, el, notify, query, typing } from "./page.js";
import { Play } from "./play.js";
import { Socket } from "./socket.js";
import { Study } from "./study.js";
import { Train } from "./train.js";
import { Viewer } from "./viewer.js";
import { Watch } from "./watch.js";
import { learn, paint } from "./words.js";

const facts = { ready: false, mode: "watch", errors: [], connected: false, preparing: false, over: null };
let viewer, watch, play, train, socket, start, study;

/** Light or dark: as chosen here before, else as the system has it. */
function theme(next) {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const set = (name) => {
    document.documentElement.dataset.theme = name;
    paint(name);
    viewer?.dress();
  };
  let kept = null;
  try {
    if (next) localStorage.setItem("theme", next);
    kept = localStorage.getItem("theme");
  } catch {
    kept = next; // Storage may be forbidden; the choice then lasts as long as the page.
  }
  set(kept ?? (dark.matches ? "dark" : "light"));
  dark.onchange = () => !kept && set(dark.matches ? "dark" : "light");
}

/** Show one of the modes: watch, play, train. */
function mode(name) {
  facts.mode = name;
  document.body.dataset.mode = name;
  const playing = name === "play" && Boolean(play.game);
  for (const tab of document.querySelectorAll("nav button")) {
    if (tab.dataset.mode === name) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  $("transport").hidden = name !== "watch" || !viewer.film;
  $("skills").hidden = $("pad").hidden = !playing;
  $("task").hidden = !playing;
  $("training").hidden = name !== "train";
  $("setup").hidden = name !== "play" || playing;
  $("robots").hidden = !viewer.film || name === "train";
  $("empty").hidden = name !== "watch" || Boolean(viewer.film);
  $("cameras").hidden = name === "train" || !viewer.film;
  if (name !== "watch") watch.list(false);
  if (name === "play" && !playing) (study ?? play).setup();
  if (name === "train") train.show(train.run ?? start.run ?? start.runs[0]?.id);
  else train.hide();
  viewer.dirty = true;
}

/** A live game has been entered: a person's is played, any other watched. */
async function enter(game) {
  facts.preparing = false;
  facts.over = null;
  notify("");
  const again = viewer.live?.game === game.game;
  await viewer.enter(game);
  play.game = null;
  if (game.human >= 0 && game.owner) {
    play.enter(game);
    mode("play");
  } else mode("watch");
  if (!again) facts.games = (facts.games ?? 0) + 1;
  // Frames that came while the home was being fetched were not drawn: ask for the newest.
  if (held) {
    frame(held);
    held = null;
  }
}

let held = null;
let entering = Promise.resolve();

function frame(given) {
  viewer.frame(given);
  if (play.game) play.frame(given);
}

const handlers = {
  state(connected, reason) {
    facts.connected = connected;
    if (!connected) notify(reason || "the connection to the server is lost - reconnecting", 0);
    else {
      notify("");
      viewer.reconnected();
    }
  },
  preparing(message) {
    facts.preparing = true;
    notify(message.what, 0);
  },
  game(message) {
    held = null;
    facts.entering = true;
    entering = enter(message)
      .catch((error) => notify(error.message))
      .finally(() => (facts.entering = false));
  },
  frame(given) {
    if (facts.entering) held = given;
    else frame(given);
  },
  events(message) {
    entering.then(() => viewer.live?.events.push(...message.events));
  },
  decision(message) {
    viewer.live?.decisions.push(message);
  },
  look_ahead(message) {
    viewer.ahead(message);
  },
  clock(message) {
    viewer.playing = !message.paused;
    viewer.rate = message.hz;
    viewer.dirty = true;
  },
  async over(message) {
    await entering;
    facts.over = message;
    const person = play.game;
    if (study && person) {
      play.over = message;
      study.over(message, () => {
        play.quit();
        study.go();
      });
      return;
    }
    if (person) play.end(message);
    try {
      await viewer.finished(message.recording, person?.human ?? -1);
      mode(facts.mode);
    } catch (error) {
      notify(error.message);
    }
  },
  study(message) {
    study.next(message);
    mode("play");
  },
  /** The game to join again has ended. */
  lost() {
    if (!play.game || play.over) return;
    play.game = null;
    notify("the game has ended: no page was connected for a minute");
    mode("play");
  },
  error(message) {
    facts.preparing = false;
    facts.refused = message.error;
    notify(message.error);
    study?.failed();
    if (study && message.ended) {
      play.quit();
      study.go();
    }
  },
};

function keys(event) {
  if (typing(event)) return;
  if (event.key === "?") return about();
  if (event.key === "l") return $("theme").click();
  if (play.on || facts.mode !== "watch" || !viewer.film) return undefined;
  const by = event.shiftKey ? 10 : 1;
  const camera = ["orbit", "top", "follow0", "follow1", "eyes"][Number(event.key) - 1];
  if (event.key === " ") viewer.toggle();
  else if (event.key === "ArrowLeft" || event.key === ",") viewer.step(-by);
  else if (event.key === "ArrowRight" || event.key === ".") viewer.step(by);
  else if (event.key === "Home") viewer.seek(viewer.low);
  else if (event.key === "End") viewer.seek(viewer.high);
  else if (event.key === "o") viewer.nextOverlay();
  else if (event.key === "s")
    $("swap").click(); // Does nothing where the button is disabled.
  else if (camera) viewer.camera(camera);
  else return undefined;
  return event.preventDefault();
}

function about() {
  const rows = [
    ["Space", "play or pause"],
    ["← →", "one step back or forward, ten with shift"],
    ["1 … 5", "camera: orbit, top, follow 0, follow 1, head"],
    ["S", "replace a robot from here on"],
    ["O", "look-ahead of the next robot, or none"],
    ["L", "light or dark"],
    ["W A D or arrows", "playing: drive forward, turn"],
    ["1 … 6", "playing: fetch and bring objects, open furniture"],
    ["E", "playing: pick, place or open what is within reach"],
    ["S", "playing: stop"],
    ["C, P", "playing: camera, pause"],
  ];
  $("about").replaceChildren(
    el(
      "form",
      { method: "dialog" },
      el("h2", { id: "about-title" }, "Keys"),
      el("table", ...rows.map(([key, text]) => el("tr", el("td", el("kbd", key)), el("td", text)))),
      el("p.faint", `housemates ${start.version}. The page talks to this server only.`),
      el("div.buttons", el("button.primary", "Close")),
    ),
  );
  $("about").showModal();
}

/** Plain values for tests, made when they are read. */
function expose() {
  const plain = (found) =>
    found &&
    Object.fromEntries(
      Object.entries(found)
        .filter(([key]) => key !== "depth")
        .map(([key, value]) => [key, ArrayBuffer.isView(value) ? [...value] : value]),
    );
  const brief = (film) =>
    film && {
      id: film.id,
      kind: film.kind,
      game: film.game,
      live: film.live,
      first: film.first,
      length: film.length,
      outcome: film.outcome,
      robots: film.robots,
      human: film.human,
      events: film.events,
      bands: film.bands,
      things: film.things,
    };
  window.housemates = {
    get facts() {
      return { ...facts, mode: facts.mode, drops: socket.drops };
    },
    get step() {
      return Math.floor(viewer.cursor);
    },
    get steps() {
      return viewer.high;
    },
    get playing() {
      return viewer.playing;
    },
    get film() {
      return brief(viewer.film);
    },
    get other() {
      return brief(viewer.other);
    },
    get future() {
      return viewer.future;
    },
    get overlay() {
      return {
        robot: viewer.overlay,
        offered: [...$("overlay").options].map((option) => Number(option.value)),
        aheads: viewer.front?.aheads[viewer.overlay] ?? [],
        card: $("ahead").textContent,
        drawn: viewer.stage.overlay.parts,
      };
    },
    get camera() {
      return viewer.stage.kind;
    },
    get asleep() {
      return socket.asleep;
    },
    get caption() {
      return $("caption").textContent;
    },
    get drawn() {
      return viewer.stage.drawn;
    },
    get latest() {
      return plain(viewer.latest);
    },
    get pictures() {
      return viewer.cards.shown;
    },
    get latencies() {
      return play.latencies;
    },
    frameOf: (which, step) => plain(viewer[which]?.frame(step - viewer[which].first)),
    /** Page coordinates of an entity, or null when it cannot be seen. */
    where(entity) {
      const { cast, home } = viewer.stage;
      const place =
        entity < 2
          ? cast.things[entity].position.toArray()
          : entity < 4
            ? cast.goalPoints[entity - 2].toArray()
            : home.scene.receptacles.find((r) => r.entity === entity)?.center;
      const at = place && viewer.stage.project(place);
      const box = $("view").getBoundingClientRect();
      return at && [at[0] + box.left, at[1] + box.top];
    },
    pickAt: (x, y) =>
      viewer.stage.pick(x - $("view").getBoundingClientRect().left, y - $("view").getBoundingClientRect().top, [
        ...(viewer.latest?.held ?? []),
      ]),
    seek: (step) => viewer.seek(step),
    begin: (task, episode, robots) => watch.begin(task, episode, robots),
    cut: () => socket.ws.close(),
  };
}

async function begin() {
  theme();
  const bodies = askJson("/api/bodies");
  start = await askJson("/api/start");
  learn(start);
  paint(document.documentElement.dataset.theme);
  socket = new Socket(handlers);
  viewer = new Viewer(await bodies, socket, start.hz.most);
  watch = new Watch(start, viewer, socket);
  play = new Play(start, viewer, socket);
  train = new Train(start, socket);
  if (start.study) {
    study = new Study(start.study, socket);
    document.body.dataset.study = "on";
  }
  play.onreplay = (id) => {
    play.quit();
    watch.open(id);
  };
  watch.onopened = () => mode("watch");
  watch.onneeded = () => {
    play.quit();
    mode("watch");
  };
  expose();
  $("tab-train").hidden = !start.runs.length;
  for (const tab of document.querySelectorAll("nav button")) {
    tab.onclick = () => {
      if (tab.dataset.mode !== "play" && play.game) play.quit();
      mode(tab.dataset.mode);
    };
  }
  $("theme").onclick = () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  $("help").onclick = about;
  addEventListener("keydown", keys);
  $("empty").replaceChildren(
    el("h2", "No recording is open"),
    el("p.faint", "Watch two robots in a new episode, play with a robot, or drop a recording onto this page."),
    el(
      "div.buttons",
      el("button", { type: "button", onclick: () => watch.list(true) }, "Recordings"),
      el("button", { type: "button", onclick: () => mode("play") }, "Play"),
      el(
        "button.primary",
        {
          type: "button",
          id: "show-me",
          onclick: () => watch.begin(start.demo.task, start.demo.episode, start.demo.robots),
        },
        "Watch two robots",
      ),
    ),
  );
  socket.open();
  train.run = query.get("run") ?? start.run;
  const wanted = query.has("recording")
    ? "watch"
    : query.has("run")
      ? "train"
      : (query.get("mode") ?? (start.mode === "watch" && start.run ? "train" : start.mode));
  const recording = query.get("recording") ?? start.recording;
  if (recording && wanted === "watch" && !study) await watch.open(recording, !query.has("still"));
  mode(study ? "play" : ["watch", "play", "train"].includes(wanted) ? wanted : "watch");
  facts.ready = true;
}

addEventListener("error", (event) => facts.errors.push(String(event.message)));
addEventListener("unhandledrejection", (event) => facts.errors.push(String(event.reason)));
begin().catch((error) => {
  $("cameras").hidden = $("robots").hidden = true;
  $("empty").replaceChildren(el("h2", "The page cannot start"), el("p", error.message));
  $("empty").hidden = false;
});
