// Events in, rows out: what a reader of a log sees. Pure: no page, no clock, no network.
//
// Rule 1: the log is the truth. What a row says of a delivery is what its events say, and a receipt
//         only where it knows more (closed as unknown, joined).
// Rule 2: a row's `key` stays the same for its life; `sig` changes with what it shows.

import { atSeat, harness, inFlight, named, standingAtSeat, unsent } from "./seatwords.js";
import { dayKey, oneLine } from "./words.js";

const PHASES = { admitted: "queued", started: "running", completed: "settled" };
const NOT_SENT = new Set(["conversation_closed", "not_sent"]);
/** States of which the owner is told more, and may do something about. */
export const OPEN_QUESTIONS = new Set(["uncertain", "failed", "not_sent"]);
const PRESENT = new Set(["live", "holding"]);
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
    if (event.kind === "message") event.role === "agent" ? (of(id).answered = true) : (of(id).words = oneLine(event.text, 48));
    else if (event.kind === "tool" && event.phase === "started") of(id).tools += 1;
    else if (event.kind === "turn") {
      const one = of(id);
      const waited = one.state === "queued";
      one.state = PHASES[event.phase] ?? event.phase;
      // Ended with a reason before any driver had it; the owner's own cancelling gives none.
      if (one.state === "cancelled" && waited && event.code) one.state = "not_sent";
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
 * atStart, seat, names}: the answer being written, messages on their way, what receipts add, whether
 * the log begins with the first event, the seat that drives, and the harness of each seat by its id.
 */
export function tell(events, more = {}) {
  const told = new Teller(events, more);
  if (more.atStart) told.add({ key: "start", type: "start", at: events[0]?.at ?? "", loose: true });
  for (const event of events) told.event(event);
  for (const out of more.outgoing ?? []) told.outgoing(out);
  const running = [...told.known].find(([, one]) => one.state === "running");
  if (more.draft) told.draft(more.draft);
  else if (running) told.working(running[0]);
  return { rows: told.rows, known: told.known };
}

class Teller {
  constructor(events, { receipts, seat, names }) {
    this.rows = [];
    this.seat = seat ?? null;
    this.names = names ?? {};
    this.handoffs = new Map();
    this.heard = null; // the harness that spoke last
    this.before = null; // the newest delivery that a seat has in flight
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
    else if (event.kind === "handoff") this.#date(day, event.at), this.#handoff(event);
    else if (event.kind === "notice" || event.kind === "reset") {
      this.#date(day, event.at);
      const row = pick(event);
      if (event.kind === "notice") Object.assign(row, { text: named(row.text), about: this.#about(event.delivery_id) });
      this.add({ key: `e${event.cursor}`, type: event.kind, ...row });
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
      if (event.author?.principal === "seat") row.harness = this.#harness(event);
      if (delivery) this.logged.add(delivery);
      Object.assign(row, this.#standing(delivery));
      this.last = delivery;
    } else {
      row.about = this.#about(delivery);
      row.usage = this.known.get(delivery)?.usage;
      if (event.author?.principal === "seat") row.harness = this.#harness(event);
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
    const why = state === "not_sent" ? unsent(known.code) : "";
    const facts = { sentence: receipt?.detail || known.detail || why, code: known.code, tools: known.tools };
    // A harness may end a turn without an answer: where the log has none, only the receipt knows.
    const wonder = state === "settled" && !known.answered && !receipt;
    return { state, ...facts, wonder, ...this.#atSeat(delivery, state, receipt) };
  }

  /** Where a harness has to do with it: how it stands there, and the attempt as evidence. */
  #atSeat(delivery, state, receipt) {
    const last = atSeat(receipt);
    const name = this.#name(last?.destination.seat);
    const told = standingAtSeat(receipt, state, { name, driven: this.seat !== null, joins: this.before !== null });
    if (inFlight(receipt)) this.before ??= delivery;
    const sentence = last ? receipt.detail?.replaceAll(`the seat ${last.destination.seat}`, name) : null;
    return last || told ? { ...told, attempt: last, harness: name, ...(sentence ? { sentence } : null) } : null;
  }

  #name(seat) {
    const id = seat ?? this.seat?.seat;
    return harness(this.names[id] ?? (id === this.seat?.seat ? this.seat?.harness : null) ?? this.heard, "the harness");
  }

  /** Who speaks from a seat: the message says which harness it is, where it knows. */
  #harness(event) {
    this.heard = event.source ?? this.heard;
    return event.source ? harness(event.source) : harness(this.names[event.author.id] ?? (event.author.id === this.seat?.seat ? this.seat.harness : null));
  }

  /** One row says when a span opened, another how its handover stands. */
  #handoff(event) {
    const { span, phase, from_cursor: from, to_cursor: to } = event;
    const sent = this.handoffs.get(`h${span}`);
    // Refused for certain, it is open again.
    if (phase === "open" && sent) return this.#step(sent, { phase: "refused", until: event.at });
    const key = phase === "open" || phase === "none" ? `h${span}/open` : `h${span}`;
    // The service began where the span opened; without that event, after what the harness had.
    const begins = this.handoffs.get(`h${span}/open`)?.cursor ?? from + 1;
    const facts = { ...pick(event), name: this.#name(null), from, to, begins };
    const begun = this.handoffs.get(key);
    if (begun) this.#step(begun, { phase, to: to ?? begun.to, until: event.at });
    else if (phase !== "none") this.handoffs.set(key, this.add({ key, type: "handoff", ...facts }));
  }

  #step(row, facts) {
    Object.assign(row, facts);
    row.sig = signature(row);
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

  draft(draft, more = {}) {
    this.add({ key: "draft", type: "draft", ...draft, ...more, about: this.#about(draft.delivery) });
  }

  /** The place of an answer before its first word: the service's, or a harness's while it works. */
  working(delivery) {
    const receipt = this.receipts.get(delivery);
    const last = atSeat(receipt);
    const service = last === null && (this.seat === null || receipt?.attempts?.length > 0);
    if (service) this.draft({ delivery, text: "", version: 0 });
    else if (this.seat?.activity === "responding" && PRESENT.has(this.seat.state)) this.draft({ delivery, text: "", version: 0 }, { harness: this.#name(last?.destination.seat) });
  }
}

/** What of a row may change while its key stays. */
function signature({ type, at, state, phase, about, usage, result, sentence, version, words, harness: by, attempt, to, name, text }) {
  const cost = usage ? `${usage.input_tokens}/${usage.output_tokens}/${usage.cost_usd}` : "";
  const proof = attempt ? `${attempt.n}/${attempt.state}/${attempt.evidence?.acknowledged_at}/${attempt.evidence?.proof}` : "";
  return [type, at, state, phase, about, cost, result, sentence, version, words, by, proof, to, type === "tool" ? "" : name, type === "notice" ? text : ""].join("\u0000");
}

function pick(event) {
  const { cursor, at, author, role, text, source, attachments, name, phase, code, detail } = event;
  return { cursor, at, author, role, text, source, attachments, name, phase, code, detail };
}
