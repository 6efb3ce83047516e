// Who drives this conversation: the seats that there are, attached, let go, and put in another's place.

import { confirm, dialog } from "./dialog.js";
import { h, icon, put, toast } from "./dom.js";
import { attach, detach, look, retire, seatById, seatOf, seats } from "./seats.js";
import { clock, driving, harness, held } from "./seatwords.js";
import { on, state } from "./state.js";

const OPEN = ["claude", "codex", "pi"];

export async function choose(screen) {
  try {
    await look();
  } catch (problem) {
    toast(problem.detail, "bad");
    return;
  }
  const over = new AbortController();
  await dialog("Who drives", () => new Sheet(screen.id, over.signal).element, "dialog.sheet.wide");
  over.abort();
}

class Sheet {
  #busy = false;

  constructor(id, signal) {
    this.id = id;
    this.said = h("div", { role: "status" });
    this.list = h("ul.seats");
    this.element = h("div", null, this.lead = h("p.state"), this.said, this.list, this.more = h("div"));
    on("seats", () => this.#busy || this.draw(), signal);
    on("conversations", () => this.#busy || this.draw(), signal);
    this.draw();
  }

  get here() {
    return seatOf(this.id);
  }

  draw() {
    const told = driving(null, this.here, Date.now());
    const { name } = state.conversations.get(this.id) ?? { name: "This conversation" };
    put(this.lead, told ? [h("b", null, told.name), ` ${told.says}${told.tone === "live" ? ` ${name}` : ""}.`] : [h("b", null, "The service"), ` drives ${name}. No seat is attached.`]);
    const order = seats().filter((one) => one.state !== "ended").sort((one, other) => Number(other.conversation === this.id) - Number(one.conversation === this.id));
    const kept = document.activeElement?.dataset.does;
    put(this.list, order.map((one) => this.#row(one)));
    if (kept) this.list.querySelector(`[data-does="${CSS.escape(kept)}"]`)?.focus();
    put(this.more, h("p.faint", null, order.length ? "A harness takes a seat with" : "No harness has a seat. One takes it with"),
      h("p.fix", null, OPEN.map((one) => h("code", null, `clankie seat open ${one}`))));
  }

  #row(one) {
    const mine = one.conversation === this.id;
    const told = driving(null, one, Date.now());
    const elsewhere = one.conversation && !mine ? state.conversations.get(one.conversation)?.name ?? one.conversation : null;
    const session = one.native?.session_id;
    const facts = [
      !one.conversation ? "attached nowhere" : mine ? `${told.says} ${told.facts[0] ?? ""}`.trim() : `drives ${elsewhere}`,
      held(one), one.last_ask ? `last asked ${clock(one.last_ask, Date.now())}` : "never asked",
    ];
    return h("li.seat-card", { data: { tone: one.conversation ? told.tone : "absent", here: String(mine) } },
      h("span.lamp"),
      h("div", null, h("b", null, harness(one.harness)), h("p", null, facts.filter(Boolean).join(" · ")),
        h("p.faint", null, h("code", null, one.seat), session ? [" session ", h("code", null, session)] : null,
          one.native?.pid ? ` process ${one.native.pid}` : null, one.pane ? [" pane ", h("code", null, one.pane)] : null)),
      h("div.buttons", null,
        mine ? this.#button("Detach", one, () => this.#detach(one)) : this.#button("Attach here", one, () => this.#attach(one, this.here?.seat ?? null)),
        mine ? null : this.#button("Forget", one, () => this.#retire(one))));
  }

  #button(words, one, does) {
    return h("button.small", { disabled: this.#busy, data: { does: `${words} ${one.seat}` }, onclick: does }, words);
  }

  async #attach(one, expected) {
    await this.#do(async () => {
      const { waiting } = await attach(one.seat, this.id, expected);
      this.#say(waiting ? `${harness(one.harness)} is attached. The service ends its turn first, then it drives.` : `${harness(one.harness)} drives from here on.`);
    }, (problem) => this.#collided(one, problem));
  }

  /** Somebody was faster: who sits there now, and the same again in the place of that one. */
  #collided(one, problem) {
    const { current = this.here?.seat ?? null } = problem.facts;
    const now = typeof current === "object" && current !== null ? current.seat : current;
    const who = now ? harness(seatById(now)?.harness ?? current?.harness) : null;
    put(this.said, h("div.conflict", { role: "alert" },
      h("span", null, who ? [h("b", null, who), " was attached meanwhile (", h("code", null, now), "). Nothing was changed."] : "It was let go meanwhile. Nothing was changed."),
      h("button.small", { onclick: () => this.#attach(one, now) }, who ? "Take its place" : "Attach it now"),
      h("button.small", { onclick: () => put(this.said) }, "Leave it")));
  }

  async #detach(one) {
    const name = harness(one.harness);
    const words = `What waits there goes to the service; what ${name} may have seen stays with it. Messages queued behind its turn are not sent.`;
    if (!(await confirm(`Detach ${name}?`, words, "Detach"))) return;
    await this.#do(async () => {
      await detach(one.seat);
      this.#say(`${name} is detached. The service drives.`);
    });
  }

  async #retire(one) {
    if (!(await confirm("Forget this seat?", "It is detached, its token opens nothing any more, and it is offered nothing again.", "Forget it", true))) return;
    await this.#do(() => retire(one.seat));
  }

  async #do(act, collided) {
    this.#busy = true;
    put(this.said);
    try {
      await act();
    } catch (problem) {
      if (problem.code === "attachment_conflict" && collided) collided(problem);
      else this.#say(problem.detail ?? String(problem), "bad");
    }
    this.#busy = false;
    await look().catch(() => {});
    this.draw();
  }

  #say(words, kind = "") {
    put(this.said, h(kind ? `p.notice-box.${kind}` : "p.notice-box", null, icon(kind ? "alert" : "check"), words));
  }
}
