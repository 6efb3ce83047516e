// One row of the log as elements. Everything that anybody wrote comes in as text.

import { h, icon } from "./dom.js";
import { sanitised } from "./markdown.js";
import { OPEN_QUESTIONS } from "./rows.js";
import { picture } from "./attach.js";
import { evidence, handoff as told } from "./seatwords.js";
import { state } from "./state.js";
import { STATES, dayName, exact, moment, oneLine, spent, time } from "./words.js";

const GLYPHS = {
  sending: "clock", waiting: "clock", queued: "clock", held: "clock", settled: "check", absorbed: "check",
  steered: "chevron", joining: "chevron", cancelled: "close", refused: "close", failed: "close", not_sent: "close",
  uncertain: "doubt", abandoned: "doubt", offered: "clock", behind: "clock", attempting: "chevron", taken: "seat",
  accepted: "seat", delivered: "check",
};
const ON_THE_MOVE = new Set(["running", "steered", "sending"]);
const CANCELLABLE = new Set(["queued", "joining", "offered", "behind"]);
const PRINCIPALS = { device: "You, from a device", worker: "Worker", room: "Room", webhook: "Webhook", system: "Clankie" };

/** `desk` has: html(cursor), act(name, row), open: the keys of opened tools. */
export function element(row, desk) {
  const made = MAKERS[row.type](row, desk);
  made.dataset.key = row.key;
  return made;
}

function speaker(row) {
  const principal = row.author?.principal;
  if (principal === "seat") return row.harness ?? "The harness";
  if (row.role === "agent") return state.agent;
  if (row.role === "external") return row.source === "wake" ? "A wake" : oneLine(row.source || "From outside", 60);
  if (row.role === "room") return oneLine(row.source || "Room", 60);
  return PRINCIPALS[principal] ?? "You";
}

function when(at) {
  return h("time", { datetime: at, title: exact(at) }, time(at));
}

function head(row, before, after) {
  return h("header.who", null, h("b", null, speaker(row)), origin(row), about(row), h("span.grow"), before, when(row.at), after);
}

/** What a harness writes is its word: it never stands under the owner's name, nor the agent's. */
function origin(row) {
  if (row.author?.principal !== "seat") return null;
  return h("span.origin", null, icon("seat"), row.role === "agent" ? "written in the harness" : "typed in the harness");
}

function about(row) {
  return row.about ? h("span.about", { title: "What this is about" }, `↳ ${row.about}`) : null;
}

function message(row, desk) {
  const html = row.own ? "" : desk.html(row.cursor);
  const words = html
    ? fragment("div.words.prose", sanitised(html))
    : h("div.words.plain", null, row.text);
  const kind = row.own ? (row.role === "owner" ? "mine" : "foreign") : "answer";
  const from = origin(row)?.textContent;
  const made = h(`article.row.said.${kind}${from ? ".seated" : ""}`, { "aria-label": [speaker(row), from, time(row.at)].filter(Boolean).join(", ") },
    head(row, row.own ? null : h("span.cost", null, spent(row.usage)), ANSWERED.has(row.state) ? tick(row, desk) : null), words, files(row),
    row.own ? standing(row, desk) : null);
  if (row.state) made.dataset.state = row.state;
  return made;
}

function fragment(spec, inner) {
  const made = h(spec);
  made.append(inner);
  return made;
}

function files(row) {
  return row.attachments?.length ? h("div.files", null, row.attachments.map(picture)) : null;
}

const ANSWERED = new Set(["settled", "absorbed"]);

/** The common end, as small as can be; it opens the receipt like the others. */
function tick(row, desk) {
  return h("button.tick", { "aria-label": STATES[row.state], title: `${STATES[row.state]}. What is known of this message`, onclick: () => desk.act("look", row) }, icon("check"));
}

/** What became of it: always a line, and for what is open a question with its answers. */
function standing(row, desk) {
  if (!row.state || ANSWERED.has(row.state)) return null;
  if (OPEN_QUESTIONS.has(row.state) || row.state === "refused") return question(row, desk);
  const moves = ON_THE_MOVE.has(row.state) && !row.words;
  const shown = [moves ? h("span.dot.busy") : icon(GLYPHS[row.state] ?? "clock"), row.words ?? STATES[row.state] ?? row.state];
  return h("footer.standing", null,
    row.local ? h("span.chip", null, shown) : h("button.chip", { title: "What is known of this message", onclick: () => desk.act("look", row) }, shown),
    CANCELLABLE.has(row.state) ? h("button.chip", { onclick: () => desk.act("withdraw", row) }, "Cancel") : null,
    row.state === "waiting" ? h("button.chip", { onclick: () => desk.act("take-back", row) }, "Take it back") : null);
}

function question(row, desk) {
  const button = (name, words, spec = "button.small") => h(spec, { onclick: () => desk.act(name, row) }, words);
  const refused = row.state === "refused";
  return h("footer.question", { data: { state: row.state } },
    h("p", null, h("b", null, icon(GLYPHS[row.state]), STATES[row.state]), " ", row.sentence || ""),
    row.attempt && row.state === "uncertain" ? h("dl.proof", null, evidence(row.attempt, row.harness, moment).map(([name, value]) => h("div", null, h("dt", null, name), " ", h("dd", null, value)))) : null,
    h("div.buttons", null,
      refused ? null : button("look", "Look"),
      refused ? button("take-back", "Edit it") : button("again", "Send again"),
      row.state === "uncertain" ? button("abandon", "Close as unknown") : null,
      refused ? button("drop", "Discard") : null));
}

function tool(row, desk) {
  const running = row.phase === "started";
  const made = h("details.row.tool", { data: { phase: row.phase } },
    h("summary", null,
      running ? h("span.dot.busy") : icon(row.phase === "failed" ? "close" : "tool"),
      h("code", null, row.name),
      h("span.gist", null, oneLine(row.result || row.input || "", 160)),
      h("span.unseen", null, { started: "running", completed: "done", failed: "failed" }[row.phase]),
      when(row.at)),
    row.input ? h("pre", { tabindex: 0, "aria-label": "Asked" }, row.input) : null,
    row.result && row.result !== row.input ? h("pre", { tabindex: 0, "aria-label": "Answered" }, row.result) : null,
    !row.input && !row.result ? h("p.faint", null, "It says nothing more.") : null);
  made.open = desk.open.has(row.key);
  made.addEventListener("toggle", () => desk.open[made.open ? "add" : "delete"](row.key));
  return made;
}

function draft(row) {
  const made = h("article.row.said.answer.draft", { "aria-busy": "true" },
    h("header.who", null, h("b", null, row.harness ?? state.agent), about(row)),
    row.text ? h("div.words.plain", null, row.text) : h("div.thinking", null, h("span.dot.busy"), "Working"));
  return made;
}

function partial(row) {
  return h("article.row.said.answer.partial", null,
    h("header.who", null, h("b", null, state.agent), about(row), h("span.grow"), when(row.at)),
    h("div.words.plain", null, row.text),
    h("p.cut", null, "It ended here, unfinished."));
}

/** What a harness was told of what the service did: a line, and a way to what it was. */
function handoff(row, desk) {
  const { from, to, begins } = row;
  const range = row.phase !== "open" && to > from;
  return h("p.row.notice.handoff", { data: { phase: row.phase } },
    icon("swap"), h("span", null, `${told(row.phase, row.name)}.`,
      range ? [" ", h("button.chip", { title: `Entries ${begins} to ${to}`, onclick: () => desk.show(begins) }, "Show it")] : null),
    when(row.until ?? row.at));
}

const SEAT_NOTICE = /seat|attach|detach|takeover|took_over|park|limit|handoff|driver/;

function notice(row) {
  const seat = SEAT_NOTICE.test(row.code ?? "");
  return h("p.row.notice", null, seat ? icon("seat") : null, h("span", null, row.text), about(row), when(row.at));
}

const FIRST_WORDS = ["What can you do?", "help", "remind me in 40 seconds to look up"];

/** An empty log, and a way to begin. */
function beginning(desk) {
  return h("div.row.beginning", null,
    h("img", { src: "/console/mark.svg", alt: "", width: 40, height: 40 }),
    h("h2", null, "Nothing has been said here yet"),
    h("p", null, "What you send is on disk before it is answered, and you see what becomes of it."),
    h("div.buttons", null, FIRST_WORDS.map((text) => h("button", { onclick: () => desk.act("say", { text }) }, text))));
}

const MAKERS = {
  message, tool, draft, partial, handoff, notice,
  day: (row) => h("h2.row.day", null, dayName(row.at)),
  start: (row, desk) => (row.at ? h("p.row.edge", null, "The log begins here.") : beginning(desk)),
  reset: (row) => h("p.row.reset", null, h("span", null, "Begun afresh. What stands above is not read any more."), when(row.at)),
};

/** Pixels a row will take, roughly, before it was seen. */
export function guess(row) {
  if (row.type === "tool") return 34;
  if (row.type === "message") return 84 + Math.ceil((row.text?.length ?? 0) / 85) * 24;
  return 48;
}
