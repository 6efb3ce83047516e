// Answers as the service rendered and sanitised them. The only place where HTML enters the page.
//
// Rule 1: it is parsed in a document of its own that runs and loads nothing, and only elements and
//         attributes of this list cross over: two walls, and the page's policy is the third.
// Rule 2: it is asked for in one request for all that is in view. Until it is there, and wherever
//         the service has none, the words stand as they are.

import { get, here } from "./api.js";

const ELEMENTS = new Set(
  ("P BR HR H1 H2 H3 H4 H5 H6 EM STRONG DEL S CODE PRE BLOCKQUOTE UL OL LI A SPAN DIV SUP SUB " +
    "TABLE THEAD TBODY TR TH TD").split(" "),
);
const SCHEMES = new Set(["http:", "https:", "mailto:"]);
const LIMIT = 50;

function copied(from, into) {
  for (const node of from.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) into.append(node.data);
    else if (node.nodeType === Node.ELEMENT_NODE && ELEMENTS.has(node.tagName)) {
      const made = document.createElement(node.tagName);
      if (node.tagName === "A") link(node, made);
      if (node.tagName === "OL" && /^\d{1,9}$/.test(node.getAttribute("start") ?? "")) made.start = Number(node.getAttribute("start"));
      if (node.tagName === "PRE") made.tabIndex = 0;
      copied(node, made);
      into.append(made);
    }
  }
  return into;
}

function link(from, made) {
  let url;
  try {
    url = new URL(from.getAttribute("href") ?? "");
  } catch {
    return;
  }
  if (!SCHEMES.has(url.protocol)) return;
  made.href = url.href;
  made.rel = "noopener noreferrer nofollow";
  made.target = "_blank";
  made.title = url.host || url.href;
}

export const sanitised = (html) =>
  copied(new DOMParser().parseFromString(html, "text/html").body, document.createDocumentFragment());

/** The rendered answers of one conversation. `arrived(cursors)` is told when some came. */
export class Rendered {
  #known = new Map();
  #asked = new Set();
  #queue = [];
  #timer = null;

  constructor(conversation, arrived) {
    Object.assign(this, { conversation, arrived });
  }

  /** The HTML of a message, if it is here; else it is asked for. */
  of(cursor) {
    if (!this.#asked.has(cursor)) {
      this.#asked.add(cursor);
      this.#queue.push(cursor);
      this.#timer ??= setTimeout(() => this.#fetch(), 0);
    }
    return this.#known.get(cursor) ?? null;
  }

  async #fetch() {
    this.#timer = null;
    while (this.#queue.length) {
      const cursors = this.#queue.splice(-LIMIT);
      try {
        const { html } = await get(here(this.conversation, `/html?cursors=${cursors.join(",")}`));
        for (const cursor of cursors) this.#known.set(cursor, html[cursor] ?? "");
      } catch (problem) {
        // Plain words for these. What may pass is asked for again when it comes into view.
        if (problem.passing) for (const cursor of cursors) this.#asked.delete(cursor);
      }
      this.arrived(cursors.filter((cursor) => this.#known.has(cursor)));
    }
  }
}
