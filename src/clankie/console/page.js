// The frame of every screen that is no conversation, and a list that is read and shown.

import { h, iconButton, put, toast } from "./dom.js";
import { emit } from "./state.js";

export function page(title, words, ...body) {
  document.title = `${title} · Clankie`;
  return h("div.page", null, h("div.page-inner", null,
    h("header.page-head", null, iconButton("menu", "Conversations", () => emit("drawer", true), "button.ghost.icon.drawer"),
      h("div", null, h("h1", null, title), h("p.lead", null, words))), body));
}

/** A section that reads its content: `read()` gives elements. `again` reads it anew. */
export function section(title, read) {
  const body = h("div", null, h("p.faint", null, "Reading …"));
  const again = async () => {
    try {
      put(body, await read(again));
    } catch (problem) {
      put(body, h("p.notice-box", null, problem.detail ?? String(problem)));
    }
  };
  again();
  return h("section.block", null, title ? h("h2", null, title) : null, body);
}

/** Do it, say so if it was refused, and read anew. */
export async function doing(promise, again, words = "") {
  try {
    await promise;
    if (words) toast(words);
  } catch (problem) {
    toast(problem.detail ?? String(problem), "bad");
  }
  await again?.();
}

export function table(heads, rows, none) {
  if (!rows.length) return h("p.faint", null, none);
  return h("div.scroll", { tabindex: 0, role: "group", "aria-label": heads[0] }, h("table", null,
    h("thead", null, h("tr", null, heads.map((one) => h("th", { scope: "col" }, one)))),
    h("tbody", null, rows.map((cells) => h("tr", null, cells.map((cell, at) => (at ? h("td", null, cell) : h("th", { scope: "row" }, cell))))))));
}
