// Small helpers around the document: elements by id, building them, and the token that requests need.

export const query = new URLSearchParams(location.search);
export const fast = query.has("fast"); // No shadows, no smooth edges: for slow machines and tests.
export const fine = query.has("fine"); // Everything, however slow: for pictures.
const token = query.get("token") ?? "";

/** The element with this id. */
export const $ = (id) => document.getElementById(id);

/** Make an element: el("p.faint", {id: "x", onclick() {}}, "text", child); options may be left out. Text is never HTML. */
export function el(what, ...given) {
  const plain = given[0] !== null && given[0]?.constructor === Object;
  const [options, children] = plain ? [given[0], given.slice(1)] : [{}, given];
  const [tag, ...classes] = what.split(".");
  const made = document.createElement(tag);
  made.className = classes.join(" ");
  for (const [name, value] of Object.entries(options)) {
    if (name === "tint") made.style.setProperty("--tint", value);
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && !name.startsWith("aria")) made[name] = value;
    else if (value !== null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Mark one button of a group as pressed. */
export function press(group, chosen) {
  for (const button of group.querySelectorAll("button")) button.setAttribute("aria-pressed", String(chosen(button)));
}

/** Ask the server; its one-line errors become Errors. */
export async function ask(path, options = {}) {
  const headers = { ...(options.headers ?? {}), ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  const answer = await fetch(path, { ...options, headers });
  if (!answer.ok) {
    const { error } = await answer.json().catch(() => ({}));
    throw new Error(error ?? `the server answered ${answer.status}`);
  }
  return answer;
}

/** Ask for JSON. */
export const askJson = async (path, options) => (await ask(path, options)).json();

/** An address with the token, for links and the websocket. */
export const withToken = (path) =>
  token ? `${path}${path.includes("?") ? "&" : "?"}token=${encodeURIComponent(token)}` : path;

export const TYPES = {
  f4: Float32Array,
  i1: Int8Array,
  i2: Int16Array,
  i4: Int32Array,
  u1: Uint8Array,
  u2: Uint16Array,
  u4: Uint32Array,
};

/** How many numbers an array of this shape has. */
export const count = (shape) => shape.reduce((product, n) => product * n, 1);

/** The numbers of an array of the protocol: {"type", "shape", "data"} -> typed array. */
export function numbers(array) {
  const bytes = Uint8Array.from(atob(array.data), (c) => c.charCodeAt(0));
  return new TYPES[array.type](bytes.buffer);
}

let hiding = 0;

/** Show one line of text over the page; 0 seconds: until the next one. */
export function notify(text, seconds = 6) {
  $("notice").textContent = text;
  $("notice").hidden = !text;
  clearTimeout(hiding);
  if (text && seconds) hiding = setTimeout(() => ($("notice").hidden = true), 1000 * seconds);
}

/** Colours of robots and objects: variables that `paint` sets, and the value of any variable. */
export const robotTint = (r) => `var(--robot${r % 4})`;
export const objectTint = (i) => `var(--object${i % 2})`;
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Whether somebody is typing, so that keys are not commands. */
export const typing = (event) =>
  event.target.closest?.("input, select, textarea, dialog[open]") !== null || event.ctrlKey || event.metaKey || event.altKey;
