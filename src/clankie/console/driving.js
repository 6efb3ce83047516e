// Above the log: which harness drives, since when, what it has. Below it: what a harness asks.

import { decide, asking, seatOf } from "./seats.js";
import { driving } from "./seatwords.js";
import { announce, h, icon, put, toast } from "./dom.js";
import { on, state } from "./state.js";
import { oneLine, time, exact } from "./words.js";

const SECOND = 1000;

/** The strip of one conversation; hidden while no seat is attached. `choose()` opens the seats. */
export function strip(id, signal, choose) {
  const line = h("div.driving", { hidden: true });
  let drawn = "";
  const draw = () => {
    const told = driving(state.conversations.get(id)?.driver, seatOf(id), Date.now());
    const key = JSON.stringify(told);
    if (key === drawn) return;
    drawn = key;
    line.hidden = told === null;
    if (told === null) return;
    if (line.dataset.tone && line.dataset.tone !== told.tone) announce(`${told.name} ${told.says}`);
    line.dataset.tone = told.tone;
    const focused = line.contains(document.activeElement);
    const button = h("button.ghost.small", { onclick: choose, "aria-label": "Who drives: seats" }, "Seats");
    const [first, ...rest] = told.facts;
    put(line, h("span.lamp", { data: { busy: String(rest.includes("works now") || first === "works now") } }),
      h("p", null, h("b", null, told.name), ` ${told.says}`, told.facts.map((one) => [h("span.sep", null, " · "), h("span.fact", null, one)])),
      h("span.grow"), button, told.share === null ? null : bar(told.share));
    if (focused) button.focus();
  };
  on("seats", draw, signal);
  on("conversations", draw, signal);
  const timer = setInterval(() => line.dataset.tone !== "live" && draw(), SECOND);
  signal.addEventListener("abort", () => clearInterval(timer));
  draw();
  return line;
}

/** How much of the hold is left, drawn from full to nothing. */
function bar(share) {
  const made = h("span.left");
  made.style.transform = `scaleX(${share.toFixed(3)})`;
  return made;
}

const WAITS = "These are its words. It waits for yours.";
const UNWATCHED = "It may no longer be open: nobody listens there now.";

/** The cards of what harnesses ask in this conversation, oldest first. */
export function questions(id, signal) {
  const place = h("div.asks", { hidden: true, role: "region", "aria-label": "A harness asks" });
  const shown = new Map();
  const draw = () => {
    const now = asking(id);
    const ids = new Set(now.map((one) => one.id));
    for (const [key, card] of shown) {
      if (ids.has(key)) continue;
      card.remove();
      shown.delete(key);
    }
    for (const one of now) {
      if (!shown.has(one.id)) {
        shown.set(one.id, card(one, driving(null, seatOf(id) ?? { seat: one.seat }, Date.now()).name));
        place.append(shown.get(one.id));
      }
      shown.get(one.id).querySelector(".hint").textContent = one.unwatched ? UNWATCHED : WAITS;
    }
    place.hidden = shown.size === 0;
  };
  on("seats", draw, signal);
  on("asked", (one) => one.conversation === id && announce(`A harness asks: ${oneLine(one.summary, 200)}`), signal);
  draw();
  return place;
}

function card(one, name) {
  const answer = async (decision) => {
    for (const button of made.querySelectorAll("button")) button.disabled = true;
    try {
      await decide(one.id, decision);
      toast(decision === "approve" ? `Approved. ${name} is told.` : `Denied. ${name} is told.`);
    } catch (problem) {
      for (const button of made.querySelectorAll("button")) button.disabled = false;
      toast(problem.detail ?? String(problem), "bad");
    }
  };
  const made = h("section.ask", { "aria-label": `${name} asks` },
    h("header", null, icon("shield"), h("b", null, `${name} asks`), h("span.grow"), one.created_at ? h("time", { datetime: one.created_at, title: exact(one.created_at) }, time(one.created_at)) : null),
    h("p.summary", null, String(one.summary)),
    one.detail ? h("pre", { tabindex: 0, "aria-label": "In full" }, typeof one.detail === "string" ? one.detail : JSON.stringify(one.detail, null, 2)) : null,
    h("div.buttons", null,
      h("button.small", { onclick: () => answer("approve") }, icon("check"), "Approve"),
      h("button.small", { onclick: () => answer("deny") }, icon("close"), "Deny"),
      h("span.faint.hint")));
  return made;
}
