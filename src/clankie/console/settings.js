// All settings, in their groups, with their bounds as the service itself describes them.
// Rule: a save names the revision it was made from. When that is not the newest any more, what others
//       changed comes in, what both changed is shown beside each other, and the owner saves again.

import { get, patch } from "./api.js";
import { h, put, toast } from "./dom.js";
import { flat, merged, patchOf, same } from "./merge.js";
import { modelChoices } from "./models.js";
import { page } from "./page.js";
import { emit, state } from "./state.js";

const TITLES = { mcp: "MCP servers" };
const LONG = 400;
const title = (name) => TITLES[name] ?? words(name);
const words = (name) => (name[0].toUpperCase() + name.slice(1)).replaceAll("_", " ").replace(/\burl\b/i, "URL").replace(/\bchars\b/, "characters");

export function show(signal, [group]) {
  const body = h("div.settings", null, h("p.faint", null, "Reading …"));
  new Form(body, group).read();
  return page("Settings", "They apply at once, to everything that begins after. What you change is kept with a revision.", body);
}

class Form {
  constructor(body, group) {
    Object.assign(this, { body, group, mine: new Map(), conflicts: new Map(), news: new Map(), schema: null });
  }

  async read() {
    try {
      const [read, schema] = await Promise.all([get("/v1/settings"), get("/v1/settings/schema")]);
      this.schema = schema;
      this.#take(read);
      this.mine = new Map(this.base);
      this.draw();
    } catch (problem) {
      put(this.body, h("p.notice-box.bad", null, problem.detail ?? String(problem)));
    }
  }

  /** What the service answered: the stored tree, and what this run lays over it. */
  #take({ revision, settings, in_effect: effect }) {
    Object.assign(this, { revision, base: flat(settings), effect: effect ? flat(effect) : new Map() });
  }

  draw() {
    const groups = Object.entries(this.schema.properties).filter(([name]) => [...this.base.keys()].some((path) => path.startsWith(`${name}.`)));
    const now = groups.some(([name]) => name === this.group) ? this.group : groups[0][0];
    this.said = h("div", { role: "status" });
    this.save = h("button.primary", { disabled: true }, "Save");
    this.save.type = "submit";
    this.reset = h("button", { disabled: true, onclick: () => ((this.mine = new Map(this.base)), this.conflicts.clear(), this.news.clear(), this.draw()) }, "Take back");
    put(this.body,
      h("nav.groups", { "aria-label": "Groups" }, groups.map(([name]) =>
        h("a", { href: `#/settings/${name}`, "aria-current": name === now ? "true" : null }, title(name),
          [...this.conflicts.keys()].some((path) => path.startsWith(`${name}.`)) ? h("span.badge.doubt", null, "!") : null))),
      h("form", { onsubmit: (event) => (event.preventDefault(), this.send()) },
        this.said, this.#fields(now, this.schema.properties[now]),
        h("div.buttons.save", null, this.save, this.reset, h("span.faint", null, `Revision ${this.revision}`))));
    this.body.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
    this.#check();
  }

  #fields(group, schema) {
    const fields = Object.entries(schema.properties).filter(([name]) => this.base.has(`${group}.${name}`));
    const made = h("fieldset", null, h("legend", null, title(group)), schema.description ? h("p.faint", null, schema.description) : null,
      fields.map(([name, one]) => this.#field(`${group}.${name}`, name, one)));
    if (group === "models") {
      modelChoices((name) => {
        const input = made.querySelector("[id='f-models.model']");
        input.value = name;
        input.dispatchEvent(new Event("input", { bubbles: true }));
      }).then((found) => found && made.querySelector(".faint, .field").after(found));
    }
    return made;
  }

  #field(path, name, schema) {
    const id = `f-${path}`;
    const value = this.mine.get(path);
    const facts = [bounds(schema), schema.default === undefined || typeof schema.default === "object" ? "" : `default ${schema.default === "" ? "empty" : schema.default.toLocaleString()}`];
    const hint = h("small", { id: `${id}-hint` }, [schema.description, ...facts].filter(Boolean).join(" · "));
    const error = h("small.error", { id: `${id}-error`, role: "alert" });
    const input = control(schema, value, { id, name: path, "aria-describedby": `${id}-hint ${id}-error`, oninput: () => {
      const given = taken(input, schema);
      if (given !== undefined) this.mine.set(path, given);
      put(error, given === undefined ? "This is not JSON." : input.validationMessage);
      this.#check();
    } });
    const overridden = this.effect.has(path) && !same(this.effect.get(path), this.base.get(path));
    return h("div.field", { data: { path } }, h("label", { for: id }, words(name)), input, hint, error,
      overridden ? h("small.override", null, `This run was started with ${shown(this.effect.get(path))}, which stands over it.`) : null,
      this.news.has(path) ? h("small.override", null, "Changed elsewhere meanwhile.") : null,
      this.conflicts.has(path) ? h("div.conflict", { role: "alert" }, `Changed elsewhere meanwhile to ${shown(this.conflicts.get(path))}. Yours stands above.`,
        h("button.small", { onclick: () => (this.mine.set(path, this.conflicts.get(path)), this.conflicts.delete(path), this.draw()) }, "Take theirs"),
        h("button.small", { onclick: () => (this.conflicts.delete(path), this.draw()) }, "Keep mine")) : null);
  }

  #check() {
    const changed = Object.keys(patchOf(this.base, this.mine)).length > 0;
    this.save.disabled = !changed || this.conflicts.size > 0;
    this.reset.disabled = !changed;
  }

  async send() {
    try {
      const read = await patch("/v1/settings", { ...patchOf(this.base, this.mine), expected_revision: this.revision });
      this.#take(read);
      this.mine = new Map(this.base);
      this.conflicts.clear();
      this.news.clear();
      state.agent = read.settings.persona?.name || state.agent;
      emit("settings");
      this.draw();
      toast("Saved.");
    } catch (problem) {
      if (problem.code === "revision_conflict") await this.#conflict();
      else if (problem.facts?.path || problem.facts?.errors) this.#refused(problem);
      else put(this.said, h("p.notice-box.bad", null, problem.detail ?? String(problem)));
    }
  }

  #refused(problem) {
    const path = problem.facts.path ?? problem.facts.errors[0].path;
    const place = this.body.querySelector(`[data-path="${CSS.escape(path)}"] .error`);
    put(place ?? this.said, problem.detail);
    place?.parentElement.querySelector("input, textarea")?.focus();
  }

  async #conflict() {
    const read = await get("/v1/settings");
    const { values, conflicts, news } = merged(this.base, flat(read.settings), this.mine);
    const before = this.revision;
    this.#take(read);
    Object.assign(this, { mine: values, conflicts, news });
    this.draw();
    const what = conflicts.size ? "Choose where both changed the same, then save again." : "Nothing collides: look at it and save again.";
    put(this.said, h("p.notice-box.doubt", null, `The settings were changed elsewhere (revision ${before} became ${this.revision}). Your changes are kept below. ${what}`));
  }
}

function bounds({ type, minimum, maximum, maxLength }) {
  if (minimum !== undefined) return `${minimum.toLocaleString()} to ${maximum.toLocaleString()}`;
  return type === "string" && maxLength ? `at most ${maxLength.toLocaleString()} characters` : "";
}

function control(schema, value, more) {
  if (schema.type === "boolean") return h("input", { ...more, type: "checkbox", checked: value });
  if (schema.enum) return h("select", more, schema.enum.map((one) => h("option", { selected: one === value }, one)));
  if (schema.type === "number" || schema.type === "integer") {
    return h("input", { ...more, type: "number", value: String(value), min: String(schema.minimum), max: String(schema.maximum), step: schema.type === "integer" ? "1" : "any", required: true });
  }
  if (schema.type !== "string") return h("textarea.code", { ...more, rows: 6, spellcheck: "false", value: JSON.stringify(value, null, 2) });
  const long = (schema.maxLength ?? 0) > LONG + 100;
  return h(long ? "textarea" : "input", { ...more, maxlength: schema.maxLength, value: String(value), ...(long ? { rows: 5 } : { type: "text", autocomplete: "off" }) });
}

/** What a control holds now; undefined when it cannot be read. */
function taken(input, schema) {
  if (schema.type === "boolean") return input.checked;
  if (schema.type === "number" || schema.type === "integer") return input.value === "" ? null : Number(input.value);
  if (schema.type === "string") return input.value;
  try {
    return JSON.parse(input.value);
  } catch {
    return undefined;
  }
}

const shown = (value) => (value === "" ? "nothing" : typeof value === "object" ? JSON.stringify(value) : String(value));
