// Elements from words. Rule: text becomes text; nothing here ever parses HTML.

const SVG = "http://www.w3.org/2000/svg";

const PATHS = {
  plus: "M12 5v14M5 12h14",
  menu: "M4 7h16M4 12h16M4 17h16",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14ZM20 20l-4-4",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M8 8h8v8H8z",
  clip: "m20 11-8.5 8.5a5 5 0 0 1-7-7L13 4a3.4 3.4 0 0 1 4.8 4.8l-8.4 8.4a1.7 1.7 0 0 1-2.4-2.4L14.6 7",
  close: "M6 6l12 12M18 6 6 18",
  check: "m5 12.5 4.5 4.5L19 7.5",
  down: "M12 5v14M6 13l6 6 6-6",
  chevron: "m9 6 6 6-6 6",
  bell: "M6 16V11a6 6 0 1 1 12 0v5l1.5 2h-15zM10 20.5h4",
  sun: "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4",
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z",
  auto: "M12 20a8 8 0 1 0 0-16ZM12 4v16M12 4a8 8 0 0 0 0 16",
  tool: "M14.5 6.5a4 4 0 0 1 5-1l-2.7 2.7 1.9 1.9 2.7-2.7a4 4 0 0 1-5.4 5L8.5 19.9a2 2 0 0 1-2.9-2.8l7.6-7.4",
  folder: "M3.5 7a1.5 1.5 0 0 1 1.5-1.5h4l2 2.5h8A1.5 1.5 0 0 1 20.5 9.5v8A1.5 1.5 0 0 1 19 19H5a1.5 1.5 0 0 1-1.5-1.5z",
  talk: "M4 6.5A1.5 1.5 0 0 1 5.5 5h13A1.5 1.5 0 0 1 20 6.5v8a1.5 1.5 0 0 1-1.5 1.5H11l-4.5 4v-4h-1A1.5 1.5 0 0 1 4 14.5z",
  room: "M9 4 7 20M17 4l-2 16M4 9h16M4 15h16",
  clock: "M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17ZM12 7.5V12l3 2",
  chart: "M5 20v-7M12 20V5M19 20v-10",
  gear: "M12 15.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4ZM12 3v3M12 18v3M3 12h3M18 12h3M5.6 5.6l2.1 2.1M16.3 16.3l2.1 2.1M5.6 18.4l2.1-2.1M16.3 7.7l2.1-2.1",
  pulse: "M3 12h4l2.5-6 4.5 12 2.5-6H21",
  key: "M14.5 13.5a4.5 4.5 0 1 0-4.2-3L4 16.8V20h3.5v-2.5H10V15l1.2-1.2",
  doubt: "M9 9.2a3 3 0 1 1 4.6 2.6c-1 .6-1.6 1.2-1.6 2.4M12 17.5v.01",
  alert: "M12 9v4.5M12 16.5v.01M12 4 3 19.5h18z",
  out: "M10 5H5.5v14H10M15 8l4 4-4 4M19 12H10",
  edit: "m5 19 .8-3.5L16 5.3a1.5 1.5 0 0 1 2.1 0l.6.6a1.5 1.5 0 0 1 0 2.1L8.5 18.2z",
  seat: "M5 5.5h14a1.5 1.5 0 0 1 1.5 1.5v10a1.5 1.5 0 0 1-1.5 1.5H5A1.5 1.5 0 0 1 3.5 17V7A1.5 1.5 0 0 1 5 5.5ZM7.5 10l2.5 2-2.5 2M12.5 14.5h4",
  swap: "M4 9h14l-3.5-3.5M20 15H6l3.5 3.5",
  shield: "M12 3.5 5 6v5.5c0 4.2 2.9 7.4 7 9 4.1-1.6 7-4.8 7-9V6z",
  file: "M7 3.5h6.5L18 8v12.5H7zM13 4v4.5h4.5",
};

/** A line drawing; it says nothing to a screen reader. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("glyph");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}

/**
 * h("button.ghost", { type: "button", onclick }, "Save"): an element. Strings become text nodes,
 * null, undefined and false are left out, arrays are flattened.
 */
export function h(spec, props, ...children) {
  const [tag, ...classes] = spec.split(".");
  const made = document.createElement(tag || "div");
  if (classes.length) made.classList.add(...classes);
  if (tag === "button") made.type = "button";
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(made.dataset, value);
    else if (name in made && !name.includes("-") && typeof value !== "string") made[name] = value;
    else if (name === "value") made.value = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  fill(made, children);
  return made;
}

/** Put these in, whatever was there before stays. */
export function fill(parent, children) {
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : String(child));
  }
  return parent;
}

/** Put these in the place of what was there. */
export function put(parent, ...children) {
  parent.replaceChildren();
  return fill(parent, children);
}

export const $ = (selector, within = document) => within.querySelector(selector);

/** A button with a drawing and a name that is read out and shown as a hint. */
export function iconButton(name, label, onclick, spec = "button.ghost.icon") {
  return h(spec, { "aria-label": label, title: label, onclick }, icon(name));
}

/** Say something to a screen reader, once it has finished its sentence. */
export function announce(words) {
  $("#live").textContent = words;
}

/** A sentence at the edge for a few seconds. `kind`: "", "bad". */
export function toast(words, kind = "") {
  const shown = h("div.toast", { class: kind }, words);
  shown.classList.add("toast");
  $("#toasts").append(shown);
  setTimeout(() => shown.remove(), kind ? 8000 : 4000);
}
