// Actions in words, the same as the films and the console use.

let actions = [];
let titles = [];
let entities = [];

/** Learn the names that the server uses: its answer to /api/start. */
export function learn(start) {
  actions = start.actions;
  titles = start.entity_titles;
  entities = start.entities;
}

export const actionNumber = (name) => actions.indexOf(name);
export const entityNumber = (name) => entities.indexOf(name);
export const entityName = (number) => entities[number];
export const countEntities = () => entities.length;

/** An entity as a person says it: "cracker box", "place of the cracker box", "sofa". */
export function named(entity, things) {
  if (entity < 2) return things[entity];
  if (entity < 4) return `place of the ${things[entity - 2]}`;
  return titles[entity] ?? entities[entity];
}

/** An action as a wish: "go to the sofa", "pick the bowl", "wait". */
export function wish(action, things) {
  const [verb, what] = (actions[action] ?? "no-op").split(" ");
  if (!what) return { "no-op": "wait", "move-forward": "drive ahead", "turn-left": "turn left", "turn-right": "turn right" }[verb];
  const entity = entityNumber(what);
  if (verb === "nav") return entity >= 2 && entity < 4 ? `bring the ${things[entity - 2]}` : `go to the ${named(entity, things)}`;
  if (verb === "place") return `place the ${things[entity - 2]}`;
  return `${verb} the ${named(entity, things)}`;
}

/** The same as a report: "goes to the sofa", "waits". */
export function report(action, things) {
  if (action < 0) return "waits";
  const [verb, ...rest] = wish(action, things).split(" ");
  return [verb === "go" ? "goes" : `${verb}s`, ...rest].join(" ");
}

/** The same for a narrow band. */
export function short(action, things) {
  const [verb, what] = (actions[action] ?? "no-op").split(" ");
  if (!what) return verb === "no-op" ? "waits" : "";
  const entity = entityNumber(what);
  return verb !== "nav" ? verb : entity >= 2 && entity < 4 ? `bring ${things[entity - 2]}` : `to ${named(entity, things)}`;
}

/** A kind of action, for colours: "go", "work", "drive" or "wait". */
export function sort(action) {
  const [verb, what] = (actions[action] ?? "no-op").split(" ");
  return verb === "no-op" ? "wait" : !what ? "drive" : verb === "nav" ? "go" : "work";
}

/** Steps as time, if a step takes `seconds`. */
export function time(steps, seconds = 0.1) {
  const whole = Math.round(steps * seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
