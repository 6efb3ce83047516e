// The side: conversations with what they do and what waits in them, the other places, the foot.

import { fresh, post } from "./api.js";
import { listed, reload, unread } from "./conversations.js";
import { dialog } from "./dialog.js";
import { $, h, icon, put, toast } from "./dom.js";
import { emit, kept, on, state } from "./state.js";
import { asking } from "./seats.js";
import { brief } from "./seatwords.js";
import { CONVERSATION, count } from "./words.js";

const KINDS = { global: "talk", workspace: "folder", room: "room", lead: "chevron", inbox: "file" };
const PLACES = [
  ["wakes", "clock", "Wakes"], ["usage", "chart", "Usage"], ["health", "pulse", "Health"],
  ["access", "key", "Access"], ["settings", "gear", "Settings"],
];
const THEMES = { null: ["auto", "As the system"], light: ["sun", "Light"], dark: ["moon", "Dark"] };
let closedOpen = false;

function itemOf(row) {
  const waiting = row.uncertain || 0;
  const news = unread(row);
  const asks = asking(row.id).length;
  const facts = [row.driver?.kind === "seat" ? brief(row.driver) : null, CONVERSATION[row.state]];
  const words = [row.name, ...facts, asks ? "a harness asks" : null, waiting ? `${waiting} uncertain` : null, news ? "unread" : null];
  return h("a.item", {
    href: `#/c/${row.id}`, data: { state: row.state, unread: String(news) },
    "aria-current": row.id === state.current ? "page" : null, "aria-label": words.filter(Boolean).join(", "),
  },
  icon(KINDS[row.kind] ?? "talk"),
  h("span.name", null, row.name, row.driver?.kind === "seat" ? h("small.seat", { data: { tone: row.driver.state ?? "live" } }, brief(row.driver)) : null),
  asks ? h("span.badge.leave", { title: "A harness asks for leave" }, icon("shield"), String(asks)) : null,
  waiting ? h("span.badge.doubt", { title: `${count(waiting, "message")} whose outcome nobody can know` }, icon("doubt"), String(waiting)) : null,
  row.unread_reports ? h("span.badge", { title: "Unread reports" }, String(row.unread_reports)) : null,
  row.state === "running" ? h("span.dot.busy", { title: "Working" }) : news ? h("span.dot.news", { title: "Unread" }) : row.state === "held" ? h("span.dot.held", { title: "Held" }) : null);
}

/** The rows as they were drawn last: one that did not change stays, with its focus and its click. */
let drawn = new Map();

function drawList() {
  const { open, closed } = listed();
  const before = drawn;
  drawn = new Map();
  const item = (row) => {
    const { id, name, kind, driver: by, uncertain, unread_reports: reports } = row;
    const key = JSON.stringify([id, name, kind, row.state, by, uncertain, reports, unread(row), asking(id).length, id === state.current]);
    drawn.set(key, before.get(key) ?? itemOf(row));
    return drawn.get(key);
  };
  const wanted = [open.map(item), closed.map(item)];
  const same = [...drawn.keys()].join() === [...before.keys()].join();
  if (!same) place(...wanted);
  const news = open.filter((row) => unread(row)).length;
  document.title = document.title.replace(/^\(\d+\) /, "");
  if (news) document.title = `(${news}) ${document.title}`;
}

function place(open, closed) {
  const focused = document.activeElement?.closest?.("#list a")?.getAttribute("href");
  const more = closed.length
    ? h("details.closed", { open: closedOpen, ontoggle: (event) => (closedOpen = event.target.open) },
      h("summary", null, icon("chevron"), `Closed (${closed.length})`), closed)
    : null;
  put($("#list"), open, more);
  if (focused) [...$("#list").querySelectorAll("a")].find((one) => one.getAttribute("href") === focused)?.focus();
}

function drawPlaces(screen) {
  put($("#places"), PLACES.map(([name, glyph, words]) =>
    h("a.item", { href: `#/${name}`, "aria-current": screen === name ? "page" : null }, icon(glyph), h("span.name", null, words))));
}

function drawLink(link) {
  const words = { up: "Connected", down: "Reconnecting …", starting: "Connecting …" }[link];
  const place = $("#link");
  place.dataset.link = link;
  put(place, h("span.dot"), words);
  document.body.dataset.link = link;
}

function drawTheme() {
  const now = kept.get("theme");
  const [glyph, words] = THEMES[now];
  const button = put($("#theme"), icon(glyph));
  button.title = `Appearance: ${words}`;
  button.setAttribute("aria-label", button.title);
}

export function nextTheme() {
  const next = { null: "light", light: "dark", dark: null }[kept.get("theme")];
  kept.set("theme", next);
  if (next) document.documentElement.dataset.theme = next;
  else delete document.documentElement.dataset.theme;
  drawTheme();
}

/** Make a conversation and go there. */
export async function create() {
  const wanted = await dialog("New conversation", (close) => {
    const name = h("input", { id: "new-name", maxlength: 80, required: true, "data-first": true, autocomplete: "off" });
    const folder = h("input", { id: "new-folder", maxlength: 4096, placeholder: "/home/you/project", autocomplete: "off", "aria-describedby": "new-hint" });
    const go = h("button.primary", null, "Create");
    go.type = "submit";
    return h("form", { onsubmit: (event) => (event.preventDefault(), close({ name: name.value.trim(), folder: folder.value.trim() })) },
      h("label", { for: "new-name" }, "Name"), name,
      h("label", { for: "new-folder" }, "Folder ", h("small", null, "optional")), folder,
      h("p.faint", { id: "new-hint" }, "With a folder it is a workspace: its tools may read there."),
      h("div.buttons.end", null, h("button", { onclick: () => close() }, "Not now"), go));
  });
  if (!wanted?.name) return;
  const body = { request_id: fresh("web"), name: wanted.name, kind: wanted.folder ? "workspace" : "global" };
  if (wanted.folder) body.directory = wanted.folder;
  try {
    const made = await post("/v1/conversations", body);
    await reload();
    location.hash = `#/c/${made.id}`;
  } catch (problem) {
    toast(problem.detail, "bad");
  }
}

export function start() {
  put($("#new"), icon("plus"));
  if (/Mac|iP/.test(navigator.platform)) $("#find kbd").textContent = "⌘ K";
  $("#new").addEventListener("click", create);
  $("#find").addEventListener("click", () => emit("palette"));
  $("#theme").addEventListener("click", nextTheme);
  $("#scrim").addEventListener("click", () => emit("drawer", false));
  const drawer = (open) => ($("#shell").dataset.drawer = String(open));
  on("drawer", drawer);
  on("screen", (screen) => {
    drawer(false);
    drawList();
    drawPlaces(screen);
  });
  on("conversations", drawList);
  on("seats", drawList);
  on("link", drawLink);
  drawLink(state.link);
  drawTheme();
}
