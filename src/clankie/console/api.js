// One way to the service: JSON in and out, problems as errors with their sentence.

import { emit } from "./state.js";

/** What the service, or the way to it, said no with. `status` 0: nobody answered. */
export class Problem extends Error {
  constructor(status, code, detail, facts = {}, after = 0) {
    super(detail);
    Object.assign(this, { status, code, detail, facts, after });
  }

  /** Whether the same request may succeed later. */
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** What a write must carry. It is there while there is a session. */
export const csrf = () => /(?:^|; )clankie_csrf=([^;]*)/.exec(document.cookie)?.[1] ?? "";
export const seg = encodeURIComponent;

/** The answer to a fetch, or a Problem. A session that ended is told to everybody. */
export async function checked(answer) {
  if (answer.ok) return answer;
  const facts = await answer.json().catch(() => ({}));
  const after = Number(answer.headers.get("retry-after")) || 0;
  if (answer.status === 401) emit("signed-out");
  const detail = facts.detail || `The service answered ${answer.status}.`;
  throw new Problem(answer.status, facts.code || "error", detail, facts, after);
}

export async function ask(path, options) {
  try {
    return await fetch(path, { credentials: "same-origin", cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "unreachable", "The service does not answer.");
  }
}

export async function call(method, path, body, options = {}) {
  const headers = {};
  if (method !== "GET") headers["X-Clankie-CSRF"] = csrf();
  if (body instanceof Blob) headers["Content-Type"] = body.type || "application/octet-stream";
  else if (body !== undefined) headers["Content-Type"] = "application/json";
  const sent = body === undefined || body instanceof Blob ? body : JSON.stringify(body);
  const answer = await checked(await ask(path, { method, headers, body: sent, ...options }));
  return answer.status === 204 ? null : answer.json();
}

export const get = (path, options) => call("GET", path, undefined, options);
/** Without a body where the route reads none: the service closes a line it did not read to its end. */
export const post = (path, body) => call("POST", path, body);
export const patch = (path, body) => call("PATCH", path, body);
export const put = (path, body) => call("PUT", path, body);
export const remove = (path) => call("DELETE", path);

export const here = (id, rest = "") => `/v1/conversations/${seg(id)}${rest}`;
export const receiptPath = (id, rest = "") => `/v1/deliveries/${id.split("/").map(seg).join("/")}${rest}`;

/** An id nobody else makes; also where the page is not in a secure context. */
export function fresh(kind) {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return `${kind}-${Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("")}`;
}
