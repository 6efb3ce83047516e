// The log of the open conversation: rows in a view, loaded upwards, followed at the end.

import { $, announce, h, icon } from "./dom.js";
import { Rendered } from "./markdown.js";
import { outgoing, seen } from "./outbox.js";
import { element, guess } from "./row.js";
import { UNFINISHED, tell } from "./rows.js";
import { seatOf, seats } from "./seats.js";
import { harness } from "./seatwords.js";
import { on, state } from "./state.js";
import { VirtualList } from "./virtual.js";
import { oneLine } from "./words.js";

const TOP = 800; // pixels from the top at which older events are asked for

export class Log {
  #scheduled = false;
  #missed = 0;

  /** `act(name, row)` does what a row's buttons ask for; `told(known)` hears how deliveries stand. */
  constructor(thread, { act, told, signal }) {
    Object.assign(this, { thread, act, told, open: new Set() });
    this.body = h("div.rows");
    this.view = h("div.view", { tabindex: 0, role: "feed", "aria-label": "Log", "aria-busy": "true" }, this.body);
    this.jump = h("button.jump", { hidden: true, onclick: () => (this.toEnd(), this.view.focus({ preventScroll: true })) }, icon("down"), h("span", null, "Newest"));
    this.element = h("div.log", null, this.view, this.jump);
    this.rendered = new Rendered(thread.id, (cursors) => this.#arrived(cursors));
    this.list = new VirtualList(this.view, this.body, {
      render: (row) => (row.wonder && this.thread.wonder(row.delivery), element(row, this)), guess, moved: () => this.#moved(),
    });
    on("thread", (changed) => changed === thread && this.schedule(), signal);
    on("draft", (changed) => changed === thread && this.#written(), signal);
    on("outbox", () => this.schedule(), signal);
    on("seats", () => this.schedule(), signal);
    on("seat-tick", () => thread.loaded && this.seat && thread.look(), signal);
    on("event", ({ thread: of, event }) => of === thread && this.#heard(event), signal);
    signal.addEventListener("abort", () => this.list.stop());
    if (thread.loaded) this.schedule();
  }

  /** The seat that drives here: what the list says of it, and what the roster adds. */
  get seat() {
    const driver = state.conversations.get(this.thread.id)?.driver;
    const seat = seatOf(this.thread.id);
    return driver?.kind === "seat" ? { ...driver, ...seat } : seat;
  }

  html(cursor) {
    return this.rendered.of(cursor);
  }

  schedule() {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.refresh();
    });
  }

  refresh() {
    const { thread } = this;
    if (!thread.loaded) return;
    const more = {
      atStart: thread.atStart, receipts: thread.receipts, outgoing: outgoing(thread.id), draft: thread.draft,
      seat: this.seat, names: Object.fromEntries(seats().map((one) => [one.seat, one.harness])),
    };
    const { rows, known } = tell(thread.events, more);
    this.list.set(rows);
    this.view.setAttribute("aria-busy", "false");
    this.element.classList.toggle("bare", !thread.events.length && rows.length < 2);
    this.told(known, [...known].filter(([, one]) => UNFINISHED.has(one.state)));
  }

  toEnd() {
    this.list.toEnd();
  }

  /** The keys that turn pages do so here too while the focus is in the message box. */
  paged(event) {
    const way = { PageUp: -1, PageDown: 1 }[event.key];
    if (!way) return;
    event.preventDefault();
    this.view.scrollBy({ top: way * this.view.clientHeight * 0.85 });
  }

  /** Load back to a cursor, bring it into view and mark it. */
  async show(cursor) {
    if (cursor < this.thread.oldest) {
      await this.thread.older(cursor);
      this.refresh();
    }
    const at = this.list.rows.findIndex((row) => row.cursor >= cursor);
    const found = at < 0 ? null : this.list.show(this.list.rows[at].key);
    found?.classList.add("found");
    found?.addEventListener("animationend", () => found.classList.remove("found"), { once: true });
  }

  /** More of the draft: its text grows where it is. */
  #written() {
    const words = $(".draft .words", this.body);
    if (words) words.textContent = this.thread.draft.text;
    this.list.touched();
  }

  #arrived(cursors) {
    const known = new Set(cursors);
    for (const row of this.list.rows) {
      if (row.type === "message" && known.has(row.cursor)) this.#renew(row);
    }
    this.list.touched();
  }

  #renew(row) {
    const node = this.list.mounted.get(row.key);
    if (!node) return;
    const fresh = element(row, this);
    node.element.replaceWith(fresh);
    node.element = fresh;
  }

  #heard(event) {
    if (event.kind !== "message") return;
    if (event.role === "agent") announce(`${event.author.principal === "seat" ? harness(event.source ?? this.seat?.harness) : state.agent}: ${oneLine(event.text, 300)}`);
    else seen(this.thread.id, event.delivery_id);
    if (!this.list.stuck) this.#missed += 1;
  }

  #moved() {
    if (this.list.stuck) this.#missed = 0;
    this.jump.hidden = this.list.stuck;
    this.jump.lastChild.textContent = this.#missed ? `${this.#missed} new` : "Newest";
    if (this.view.scrollTop < TOP && this.thread.loaded && !this.thread.atStart) this.#older();
  }

  async #older() {
    try {
      await this.thread.older();
    } catch {
      // The next movement asks again.
    }
  }
}
