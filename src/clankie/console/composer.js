// Where the owner writes. A draft is kept in this browser until it is sent or emptied.

import { Tray, filesOf } from "./attach.js";
import { h, icon, iconButton } from "./dom.js";
import { harness } from "./seatwords.js";
import { send } from "./outbox.js";
import { kept } from "./state.js";

const LIMIT = 65_536;
const TALLEST = 0.4; // of the window
/** How a message reaches a harness that works: name, words, what it means. */
const MODES = [
  ["auto", "Auto", "Joins the turn of the harness where it can, else it is the next one"],
  ["steer", "Steer", "Joins the turn of the harness"],
  ["queue", "Queue", "Waits at this seat until its turn ends; never taken over by the service"],
];
const touch = matchMedia("(pointer: coarse)");

export class Composer {
  #running = false;
  #seat = null;

  /** `stop()` cancels what runs; `sent()` is called after a message was put on its way. */
  constructor(conversation, { stop, sent }) {
    Object.assign(this, { conversation, stop, sent });
    this.box = h("textarea", {
      id: "box", rows: 1, placeholder: "Write a message", "aria-label": "Message", "aria-describedby": "box-hint",
      enterkeyhint: touch.matches ? "enter" : "send", maxlength: LIMIT,
      oninput: () => this.#changed(), onkeydown: (event) => this.#key(event), onpaste: (event) => this.#pasted(event),
    });
    this.trayPlace = h("ul.tray", { hidden: true, "aria-label": "Attachments" });
    this.tray = new Tray(this.trayPlace, () => this.#keep());
    this.picker = h("input", { type: "file", multiple: true, hidden: true, tabindex: -1, onchange: () => this.#picked() });
    this.steer = h("input", { type: "checkbox", id: "steer" });
    this.steering = h("label.steer", { hidden: true, title: "It is read by the turn that runs now, instead of after it" },
      this.steer, h("span", null, "Join the running turn"));
    this.submit = iconButton("send", "Send", null, "button.send");
    this.submit.type = "submit";
    this.halt = iconButton("stop", "Cancel the running turn (Esc)", () => this.stop(), "button.send.halt");
    this.halt.hidden = true;
    this.form = h("form.composer", { onsubmit: (event) => this.#submitted(event) },
      this.trayPlace, this.box,
      h("div.bar", null,
        iconButton("clip", "Attach pictures or text files", () => this.picker.click()), this.picker, this.steering, this.modes = modes(),
        h("span.hint", { id: "box-hint" }, touch.matches ? "" : "Enter sends, Shift Enter begins a line"),
        h("span.grow"), this.halt, this.submit));
    for (const name of ["dragover", "dragleave", "drop"]) this.form.addEventListener(name, (event) => this.#dragged(event));
    this.element = h("div.foot-bar", null, this.form);
    this.#restore();
  }

  focus() {
    this.box.focus({ preventScroll: true });
  }

  /** Put text there, before what is there already. */
  give(text, attachments = []) {
    this.box.value = this.box.value ? `${text}\n${this.box.value}` : text;
    if (attachments.length) this.tray.set([...attachments, ...this.tray.list]);
    this.#changed();
    this.focus();
  }

  set running(running) {
    this.#running = running;
    this.#offer();
  }

  /** The seat that drives here, as the list and the roster have it; null for the service. */
  set seat(seat) {
    this.#seat = ["live", "holding"].includes(seat?.state) ? seat : null;
    this.#offer();
  }

  /** Modes where a harness drives, joining where the service runs; each where it means something. */
  #offer() {
    this.halt.hidden = !this.#running || this.#seat?.interrupt === false; // where it cannot, nothing is offered
    this.modes.hidden = !this.#seat;
    this.modes.querySelector("[value=steer]").disabled = this.#seat?.steer === false;
    this.steering.hidden = !this.#running || this.#seat !== null;
    if (this.steering.hidden) this.steer.checked = false;
    const words = this.#seat ? `Interrupt ${harness(this.#seat.harness)} (Esc)` : "Cancel the running turn (Esc)";
    this.halt.title = words;
    this.halt.setAttribute("aria-label", words);
  }

  get #mode() {
    if (this.#seat) return this.modes.querySelector(":checked").value;
    return this.#running && this.steer.checked ? "steer" : "auto";
  }

  fit() {
    this.box.style.height = "auto";
    this.box.style.height = `${Math.min(this.box.scrollHeight, innerHeight * TALLEST)}px`;
  }

  #restore() {
    const draft = kept.get(`draft.${this.conversation}`, { text: "", attachments: [] });
    this.box.value = draft.text;
    this.tray.set(draft.attachments);
    this.#ready();
    requestAnimationFrame(() => this.fit());
  }

  #keep() {
    const draft = { text: this.box.value, attachments: this.tray.list };
    kept.set(`draft.${this.conversation}`, draft.text || draft.attachments.length ? draft : null);
    this.#ready();
  }

  #ready() {
    this.submit.disabled = !this.box.value.trim();
  }

  #changed() {
    this.fit();
    this.#keep();
  }

  #key(event) {
    if (event.key === "Escape" && !this.halt.hidden) {
      event.preventDefault();
      this.stop();
    } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing && !touch.matches) {
      event.preventDefault();
      this.form.requestSubmit();
    }
  }

  #submitted(event) {
    event.preventDefault();
    const text = this.box.value;
    if (!text.trim() || this.tray.busy) return;
    send(this.conversation, text, { mode: this.#mode, attachments: this.tray.list });
    this.modes.querySelector("input").checked = true; // a choice is for one message
    this.box.value = "";
    this.tray.set([]);
    this.#changed();
    this.sent();
  }

  #picked() {
    this.tray.add([...this.picker.files]);
    this.picker.value = "";
    this.focus();
  }

  #pasted(event) {
    const files = filesOf(event.clipboardData);
    if (!files.length) return;
    event.preventDefault();
    this.tray.add(files);
  }

  #dragged(event) {
    event.preventDefault();
    this.form.classList.toggle("over", event.type === "dragover");
    if (event.type === "drop") this.tray.add(filesOf(event.dataTransfer));
  }
}

function modes() {
  return h("fieldset.modes", { hidden: true }, h("legend.unseen", null, "How it reaches the harness"),
    MODES.map(([value, words, meaning], at) => h("label", { title: meaning },
      h("input", { type: "radio", name: "mode", value, checked: at === 0 }), h("span", null, words))));
}

/** In the place of a composer, where nothing can be sent. */
export const closedBar = (words, ...more) => h("div.foot-bar", null, h("p.shut", null, icon("out"), words, h("span.grow"), more));
