// What is set to happen later, and what is held until the owner says so.

import { get, post, remove, seg } from "./api.js";
import { h } from "./dom.js";
import { doing, page, section } from "./page.js";
import { state } from "./state.js";
import { exact, relative } from "./words.js";

const HELD = {
  cut_off_after_tool: "It was cut off after a tool had started: run again, it may do a second time what it did.",
  failed_after_effect: "It failed after a tool may have changed something.",
  credential_rejected: "The model server refused the credential.",
  attempts_exhausted: "It failed as often as the settings allow.",
};

export function show() {
  return page("Wakes", "What the agent has set to come back to. A wake that failed backs off, then waits for you.", section("", async (again) => {
    const { wakes } = await get("/v1/wakes");
    const held = wakes.filter((one) => one.held);
    return [
      held.length > 1 ? h("div.buttons", null, h("button", { onclick: () => doing(post("/v1/wakes/release", {}), again) }, "Let all held ones try again")) : null,
      wakes.length ? h("ul.cards", null, wakes.map((one) => wake(one, again)))
        : h("div.empty", null, h("p", null, "Nothing is set."), h("p.faint", null, "Say “remind me in 40 minutes to …” in a conversation.")),
    ];
  }));
}

function wake(one, again) {
  const where = state.conversations.get(one.conversation)?.name ?? one.conversation;
  return h("li.card", { data: { held: String(Boolean(one.held)) } },
    h("p.words", null, one.text),
    h("p.faint", null, h("time", { datetime: one.due_at, title: exact(one.due_at) }, `${exact(one.due_at)} (${relative(one.due_at)})`), " in ", h("a", { href: `#/c/${one.conversation}` }, where)),
    one.held ? h("p.held", null, h("b", null, "Held. "), HELD[one.held] ?? one.held) : null,
    h("div.buttons", null,
      one.held ? h("button.small", { onclick: () => doing(post(`/v1/wakes/${seg(one.id)}/release`), again) }, "Try again") : null,
      h("button.small", { "aria-label": `Remove the wake: ${one.text}`, onclick: () => doing(remove(`/v1/wakes/${seg(one.id)}`), again) }, "Remove")));
}
