// What all parts of the page share, and how they tell each other that it changed.

const bus = new EventTarget();

/** Tell whoever listens. */
export const emit = (name, detail) => bus.dispatchEvent(new CustomEvent(name, { detail }));

/** Listen until `signal` ends, or for good. */
export const on = (name, listen, signal) =>
  bus.addEventListener(name, (event) => listen(event.detail), { signal });

/**
 * `conversations`: rows by id, in the service's order. `link`: "up", "down" or "starting".
 * `current`: the id of the open conversation, or null on another screen.
 */
export const state = { conversations: new Map(), link: "starting", current: null, agent: "Clankie" };

const PREFIX = "clankie.";

/** What this browser would not keep lives as long as the page. */
const unkept = new Map();

/** Kept in this browser. Never a secret: texts, ids and choices of the owner only. */
export const kept = {
  get(name, otherwise = null) {
    if (unkept.has(name)) return unkept.get(name) ?? otherwise;
    try {
      return JSON.parse(localStorage.getItem(PREFIX + name)) ?? otherwise;
    } catch {
      return otherwise;
    }
  },
  set(name, value) {
    try {
      if (value === null) localStorage.removeItem(PREFIX + name);
      else localStorage.setItem(PREFIX + name, JSON.stringify(value));
      unkept.delete(name);
    } catch {
      unkept.set(name, value); // full or forbidden: a reload forgets it, the page does not
    }
  },
  clear() {
    unkept.clear();
    for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
  },
};

export function setLink(link) {
  if (state.link === link) return;
  state.link = link;
  emit("link", link);
}
