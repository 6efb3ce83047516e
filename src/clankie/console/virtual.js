// A long list of rows of unknown heights, of which only what is seen is in the page.
//
// Rule 1: the row at the top of the view stays where it is, whatever is added or measured above it.
// Rule 2: the list sticks to its end only while the reader is there.
// Rule 3: a row's element lives as long as its key is near the view and its `sig` stays the same.

const NEAR = 48; // pixels from the end that count as being there
const AHEAD = 600; // pixels beyond the view that are kept ready

export class VirtualList {
  #rows = [];
  #tops = new Float64Array(1);
  #heights = new Map();
  #nodes = new Map();
  #index = new Map();
  #stuck = true;
  #width = 0;

  /** `render(row)` makes a row's element; `guess(row)` its height in pixels before it was seen. */
  constructor(view, body, { render, guess, moved }) {
    Object.assign(this, { view, body, render, guess, moved });
    view.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.watch = new ResizeObserver(() => requestAnimationFrame(() => this.#resized()));
    this.watch.observe(view);
    this.watch.observe(body);
  }

  get rows() {
    return this.#rows;
  }

  /** Whether the end is in view and the list follows it. */
  get stuck() {
    return this.#stuck;
  }

  get mounted() {
    return this.#nodes;
  }

  set(rows) {
    const anchor = this.#anchor();
    this.#rows = rows;
    this.#index = new Map(rows.map((row, at) => [row.key, at]));
    this.#layout();
    this.#settle(anchor);
  }

  toEnd() {
    this.#stuck = true;
    this.#settle(null);
  }

  /** Bring a row to the middle of the view; its element, once it is there. */
  show(key) {
    const at = this.#index.get(key);
    if (at === undefined) return null;
    this.#stuck = false;
    for (let turn = 0; turn < 3; turn += 1) {
      this.view.scrollTop = this.#tops[at] - this.view.clientHeight / 3;
      this.#paint();
    }
    return this.#nodes.get(key)?.element ?? null;
  }

  /** A row grew or shrank by itself. */
  touched() {
    this.#settle(this.#anchor());
  }

  stop() {
    this.watch.disconnect();
  }

  #layout() {
    const tops = new Float64Array(this.#rows.length + 1);
    for (let at = 0; at < this.#rows.length; at += 1) {
      const row = this.#rows[at];
      tops[at + 1] = tops[at] + (this.#heights.get(row.key) ?? this.guess(row));
    }
    this.#tops = tops;
  }

  /** Which row stands at the top of the view, and how far above it. */
  #anchor() {
    if (this.#stuck || !this.#rows.length) return null;
    const top = this.view.scrollTop;
    let at = Math.min(this.#find(top), this.#rows.length - 1);
    // A line between days moves when older rows of its day come; what was said does not.
    while (this.#rows[at].loose && at < this.#rows.length - 1) at += 1;
    return { key: this.#rows[at].key, off: top - this.#tops[at] };
  }

  /** The index of the row that holds this many pixels from the top. */
  #find(pixels) {
    let low = 0;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.#tops[middle] <= pixels) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Paint, measure, and put the anchor back, until nothing moves any more. */
  #settle(anchor) {
    for (let turn = 0; turn < 4; turn += 1) {
      if (this.#stuck) this.view.scrollTop = this.#tops.at(-1);
      else if (anchor && this.#index.has(anchor.key)) {
        const wanted = this.#tops[this.#index.get(anchor.key)] + anchor.off;
        if (Math.abs(this.view.scrollTop - wanted) > 0.5) this.view.scrollTop = wanted;
      }
      if (!this.#paint()) break;
    }
    if (this.#stuck) this.view.scrollTop = this.view.scrollHeight;
    this.moved?.();
  }

  /** Put the rows near the view into the page. Whether a height was not what was thought. */
  #paint() {
    const top = this.#stuck ? Math.max(0, this.#tops.at(-1) - this.view.clientHeight) : this.view.scrollTop;
    const first = this.#find(Math.max(0, top - AHEAD));
    const last = Math.min(this.#rows.length, this.#find(top + this.view.clientHeight + AHEAD) + 1);
    this.body.style.paddingTop = `${this.#tops[first] ?? 0}px`;
    this.body.style.paddingBottom = `${this.#tops.at(-1) - this.#tops[last]}px`;
    const wanted = this.#rows.slice(first, last);
    const keys = new Set(wanted.map((row) => row.key));
    for (const [key, { element }] of this.#nodes) {
      if (keys.has(key)) continue;
      element.remove();
      this.#nodes.delete(key);
    }
    let before = null;
    for (const row of wanted) before = this.#place(row, before);
    return this.#measure(wanted);
  }

  #place(row, before) {
    let node = this.#nodes.get(row.key);
    if (!node || node.sig !== row.sig) {
      const element = this.render(row);
      node?.element.replaceWith(element);
      node = { element, sig: row.sig };
      this.#nodes.set(row.key, node);
    }
    const next = before ? before.nextSibling : this.body.firstChild;
    if (next !== node.element) this.body.insertBefore(node.element, next);
    return node.element;
  }

  #measure(wanted) {
    let changed = false;
    for (const row of wanted) {
      const height = this.#nodes.get(row.key).element.getBoundingClientRect().height;
      if (Math.abs((this.#heights.get(row.key) ?? -1) - height) < 0.5) continue;
      this.#heights.set(row.key, height);
      changed = true;
    }
    if (changed) this.#layout();
    return changed;
  }

  #scrolled() {
    const { scrollTop, clientHeight, scrollHeight } = this.view;
    this.#stuck = scrollTop + clientHeight >= scrollHeight - NEAR;
    const anchor = this.#anchor();
    if (this.#paint()) this.#settle(anchor);
    else this.moved?.();
  }

  #resized() {
    const width = this.view.clientWidth;
    const anchor = this.#anchor();
    if (width !== this.#width) {
      this.#width = width;
      this.#heights.clear(); // every row breaks its lines anew
      this.#layout();
    }
    this.#settle(anchor);
  }
}
