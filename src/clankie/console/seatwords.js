// What a seat does and what became of a message there, in words. Pure: no page, no clock, no network.
//
// Rule: a word says what is known and no more. "Taken" is the harness's acknowledgement, "in its
//       transcript" is a row that names this attempt, and only a reply or such a row's answer is one.

import { count, oneLine, time } from "./words.js";

const HARNESSES = { claude: "Claude Code", "claude-code": "Claude Code", codex: "Codex", pi: "pi", opencode: "opencode" };

/** A harness as people call it. */
export const harness = (name, otherwise = "The harness") => HARNESSES[name] ?? (oneLine(String(name ?? ""), 40) || otherwise);

/** A sentence of the service that begins with a harness's id, or names a seat with it, as people say it. */
export const named = (text) => String(text ?? "").replace(/^[a-z]+(-[a-z]+)*(?= )/, (id) => HARNESSES[id] ?? id)
  .replace(/^The seat \S+ \(([a-z-]+)\)/, (_, id) => harness(id));

const UNSENT = {
  conversation_closed: "The conversation was closed before its turn came.",
  seat_left: "It was queued behind the turn of a seat, and that went away.",
  seat_parked: "It was queued behind the turn of a seat, and that reached its usage limit.",
  detached: "It was queued behind the turn of a seat, and that was detached.",
};

/** Why a message that waited went nowhere. */
export const unsent = (code) => UNSENT[code] ?? "It waited for a driver that let it go.";

/** "32 s", "1 min 05 s", "2 h 10 min": what is left until then, never below nothing. */
export function left(until, now) {
  const seconds = Math.max(0, Math.ceil((new Date(until) - now) / 1000));
  if (seconds < 60) return `${seconds} s`;
  const [big, small, unit] = seconds < 3600 ? [Math.floor(seconds / 60), seconds % 60, "s"] : [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), "min"];
  return `${big} ${seconds < 3600 ? "min" : "h"} ${String(small).padStart(2, "0")} ${unit}`;
}

/** A time of day, with its day where that is not today. */
export function clock(at, now) {
  const day = new Date(at);
  const same = day.toDateString() === new Date(now).toDateString();
  return same ? time(at) : `${day.toLocaleDateString(undefined, { day: "numeric", month: "short" })}, ${time(at)}`;
}

const coming = (at, now) => at && new Date(at) > now;

/**
 * Who drives, as the line above a log says it: {tone, name, says, facts, until, share}. `seat` is its
 * row of the roster, where that was read. `until`: what is counted down to, of which `share`, 0 to 1,
 * is left. Null where the service drives and no seat is attached.
 */
export function driving(driver, seat, now) {
  const one = { ...(driver?.kind === "seat" ? driver : null), ...seat };
  if (!one.seat) return null;
  const name = harness(one.harness);
  const tone = one.parked_until && coming(one.parked_until, now) ? "parked" : one.state ?? "live";
  const facts = [];
  const told = { tone, name, says: "", facts, until: null, share: null };
  if (tone === "live") {
    told.says = "drives";
    facts.push(one.since ? `since ${clock(one.since, now)}` : null, one.activity === "responding" ? "works now" : null);
  } else if (tone === "holding") {
    told.until = one.hold_until ?? one.grace_until ?? null;
    told.says = "is silent";
    if (told.until && one.last_ask) told.share = share(one.last_ask, told.until, now);
    facts.push(told.until ? `the service takes over in ${left(told.until, now)}` : "what comes is kept for it");
    if (one.hold_until && coming(one.grace_until, now)) facts.push(`its queue is kept ${left(one.grace_until, now)} more`);
    facts.push(asked(one, now));
  } else if (tone === "parked") {
    // Without a limit it is the session: retired by a reset, or another conversation's.
    told.says = one.parked_until ? `is at its usage limit until ${clock(one.parked_until, now)}` : "has to begin a new session";
    facts.push(one.parked_until ? null : "type /clear or /new in its terminal", "the service answers meanwhile");
  } else {
    told.says = "is away";
    facts.push(asked(one, now), "the service answers");
  }
  facts.push(one.waiting ? `${one.waiting} waiting there` : null, one.in_flight ? `${one.in_flight} in flight` : null);
  told.facts = facts.filter(Boolean);
  return told;
}

function share(from, until, now) {
  const [begin, end] = [new Date(from), new Date(until)];
  return Math.max(0, Math.min(1, (end - now) / (end - begin || 1)));
}

const asked = (one, now) => (one.last_ask ? `last asked ${clock(one.last_ask, now)}` : null);

/** The same in two words, for a list. */
export function brief(driver) {
  const more = { holding: "silent", absent: "away", parked: "limited" }[driver.state];
  return more ? `${harness(driver.harness)}, ${more}` : harness(driver.harness);
}

/** Where an attempt at a seat is, after its name. */
const WORDS = {
  offered: (name) => `Waits at ${name}`,
  attempting: (name) => `On its way to ${name}`,
  taken: (name) => `Taken by ${name}`,
  accepted: (name) => `In the transcript of ${name}`,
  behind: (name) => `Queued behind the turn of ${name}`,
  delivered: (name) => `Delivered to ${name}`,
};
const IN_FLIGHT = new Set(["attempting", "taken", "accepted"]);

/** The newest attempt of a receipt, where that is at a seat; else null. */
export function atSeat(receipt) {
  const last = receipt?.attempts?.at(-1);
  return last?.destination?.kind === "seat" ? last : null;
}

export const inFlight = (receipt) => IN_FLIGHT.has(atSeat(receipt)?.state);

/**
 * How a message stands with a harness: {state, words}, or null where no harness has to do with it.
 * `known` is what the log says; `name` the harness; `joins`: its turn ran when it was handed over.
 */
export function standingAtSeat(receipt, known, { name, driven, joins }) {
  const last = atSeat(receipt);
  if (known === "settled") {
    const bare = last?.state === "delivered" && !receipt.reply_cursor;
    return bare ? { state: "delivered", words: WORDS.delivered(name) } : null;
  }
  if (known !== "queued" && known !== "running") return null;
  if (!last || last.state === "refused" || last.state === "released") {
    return receipt?.mode === "queue" && driven ? { state: "behind", words: WORDS.behind(name) } : null;
  }
  if (last.state === "offered" && receipt.mode === "queue") return { state: "behind", words: WORDS.behind(name) };
  if (!(last.state in WORDS)) return null;
  if (!IN_FLIGHT.has(last.state) || !(joins || receipt.mode === "steer")) return { state: last.state, words: WORDS[last.state](name) };
  const far = { attempting: "on its way", taken: "taken", accepted: "in the transcript" }[last.state];
  return { state: "steered", words: `Steered into the turn of ${name}, ${far}` };
}

const PROOFS = {
  uuid: "a row of its transcript has the id of this attempt", client_id: "the harness keeps our id beside the row",
  text: "what we typed, in one new row within seconds", socket: "the harness's answer on its own socket",
};

/** What is known of an attempt at a seat, as pairs of name and words. */
export function evidence(attempt, name, when) {
  const { destination, evidence: facts = {} } = attempt;
  const pairs = [["Given to", `${name}, seat ${destination.seat}`]];
  if (destination.occupant) pairs.push(["In session", destination.occupant]);
  pairs.push(["Handed over", when(attempt.asked_at ?? attempt.started_at)]);
  pairs.push(["Acknowledged", facts.acknowledged_at ? when(facts.acknowledged_at) : "never"]);
  pairs.push(["Proof", facts.proof ? PROOFS[facts.proof] ?? oneLine(String(facts.proof)) : "none"]);
  return pairs;
}

const HANDOFFS = {
  attempting: (name) => `On its way to ${name}: what the service did meanwhile`,
  unresolved: (name) => `On its way to ${name}: what the service did meanwhile. It was not acknowledged yet`,
  delivered: (name) => `Handed over to ${name}: what the service did meanwhile`,
  uncertain: (name) => `It is not known whether ${name} got what the service did meanwhile. It is not sent again; all of it stands here`,
  refused: (name) => `${name} did not take what the service did meanwhile. It is offered again`,
};

/** A step of a handoff in a sentence. */
export function handoff(phase, name) {
  if (phase === "open") return `From here the service answers, and ${name} gets it in one piece when it is back`;
  if (phase === "none") return "From here the service answered. Nothing of it is left to hand over";
  const who = phase === "refused" ? name[0].toUpperCase() + name.slice(1) : name;
  return (HANDOFFS[phase] ?? (() => `What the service did meanwhile, for ${name}: ${oneLine(String(phase), 40)}`))(who);
}

/** What waits at a seat and what it may have, in a phrase; "" for nothing. */
export const held = (seat) =>
  [seat.waiting ? `${count(seat.waiting, "message")} waiting` : "", seat.in_flight ? `${seat.in_flight} in flight` : ""].filter(Boolean).join(", ");
