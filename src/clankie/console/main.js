// The start: who may come in, which screen is shown, and what is followed meanwhile.

import { Problem, csrf, get, post } from "./api.js";
import { Screen } from "./conversation.js";
import { reload, watch } from "./conversations.js";
import { confirm } from "./dialog.js";
import { $, put, toast } from "./dom.js";
import { login } from "./login.js";
import * as notify from "./notify.js";
import { flush, unsent } from "./outbox.js";
import * as palette from "./palette.js";
import * as seats from "./seats.js";
import * as sidebar from "./sidebar.js";
import { emit, kept, on, setLink, state } from "./state.js";
import { count } from "./words.js";

const PAGES = { wakes: "./wakes.js", usage: "./usage.js", health: "./health.js", access: "./access.js", settings: "./settings.js" };
const FIRST = "global-default";
let session = null;
let screen = null;

async function enter() {
  if (!csrf()) return leave();
  try {
    await reload();
  } catch (problem) {
    if (problem.status === 401) return; // the login is asked for already
    setLink("down");
    setTimeout(enter, 1000);
    return;
  }
  if (location.pathname !== "/") history.replaceState(null, "", `/${location.hash}`);
  $("#login").hidden = true;
  $("#shell").hidden = false;
  session?.abort();
  session = new AbortController();
  watch(session.signal);
  flush();
  route();
  announceDoubts();
  get("/v1/settings").then(({ settings }) => (state.agent = settings.persona.name || state.agent), () => {});
}

/** What nobody can know is said at the start, not only where it stands. */
function announceDoubts() {
  const doubts = [...state.conversations.values()].reduce((n, one) => n + (one.uncertain || 0), 0);
  if (doubts) toast(`${count(doubts, "message has", "messages have")} an outcome that nobody can know. See the marked ${doubts > 1 ? "conversations" : "conversation"}.`);
}

/** The session is over: everything stops, the address stays, and after the login it goes on. */
function leave() {
  if (!$("#login").hidden) return;
  session?.abort();
  screen?.abort();
  screen = null;
  state.current = null;
  put($("#main"));
  document.querySelectorAll("dialog").forEach((one) => one.close());
  login(enter);
}

async function route() {
  if ($("#shell").hidden) return;
  const [name, ...rest] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  screen?.abort();
  const mine = (screen = new AbortController());
  const page = PAGES[name];
  state.current = page ? null : name === "c" && rest[0] ? rest[0] : kept.get("last", FIRST);
  if (!page && !state.conversations.has(state.current)) await reload().catch(() => {});
  if (mine.signal.aborted) return;
  if (!page && !state.conversations.has(state.current)) {
    if (name === "c") toast("There is no such conversation.", "bad");
    state.current = state.conversations.has(FIRST) ? FIRST : [...state.conversations.keys()][0];
  }
  if (page) {
    const { show } = await import(page);
    if (mine.signal.aborted) return;
    put($("#main"), show(mine.signal, rest));
    $("#main").focus({ preventScroll: true });
  } else {
    kept.set("last", state.current);
    const shown = new Screen(state.current, mine.signal);
    put($("#main"), shown.element);
    shown.entered();
  }
  emit("screen", page ? name : "");
}

async function logOut() {
  const words = unsent() ? "Messages that were not sent yet are forgotten." : "What you have not sent is forgotten in this browser; the service keeps the rest.";
  if (!(await confirm("Log out?", words, "Log out"))) return;
  try {
    await post("/v1/logout");
  } catch (problem) {
    if (!(problem instanceof Problem) || problem.status !== 401) toast(problem.detail, "bad");
  }
  kept.clear();
  leave();
}

on("signed-out", leave);
on("log-out", logOut);
on("link", (link) => link === "up" && flush());
addEventListener("hashchange", route);
$(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  ($("#box") ?? $("#main")).focus();
});
sidebar.start();
seats.start();
palette.start();
notify.start();
enter();

