// The look-ahead of a robot: paths that it expects of its partner, its candidates and their fate, on the floor and in words.

import * as THREE from "three";
import { $, css, el, robotTint } from "./page.js";
import { imperative } from "./words.js";

const FLOOR = 0.05; // Height of the paths, metres: above rugs, below everything else.
const SHOWN = 40; // Steps for which a decision is shown, unless another one follows.
const [DASH, GAP] = [0.12, 0.09]; // Metres of a broken line.
const SMALL = 0.08; // Metres: a path that ends nearer to its start is a robot that stays.

const percent = (share) => `${Math.round(100 * share)}\u00a0%`;

/** A flat ribbon along points [[x, z], ...], metres; broken: in dashes. */
function ribbon(points, width, height, broken) {
  const corners = [];
  const piece = ([ax, az], [bx, bz]) => {
    const long = Math.hypot(bx - ax, bz - az);
    if (long < 1e-6) return;
    const [nx, nz] = [(-(bz - az) / long) * (width / 2), ((bx - ax) / long) * (width / 2)];
    const [a, b, c, d] = [
      [ax + nx, height, az + nz],
      [ax - nx, height, az - nz],
      [bx - nx, height, bz - nz],
      [bx + nx, height, bz + nz],
    ];
    corners.push(...a, ...c, ...b, ...a, ...d, ...c);
  };
  let way = 0;
  for (let k = 1; k < points.length; k++) {
    const [[ax, az], [bx, bz]] = [points[k - 1], points[k]];
    const long = Math.hypot(bx - ax, bz - az);
    if (!broken || long < 1e-6) piece(points[k - 1], points[k]);
    else {
      // Dashes go on over corners: `way` is how far along the whole path this part begins.
      for (let at = -(way % (DASH + GAP)); at < long; at += DASH + GAP) {
        const [low, high] = [Math.max(0, at) / long, Math.min(long, at + DASH) / long];
        if (high > low) piece([ax + (bx - ax) * low, az + (bz - az) * low], [ax + (bx - ax) * high, az + (bz - az) * high]);
      }
    }
    way += long;
  }
  const found = new THREE.BufferGeometry();
  found.setAttribute("position", new THREE.Float32BufferAttribute(corners, 3));
  return found;
}

const flat = (geometry, colour, opacity) =>
  new THREE.Mesh(
    geometry,
    new THREE.MeshBasicMaterial({
      color: colour,
      transparent: true,
      opacity,
      depthWrite: false,
      side: THREE.DoubleSide,
      polygonOffset: true,
      polygonOffsetFactor: -2,
    }),
  );

/** Whether a candidate is safe enough to be done. */
const safe = (candidate, ahead) => candidate.risk <= ahead.limit;

/** A disc or ring on the floor. */
function spot([x, z], inner, outer, height) {
  const found = inner ? new THREE.RingGeometry(inner, outer, 28) : new THREE.CircleGeometry(outer, 20);
  return found.rotateX(-Math.PI / 2).translate(x, height, z);
}

/** One candidate: its path, or a ring where the robot stays; a cross where it would touch somebody. */
function draw(group, candidate, colour, { width, height, opacity, broken, mark }) {
  const { points } = candidate;
  const [first, last] = [points[0], points.at(-1)];
  const stays = points.every(([x, z]) => Math.hypot(x - first[0], z - first[1]) < SMALL);
  group.add(
    flat(stays ? spot(first, 0.46, 0.46 + width, height) : ribbon(points, width, height, broken), colour, opacity),
    ...(stays ? [] : [flat(spot(last, 0, width * 1.1, height), colour, opacity)]),
  );
  if (mark && candidate.at) {
    const [x, z] = candidate.at;
    const arm = 0.17;
    for (const way of [1, -1]) {
      const cross = [
        [x - arm, z - arm * way],
        [x + arm, z + arm * way],
      ];
      group.add(flat(ribbon(cross, 0.06, height + 0.01), colour, 1));
    }
  }
}

/** Everything that is drawn of one decision. */
function layer(ahead) {
  const group = new THREE.Group();
  const [good, bad] = [css("--success"), css("--failure")];
  for (const candidate of ahead.others) {
    const fine = safe(candidate, ahead);
    draw(group, candidate, fine ? good : bad, { width: 0.03, height: FLOOR, opacity: fine ? 0.6 : 0.4, broken: !fine });
  }
  for (const { robot, probability, points } of ahead.partners) {
    const looks = { width: 0.05 + 0.1 * probability, height: FLOOR + 0.012, opacity: 0.35 + 0.6 * probability };
    draw(group, { points }, css(`--robot${robot % 4}`), looks);
  }
  const { own, chosen } = ahead;
  if (own && chosen)
    draw(group, own, safe(own, ahead) ? good : bad, {
      width: 0.06,
      height: FLOOR + 0.02,
      opacity: 0.9,
      broken: true,
      mark: true,
    });
  const done = chosen ?? own;
  if (done) {
    const colour = css(`--robot${ahead.robot % 4}`);
    draw(group, done, colour, { width: 0.09, height: FLOOR + 0.03, opacity: 1, mark: !safe(done, ahead) });
  }
  return group;
}

/** The paths on the floor of one or two pictures. */
export class Overlay {
  constructor(scene) {
    this.group = new THREE.Group();
    this.made = new Map();
    scene.add(this.group);
  }

  /** How many shapes are drawn now. */
  get parts() {
    return this.group.children.reduce((sum, child) => sum + (child.visible ? child.children.length : 0), 0);
  }

  /** Show one decision, or nothing (null). */
  show(ahead) {
    for (const child of this.group.children) child.visible = false;
    if (!ahead) return;
    if (!this.made.has(ahead)) {
      if (this.made.size > 3) this.clear();
      const made = layer(ahead);
      this.made.set(ahead, made);
      this.group.add(made);
    }
    this.made.get(ahead).visible = true;
  }

  /** Forget what was drawn: colours have changed, or another film is shown. */
  clear() {
    for (const made of this.made.values()) {
      this.group.remove(made);
      made.traverse((part) => {
        part.geometry?.dispose();
        part.material?.dispose();
      });
    }
    this.made.clear();
  }
}

/** The decision of a robot that is shown at a frame, or null. */
export const aheadAt = (aheads, robot, at) =>
  aheads?.findLast((a) => a.robot === robot && a.tick <= at && at - a.tick < SHOWN) ?? null;

/** How likely each expected path is, as labels at its end. */
export const chances = (ahead) =>
  (ahead?.partners ?? [])
    .filter(({ probability }) => probability < 0.995)
    .map(({ robot, probability, points }) => ({
      text: percent(probability),
      tint: robotTint(robot),
      point: [points.at(-1)[0], FLOOR, points.at(-1)[1]],
    }));

/** A plan in words: "turn left 6 times, drive ahead 10 times, then go to the sofa". */
function words(parts, things) {
  const each = parts.map(([action, times]) => imperative(action, things) + (times > 1 ? ` ${times} times` : ""));
  return each.length > 1 ? `${each.slice(0, -1).join(", ")}, then ${each.at(-1)}` : (each[0] ?? "stand");
}

/** What becomes of a candidate, in words. */
function fate(candidate, ahead) {
  if (safe(candidate, ahead)) {
    if (candidate.contact === null) return "safe";
    return candidate.risk < 0.005
      ? "safe for now: decides again before contact"
      : `safe enough: ${percent(candidate.risk)} contact`;
  }
  return `contact in ${candidate.contact} steps (${percent(candidate.risk)})`;
}

const BECAME = {
  unchecked: ["nobody is near, nothing is checked", "nobody is near, nothing is checked"],
  own: ["does what its policy decided", "would let the decision stand"],
  held: ["holds on to a manoeuvre", "would hold on to a manoeuvre"],
  changed: ["replaces its policy's decision", "would replace the decision"],
};

const REASONS = {
  contact: ": it might end in contact",
  unlikely: ": its policy finds it unlikely",
  detour: ": it leads away from the task",
  waiting: ": there is work that is safe",
};

/** The card that says what the picture shows. */
export function tell(ahead, film, robot) {
  const card = $("ahead");
  const key = ahead ? `${robot} ${ahead.tick} ${ahead.became} ${document.documentElement.dataset.theme}` : `${robot}`;
  if (card.dataset.key === key) return;
  card.dataset.key = key;
  const head = el("h3", el("span.dot", { tint: robotTint(robot) }), `Robot ${robot}: ${ahead?.title ?? "look-ahead"}`);
  if (!ahead) {
    card.replaceChildren(head, el("p.faint", "no decision that is checked, here"));
    return;
  }
  const line = (kind, tint, ...texts) => el(`p.${kind}`, { tint }, el("i"), el("span", ...texts));
  const rows = [];
  const partner = ahead.partners[0];
  const own = robotTint(robot);
  if (ahead.chosen) {
    rows.push(line("solid", own, `${words(ahead.chosen.parts, film.things)}: `, el("b", fate(ahead.chosen, ahead))));
    const tint = safe(ahead.own, ahead) ? "var(--success)" : "var(--failure)";
    rows.push(line("broken", tint, `its policy: ${words(ahead.own.parts, film.things)}: `, el("b", fate(ahead.own, ahead))));
  } else if (ahead.own)
    rows.push(line("solid", own, `${words(ahead.own.parts, film.things)}: `, el("b", fate(ahead.own, ahead))));
  if (ahead.others.length) {
    const fine = ahead.others.filter((c) => safe(c, ahead)).length;
    rows.push(line("thin", "var(--success)", `${fine} other candidates are safe`));
    rows.push(line("thin.broken", "var(--failure)", `${ahead.others.length - fine} end in contact`));
  }
  if (partner) rows.push(line("solid.partner", robotTint(partner.robot), `where it expects robot ${partner.robot}`));
  card.replaceChildren(
    head,
    el("p.faint", `step ${film.first + ahead.tick}: ${BECAME[ahead.became][ahead.acts ? 0 : 1]}${REASONS[ahead.reason] ?? ""}`),
    ...rows,
  );
}
