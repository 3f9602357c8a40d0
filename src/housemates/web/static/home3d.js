// The home, the robots and the objects as three.js meshes, and how one frame poses them.

import * as THREE from "three";
import { css, fast, numbers } from "./page.js";

const CUT = 0.95; // Walls are cut away above this height, metres, so that one looks into the rooms.
const MARK = 0.035; // Height of a robot's ring, metres: above rugs.
const SUN = new THREE.Vector3(0.35, 0.9, 0.45).normalize();
const CAP = { light: 0x8d877c, dark: 0x4a4f58 };

/** A mesh of the protocol as geometry with flat normals; `paint(rgb)` may change colours. */
function geometry(mesh, paint = (rgb) => rgb) {
  const position = numbers(mesh.position);
  const flat = numbers(mesh.colour);
  const colour = new Float32Array(position.length);
  const made = new THREE.Color();
  for (let t = 0; t < flat.length / 3; t++) {
    const [r, g, b] = paint([flat[3 * t], flat[3 * t + 1], flat[3 * t + 2]]);
    made.setRGB(r / 255, g / 255, b / 255, THREE.SRGBColorSpace);
    for (let c = 0; c < 3; c++) made.toArray(colour, 9 * t + 3 * c);
  }
  const found = new THREE.BufferGeometry();
  found.setAttribute("position", new THREE.BufferAttribute(position, 3));
  found.setAttribute("color", new THREE.BufferAttribute(colour, 3));
  found.computeVertexNormals();
  if (fast) shade(found);
  return found;
}

/** Light that is painted on once: software renderers are quick then. */
function shade(given) {
  const { normal, color } = given.attributes;
  for (let v = 0; v < normal.count; v++) {
    const light = 0.62 + 0.38 * Math.max(-0.4, normal.getX(v) * SUN.x + normal.getY(v) * SUN.y + normal.getZ(v) * SUN.z);
    color.setXYZ(v, color.getX(v) * light, color.getY(v) * light, color.getZ(v) * light);
  }
}

/** The usual paint: colours by vertex. */
const coat = (options = {}) =>
  fast
    ? new THREE.MeshBasicMaterial({ vertexColors: true, ...options })
    : new THREE.MeshLambertMaterial({ vertexColors: true, ...options });

const matrix = (rows) => new THREE.Matrix4().set(...rows);

function solid(mesh, material, paint) {
  const made = new THREE.Mesh(geometry(mesh, paint), material);
  made.castShadow = made.receiveShadow = !fast;
  return made;
}

/** Everything fixed about one home, and its doors. */
export class Home3D {
  constructor(scene, theme) {
    this.scene = scene;
    this.group = new THREE.Group();
    this.doors = scene.doors.map(() => []);
    this.plane = new THREE.Plane(new THREE.Vector3(0, -1, 0), CUT);
    this.paint = coat();
    this.wall = coat({ clipShadows: true });
    this.cap = new THREE.MeshBasicMaterial({ color: CAP[theme], side: THREE.BackSide });
    this.ceilings = [];
    this.picks = [];
    for (const group of scene.groups) {
      const made = solid(group.mesh, group.kind === "wall" ? this.wall : this.paint);
      made.userData.entity = numbers(group.mesh.entity);
      if (group.kind === "wall") {
        const back = new THREE.Mesh(made.geometry, this.cap);
        made.add(back);
        this.back = back;
      }
      if (group.kind === "ceiling") this.ceilings.push(made);
      if (group.kind !== "ceiling") this.picks.push(made);
      if (group.kind === "floor") made.castShadow = false;
      if (group.door >= 0) this.doors[group.door].push(made);
      made.matrixAutoUpdate = group.door >= 0;
      this.group.add(made);
    }
    const { low, high } = scene.bounds;
    this.centre = new THREE.Vector3((low[0] + high[0]) / 2, 0.4, (low[2] + high[2]) / 2);
    this.size = new THREE.Vector3(high[0] - low[0], high[1] - low[1], high[2] - low[2]);
    this.cut(true);
  }

  /** Cut the walls away, or show them whole (through a robot's eyes). */
  cut(on) {
    for (const material of [this.wall, this.cap]) material.clippingPlanes = on ? [this.plane] : [];
    for (const ceiling of this.ceilings) ceiling.visible = !on;
  }

  dress(theme) {
    this.cap.color.set(CAP[theme]);
  }

  /** Put the doors and drawers where the joint values [3] say. */
  open(values) {
    this.scene.doors.forEach((door, k) => {
      const axis = new THREE.Vector3(...door.axis);
      for (const part of this.doors[k]) {
        if (door.kind === "prismatic") part.position.copy(axis.multiplyScalar(values[k]));
        else {
          const origin = new THREE.Vector3(...door.origin);
          part.quaternion.setFromAxisAngle(axis, values[k]);
          part.position.copy(origin).sub(origin.clone().applyQuaternion(part.quaternion));
        }
        part.updateMatrix();
      }
    });
  }

  free() {
    this.group.traverse((part) => part.geometry?.dispose());
  }
}

/** One robot, posed from its base and arm joints. */
class Robot3D {
  constructor(bodies, index) {
    this.bodies = bodies;
    this.group = new THREE.Group();
    // The accent of the body shows which robot it is.
    const tint = new THREE.Color(css(`--robot${index % 4}`)).convertLinearToSRGB();
    const accent = [tint.r * 255, tint.g * 255, tint.b * 255];
    const paint = (rgb) => (rgb.every((v, k) => v === bodies.accent[k]) ? accent : rgb);
    const material = coat();
    this.origins = bodies.links.map((link) => matrix(link.origin));
    this.axes = bodies.links.map((link) => new THREE.Vector3(...link.axis));
    this.frames = bodies.links.map(() => new THREE.Matrix4());
    this.links = bodies.links.map((link) => {
      const made = solid(link.mesh, material, paint);
      made.matrixAutoUpdate = false;
      this.group.add(made);
      return made;
    });
    this.base = new THREE.Matrix4();
    this.camera = new THREE.Matrix4();
    this.headCamera = matrix(bodies.camera);
    this.grip = new THREE.Vector3();
    this.turn = new THREE.Matrix4();
    const ring = new THREE.Mesh(
      new THREE.RingGeometry(0.36, 0.42, 40).rotateX(-Math.PI / 2),
      new THREE.MeshBasicMaterial({ color: css(`--robot${index % 4}`), transparent: true, opacity: 0.85, depthWrite: false }),
    );
    const nose = new THREE.Mesh(new THREE.CircleGeometry(0.09, 3).rotateX(-Math.PI / 2).translate(0.5, 0, 0), ring.material);
    this.mark = new THREE.Group().add(ring, nose);
    this.group.add(this.mark);
  }

  /** pose: x, z, yaw; arm: its joints, radians. */
  pose([x, z, yaw], arm) {
    const [c, s] = [Math.cos(yaw), Math.sin(yaw)];
    // Columns: forward, left, up.
    this.base.set(c, -s, 0, x, 0, 0, 1, 0, -s, -c, 0, z, 0, 0, 0, 1);
    this.bodies.links.forEach((link, n) => {
      const frame = this.frames[n].multiplyMatrices(link.parent < 0 ? this.base : this.frames[link.parent], this.origins[n]);
      if (link.joint >= 0) frame.multiply(this.turn.makeRotationAxis(this.axes[n], arm[link.joint]));
      this.links[n].matrix.copy(frame);
      this.links[n].matrixWorldNeedsUpdate = true;
    });
    this.camera.multiplyMatrices(this.base, this.headCamera);
    this.grip.set(...this.bodies.grip).applyMatrix4(this.frames[this.bodies.gripper]);
    this.mark.position.set(x, MARK, z);
    this.mark.rotation.y = yaw;
    this.x = x;
    this.z = z;
    this.yaw = yaw;
  }
}

/** The robots, the two objects, their goals and the clutter of one episode. */
export class Cast {
  constructor(bodies, film) {
    this.group = new THREE.Group();
    this.robots = film.robots.map((_, r) => new Robot3D(bodies.robots[film.robot], r));
    this.group.add(...this.robots.map((robot) => robot.group));
    const paint = coat();
    this.things = film.kinds.map((kind, i) => {
      const made = solid(bodies.objects[kind].mesh, paint);
      made.userData.halo = this.#halo(bodies.objects[kind].half, i);
      return made.add(made.userData.halo);
    });
    this.goals = film.kinds.map((kind, i) => this.#goal(bodies.objects[kind], film.goals[i], film.goal_yaw[i], i));
    this.goalPoints = film.goals.map((goal) => new THREE.Vector3(...goal));
    const clutter = film.clutter.map((thing) => {
      const made = solid(bodies.objects[thing.kind].mesh, paint);
      made.position.set(...thing.at);
      made.rotation.y = thing.yaw;
      return made;
    });
    this.group.add(...this.things, ...this.goals, ...clutter);
  }

  /** A small floating marker, so that a tuna can is found in a furnished home. */
  #halo(half, i) {
    const marker = new THREE.Mesh(
      new THREE.OctahedronGeometry(0.05).scale(1, 1.4, 1),
      new THREE.MeshBasicMaterial({ color: css(`--object${i % 2}`) }),
    );
    marker.position.y = half[1] + 0.16;
    return marker;
  }

  #goal(body, at, yaw, i) {
    const colour = css(`--object${i % 2}`);
    const ghost = new THREE.Mesh(
      geometry(body.mesh),
      new THREE.MeshBasicMaterial({ color: colour, transparent: true, opacity: 0.5, depthWrite: false }),
    );
    const ring = new THREE.Mesh(
      new THREE.RingGeometry(0.13, 0.15, 36).rotateX(-Math.PI / 2),
      new THREE.MeshBasicMaterial({ color: colour, side: THREE.DoubleSide }),
    );
    ring.position.y = 0.006 - body.half[1];
    const beam = new THREE.Mesh(
      new THREE.CylinderGeometry(0.012, 0.012, 0.5, 8).translate(0, 0.3, 0),
      new THREE.MeshBasicMaterial({ color: colour, transparent: true, opacity: 0.55 }),
    );
    const made = new THREE.Group().add(ghost, ring, beam);
    made.position.set(...at);
    made.rotation.y = yaw;
    return made;
  }

  /** Pose robots and objects as a frame says. */
  pose(frame) {
    this.robots.forEach((robot, r) => {
      const { joints } = robot.bodies;
      robot.pose(frame.pose.slice(3 * r, 3 * r + 3), frame.arm.slice(joints * r, joints * (r + 1)));
    });
    this.things.forEach((thing, i) => {
      const holder = frame.held.indexOf(i);
      thing.userData.halo.visible = holder < 0;
      if (holder >= 0) {
        thing.position.copy(this.robots[holder].grip);
        thing.rotation.y = frame.thing_yaw[i] + this.robots[holder].yaw;
      } else {
        thing.position.set(...frame.thing.slice(3 * i, 3 * i + 3));
        thing.rotation.y = frame.thing_yaw[i];
      }
      this.goals[i].visible = holder >= 0 || thing.position.distanceTo(this.goalPoints[i]) > 0.15;
    });
  }

  free() {
    this.group.traverse((part) => {
      part.geometry?.dispose();
      part.material?.dispose();
    });
  }
}
