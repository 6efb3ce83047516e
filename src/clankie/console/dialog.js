// Questions over the page: the browser's own dialog, which keeps the focus and closes with Escape.

import { fill, h, iconButton } from "./dom.js";

/** Show `build(close)` under a title; resolves with what `close` was given, null when dismissed. */
export function dialog(title, build, spec = "dialog.sheet") {
  const opener = document.activeElement;
  return new Promise((resolve) => {
    let answer = null;
    const close = (value = null) => {
      answer = value;
      shown.close();
    };
    const shown = h(spec, { "aria-label": title, onclick: (event) => event.target === shown && close() });
    const inner = h("div.inner", null, h("header", null, h("h2", null, title), iconButton("close", "Close", () => close())));
    shown.append(fill(inner, [build(close)]));
    shown.addEventListener("close", () => {
      shown.remove();
      opener?.focus?.({ preventScroll: true });
      resolve(answer);
    });
    document.body.append(shown);
    shown.showModal();
    shown.querySelector("[data-first]")?.focus();
  });
}

/** A yes or no; true for yes. */
export function confirm(title, words, yes, bad = false) {
  return dialog(title, (close) => [
    h("p", null, words),
    h("div.buttons.end", null,
      h("button", { onclick: () => close() }, "Not now"),
      h(bad ? "button.primary.bad" : "button.primary", { "data-first": true, onclick: () => close(true) }, yes)),
  ]);
}

/** One line of text, or null. `expected`: what must be typed for it to go on. */
export function prompt(title, { words, label, value = "", yes = "Save", expected = null, max = 80, bad = false }) {
  return dialog(title, (close) => {
    const input = h("input", { type: "text", id: "prompt", value, maxlength: max, "data-first": true, autocomplete: "off", oninput: () => check() });
    const go = h(bad ? "button.primary.bad" : "button.primary", null, yes);
    go.type = "submit";
    const check = () => (go.disabled = expected === null ? !input.value.trim() : input.value !== expected);
    check();
    queueMicrotask(() => input.select());
    return h("form", { onsubmit: (event) => (event.preventDefault(), go.disabled || close(input.value.trim())) },
      words ? h("p", null, words) : null, h("label", { for: "prompt" }, label), input,
      h("div.buttons.end", null, h("button", { onclick: () => close() }, "Not now"), go));
  });
}
