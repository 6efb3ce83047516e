// One conversation's log in memory: a gapless run of events up to the newest, and the draft.
// Rule: an event is taken once, by its cursor. What would leave a gap is read again, not guessed.

import { get, here, receiptPath } from "./api.js";
import { OPEN_QUESTIONS, UNFINISHED, deliveries } from "./rows.js";
import { emit } from "./state.js";
import { follow } from "./stream.js";

const PAGE = 120;
const LARGE = 500;
const LIMIT = 12; // unfinished receipts that are read again at once

export class Thread {
  constructor(id) {
    this.id = id;
    this.events = [];
    this.head = 0;
    this.atStart = false;
    this.loaded = false;
    this.draft = null;
    this.receipts = new Map();
    this.gone = null;
    this.#asked = new Set();
  }

  #asked;
  #following = null;
  #loading = null;
  #stale = false;
  #drafts = 0;

  /** The cursor of the oldest event here. */
  get oldest() {
    return this.events[0]?.cursor ?? this.head + 1;
  }

  /** The newest page, then everything that comes. `cursor`: where the log ended when it was listed. */
  async open(cursor) {
    if (!this.loaded) {
      const page = await get(here(this.id, `/events?before=${cursor + 1}&limit=${PAGE}`));
      this.events = page.events;
      // Never beyond what was read: the stream brings what came meanwhile.
      this.head = page.events.at(-1)?.cursor ?? Math.min(cursor, page.head_cursor);
      this.atStart = !page.has_more;
      this.loaded = true;
      this.#changed();
    }
    this.resume();
  }

  /** Follow, if nobody does. */
  resume() {
    if (this.#following || this.gone) return;
    this.#following = new AbortController();
    const { signal } = this.#following;
    follow(here(this.id, "/events"), {
      signal,
      last: () => this.head,
      opened: () => (this.#stale = this.draft !== null),
      heard: (kind, data) => this.#heard(kind, data),
      link: (link) => emit("thread-link", { thread: this, link }),
      refused: (problem) => {
        this.gone = problem;
        emit("thread", this);
      },
    });
  }

  pause() {
    this.#following?.abort();
    this.#following = null;
  }

  /** Older events, `until` a cursor is here; one page without. */
  async older(until = null) {
    this.#loading ??= this.#older(until).finally(() => (this.#loading = null));
    return this.#loading;
  }

  async #older(until) {
    do {
      if (this.atStart) return;
      const limit = until === null ? PAGE : LARGE;
      const page = await get(here(this.id, `/events?before=${this.oldest}&limit=${limit}`));
      this.events = [...page.events, ...this.events];
      this.atStart = !page.has_more;
    } while (until !== null && this.oldest > until);
    this.#changed();
  }

  #heard(kind, data) {
    if (kind === "") this.#event(data);
    else if (kind === "draft") this.#more(data);
    else if (kind === "draft_end" && this.draft?.attempt === data.attempt) this.#endDraft();
  }

  #event(event) {
    if (event.cursor <= this.head) return;
    if (event.cursor > this.head + 1 && this.head > 0) {
      this.pause(); // cannot be, by the protocol; if it is, what is missing is read again
      this.resume();
      return;
    }
    this.head = event.cursor;
    this.events.push(event);
    const ends = event.kind === "turn" ? !["admitted", "started"].includes(event.phase) : event.role === "agent";
    if (ends && this.draft?.delivery === event.delivery_id) this.draft = null;
    emit("event", { thread: this, event });
    this.#changed();
  }

  #more({ delivery_id: delivery, attempt, text }) {
    const same = this.draft?.attempt === attempt && !this.#stale;
    this.#stale = false;
    if (same) {
      this.draft.text += text;
      emit("draft", this);
      return;
    }
    this.draft = { delivery, attempt, text, version: (this.#drafts += 1) };
    emit("thread", this);
  }

  #endDraft() {
    this.draft = null;
    emit("thread", this);
  }

  #changed() {
    emit("thread", this);
    this.#ask();
  }

  /** Read the receipts of what the log alone does not settle: open questions, and joined turns. */
  #ask() {
    for (const [id, one] of deliveries(this.events)) {
      const key = `${id} ${one.state}`;
      if (this.#asked.has(key)) continue;
      if (!OPEN_QUESTIONS.has(one.state) && !UNFINISHED.has(one.state) && !this.#wonders(id, one)) continue;
      this.#asked.add(key);
      this.refresh(id);
    }
  }

  /** Whether a settled one was given to a harness: its answer may be none, which the log does not say. */
  #wonders(id, one) {
    return one.state === "settled" && this.receipts.get(id)?.attempts?.at(-1)?.destination?.kind === "seat";
  }

  /** What moves at a seat writes nothing in the log: read what is unfinished again. */
  async look() {
    const open = [...deliveries(this.events)].filter(([, one]) => UNFINISHED.has(one.state));
    await Promise.all(open.slice(-LIMIT).map(([id]) => this.refresh(id)));
  }

  /** Read a receipt once that a row in view needs. */
  wonder(id) {
    const key = `${id} wonder`;
    if (this.#asked.has(key)) return;
    this.#asked.add(key);
    this.refresh(id);
  }

  async refresh(id) {
    try {
      const receipt = await get(receiptPath(id));
      const same = JSON.stringify(receipt) === JSON.stringify(this.receipts.get(id));
      this.receipts.set(id, receipt);
      if (!same) emit("thread", this);
    } catch {
      // What the log says stays: a receipt is more than that, never instead of it.
    }
  }
}
