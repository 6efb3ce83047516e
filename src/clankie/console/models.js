// Which model answers: what there is to choose from, for one conversation or for all.

import { get } from "./api.js";
import { dialog } from "./dialog.js";
import { h, toast } from "./dom.js";

const SOURCES = { settings: "In the settings", credential: "Credential stored", environment: "Key in the environment", local: "On this machine", practice: "Built in" };

/** `provider:name`, as settings and conversations name it. */
export const named = ({ provider, model }) => (model ? `${provider}:${model}` : provider);

const usable = (one) => one.ready && (one.model || one.source === "practice");

export async function choices() {
  return get("/v1/models");
}

export async function chooseModel(screen) {
  let known;
  try {
    known = await choices();
  } catch (problem) {
    toast(problem.detail, "bad");
    return;
  }
  const wanted = await dialog("Which model answers here", (close) => {
    const now = screen.row.model ?? null;
    const other = h("input", { id: "other-model", value: now ?? "", placeholder: "provider:name", autocomplete: "off", maxlength: 200 });
    const option = (value, words, hint) =>
      h("button.choice", { "aria-pressed": String(value === now), onclick: () => close({ value }) }, h("b", null, words), h("small", null, hint));
    const go = h("button", null, "Use it");
    go.type = "submit";
    return [
      h("div.choices", null,
        option(null, "As the settings say", known.current ? named(known.current) : ""),
        known.choices.filter(usable).map((one) => option(named(one), named(one), one.sentence || SOURCES[one.source]))),
      h("form", { onsubmit: (event) => (event.preventDefault(), close({ value: other.value.trim() || null })) },
        h("label", { for: "other-model" }, "Another"), h("div.beside", null, other, go)),
    ];
  });
  if (wanted) await screen.use(wanted.value);
}

/** The list for the settings: `use(name)` writes it into the field. */
export async function modelChoices(use) {
  try {
    const { choices: found } = await choices();
    return h("div.choices", { role: "group", "aria-label": "Models that were found" }, found.map((one) =>
      h("button.choice", { disabled: !usable(one), onclick: () => use(named(one)) },
        h("b", null, named(one)), h("small", null, one.sentence || SOURCES[one.source]))));
  } catch {
    return null; // the field alone will do
  }
}
