// What the models were asked and what it cost, day by day.

import { get } from "./api.js";
import { h } from "./dom.js";
import { page, section, table } from "./page.js";
import { money, tokens } from "./words.js";

const sum = (one) => (one.input_tokens || 0) + (one.output_tokens || 0);
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });

export function show() {
  return page("Usage", "Tokens and cost of the last thirty days. A cost stands where the price of the model is known.", section("", async () => {
    const { days, today, daily_tokens: limit } = await get("/v1/usage?days=30");
    const costs = days.map((one) => one.cost_usd).filter((one) => one !== null && one !== undefined);
    return [
      h("dl.figures", null,
        figure("Today", `${tokens(sum(today))} tokens`, limit ? `of ${tokens(limit)} a day` : "no daily limit"),
        figure("Cost today", money(today.cost_usd) || "–", today.cost_usd === null ? "no price is known" : ""),
        figure("Thirty days", `${tokens(days.reduce((n, one) => n + sum(one), 0))} tokens`, costs.length ? money(costs.reduce((a, b) => a + b, 0)) : "")),
      limit ? h("progress", { max: limit, value: Math.min(sum(today), limit), "aria-label": "Of today's limit" }) : null,
      bars(days),
      table(["Day", "In", "Out", "Requests", "Cost"],
        [...days].reverse().filter(sum).map((one) => [one.day, tokens(one.input_tokens), tokens(one.output_tokens), one.requests, money(one.cost_usd) || "–"]), "No model was asked yet."),
    ];
  }));
}

const figure = (name, value, more) => h("div", null, h("dt", null, name), h("dd", null, value), h("small", null, more));

function bars(days) {
  const most = Math.max(1, ...days.map(sum));
  if (!days.some(sum)) return null;
  return h("div.bars", { "aria-hidden": "true" }, days.map((one) => {
    const bar = h("span", { title: `${day.format(new Date(one.day))}: ${tokens(sum(one))} tokens` });
    bar.style.height = `${sum(one) && Math.max(3, (sum(one) / most) * 100)}%`;
    return bar;
  }));
}
