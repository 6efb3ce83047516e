// A goal: what a conversation pursues by itself, within a budget of tokens.

import { get, here, put, remove } from "./api.js";
import { dialog } from "./dialog.js";
import { h, toast } from "./dom.js";
import { tokens } from "./words.js";

export async function pursue(screen) {
  let goal;
  try {
    ({ goal } = await get(here(screen.id, "/goal")));
  } catch (problem) {
    toast(problem.detail, "bad");
    return;
  }
  const wanted = await dialog("Goal", (close) => {
    const text = h("textarea", { id: "goal-text", rows: 4, required: true, "data-first": true, value: goal?.text ?? "" });
    const budget = h("input", { id: "goal-budget", type: "number", min: "1", step: "1", required: true, value: String(goal?.token_budget ?? 100_000) });
    const go = h("button.primary", null, goal ? "Set it anew" : "Set it");
    go.type = "submit";
    return h("form", { onsubmit: (event) => (event.preventDefault(), close({ text: text.value, token_budget: Number(budget.value) })) },
      goal ? h("p.state", null, h("b", null, goal.state), ` ${tokens(goal.spent)} of ${tokens(goal.token_budget)} tokens. ${goal.reason ?? ""}`)
        : h("p.faint", null, "It works on it step by step until it is reached or the budget is spent."),
      h("label", { for: "goal-text" }, "What is to be reached"), text, h("label", { for: "goal-budget" }, "Tokens it may cost"), budget,
      h("div.buttons.end", null, goal ? h("button", { onclick: () => close("forget") }, "Forget it") : null, go));
  });
  if (!wanted) return;
  try {
    await (wanted === "forget" ? remove(here(screen.id, "/goal")) : put(here(screen.id, "/goal"), wanted));
  } catch (problem) {
    toast(problem.detail, "bad");
  }
}
