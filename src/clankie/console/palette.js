// Go to or do: everything by its name, from the keyboard. Also the shortcuts.

import { listed } from "./conversations.js";
import { current } from "./conversation.js";
import { dialog } from "./dialog.js";
import { h, icon } from "./dom.js";
import { search } from "./search.js";
import { create, nextTheme } from "./sidebar.js";
import { emit, on, state } from "./state.js";

/** The way to what harnesses ask: there it is answered, with all of it in sight. */
function waiting() {
  const card = document.querySelector(".ask button");
  return card ? [["shield", "Answer what the harness asks", () => card.focus()]] : [];
}

function orders() {
  const screen = current();
  const go = (to) => () => (location.hash = to);
  const here = screen ? [
    ["search", "Search in this conversation", () => search(screen)], ["edit", "Rename this conversation", () => screen.rename()],
    ["gear", "Choose the model of this conversation", () => screen.act("model")], ["auto", "Begin afresh", () => screen.reset()],
    ["seat", "Choose who drives: seats", () => screen.act("seats")], ...waiting(),
    ["stop", "Cancel the running turn", () => screen.cancel()], ["down", "Go to the newest message", () => screen.log.toEnd()],
  ] : [];
  return [
    ...listed().open.map((row) => ["talk", row.name, go(`#/c/${row.id}`)]), ...here,
    ["plus", "New conversation", create], ["clock", "Wakes", go("#/wakes")], ["chart", "Usage and cost", go("#/usage")],
    ["pulse", "Health", go("#/health")], ["key", "Access: credentials and sessions", go("#/access")], ["gear", "Settings", go("#/settings")],
    ["sun", "Change the appearance", nextTheme], ["menu", "Keyboard", keys], ["out", "Log out", () => emit("log-out")],
  ];
}

/** Whether every word of the query begins or stands in the name. Pure. */
export function matches(words, query) {
  const name = words.toLowerCase();
  return query.toLowerCase().split(/\s+/).every((part) => name.includes(part));
}

export async function palette() {
  const all = orders();
  const does = await dialog("Go to or do", (close) => {
    let at = 0;
    let shown = [];
    const list = h("div.options", { role: "listbox", id: "options", "aria-label": "What there is" });
    const input = h("input", {
      role: "combobox", "aria-expanded": "true", "aria-controls": "options", "aria-label": "Go to or do", placeholder: "Go to or do …",
      "data-first": true, autocomplete: "off", spellcheck: "false", oninput: () => draw(0), onkeydown: (event) => keyed(event),
    });
    function draw(to) {
      shown = all.filter(([, words]) => matches(words, input.value));
      at = Math.max(0, Math.min(to, shown.length - 1));
      list.replaceChildren(...shown.map(([glyph, words, order], n) =>
        h("div.option", { role: "option", id: `o${n}`, "aria-selected": String(n === at), onclick: () => close(order) }, icon(glyph), h("span", null, words))));
      input.setAttribute("aria-activedescendant", shown.length ? `o${at}` : "");
      list.children[at]?.scrollIntoView({ block: "nearest" });
    }
    function keyed(event) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) draw((at + step + shown.length) % (shown.length || 1));
      else if (event.key === "Enter") close(shown[at]?.[2]);
      else return;
      event.preventDefault();
    }
    draw(0);
    return [input, list];
  }, "dialog.sheet.palette");
  does?.();
}

const KEYS = [
  ["Ctrl K", "Go to or do anything"], ["Alt ↑  Alt ↓", "The conversation above, below"], ["Enter", "Send"],
  ["Shift Enter", "A new line"], ["Esc", "Cancel the running turn, or close what is open"], ["Alt End", "Go to the newest message"], ["?", "This list"],
];

export function keys() {
  return dialog("Keyboard", () => h("dl.keys", null, KEYS.map(([key, words]) => [h("dt", null, h("kbd", null, key)), h("dd", null, words)])));
}

function neighbour(step) {
  const ids = listed().open.map((row) => row.id);
  const at = ids.indexOf(state.current);
  if (ids.length) location.hash = `#/c/${ids[(at + step + ids.length) % ids.length]}`;
}

const writing = (target) => target.closest?.("input, textarea, select, [contenteditable]");

export function start() {
  on("palette", palette);
  addEventListener("keydown", (event) => {
    const open = document.querySelector("dialog[open]");
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      if (!open) palette();
    } else if (open) return;
    else if (event.altKey && event.key === "ArrowUp") neighbour(-1);
    else if (event.altKey && event.key === "ArrowDown") neighbour(1);
    else if (event.altKey && event.key === "End") current()?.log.toEnd();
    else if (event.key === "?" && !writing(event.target)) keys();
    else return;
    event.preventDefault();
  });
}
