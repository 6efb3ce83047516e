// Times, sizes and states in words. Pure.

const hours = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
const date = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const dateYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "long", year: "numeric" });
const seconds = new Intl.DateTimeFormat(undefined, { timeStyle: "medium", hour12: false });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium", hour12: false });

export const time = (at) => hours.format(new Date(at));
export const exact = (at) => full.format(new Date(at));

/** To the second, with the day where that is not today. */
export const moment = (at, now = Date.now()) => (dayKey(at) === dayKey(now) ? seconds.format(new Date(at)) : exact(at));

/** The local calendar day, as something that can be compared. */
export function dayKey(at) {
  const d = new Date(at);
  return `${d.getFullYear()}-${d.getMonth() + 1}-${d.getDate()}`;
}

export function dayName(at, now = Date.now()) {
  const key = dayKey(at);
  if (key === dayKey(now)) return "Today";
  if (key === dayKey(now - 86_400_000)) return "Yesterday";
  return (Math.abs(now - new Date(at)) < 300 * 86_400_000 ? date : dateYear).format(new Date(at));
}

/** "in 3 min", "2 h ago". */
export function relative(at, now = Date.now()) {
  const seconds = Math.round((new Date(at) - now) / 1000);
  const size = Math.abs(seconds);
  const words = size < 60 ? `${size} s` : size < 5400 ? `${Math.round(size / 60)} min`
    : size < 129_600 ? `${Math.round(size / 3600)} h` : `${Math.round(size / 86_400)} days`;
  return seconds < 0 ? `${words} ago` : `in ${words}`;
}

export function count(n, one, many = `${one}s`) {
  return `${n.toLocaleString()} ${n === 1 ? one : many}`;
}

export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1_048_576 ? `${Math.round(bytes / 1024)} KiB` : `${(bytes / 1_048_576).toFixed(1)} MiB`;
}

export function tokens(n) {
  if (n < 1000) return String(n);
  const [size, unit] = n < 999_500 ? [n / 1000, "k"] : [n / 1e6, "M"];
  return `${Number(size.toFixed(size < 100 ? 1 : 0))}${unit}`;
}

export function money(usd) {
  if (usd === null || usd === undefined) return "";
  return usd === 0 ? "$0" : usd < 0.01 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

/** "1.2k tokens · $0.01 · the model", or nothing. */
export function spent(usage) {
  if (!usage) return "";
  const n = (usage.input_tokens || 0) + (usage.output_tokens || 0);
  return [n ? `${tokens(n)} tokens` : "", money(usage.cost_usd), usage.model?.replace(/^[^:]*:/, "")].filter(Boolean).join(" · ");
}

export function oneLine(text, limit = 80) {
  const flat = text.replace(/\s+/g, " ").trim();
  return flat.length > limit ? `${flat.slice(0, limit - 1)}…` : flat;
}

/** What a delivery is doing, for its line below the message. */
export const STATES = {
  sending: "Sending",
  waiting: "Not sent yet: the service does not answer",
  refused: "Not accepted",
  queued: "Queued",
  held: "Held",
  running: "Working",
  joining: "Joins the running turn at its next step",
  steered: "Joined the running turn",
  settled: "Answered",
  absorbed: "Answered together",
  cancelled: "Cancelled",
  uncertain: "Uncertain",
  failed: "Failed",
  not_sent: "Not sent",
  abandoned: "Closed as unknown",
  delivered: "Delivered",
};

export const CONVERSATION = {
  idle: "Idle",
  running: "Working",
  waiting_seat: "Waiting for its seat",
  held: "Held",
  closed: "Closed",
};
