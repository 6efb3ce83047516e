// Pictures and text files: chosen, pasted or dropped, stored at once, sent by their digest.

import { post, seg } from "./api.js";
import { h, icon, iconButton, toast } from "./dom.js";
import { size } from "./words.js";

const PICTURES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
const MOST = 8;

/** Something attached: a picture as itself, anything else as its name. Opens in a tab of its own. */
export function picture(one) {
  const path = `/v1/attachments/${seg(one.digest)}`;
  if (!PICTURES.has(one.media_type)) {
    return h("a.file", { href: path, download: one.name }, icon("file"), h("span", null, one.name), h("small", null, size(one.size)));
  }
  return h("a.picture", { href: path, target: "_blank", rel: "noopener", title: one.name },
    h("img", { src: path, alt: one.name, loading: "lazy", decoding: "async" }));
}

/** The attachments of one unsent message. `changed(list)` keeps them beside its draft. */
export class Tray {
  #list = [];
  #busy = 0;

  constructor(place, changed) {
    Object.assign(this, { place, changed });
  }

  get list() {
    return this.#list;
  }

  get busy() {
    return this.#busy > 0;
  }

  set(list) {
    this.#list = list;
    this.#show();
  }

  async add(files) {
    for (const file of files) {
      if (this.#list.length >= MOST) {
        toast(`At most ${MOST} attachments go with one message.`, "bad");
        return;
      }
      this.#busy += 1;
      this.#show();
      try {
        const name = file.name || `pasted.${file.type.split("/")[1] ?? "txt"}`;
        const body = file.type ? file : new Blob([file], { type: "text/plain" });
        this.#list = [...this.#list, await post(`/v1/attachments?name=${seg(name)}`, body)];
      } catch (problem) {
        toast(`${file.name || "It"} was not attached. ${problem.detail ?? problem.message}`, "bad");
      }
      this.#busy -= 1;
      this.#show();
      this.changed(this.#list);
    }
  }

  #drop(one) {
    this.#list = this.#list.filter((other) => other !== one);
    this.#show();
    this.changed(this.#list);
  }

  #show() {
    const shown = this.#list.map((one) =>
      h("li", null, picture(one), iconButton("close", `Remove ${one.name}`, () => this.#drop(one), "button.icon.remove")));
    if (this.busy) shown.push(h("li.uploading", null, h("span.dot.busy"), "Storing …"));
    this.place.replaceChildren(...shown);
    this.place.hidden = shown.length === 0;
  }
}

/** Files from a paste or a drop, and nothing else. */
export const filesOf = (transfer) => [...(transfer?.files ?? [])];
