// Two people change the settings at once: whose value stands, and what must be asked. Pure.

/** Every leaf of a tree of groups as "group.name" to value. */
export function flat(tree) {
  const found = new Map();
  for (const [group, values] of Object.entries(tree)) {
    for (const [name, value] of Object.entries(values)) found.set(`${group}.${name}`, value);
  }
  return found;
}

export const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** Leaves of `mine` that are not what `base` has: a merge patch. */
export function patchOf(base, mine) {
  const patch = {};
  for (const [path, value] of mine) {
    if (same(base.get(path), value)) continue;
    const [group, name] = path.split(".");
    (patch[group] ??= {})[name] = value;
  }
  return patch;
}

/**
 * My changes to `base`, laid over what `theirs` has become. A value both changed, differently, is a
 * conflict: mine stands in the form, theirs is shown beside it, and nothing is saved unasked.
 */
export function merged(base, theirs, mine) {
  const values = new Map();
  const conflicts = new Map();
  const news = new Map();
  for (const [path, their] of theirs) {
    const own = mine.get(path);
    const changed = mine.has(path) && !same(own, base.get(path));
    values.set(path, changed ? own : their);
    if (same(their, base.get(path))) continue;
    if (changed && !same(own, their)) conflicts.set(path, their);
    else news.set(path, their);
  }
  return { values, conflicts, news };
}
