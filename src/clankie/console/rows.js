// Events in, rows out: what a reader of a log sees. Pure: no page, no clock, no network.
//
// Rule 1: the log is the truth. What a row says of a delivery is what its events say, and a receipt
//         only where it knows more (closed as unknown, joined).
// Rule 2: a row's `key` stays the same for its life; `sig` changes with what it shows.

import { dayKey, oneLine } from "./words.js";

const PHASES = { admitted: "queued", started: "running", completed: "settled" };
const NOT_SENT = new Set(["conversation_closed", "not_sent"]);
/** States of which the owner is told more, and may do something about. */
export const OPEN_QUESTIONS = new Set(["uncertain", "failed", "not_sent"]);
export const UNFINISHED = new Set(["queued", "running"]);

/** What the events say of each delivery: id to {state, code, detail, usage, words}. */
export function deliveries(events) {
  const found = new Map();
  const of = (id) => {
    if (!found.has(id)) found.set(id, { state: "queued", tools: 0 });
    return found.get(id);
  };
  for (const event of events) {
    const id = event.delivery_id;
    if (!id) continue;
    if (event.kind === "message" && event.role !== "agent") of(id).words = oneLine(event.text, 48);
    else if (event.kind === "tool" && event.phase === "started") of(id).tools += 1;
    else if (event.kind === "turn") {
      const one = of(id);
      one.state = PHASES[event.phase] ?? event.phase;
      if (one.state === "failed" && NOT_SENT.has(event.code)) one.state = "not_sent";
      one.code = event.code;
      one.detail = event.detail;
      one.usage = event.usage ?? one.usage;
      one.since = event.at;
    }
  }
  return found;
}

/**
 * The rows of a log, and what is `known` of its deliveries. `more` are {draft, outgoing, receipts,
 * atStart}: the answer being written, messages on their way, what receipts add, and whether the log
 * begins with the first event.
 */
export function tell(events, more = {}) {
  const told = new Teller(events, more);
  if (more.atStart) told.add({ key: "start", type: "start", at: events[0]?.at ?? "", loose: true });
  for (const event of events) told.event(event);
  for (const out of more.outgoing ?? []) told.outgoing(out);
  const running = [...told.known].find(([, one]) => one.state === "running");
  if (more.draft) told.draft(more.draft);
  else if (running) told.draft({ delivery: running[0], text: "", version: 0 });
  return { rows: told.rows, known: told.known };
}

class Teller {
  constructor(events, { receipts }) {
    this.rows = [];
    this.known = deliveries(events);
    this.receipts = receipts ?? new Map();
    this.tools = new Map();
    this.logged = new Set();
    this.day = "";
    this.last = null;
  }

  add(row) {
    row.sig = signature(row);
    this.rows.push(row);
    return row;
  }

  event(event) {
    const day = dayKey(event.at);
    if (event.kind === "message") this.#date(day, event.at), this.#message(event);
    else if (event.kind === "tool") this.#date(day, event.at), this.#tool(event);
    else if (event.kind === "turn") this.#turn(event);
    else if (event.kind === "notice" || event.kind === "reset") {
      this.#date(day, event.at);
      this.add({ key: `e${event.cursor}`, type: event.kind, ...pick(event) });
      this.last = null;
    }
  }

  #date(day, at) {
    if (day === this.day) return;
    this.day = day;
    this.add({ key: `d${day}`, type: "day", at, loose: true });
    this.last = null;
  }

  #message(event) {
    const delivery = event.delivery_id;
    const own = event.role !== "agent";
    const row = { type: "message", ...pick(event), own, delivery };
    row.key = own && delivery ? `i${delivery}` : `e${event.cursor}`;
    if (own) {
      if (delivery) this.logged.add(delivery);
      Object.assign(row, this.#standing(delivery));
      this.last = delivery;
    } else {
      row.about = this.#about(delivery);
      row.usage = this.known.get(delivery)?.usage;
      this.last = delivery;
    }
    this.add(row);
  }

  #standing(delivery) {
    const known = this.known.get(delivery);
    const receipt = this.receipts.get(delivery);
    if (!known) return { state: receipt?.state ?? "" };
    let { state } = known;
    if (receipt?.state === "abandoned" && state === "uncertain") state = "abandoned";
    if (receipt?.mode === "steer" && state === "queued") state = "joining";
    if (receipt?.attempts?.at(-1)?.into && state === "running") state = "steered";
    if (receipt?.state === "absorbed" && state === "settled") state = "absorbed";
    return { state, sentence: receipt?.detail || known.detail, code: known.code, tools: known.tools };
  }

  /** The first words of what is answered, where something else stands between. */
  #about(delivery) {
    return delivery && delivery !== this.last ? this.known.get(delivery)?.words ?? "" : "";
  }

  #tool(event) {
    const call = `${event.delivery_id}/${event.call_id}`;
    const begun = this.tools.get(call);
    if (event.phase === "started" || !begun) {
      const row = { key: `e${event.cursor}`, type: "tool", ...pick(event), input: event.detail };
      if (event.phase !== "started") row.result = event.detail;
      this.add(row);
      if (event.phase === "started") this.tools.set(call, row);
      return;
    }
    this.tools.delete(call);
    begun.phase = event.phase;
    begun.result = event.detail;
    begun.until = event.at;
    begun.sig = signature(begun);
  }

  #turn(event) {
    if (!event.partial || event.phase === "completed") return;
    const about = this.#about(event.delivery_id);
    const row = { ...pick(event), type: "partial", text: event.partial, about };
    this.add({ ...row, key: `e${event.cursor}`, delivery: event.delivery_id });
    this.last = event.delivery_id;
  }

  outgoing(out) {
    if (this.logged.has(out.id)) return;
    this.add({
      key: `i${out.id}`, type: "message", own: true, delivery: out.id, at: out.at, text: out.text,
      author: { principal: "operator" }, role: "owner", attachments: out.attachments,
      state: out.refused ? "refused" : out.failing ? "waiting" : "sending", sentence: out.refused, local: true,
    });
    this.last = out.id;
  }

  draft(draft) {
    this.add({ key: "draft", type: "draft", ...draft, about: this.#about(draft.delivery) });
  }
}

/** What of a row may change while its key stays. */
function signature({ type, at, state, phase, about, usage, result, sentence, version }) {
  const cost = usage ? `${usage.input_tokens}/${usage.output_tokens}/${usage.cost_usd}` : "";
  return [type, at, state, phase, about, cost, result, sentence, version].join("\u0000");
}

function pick(event) {
  const { cursor, at, author, role, text, source, attachments, name, phase, code, detail } = event;
  return { cursor, at, author, role, text, source, attachments, name, phase, code, detail };
}
