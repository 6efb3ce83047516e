// How the service is: what it found about itself, what it does now, its servers of tools, backups.

import { get, post, seg } from "./api.js";
import { confirm } from "./dialog.js";
import { h, icon, toast } from "./dom.js";
import { doing, page, section } from "./page.js";
import { count, exact, relative } from "./words.js";

export function show() {
  return page("Health", "What the service finds when it looks at itself.",
    section("Findings", async () => {
      const { findings } = await get("/v1/doctor");
      return h("ul.findings", null, findings.map(finding));
    }),
    section("Now", now),
    section("MCP servers", async (again) => {
      const servers = await get("/v1/mcp-servers");
      const list = Array.isArray(servers) ? servers : servers.servers;
      return list.length ? h("ul.cards", null, list.map((one) => server(one, again))) : h("p.faint", null, "None is set up. They are added in the settings.");
    }),
    section("Backups", () => h("div.buttons", null, h("button", { onclick: backup }, "Make a backup now"), h("span.faint", null, "A consistent copy of everything but credentials."))));
}

function finding({ name, level, sentence, fix }) {
  return h("li.finding", { data: { level } }, icon({ ok: "check", warn: "alert", fail: "close" }[level] ?? "alert"),
    h("div", null, h("b", null, name), h("span.unseen", null, `: ${level}. `), h("p", null, sentence),
      fix ? h("p.fix", null, h("code", null, fix), h("button.small", { onclick: () => copy(fix) }, "Copy")) : null));
}

async function copy(words) {
  await navigator.clipboard?.writeText(words);
  toast("Copied.");
}

async function now() {
  const one = await get("/v1/status");
  const { deliveries, conversations } = one;
  const pairs = [
    ["Version", one.version], ["Running since", `${exact(one.started_at)} (${relative(one.started_at)})`],
    ["Conversations", `${conversations.open} open, ${conversations.closed} closed`],
    ["Messages", `${deliveries.running} running, ${deliveries.waiting} waiting, ${deliveries.held} held, ${deliveries.uncertain} uncertain`],
    ["Settings", `revision ${one.settings_revision}`], ["Waiting to be stored", count(one.writer_backlog, "unit")],
  ];
  return h("dl.pairs", null, pairs.map(([name, value]) => [h("dt", null, name), h("dd", null, value)]));
}

function server(one, again) {
  const agree = async () => {
    const words = `What ${one.name} offers is not what you agreed to. Its tools: ${one.tools.map((tool) => tool.name ?? tool).join(", ") || "none"}. They are used again once you agree.`;
    if (await confirm("Agree to the new tools?", words, "Agree")) await doing(post(`/v1/mcp-servers/${seg(one.name)}/agree`, { hash: one.hash }), again);
  };
  return h("li.card", { data: { held: String(one.state === "changed" || one.state === "failed") } },
    h("p.words", null, h("b", null, one.name), ` ${one.state}`), h("p.faint", null, one.sentence),
    one.tools?.length ? h("p.faint", null, one.tools.map((tool) => h("code.tag", null, tool.name ?? tool))) : null,
    one.state === "changed" ? h("div.buttons", null, h("button.small", { onclick: agree }, "Look and agree")) : null);
}

async function backup() {
  try {
    toast(`Kept at ${(await post("/v1/backups", {})).path}`);
  } catch (problem) {
    toast(problem.detail, "bad");
  }
}
