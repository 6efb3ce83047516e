// Search in one conversation's log: newest first, and a way to each place.

import { get, here, seg } from "./api.js";
import { dialog } from "./dialog.js";
import { h, put } from "./dom.js";
import { harness } from "./seatwords.js";
import { state } from "./state.js";
import { dayName, time } from "./words.js";

const PAUSE = 200; // milliseconds without a key before it is asked

/** A snippet with the searched words marked; they are text, whatever they look like. */
export function marked(text, query) {
  const words = query.trim().split(/\s+/).filter(Boolean).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!words.length) return [text];
  return text.split(new RegExp(`(${words.join("|")})`, "gi")).map((part, at) => (at % 2 ? h("mark", null, part) : part));
}

export function search(screen) {
  return dialog("Search in this conversation", (close) => {
    const found = h("ol.found-list", { "aria-live": "polite" });
    let timer = null;
    let asked = 0;
    const input = h("input", {
      type: "search", "data-first": true, "aria-label": "Words to look for", placeholder: "Words to look for", autocomplete: "off",
      oninput: () => (clearTimeout(timer), (timer = setTimeout(() => find(null), PAUSE))),
      onkeydown: (event) => event.key === "Enter" && (event.preventDefault(), found.querySelector("button")?.click()),
    });
    const go = (cursor) => {
      close();
      screen.log.show(cursor);
    };

    async function find(before) {
      const query = input.value.trim();
      const turn = (asked += 1);
      if (!query) return void put(found);
      try {
        const more = before === null ? "" : `&before=${before}`;
        const page = await get(here(screen.id, `/search?q=${seg(query)}&limit=30${more}`));
        if (turn !== asked) return;
        if (before === null) put(found);
        else found.lastChild?.remove();
        found.append(...page.results.map((one) => result(one, query, go)));
        if (page.has_more) found.append(h("li", null, h("button.small", { onclick: () => find(page.results.at(-1).cursor) }, "Older ones")));
        if (!found.children.length) put(found, h("li.faint", null, "Nothing was found."));
        if (page.indexed < screen.thread.head) found.append(h("li.faint", null, "The newest messages are still being indexed."));
      } catch (problem) {
        put(found, h("li.faint", null, problem.detail));
      }
    }
    return [input, found];
  }, "dialog.sheet.wide");
}

function result(one, query, go) {
  const said = one.role === "agent" ? state.agent : one.role === "owner" ? "You" : one.role;
  const who = one.kind === "tool" ? "Tool" : one.source ? harness(one.source) : said;
  return h("li", null, h("button.result", { onclick: () => go(one.cursor) },
    h("span.meta", null, h("b", null, who), ` ${dayName(one.at)}, ${time(one.at)}`), h("span", null, marked(one.snippet, query))));
}
