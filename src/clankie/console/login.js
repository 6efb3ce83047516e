// The way in: eight characters that `clankie up` shows, once, for a minute.

import { ask } from "./api.js";
import { $, h, put } from "./dom.js";

const LENGTH = 8;

/** Ask for a code until one opens a session; then `done()`. */
export function login(done) {
  const place = $("#login");
  const said = h("p.said-no", { role: "alert" });
  const input = h("input.code", {
    id: "code", maxlength: 12, autocomplete: "one-time-code", autocapitalize: "characters", spellcheck: "false",
    "aria-describedby": "code-hint", oninput: typed,
  });
  const go = h("button.primary", null, "Open the console");
  go.type = "submit";
  const form = h("form", { onsubmit: submitted },
    h("img", { src: "/console/mark.svg", alt: "", width: 44, height: 44 }),
    h("h1", null, "Clankie"),
    h("label", { for: "code" }, "The code of eight characters"), input, said, go,
    h("div.how", { id: "code-hint" },
      h("p", null, "On the machine where it runs, ", h("code", null, "clankie up"), " opens this page by itself, or shows a code. A code works once, for one minute."),
      h("p", null, "Nobody else can read what is here: it stays on your machine.")));
  put(place, form);
  place.hidden = false;
  $("#shell").hidden = true;
  document.title = "Clankie";
  input.focus();

  function typed() {
    const plain = input.value.toUpperCase().replace(/[^A-Z0-9]/g, "").slice(0, LENGTH);
    if (plain !== input.value) input.value = plain;
    put(said);
    if (plain.length === LENGTH) form.requestSubmit();
  }

  async function submitted(event) {
    event.preventDefault();
    if (input.value.length !== LENGTH) return void put(said, "A code has eight characters.");
    go.disabled = true;
    try {
      const body = JSON.stringify({ code: input.value });
      const answer = await ask("/v1/login", { method: "POST", headers: { "Content-Type": "application/json" }, body });
      if (answer.ok) {
        place.hidden = true;
        put(place);
        done();
        return;
      }
      put(said, answer.status === 401 ? "This code does not open it. It works once and for one minute: ask for another." : `The service said no (${answer.status}).`);
    } catch (problem) {
      put(said, problem.detail);
    }
    go.disabled = false;
    input.select();
  }
}
