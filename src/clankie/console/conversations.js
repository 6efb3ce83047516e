// The list of conversations: read once, kept up to date by the feed, and what of it was not seen.
//
// Rule: browsers allow few connections to one place. Of all open pages one follows the feed and
//       tells the others; a lock that the browser keeps decides which, and passes it on.

import { get } from "./api.js";
import { emit, kept, setLink, state } from "./state.js";
import { follow } from "./stream.js";

const CHANNEL = "clankie.feed";
let seenCursors = null;

/** Read the whole list. Calls while it is read share one more reading: the one that runs may have
 *  begun before what they are about. */
let reading = null;
let next = null;
export function reload() {
  if (reading) return (next ??= reading.catch(() => {}).then(() => ((next = null), reload())));
  reading = read().finally(() => (reading = null));
  return reading;
}

async function read() {
  const { conversations } = await get("/v1/conversations?state=all");
  const before = state.conversations;
  state.conversations = new Map(conversations.map((one) => [one.id, { ...before.get(one.id), ...one }]));
  if (seenCursors === null) {
    // In a new browser nothing is unread: what is there was there before.
    seenCursors = kept.get("seen") ?? Object.fromEntries(conversations.map((one) => [one.id, one.cursor]));
    kept.set("seen", seenCursors);
  }
  emit("conversations");
}

export function markSeen(id, cursor) {
  if (seenCursors === null || (seenCursors[id] ?? 0) >= cursor) return;
  seenCursors[id] = cursor;
  kept.set("seen", seenCursors);
  emit("conversations");
}

/** Whether something stands in its log that was not on the screen of this browser. */
export const unread = (row) => (seenCursors?.[row.id] ?? 0) < row.cursor && row.id !== state.current;

/** A row of the feed: how one conversation stands now. */
function told(row) {
  const before = state.conversations.get(row.conversation);
  if (!before || before.revision !== row.revision || before.state === "closed") {
    reload().catch(() => {}); // another name, another one, or one less: the feed does not say which
    if (!before) return;
  }
  const after = { ...before, ...row };
  delete after.conversation;
  state.conversations.set(row.conversation, after);
  emit("row", { before, after });
  emit("conversations");
}

/** Follow the feed, or the page that does, until `signal` ends. */
export async function watch(signal) {
  const others = new BroadcastChannel(CHANNEL);
  signal.addEventListener("abort", () => others.close());
  others.onmessage = ({ data }) => {
    if (data.row) told(data.row);
    if (data.link) setLink(data.link);
  };
  const tell = (what) => signal.aborted || others.postMessage(what);
  const lead = () => follow("/v1/feed", {
    signal,
    heard: (_, row) => (told(row), tell({ row })),
    link: (link) => {
      setLink(link);
      tell({ link });
      if (link === "up") reload().catch(() => {});
    },
  });
  if (!navigator.locks) return lead();
  setTimeout(() => state.link === "starting" && setLink("up"), 500); // another page leads
  return navigator.locks.request(CHANNEL, { signal }, lead).catch(() => {});
}

/** Open ones in their order, then closed ones. What was deleted for good is no place to go to. */
export function listed() {
  const rows = [...state.conversations.values()].filter((one) => one.state !== "closed" || one.name !== "(purged)");
  return { open: rows.filter((one) => one.state !== "closed"), closed: rows.filter((one) => one.state === "closed") };
}
