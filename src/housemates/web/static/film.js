// What happened, frame by frame: a recording from the server, or a live game that grows while one watches.
// Both answer the same questions, so that everything that draws need not know which it is.

import { numbers } from "./page.js";
import { report, short } from "./words.js";

const WIDTHS = { pose: 3, arm: 7, thing: 3, thing_yaw: 1, door: 1, held: 1, action: 1, executed: 1 };
const PER_ROBOT = ["pose", "arm", "held", "action", "executed"];

/** A recording as the server tells it. */
export class Film {
  constructor(told) {
    Object.assign(this, told);
    this.me = -1;
    this.live = false;
    this.length = told.steps + 1;
    this.arrays = Object.fromEntries(Object.entries(told.frames).map(([name, array]) => [name, numbers(array)]));
    this.size = Object.fromEntries(
      Object.keys(WIDTHS).map((name) => [
        name,
        WIDTHS[name] * (PER_ROBOT.includes(name) ? told.robots.length : name === "door" ? 3 : 2),
      ]),
    );
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
        text: report(first, this.things),
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
    return band ? band.text : "waits";
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
          text: report(action, this.things),
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
    return frame ? report(frame.action[robot], this.things) : "waits";
  }
}

/** One binary frame of the websocket as the arrays it is made of. */
export function readFrame(buffer) {
  const head = new DataView(buffer);
  const [number, step, robots, flags] = [head.getUint32(0, true), head.getUint16(4, true), head.getUint8(6), head.getUint8(7)];
  let at = 8;
  const take = (Kind, count) => {
    const found = new Kind(buffer, at, count);
    at += count * Kind.BYTES_PER_ELEMENT;
    return found;
  };
  const frame = { number, step, over: Boolean(flags & 1), paused: Boolean(flags & 4) };
  frame.pose = take(Float32Array, 3 * robots);
  frame.arm = take(Float32Array, 7 * robots);
  frame.thing = take(Float32Array, 6);
  frame.thing_yaw = take(Float32Array, 2);
  frame.door = take(Float32Array, 3);
  frame.possible = take(Uint32Array, robots);
  frame.held = take(Int8Array, robots);
  frame.action = take(Int8Array, robots);
  frame.executed = take(Int8Array, robots);
  frame.doneBy = take(Int8Array, 6);
  at = Math.ceil(at / 4) * 4;
  frame.depth = flags & 2 ? Array.from({ length: robots }, () => take(Uint8Array, 128 * 128)) : null;
  return frame;
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
