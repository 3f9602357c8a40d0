// The picture: one renderer, its cameras, labels over objects, and the entity under the pointer.

import * as THREE from "three";
import { OrbitControls } from "/static/vendor/OrbitControls.js";
import { called } from "./film.js";
import { Cast, Home3D } from "./home3d.js";
import { Overlay } from "./overlay.js";
import { $, css, el, fast, fine, objectTint, press, robotTint } from "./page.js";

const NEAR_POINTER = 26; // Pixels from an object within which a click means it.
const UP = new THREE.Vector3(0, 1, 0);
const GLIDE = 140; // Milliseconds in which the following camera comes most of the way.
const SLOW = 110; // Milliseconds from picture to picture above which shadows are given up.
const PATIENCE = 5; // Slow pictures in a row until then.

export class Stage {
  constructor(bodies) {
    this.bodies = bodies;
    this.canvas = $("view");
    this.renderer = new THREE.WebGLRenderer({ canvas: this.canvas, antialias: !fast, powerPreference: "high-performance" });
    this.renderer.localClippingEnabled = true;
    this.renderer.shadowMap.enabled = !fast;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.scene = new THREE.Scene();
    this.day = new THREE.HemisphereLight(0xffffff, 0xb9b2a6, 2.2);
    this.sun = new THREE.DirectionalLight(0xfff4e2, 1.7);
    this.sun.castShadow = !fast;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.bias = -0.0006;
    this.sun.shadow.normalBias = 0.02;
    this.scene.add(this.day, this.sun, this.sun.target);
    this.overlay = new Overlay(this.scene);
    this.wide = new THREE.PerspectiveCamera(42, 1, 0.05, 80);
    this.above = new THREE.OrthographicCamera(-5, 5, 5, -5, 0.1, 60);
    this.controls = new OrbitControls(this.wide, this.canvas);
    this.controls.enableDamping = !fast;
    this.controls.maxPolarAngle = 1.45;
    this.controls.minDistance = 1.2;
    this.controls.maxDistance = 26;
    this.kind = "orbit";
    this.self = 0; // Whose eyes.
    this.drawn = 0;
    this.drawnAt = performance.now();
    this.parts = 1; // Pictures beside each other.
    this.labels = [];
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    this.dress();
    this.resize();
  }

  /** Show another episode: its home (from /api/scene) and what is in it. */
  set(home, film) {
    const same = this.home?.scene.hash === home.hash;
    if (!same) {
      if (this.home) {
        this.scene.remove(this.home.group);
        this.home.free();
      }
      this.home = new Home3D(home, this.theme);
      this.scene.add(this.home.group);
      this.#sun();
    }
    if (this.cast) {
      this.scene.remove(this.cast.group);
      this.cast.free();
    }
    this.cast = new Cast(this.bodies, film);
    this.scene.add(this.cast.group);
    this.overlay.clear();
    this.#name(film);
    if (!same) this.look();
    this.camera(this.kind);
  }

  /** Follow the page's colours. */
  dress() {
    this.theme = document.documentElement.dataset.theme;
    this.scene.background = new THREE.Color(css("--sky"));
    const dark = this.theme === "dark";
    this.day.intensity = dark ? 1.35 : 2.2;
    this.sun.intensity = dark ? 1.2 : 1.7;
    this.home?.dress(this.theme);
    this.overlay.clear();
  }

  #sun() {
    const { centre, size } = this.home;
    const reach = Math.max(size.x, size.z) / 2 + 1;
    this.sun.position.set(centre.x + 3.5, 9, centre.z + 4.5);
    this.sun.target.position.copy(centre);
    Object.assign(this.sun.shadow.camera, { left: -reach, right: reach, top: reach, bottom: -reach, near: 1, far: 24 });
    this.sun.shadow.camera.updateProjectionMatrix();
  }

  /** The free camera where it sees the whole home, along its shorter side. */
  look() {
    const { centre, scene } = this.home;
    const { low, high } = scene.bounds;
    const corners = [low[0], high[0]].flatMap((x) =>
      [0, 1].flatMap((y) => [low[2], high[2]].map((z) => new THREE.Vector3(x, y, z))),
    );
    const towards = this.#turned() ? new THREE.Vector3(0.62, 0.92, 0.1) : new THREE.Vector3(0.1, 0.92, 0.62);
    this.controls.target.copy(centre);
    this.wide.aspect = this.aspect / this.parts;
    this.wide.updateProjectionMatrix();
    // The nearest place from which all corners of the home are in the picture.
    for (let away = 4; away < 26; away += 0.25) {
      this.wide.position.copy(centre).addScaledVector(towards, away);
      this.wide.lookAt(centre);
      this.wide.updateMatrixWorld();
      const out = corners.some((corner) => {
        const at = corner.clone().project(this.wide);
        return Math.abs(at.x) > 0.95 || Math.abs(at.y) > 0.88;
      });
      if (!out) break;
    }
    this.controls.update();
  }

  /** Whether the home lies better in the picture turned by a quarter. */
  #turned() {
    return this.home.size.z > this.home.size.x === this.aspect / this.parts > 0.9;
  }

  /** Choose a camera: orbit, top, follow0, follow1, eyes. */
  camera(kind) {
    this.kind = kind;
    this.settled = false;
    this.controls.enabled = kind === "orbit";
    this.home?.cut(kind !== "eyes");
    this.wide.fov = kind === "eyes" ? 74 : kind === "orbit" ? 42 : 52;
    this.wide.updateProjectionMatrix();
    if (kind === "orbit" && this.home) this.look();
    press($("cameras"), (button) => button.dataset.camera === kind);
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width || !height) return;
    this.renderer.setPixelRatio(fast || this.eased ? 0.8 : Math.min(devicePixelRatio, 2));
    this.renderer.setSize(width, height, false);
    const was = this.aspect;
    this.aspect = width / height;
    if (this.home && was && Math.abs(was - this.aspect) > 0.2 && this.kind === "orbit") this.look();
  }

  /** Draw frames beside each other: one, or two to compare. words: a heading for each; aheads: what is drawn on the floor. */
  draw(frames, words = [], aheads = []) {
    if (!this.home || !frames.length) return;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (this.parts !== frames.length) {
      this.parts = frames.length;
      if (this.kind === "orbit") this.look();
    }
    this.controls.update();
    this.renderer.setScissorTest(frames.length > 1);
    frames.forEach((frame, n) => {
      const part = width / frames.length;
      this.cast.pose(frame);
      this.home.open(frame.door);
      this.overlay.show(aheads[n] ?? null);
      const camera = this.#aim(part / height);
      this.renderer.setViewport(n * part, 0, part, height);
      this.renderer.setScissor(n * part, 0, part, height);
      this.renderer.render(this.scene, camera);
      this.last = camera;
      this.#place(camera, n * part, part, height, n, frames.length);
    });
    this.#headings(words, width / frames.length);
    this.drawn += 1;
    this.#ease();
  }

  /** Where pictures come slowly (no graphics card), do without shadows and fine pixels. */
  #ease() {
    const now = performance.now();
    const took = now - this.drawnAt;
    this.drawnAt = now;
    // Longer pauses are pauses: nothing had changed.
    this.slow = took > SLOW && took < 3000 ? (this.slow ?? 0) + 1 : 0;
    if (this.slow < PATIENCE || this.eased || fast || fine) return;
    this.eased = true;
    this.sun.castShadow = false;
    this.resize();
  }

  #aim(aspect) {
    const { centre, size } = this.home;
    this.moving = false;
    if (this.kind === "top") {
      const turned = this.#turned();
      const [across, along] = turned ? [size.z, size.x] : [size.x, size.z];
      const tall = Math.max(along / 2, across / 2 / aspect) * 1.08;
      Object.assign(this.above, { left: -tall * aspect, right: tall * aspect, top: tall, bottom: -tall });
      this.above.position.set(centre.x, 20, centre.z);
      this.above.up.set(turned ? -1 : 0, 0, turned ? 0 : -1);
      this.above.lookAt(centre.x, 0, centre.z);
      this.above.updateProjectionMatrix();
      return this.above;
    }
    this.wide.aspect = aspect;
    this.wide.updateProjectionMatrix();
    if (this.kind === "eyes") {
      this.cast.robots[this.self].camera.decompose(this.wide.position, this.wide.quaternion, new THREE.Vector3());
      return this.wide;
    }
    if (this.kind.startsWith("follow")) {
      const { x, z, yaw } = this.cast.robots[Number(this.kind.slice(6))] ?? this.cast.robots[0];
      const ahead = new THREE.Vector3(Math.cos(yaw), 0, -Math.sin(yaw));
      const place = new THREE.Vector3(x, 2.7, z).addScaledVector(ahead, -2.4);
      const target = new THREE.Vector3(x, 0.45, z).addScaledVector(ahead, 1.1);
      const share = this.settled && !fast ? 1 - Math.exp(-(performance.now() - this.drawnAt) / GLIDE) : 1;
      this.moving = share < 1 && this.wide.position.distanceTo(place) > 0.01;
      this.settled = true;
      this.wide.position.lerp(place, share);
      this.target = (this.target ?? target).lerp(target, share);
      this.wide.up.copy(UP);
      this.wide.lookAt(this.target);
    }
    return this.wide;
  }

  #name(film) {
    $("labels").replaceChildren();
    this.noted = "";
    const label = (text, tint, point, hidden) => {
      // One for each of two pictures beside each other.
      const spans = [0, 1].map(() => el("span", { tint, hidden: true }, text));
      $("labels").append(...spans);
      this.labels.push({ spans, point, hidden, wide: 0 });
    };
    this.labels = [];
    film.robots.forEach((_, r) => {
      label(
        called(film, r),
        robotTint(r),
        () => [this.cast.robots[r].x, 1.5, this.cast.robots[r].z],
        () => this.kind === "eyes" && this.self === r,
      );
    });
    film.things.forEach((name, i) => {
      label(
        name,
        objectTint(i),
        () =>
          this.cast.things[i].position
            .clone()
            .add(new THREE.Vector3(0, 0.34, 0))
            .toArray(),
        () => false,
      );
      label(
        `goal: ${name}`,
        objectTint(i),
        () =>
          this.cast.goalPoints[i]
            .clone()
            .add(new THREE.Vector3(0, 0.62, 0))
            .toArray(),
        () => !this.cast.goals[i].visible || this.parts > 1,
      );
    });
  }

  /** Small labels beside those of robots and objects: [{text, tint, point}], instead of those before. */
  note(notes) {
    const key = JSON.stringify(notes);
    if (key === this.noted) return;
    this.noted = key;
    for (const { spans, note } of this.labels) if (note) for (const span of spans) span.remove();
    this.labels = this.labels.filter(({ note }) => !note);
    for (const { text, tint, point } of notes) {
      const spans = [0, 1].map(() => el("span.note", { tint, hidden: true }, text));
      $("labels").append(...spans);
      this.labels.push({ spans, point: () => point, hidden: () => this.parts > 1, wide: 0, note: true });
    }
  }

  /** Move the labels to where their objects are in the picture that starts at pixel `left`, none over another. */
  #place(camera, left, width, height, n, count) {
    const taken = this.#covered();
    for (const label of this.labels) {
      const { spans, point, hidden } = label;
      const span = spans[n];
      if (count === 1) spans[1].hidden = true;
      const at = new THREE.Vector3(...point()).project(camera);
      const seen = !hidden() && at.z < 1 && Math.abs(at.x) < 1 && Math.abs(at.y) < 1;
      span.hidden = !seen;
      if (!seen) continue;
      label.wide ||= span.offsetWidth;
      const [wide, tall] = [label.wide || 80, 23];
      const half = wide / 2 + 4;
      const x = Math.round(Math.max(left + half, Math.min(left + width - half, left + ((at.x + 1) / 2) * width)));
      const wanted = Math.round(((1 - at.y) / 2) * height);
      const free = (y) =>
        y > tall / 2 &&
        y < height - tall / 2 &&
        !taken.some((t) => Math.abs(t.x - x) < (t.wide + wide) / 2 && Math.abs(t.y - y) < (t.tall + tall) / 2);
      // The nearest free place above, else below; where there is none the label would only be in the way.
      const y = [-1, 1].flatMap((way) => Array.from({ length: 12 }, (_, k) => wanted + 6 * way * k)).find(free);
      span.hidden = y === undefined;
      if (y === undefined) continue;
      taken.push({ x, y, wide, tall });
      span.style.transform = `translate(${x}px, ${y}px) translate(-50%, -50%)`;
    }
  }

  /** Middles and sizes of what lies over the picture, measured when it may have changed. */
  #covered() {
    const now = performance.now();
    if (!this.over || now - this.overAt > 400) {
      const box = this.canvas.getBoundingClientRect();
      this.overAt = now;
      this.over = ["task", "ahead", "cameras"]
        .map((id) => $(id).getBoundingClientRect())
        .filter((r) => r.width)
        .map((r) => ({
          x: (r.left + r.right) / 2 - box.left,
          y: (r.top + r.bottom) / 2 - box.top,
          wide: r.width,
          tall: r.height,
        }));
    }
    return [...this.over];
  }

  #headings(words, part) {
    const there = [...$("labels").querySelectorAll(".half")];
    if (there.map((span) => span.textContent).join() === words.join() && this.part === part) return;
    this.part = part;
    for (const span of there) span.remove();
    words.forEach((text, n) => {
      const span = el("span.half", text);
      span.style.transform = `translate(${Math.round((n + 0.5) * part)}px, 60px) translate(-50%, -50%)`;
      $("labels").append(span);
    });
  }

  /** Where a point of the world is on the canvas, CSS pixels [x, y], or null when it cannot be seen. */
  project(point) {
    const at = new THREE.Vector3(...point).project(this.last);
    if (at.z > 1 || Math.abs(at.x) > 1 || Math.abs(at.y) > 1) return null;
    return [((at.x + 1) / 2) * this.canvas.clientWidth, ((1 - at.y) / 2) * this.canvas.clientHeight];
  }

  /** The entity at a point of the canvas (CSS pixels), or -1: objects and goals nearby first, then furniture. */
  pick(x, y, held, slack = NEAR_POINTER) {
    if (!this.last || !this.cast) return -1;
    let found = -1;
    let nearest = slack;
    const near = (entity, point) => {
      const at = this.project(point);
      if (!at) return;
      const away = Math.hypot(at[0] - x, at[1] - y);
      if (away < nearest) [nearest, found] = [away, entity];
    };
    this.cast.goals.forEach((goal, i) => {
      if (!goal.visible) return;
      near(2 + i, this.cast.goalPoints[i].toArray());
      near(
        2 + i,
        this.cast.goalPoints[i]
          .clone()
          .add(new THREE.Vector3(0, 0.4, 0))
          .toArray(),
      );
    });
    this.cast.things.forEach((thing, i) => {
      if (held.includes(i)) return;
      near(i, thing.position.toArray());
      near(
        i,
        thing.position
          .clone()
          .add(new THREE.Vector3(0, 0.2, 0))
          .toArray(),
      );
    });
    if (found >= 0) return found;
    const ray = new THREE.Raycaster();
    const point = new THREE.Vector2((2 * x) / this.canvas.clientWidth - 1, 1 - (2 * y) / this.canvas.clientHeight);
    ray.setFromCamera(point, this.last);
    for (const hit of ray.intersectObjects(this.home.picks, false)) {
      if (hit.object.material === this.home.wall && hit.point.y > 0.95 && this.kind !== "eyes") continue;
      return hit.object.userData.entity[hit.faceIndex];
    }
    return -1;
  }
}
