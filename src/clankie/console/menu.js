// A button that opens a short list of orders. Arrow keys move, Escape closes, as menus do.

import { h, icon, iconButton } from "./dom.js";

/** `orders()` gives [glyph, words, does, kind?] each time it opens. */
export function menu(label, orders) {
  const list = h("div.menu", { role: "menu", hidden: true, onkeydown: keyed });
  const button = iconButton("more", label, () => (list.hidden ? open() : close()));
  button.setAttribute("aria-haspopup", "menu");
  button.setAttribute("aria-expanded", "false");
  const holder = h("div.menu-holder", null, button, list);

  function open() {
    list.replaceChildren(...orders().map(([glyph, words, does, kind]) =>
      h("button.order", { role: "menuitem", tabindex: -1, class: kind ? `order ${kind}` : "order", onclick: () => (close(), does()) }, icon(glyph), words)));
    list.hidden = false;
    button.setAttribute("aria-expanded", "true");
    list.firstChild?.focus();
    document.addEventListener("pointerdown", outside);
  }

  function close() {
    list.hidden = true;
    button.setAttribute("aria-expanded", "false");
    document.removeEventListener("pointerdown", outside);
  }

  function outside(event) {
    if (!holder.contains(event.target)) close();
  }

  function keyed(event) {
    const items = [...list.children];
    const at = items.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0, End: items.length - 1 }[event.key];
    if (to !== undefined) items[to % items.length].focus();
    else if (event.key === "Escape" || event.key === "Tab") close(), button.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  return holder;
}
