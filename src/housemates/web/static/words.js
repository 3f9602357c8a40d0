// Words, colours and layouts of the page. The server sends them once in /api/start; here they are only looked up.

let tables = null;
let partners = new Map();

/** Keep the tables of the server's answer to /api/start. */
export function learn(start) {
  tables = start;
  partners = new Map([...start.partners.map(({ name, title }) => [name, title]), ...Object.entries(start.hidden)]);
}

/** A template with the names of an episode's two objects: "pick the {0}" -> "pick the bowl". */
const fill = (template, things) => template.replace(/\{(\d)\}/g, (_, n) => things[n]);

/** The row of an action; -1 (nothing is running) is the row of waiting. */
const row = (action) => tables.actions[action] ?? tables.actions.find(({ kind }) => kind === "wait");

/** An action in words: "goes to the sofa", "go to the sofa", "to sofa"; and its kind: navigate, manipulate, drive, wait. */
export const doing = (action, things) => fill(row(action).doing, things);
export const imperative = (action, things) => fill(row(action).imperative, things);
export const short = (action, things) => fill(row(action).short, things);
export const kindOf = (action) => row(action).kind;

/** An entity as a person says it, the actions that work on it (navigation first), and its object (or null). */
export const entityTitle = (entity, things) => fill(tables.entities[entity].title, things);
export const entityActions = (entity) => tables.entities[entity].actions;
export const entityObject = (entity) => tables.entities[entity].object;

export const outcomeTitle = (outcome) => tables.outcomes[outcome] ?? outcome;
export const partnerTitle = (name) => {
  const [base, ahead] = name.split(" + look-ahead");
  const title = partners.get(base) ?? partners.get(`script/${base}`) ?? (base === "person" ? "a person" : base);
  return ahead === undefined ? title : `${title}, looks ahead${ahead}`;
};

/** The name of a robot's colour. */
export const colourName = (robot) => tables.palette.robots[robot % tables.palette.robots.length];

/** Use the colours of a theme: every colour of the palette becomes a CSS variable of its name. */
export function paint(theme) {
  for (const [name, colour] of Object.entries(tables?.palette[theme] ?? {})) {
    document.documentElement.style.setProperty(`--${name}`, colour);
  }
}

/** Colours [256] of inverse depths as 32-bit pixels, and the side of a head picture. */
export const depthPixels = () => new Uint32Array(Uint8Array.from(tables.palette.depth.flatMap((rgb) => [...rgb, 255])).buffer);
export const pictureSide = () => tables.pixels;

/** The action of a key that drives: forward, left or right. */
export const keyAction = (key) => tables.keys[key];

/** Where the fields of a frame with so many robots are, and the bits of its flags. */
export const frameLayout = (robots) => tables.frames.layouts[robots];
export const frameFlags = () => tables.frames.flags;

/** Steps as minutes and seconds of simulated time. */
export function time(steps) {
  const whole = Math.round(steps * tables.step_seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
