// What was written, on its way to the service.
//
// Rule 1: a message gets its id when it is sent off, once. It is kept in this browser and offered
//         under that id until the service said what became of it, over reloads and restarts too.
// Rule 2: the messages of a conversation leave one at a time, in the order they were written.
// Rule 3: what is refused stays in sight, with the reason, until the owner takes it back or drops it.

import { Problem, fresh, here, post } from "./api.js";
import { emit, kept, on } from "./state.js";

const NAME = "outbox";
const PAUSES = [500, 1000, 2000, 4000, 8000];

/** Answered, and not yet seen in the log: shown until it is. By conversation. */
const answered = new Map();
const busy = new Set();

const all = () => kept.get(NAME, []);

function write(list) {
  kept.set(NAME, list.length ? list : null);
  emit("outbox");
}

const change = (id, facts) => write(all().map((one) => (one.id === id ? { ...one, ...facts } : one)));
const drop = (id) => write(all().filter((one) => one.id !== id));

/** What is on its way in a conversation, oldest first. */
export function outgoing(conversation) {
  return [...(answered.get(conversation) ?? []), ...all().filter((one) => one.conversation === conversation)];
}

/** Whether anything was not answered yet. */
export const unsent = () => all().length;

/** The log has it. */
export function seen(conversation, id) {
  const list = answered.get(conversation);
  if (list?.some((one) => one.id === id)) answered.set(conversation, list.filter((one) => one.id !== id));
}

export function send(conversation, text, { mode = "auto", retry_of, attachments = [] } = {}) {
  const out = { id: fresh("web"), conversation, text, mode, retry_of, attachments, at: new Date().toISOString() };
  write([...all(), out]);
  post_(conversation);
  return out.id;
}

/** Give one up that was not answered; its text and attachments, or null. */
export function takeBack(id) {
  const found = all().find((one) => one.id === id) ?? null;
  if (found) drop(id);
  return found;
}

/** Send off whatever waits, in every conversation. Called at the start and when a way is there. */
export function flush() {
  for (const name of new Set(all().map((one) => one.conversation))) post_(name);
}

async function post_(conversation) {
  if (busy.has(conversation)) return;
  busy.add(conversation);
  let tries = 0;
  for (;;) {
    const out = all().find((one) => one.conversation === conversation && !one.refused);
    if (!out) break;
    const problem = await offer(out);
    if (problem === null) tries = 0;
    else if (problem.status === 401) break; // after the login it goes on
    else if (!problem.passing) change(out.id, { refused: problem.detail, code: problem.code });
    else {
      if (all().some((one) => one.id === out.id)) change(out.id, { failing: true });
      await pause(Math.max(PAUSES[Math.min(tries, PAUSES.length - 1)], problem.after * 1000));
      tries += 1;
    }
  }
  busy.delete(conversation);
}

async function offer(out) {
  const body = { delivery_id: out.id, text: out.text, mode: out.mode };
  if (out.retry_of) body.retry_of = out.retry_of;
  if (out.attachments?.length) body.attachments = out.attachments.map(({ digest, name }) => ({ digest, name }));
  try {
    const answer = await post(here(out.conversation, "/inputs"), body);
    answered.set(out.conversation, [...(answered.get(out.conversation) ?? []), { ...out, failing: false }]);
    drop(out.id);
    emit("admitted", { out, answer });
    return null;
  } catch (error) {
    return error instanceof Problem ? error : new Problem(0, "unreachable", String(error));
  }
}

/** A pause that ends when a way to the service is there again. */
function pause(milliseconds) {
  return new Promise((resolve) => {
    const done = new AbortController();
    const end = () => {
      clearTimeout(timer);
      done.abort();
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    on("link", (link) => link === "up" && end(), done.signal);
  });
}

// Another tab sent or dropped something.
addEventListener("storage", (event) => event.key === `clankie.${NAME}` && emit("outbox"));
