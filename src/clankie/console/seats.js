// The roster of seats and what harnesses ask: read while somebody looks and a seat has to do with it.
//
// Rule: the feed says when a driver changed, and nothing of what moves at a seat. So while a seat
//       drives and the page is seen, the roster is read every few seconds, and at once on a hint.

import { get, put as replace, remove, post, seg } from "./api.js";
import { emit, on, state } from "./state.js";

const PAUSE = 3000; // milliseconds between two looks while a seat is attached somewhere
const ASIDE = 15_000; // the same while nobody sees the page: a harness may ask for leave
const LEAST = 700; // between two looks, however many hints come
const SOON = 120; // after a hint; several come together

let roster = [];
let asks = [];
let reading = null;
let timer = null;
let looked = 0;
let absent = false; // a service that has no seats, or none for us

export const seats = () => roster;
export const seatById = (id) => roster.find((one) => one.seat === id) ?? null;

/** The seat attached to a conversation, as the roster has it. */
export const seatOf = (conversation) => roster.find((one) => one.conversation === conversation) ?? null;

/** What harnesses ask and nobody has answered; of one conversation, or of all. */
export const asking = (conversation) =>
  asks.filter((one) => one.state === "pending" && (conversation === undefined || one.conversation === conversation));

/** Read both anew; who calls while it is read shares it. Throws what the service refuses with. */
export function look() {
  reading ??= both().finally(() => (reading = null));
  return reading;
}

async function both() {
  const [first, second] = await Promise.all([get("/v1/seats"), get("/v1/approvals")]);
  const next = [first.seats ?? first, second.approvals ?? second];
  const same = JSON.stringify(next) === JSON.stringify([roster, asks]);
  const known = new Set(asks.map((one) => one.id));
  [roster, asks] = next;
  if (!same) emit("seats");
  for (const one of asking()) if (!known.has(one.id)) emit("asked", one);
}

const attached = () => [...state.conversations.values()].some((one) => one.driver?.kind === "seat");

/** Look now; and again later, as long as there is something that moves. */
async function tick() {
  timer = null;
  if (absent || state.link === "down") return; // when it is up again, that is a hint
  looked = Date.now();
  try {
    await look();
    emit("seat-tick");
  } catch (problem) {
    if (problem.status === 404 || problem.status === 403) absent = true;
    if (problem.status === 401) return;
  }
  if (attached() || asking().length || roster.some((one) => one.conversation)) later(document.hidden ? ASIDE : PAUSE);
}

function later(milliseconds) {
  clearTimeout(timer);
  timer = setTimeout(tick, Math.max(milliseconds, looked + LEAST - Date.now()));
}

/** Attach in place of `expected`; {waiting: true} while a run of the service ends first. */
export async function attach(seat, conversation, expected) {
  const answer = await replace(`/v1/seats/${seg(seat)}/attachment`, { conversation, expected });
  await settle();
  return { waiting: answer?.state === "waiting_for_run" || answer?.waiting_for_run === true };
}

export async function detach(seat) {
  await remove(`/v1/seats/${seg(seat)}/attachment`);
  await settle();
}

export async function retire(seat) {
  await remove(`/v1/seats/${seg(seat)}`);
  await settle();
}

export async function decide(approval, decision) {
  try {
    await post(`/v1/approvals/${seg(approval)}`, { decision, expected_state: "pending" });
  } finally {
    await settle();
  }
}

/** After a change: what is shown is read, not guessed. */
const settle = () => look().catch(() => {});

export function start() {
  on("row", ({ before, after }) => (before.driver?.kind === "seat" || after.driver?.kind === "seat") && later(SOON));
  on("conversations", () => timer === null && reading === null && attached() && later(0));
  on("event", ({ event }) => ["handoff", "notice"].includes(event.kind) && later(SOON));
  on("link", (link) => link === "up" && later(SOON));
  document.addEventListener("visibilitychange", () => document.hidden || later(0));
}
