// Who may do what: credentials that models need, written and never read; sessions and tokens.

import { get, put as replace, remove, seg } from "./api.js";
import { confirm } from "./dialog.js";
import { h } from "./dom.js";
import { doing, page, section, table } from "./page.js";
import { emit } from "./state.js";
import { exact } from "./words.js";

export function show() {
  return page("Access", "Secrets of model servers are written here and never shown again. Each is sent to its own address only.",
    section("Credentials", credentials), section("Sessions and tokens", sessions),
    h("div.buttons", null, h("button", { onclick: () => emit("log-out") }, "Log out here")));
}

async function credentials(again) {
  const found = (await get("/v1/credentials")).credentials;
  const field = (id, label, more) => h("div.field", null, h("label", { for: id }, label), h("input", { id, required: true, autocomplete: "off", spellcheck: "false", ...more }));
  const form = h("form.inline", { onsubmit: async (event) => {
    event.preventDefault();
    const [name, origin, secret] = form.querySelectorAll("input");
    const body = { origin: origin.value.trim(), secret: secret.value };
    secret.value = "";
    await doing(replace(`/v1/credentials/${seg(name.value.trim())}`, body), again, "Stored.");
  } },
  field("cred-name", "Name", { placeholder: "openai", pattern: "[a-z0-9][a-z0-9._\\-]{0,63}" }),
  field("cred-origin", "Sent to", { type: "url", placeholder: "https://api.openai.com" }),
  field("cred-secret", "Secret", { type: "password", autocomplete: "new-password" }),
  h("button.primary", null, "Store"));
  form.lastChild.type = "submit";
  const forget = async (one) => (await confirm("Forget this credential?", `What uses ${one.name} stops working until there is another.`, "Forget it", true)) && doing(remove(`/v1/credentials/${seg(one.name)}`), again);
  return [
    table(["Name", "Sent to", "Kept in", ""], found.map((one) => [h("code", null, one.name), one.origin, one.source,
      one.source === "environment" ? "" : h("button.small", { "aria-label": `Forget ${one.name}`, onclick: () => forget(one) }, "Forget")]), "None is kept."),
    form,
  ];
}

async function sessions(again) {
  const alive = (await get("/v1/tokens")).tokens.filter((one) => !one.revoked);
  const revoke = async (one) => (await confirm("Revoke it?", "It opens nothing any more, at once. If it is this browser's session, you are logged out.", "Revoke", true)) && doing(remove(`/v1/tokens/${seg(one.id)}`), again);
  return table(["What", "For", "Since", ""], alive.map((one) => [one.label, one.principal.principal, exact(one.created_at),
    h("button.small", { "aria-label": `Revoke ${one.label}`, onclick: () => revoke(one) }, "Revoke")]), "None.");
}
