// A delivery's receipt: look at it, send it again, close it as unknown.

import { get, post, receiptPath } from "./api.js";
import { confirm, dialog } from "./dialog.js";
import { h, toast } from "./dom.js";
import { send } from "./outbox.js";
import { evidence, harness } from "./seatwords.js";
import { seatById } from "./seats.js";
import { STATES, exact, moment } from "./words.js";

const line = (name, value) => (value === undefined || value === null || value === "" ? null : [h("dt", null, name), h("dd", null, value)]);

export async function look(id) {
  let receipt;
  try {
    receipt = await get(receiptPath(id));
  } catch (problem) {
    toast(problem.detail, "bad");
    return;
  }
  await dialog("What is known of this message", () => [
    h("p.state", { data: { state: receipt.state } }, h("b", null, STATES[receipt.state] ?? receipt.state), receipt.detail ? ` ${receipt.detail}` : ""),
    h("dl", null,
      line("Stored", exact(receipt.admitted_at)), line("Ended", receipt.settled_at && exact(receipt.settled_at)),
      line("Mode", receipt.mode), line("Reason", receipt.code && h("code", null, receipt.code)),
      line("Joined", receipt.absorbed_by), line("Tries again", receipt.retry_of && h("code", null, receipt.retry_of)),
      line("Held", receipt.held), line("Id", h("code", null, receipt.id))),
    h("h3", null, "Attempts"),
    receipt.attempts.length ? h("ol.attempts", null, receipt.attempts.map(attempt)) : h("p.faint", null, "None: no driver had it."),
  ]);
}

function attempt(one) {
  if (one.destination.kind === "seat") return seated(one);
  const tools = one.evidence?.tools ?? [];
  return h("li", null,
    h("b", null, one.state), ` on the service lane, begun ${exact(one.started_at)}`, one.ended_at ? `, ended ${exact(one.ended_at)}` : "",
    one.code ? [", ", h("code", null, one.code)] : null, ".",
    h("div.faint", null, tools.length ? "Tools run: " : "Tools run: none.",
      tools.map((tool, at) => [at ? ", " : "", h("code", null, tool.name), ` ${tool.state}`, tool.effect ? " (may have changed something)" : ""])));
}

function seated(one) {
  const name = harness(seatById(one.destination.seat)?.harness);
  return h("li", null,
    h("b", null, one.state), ` at a seat`, one.ended_at ? `, ended ${exact(one.ended_at)}` : "", one.code ? [", ", h("code", null, one.code)] : null, ".",
    one.into ? [" It went together with ", h("code", null, one.into), "."] : null,
    h("dl", null, evidence(one, name, moment).map(([key, value]) => line(key, value))));
}

/** Send the words again as a new message; asks first where a tool had started. */
export async function again(thread, row) {
  let receipt;
  try {
    receipt = await get(receiptPath(row.delivery));
  } catch (problem) {
    toast(problem.detail, "bad");
    return;
  }
  const tools = receipt.attempts.flatMap((one) => one.evidence?.tools ?? []);
  const names = [...new Set(tools.map((tool) => tool.name))].join(", ");
  if (tools.length) {
    const words = `A tool had started: ${names}. Sent again, it may do a second time what it did already.`;
    if (!(await confirm("Send it again?", words, "Send again", true))) return;
  }
  send(thread.id, row.text, { retry_of: row.delivery, attachments: row.attachments ?? [] });
}

export async function abandon(thread, row) {
  const words = "It stays in the log with what is known of it, and is not asked about any more. It is not sent again.";
  if (!(await confirm("Close it as unknown?", words, "Close as unknown"))) return;
  try {
    await post(receiptPath(row.delivery, "/settle"), { as: "abandoned" });
  } catch (problem) {
    toast(problem.detail, "bad");
  }
  await thread.refresh(row.delivery);
}
