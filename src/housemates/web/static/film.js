// What happened, frame by frame: a recording from the server, or a live game that grows while one watches.
// Both answer the same questions, so that everything that draws need not know which it is.

import { count, numbers, TYPES } from "./page.js";
import { doing, frameFlags, frameLayout, short } from "./words.js";

/** A recording as the server sends it. */
export class Film {
  constructor(recording) {
    Object.assign(this, recording);
    this.me = -1;
    this.live = false;
    this.length = recording.steps + 1;
    this.aheads = {}; // Decisions of the look-ahead by robot, once they were asked for.
    const arrays = Object.entries(recording.frames);
    this.arrays = Object.fromEntries(arrays.map(([name, array]) => [name, numbers(array)]));
    this.size = Object.fromEntries(arrays.map(([name, { shape }]) => [name, count(shape.slice(1))]));
    this.#running();
  }

  /** Skills that were running when a fork began: their decisions are in the other recording. */
  #running() {
    const { action } = this.arrays;
    this.robots.forEach((_, robot) => {
      const [first] = this.frame(0).action.slice(robot, robot + 1);
      if (first < 0 || this.bands.some((band) => band.robot === robot && band.first === 0)) return;
      let last = 1;
      while (last < this.length - 1 && action[last * this.robots.length + robot] === first) last++;
      this.bands.push({
        robot,
        action: first,
        first: 0,
        last,
        text: doing(first, this.things),
        short: short(first, this.things),
      });
    });
  }

  /** The frame at a whole number. */
  frame(at) {
    const k = Math.max(0, Math.min(this.length - 1, Math.floor(at)));
    const found = { step: this.first + k };
    for (const [name, array] of Object.entries(this.arrays))
      found[name] = array.subarray(k * this.size[name], (k + 1) * this.size[name]);
    return found;
  }

  /** The latest decision of a robot at a frame, or null. */
  decision(at, robot) {
    let found = null;
    for (const decision of this.decisions) {
      if (decision.tick > at) break;
      if (decision.robot === robot) found = decision;
    }
    return found;
  }

  /** What a robot is doing at a frame, in words. */
  doing(at, robot) {
    const band = this.bands.find((b) => b.robot === robot && b.first <= at && at < b.last);
    return band ? band.text : doing(-1, this.things);
  }
}

/** What a robot of a film is called where there is little room. */
export const called = (film, r) =>
  film.me === r ? "you" : film.human === r ? "person" : film.me >= 0 ? "partner" : `robot ${r}`;

/** A game that is being played: frames arrive, the film grows. */
export class LiveFilm {
  constructor(game) {
    Object.assign(this, game);
    this.me = game.owner ? game.human : -1;
    this.live = true;
    this.frames = [];
    this.bands = [];
    this.decisions = [];
    this.aheads = {};
    this.events = [...game.events];
    this.outcome = "running";
    this.length = 1;
  }

  /** Take one frame from the server. Slow watchers get only some of the steps. */
  add(frame) {
    const at = frame.step - this.first;
    if (at < 0) return;
    frame.at = at;
    this.frames = this.frames.filter((f) => f.at < at);
    this.frames.push(frame);
    this.length = Math.max(this.length, at + 1);
    frame.action.forEach((action, robot) => {
      const last = this.bands.findLast((b) => b.robot === robot);
      if (last && last.action === action) last.last = Math.max(at, last.first + 1);
      else if (action >= 0) {
        this.bands.push({
          robot,
          action,
          first: at,
          last: at + 1,
          text: doing(action, this.things),
          short: short(action, this.things),
        });
      }
    });
  }

  /** The newest frame not after `at`. */
  frame(at) {
    return this.frames.findLast((f) => f.at <= at) ?? this.frames[0] ?? null;
  }

  decision(at, robot) {
    return this.decisions.findLast((d) => d.robot === robot && d.tick <= at) ?? null;
  }

  doing(at, robot) {
    const frame = this.frame(at);
    return doing(frame ? frame.action[robot] : -1, this.things);
  }
}

/** One binary frame of the websocket, read with the server's table of fields: numbers and typed arrays by name. */
export function readFrame(buffer, robots) {
  const frame = { depth: null };
  for (const { name, type, shape, offset } of frameLayout(robots)) {
    if (offset >= buffer.byteLength) continue; // Head pictures come only where they were asked for.
    const array = new TYPES[type](buffer, offset, count(shape));
    frame[name] = shape.length ? array : array[0];
  }
  for (const [name, bit] of Object.entries(frameFlags())) frame[name] = Boolean(frame.flags & bit);
  if (frame.depth) frame.depth = Array.from({ length: robots }, (_, r) => picture(frame.depth, r, robots));
  return frame;
}

/** The head picture of one robot out of those of all. */
function picture(all, robot, robots) {
  const size = all.length / robots;
  return all.subarray(robot * size, (robot + 1) * size);
}

/** The frame between two: share 0 is a, 1 is b. Things jump, robots glide. */
export function between(a, b, share) {
  if (!b || share <= 0 || a === b) return a;
  if (share >= 1) return b;
  const mix = (x, y) => x.map((v, k) => v + (y[k] - v) * share);
  const swing = (v, w) => v + Math.atan2(Math.sin(w - v), Math.cos(w - v)) * share;
  const pose = mix(a.pose, b.pose);
  for (let k = 2; k < pose.length; k += 3) pose[k] = swing(a.pose[k], b.pose[k]);
  return { ...a, pose, arm: a.arm.map((v, k) => swing(v, b.arm[k])), door: mix(a.door, b.door) };
}
