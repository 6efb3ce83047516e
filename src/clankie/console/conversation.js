// The screen of one conversation: its head, its log, its composer, and what can be done with it.

import { get, here, patch, post, remove } from "./api.js";
import { Composer, closedBar } from "./composer.js";
import { confirm, prompt } from "./dialog.js";
import { h, iconButton, put, toast } from "./dom.js";
import { pursue } from "./goals.js";
import { Log } from "./log.js";
import { menu } from "./menu.js";
import { chooseModel } from "./models.js";
import { seen, takeBack } from "./outbox.js";
import { abandon, again, look } from "./receipts.js";
import { search } from "./search.js";
import { reload, markSeen } from "./conversations.js";
import { emit, on, state } from "./state.js";
import { Thread } from "./thread.js";
import { choose } from "./attaching.js";
import { questions, strip } from "./driving.js";
import { CONVERSATION } from "./words.js";

const threads = new Map();
const KEPT = 6; // logs that stay in memory after they were left
const ASLEEP = 60_000; // milliseconds until a hidden page stops following its log
let shown = null;

export const current = () => shown;

function threadOf(id) {
  const thread = threads.get(id) ?? new Thread(id);
  threads.delete(id);
  threads.set(id, thread);
  for (const [old, other] of threads) {
    if (threads.size <= KEPT) break;
    other.pause();
    threads.delete(old);
  }
  return thread;
}

export class Screen {
  constructor(id, signal) {
    this.id = id;
    this.thread = threadOf(id);
    this.log = new Log(this.thread, { signal, act: (name, row) => this.act(name, row), told: (known, open) => this.#told(open) });
    this.name = h("h1");
    this.facts = h("p.facts");
    this.head = h("header.head", null,
      iconButton("menu", "Conversations", () => emit("drawer", true), "button.ghost.icon.drawer"),
      h("div.title", null, this.name, this.facts),
      iconButton("search", "Search in this conversation", () => search(this)),
      menu("What can be done with this conversation", () => this.#orders(this.row)));
    this.bottom = h("div.bottom");
    this.element = h("section.conversation", { "aria-label": "Conversation" }, this.head,
      strip(id, signal, () => choose(this)), this.log.element, questions(id, signal), this.bottom);
    this.composer = null;
    shown = this;
    on("conversations", () => this.draw(), signal);
    on("seats", () => this.#seated(), signal);
    on("thread", (thread) => thread === this.thread && thread.gone && this.#lost(thread.gone), signal);
    signal.addEventListener("abort", () => {
      this.thread.pause();
      if (shown === this) shown = null;
    });
    addEventListener("resize", () => this.composer?.fit(), { signal });
    document.addEventListener("visibilitychange", () => this.#looked(), { signal });
    this.draw();
    this.#open();
  }

  /** It is in the page now: a keyboard's first place is the message box; a phone's would open the keys. */
  entered() {
    if (!matchMedia("(pointer: coarse)").matches) this.composer?.focus();
  }

  get row() {
    return state.conversations.get(this.id);
  }

  async #open() {
    try {
      await this.thread.open(this.row.cursor);
    } catch (problem) {
      if (problem.status === 0 || problem.passing) setTimeout(() => shown === this && this.#open(), 1000);
      else this.#lost(problem);
    }
  }

  #lost(problem) {
    put(this.bottom, closedBar(problem.detail));
  }

  #looked() {
    clearTimeout(this.sleep);
    if (document.hidden) {
      // A page nobody looks at gives its connection to one that somebody does.
      this.sleep = setTimeout(() => document.hidden && this.thread.pause(), ASLEEP);
      return;
    }
    markSeen(this.id, this.thread.head);
    this.thread.resume();
  }

  #told(open) {
    if (!document.hidden) markSeen(this.id, this.thread.head);
    if (this.composer) this.composer.running = open.some(([, one]) => one.state === "running");
  }

  draw() {
    const { row } = this;
    if (!row) return;
    const facts = [row.kind === "workspace" ? row.directory : null, row.driver?.kind === "seat" ? null : "Service", row.model, CONVERSATION[row.state] ?? row.state];
    this.name.textContent = row.name;
    this.facts.textContent = facts.filter(Boolean).join(" · ");
    this.facts.dataset.state = row.state;
    document.title = `${row.name} · Clankie`;
    this.#foot(row);
  }

  /** What may be chosen of a message depends on who drives. */
  #seated() {
    if (this.composer) this.composer.seat = this.log.seat;
  }

  #foot(row) {
    const closed = row.state === "closed";
    const shut = closed || row.kind === "room";
    if (shut && this.bottom.dataset.shut !== row.state) {
      this.composer = null;
      put(this.bottom, closed ? closedBar("This conversation is closed. Its log stays readable.") : closedBar("A room is run by its room: it can be read here."));
    } else if (!shut && !this.composer) {
      this.composer = new Composer(this.id, { stop: () => this.cancel(), sent: () => this.log.toEnd() });
      this.composer.box.addEventListener("keydown", (event) => this.log.paged(event));
      put(this.bottom, this.composer.element);
    }
    this.bottom.dataset.shut = shut ? row.state : "";
    this.#seated();
  }

  #orders(row) {
    const closed = row.state === "closed";
    return [
      closed ? null : ["edit", "Rename", () => this.rename()],
      closed ? null : ["gear", "Choose its model", () => chooseModel(this)],
      closed ? null : ["chevron", "Goal", () => pursue(this)],
      closed ? null : ["seat", "Who drives", () => choose(this)],
      ["search", "Search", () => search(this)],
      ["file", "Export as JSON Lines", () => open_(here(this.id, "/export"))],
      closed ? null : ["auto", "Begin afresh", () => this.reset()],
      closed || row.id === "global-default" ? null : ["close", "Close", () => this.close()],
      closed ? ["close", "Delete its content for good", () => this.purge(), "bad"] : null,
    ].filter(Boolean);
  }

  act(name, row) {
    const does = {
      look: () => look(row.delivery),
      again: () => again(this.thread, row),
      abandon: () => abandon(this.thread, row),
      withdraw: () => this.cancel(row.delivery),
      say: () => (this.composer?.give(row.text), this.composer?.form.requestSubmit()),
      drop: () => takeBack(row.delivery),
      model: () => chooseModel(this),
      seats: () => choose(this),
      "take-back": () => {
        const out = takeBack(row.delivery);
        if (out) this.composer?.give(out.text, out.attachments);
      },
    };
    does[name]();
  }

  async cancel(delivery) {
    const done = await this.#try(post(here(this.id, "/cancel"), delivery ? { delivery_id: delivery } : {}));
    if (done?.outcome === "nothing_to_cancel") toast("There was nothing to cancel.");
  }

  async rename() {
    const name = await prompt("Rename", { label: "Name", value: this.row.name });
    if (name) await this.#change({ name });
  }

  async #change(body) {
    await this.#try(patch(here(this.id), { ...body, expected_revision: this.row.revision }));
    await reload();
  }

  use(model) {
    return this.#change({ model });
  }

  async reset() {
    const words = "What was said so far stays in the log, but is not read by the model any more.";
    if (!(await confirm("Begin afresh?", words, "Begin afresh"))) return;
    await this.#try(get(here(this.id)).then(({ revision }) => post(here(this.id, "/reset"), { expected_revision: revision })));
  }

  async close() {
    if (!(await confirm("Close this conversation?", "What waits is not sent. The log stays readable.", "Close it"))) return;
    await this.#try(remove(here(this.id)));
    await reload();
  }

  async purge() {
    const { name } = this.row;
    const words = "Every word and attachment of this conversation is deleted and cannot be brought back. Only the ids of its messages stay, so that none is taken twice.";
    if (!(await prompt("Delete for good?", { words, label: `Type the name, ${name}`, expected: name, yes: "Delete for good", bad: true }))) return;
    if ((await this.#try(post(here(this.id, "/purge")))) === undefined) return;
    threads.delete(this.id);
    await reload();
    location.hash = "#/c/global-default";
  }

  async #try(promise) {
    try {
      return await promise;
    } catch (problem) {
      toast(problem.detail ?? String(problem), "bad");
      return undefined;
    }
  }
}

function open_(path) {
  const a = h("a", { href: path, download: "" });
  document.body.append(a);
  a.click();
  a.remove();
}

on("event", ({ thread, event }) => event.kind === "message" && seen(thread.id, event.delivery_id));
