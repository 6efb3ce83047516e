// A server-sent-event stream that comes back by itself and says how it is.
// Rule: where it goes on is asked of the reader each time, so nothing is doubled and nothing lost.

import { ask, checked } from "./api.js";

/** Cuts a stream of text into events. Pure: `push` returns what became whole. */
export class Cutter {
  #rest = "";

  push(text) {
    const blocks = (this.#rest + text).split("\n\n");
    this.#rest = blocks.pop();
    return blocks.map(parse).filter((one) => one !== null);
  }
}

function parse(block) {
  const event = { kind: "", id: "", data: "" };
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon < 1) continue;
    const value = line.slice(colon + 1).replace(/^ /, "");
    const name = line.slice(0, colon);
    if (name === "event") event.kind = value;
    else if (name === "id") event.id = value;
    else if (name === "data") event.data += (event.data ? "\n" : "") + value;
  }
  return event.data ? event : null;
}

/**
 * Follow until `signal` ends. `last()` is the cursor to go on from, or null; `opened()` is called at
 * each connection, `heard(kind, data)` at each event, `link("up" | "down")` when that changes, and
 * `refused(problem)` when it makes no sense to try again.
 */
export async function follow(path, { signal, last = () => null, opened, heard, link, refused }) {
  let failures = 0;
  while (!signal.aborted) {
    let waitFor = 0;
    try {
      const headers = { Accept: "text/event-stream" };
      const cursor = last();
      if (cursor !== null) headers["Last-Event-ID"] = String(cursor);
      const answer = await checked(await ask(path, { headers, signal }));
      link?.("up");
      opened?.();
      await drain(answer, heard, () => (failures = 0));
    } catch (error) {
      if (signal.aborted) return;
      if (error.status && !error.passing) {
        refused?.(error);
        return;
      }
      waitFor = (error.after || 0) * 1000;
    }
    if (signal.aborted) return;
    link?.("down");
    const pause = Math.min(4000, 250 * 2 ** failures) * (0.8 + Math.random() * 0.4);
    failures += 1;
    await rest(Math.max(pause, Math.min(waitFor, 8000)), signal);
  }
}

async function drain(answer, heard, alive) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  const cutter = new Cutter();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    alive();
    for (const { kind, data } of cutter.push(value)) heard(kind, JSON.parse(data));
  }
}

/** A pause that ends early when the machine is online again or somebody looks. */
function rest(milliseconds, signal) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      document.removeEventListener("visibilitychange", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    addEventListener("online", done);
    document.addEventListener("visibilitychange", done);
    signal.addEventListener("abort", done);
  });
}
