// A word from the browser when something waits and nobody looks. Asked for on a click, never before.

import { $, icon, put } from "./dom.js";
import { kept, on, state } from "./state.js";

const possible = "Notification" in globalThis;
const wanted = () => possible && Notification.permission === "granted" && kept.get("notify", false);

/** What changed between two rows of the list that is worth a word, or null. Pure. */
export function news(before, after) {
  if (after.uncertain > (before.uncertain ?? 0)) return "The outcome of a message is not known. It waits for you.";
  if (before.state === "running" && after.state === "idle") return "An answer waits for you.";
  return null;
}

function draw() {
  const button = $("#bell");
  button.hidden = !possible || Notification.permission === "denied";
  const words = wanted() ? "Notifications are on" : "Notify me when this page is hidden";
  put(button, icon("bell"));
  button.title = words;
  button.setAttribute("aria-label", words);
  button.setAttribute("aria-pressed", String(wanted()));
}

export function start() {
  draw();
  $("#bell").addEventListener("click", async () => {
    if (wanted()) kept.set("notify", null);
    else kept.set("notify", (await Notification.requestPermission()) === "granted");
    draw();
  });
  const say = (row, words) => {
    if (!words || !document.hidden || !wanted()) return;
    const shown = new Notification(row.name, { body: words, tag: row.id });
    shown.onclick = () => {
      focus();
      location.hash = `#/c/${row.id}`;
      shown.close();
    };
  };
  on("row", ({ before, after }) => say(after, news(before, after)));
  on("asked", ({ conversation }) => {
    const row = state.conversations.get(conversation);
    if (row) say(row, "A harness asks for leave. It waits for you.");
  });
}

