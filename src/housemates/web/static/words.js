// Actions in words, the same as the films and the console use.

let actions = [];
let titles = [];
let entities = [];
let partners = new Map();

/** Learn the names that the server uses: its answer to /api/start. */
export function learn(start) {
  actions = start.actions;
  titles = start.entity_titles;
  entities = start.entities;
  partners = new Map(start.partners.map((partner) => [partner.name, partner.title]));
}

export const actionNumber = (name) => actions.indexOf(name);
export const entityNumber = (name) => entities.indexOf(name);
export const entityName = (number) => entities[number];
export const countEntities = () => entities.length;

/** A robot's policy or script as a person says it; recordings made elsewhere name scripts without their shelf. */
export const titled = (name) => partners.get(name) ?? partners.get(`script/${name}`) ?? (name === "person" ? "a person" : name);

/** An entity as a person says it: "cracker box", "place of the cracker box", "sofa". */
export function named(entity, things) {
  if (entity < 2) return things[entity];
  if (entity < 4) return `place of the ${things[entity - 2]}`;
  return titles[entity] ?? entities[entity];
}

/** An action as a wish: "go to the sofa", "pick the bowl", "wait". */
export function wish(action, things) {
  const [verb, what] = (actions[action] ?? "no-op").split(" ");
  if (!what)
    return { "no-op": "wait", "move-forward": "drive ahead", "turn-left": "turn left", "turn-right": "turn right" }[verb];
  const entity = entityNumber(what);
  if (verb === "nav")
    return entity >= 2 && entity < 4 ? `bring the ${things[entity - 2]}` : `go to the ${named(entity, things)}`;
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

/** What is told about robots by number, told to the person who is one of them: "robot 0 picks the bowl" -> "you pick the bowl". */
export function toMe(text, me) {
  if (me < 0) return text;
  return text
    .replace(
      new RegExp(`robot ${me} (cannot|\\w+s) `),
      (_, verb) => `you ${verb === "cannot" ? verb : verb.replace(/s$/, "")} `,
    )
    .replace(`robot ${me}`, "you")
    .replace(/robot \d/g, "your partner");
}
