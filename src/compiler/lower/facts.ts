/** What can be read off a body without lowering it. */
import type { Statement } from "../ast/nodes.js";
import { type Part, someParts } from "../ast/visit.js";
import { type CheckedCollective, isTensorAssignment } from "../check/checked.js";
import { extentOf, type Lookup } from "../check/extents.js";
import type { Extent } from "../types/extent.js";

/** Dimensions, and the lets at the top of the body that stand for a length known before a launch. */
export function namedExtents({ syntax, world, dims, types }: CheckedCollective): Lookup {
  const lets = new Map<string, Extent>();
  const lookup: Lookup = (name) => (dims.includes(name) ? name : (lets.get(name) ?? null));
  for (const s of syntax.body) {
    const found = s.kind === "let" && types.get(s.value)?.kind === "index" ? extentOf(s.value, world, lookup) : null;
    if (s.kind === "let" && found !== null) lets.set(s.name.text, found);
  }
  return lookup;
}

/** Arrays that explicit statements store elements of. */
export function storedIn(body: readonly Statement[], into: Set<string> = new Set()): Set<string> {
  for (const s of body) {
    if (s.kind === "assign" && s.indices !== null) into.add(s.target.text);
    if (s.kind === "for") storedIn(s.body, into);
    if (s.kind === "if") storedIn([...s.then, ...s.otherwise], into);
  }
  return into;
}

/**
 * Outputs that an expression alone decides: assigned whole, and neither stored to by a loop nor computed from what a loop
 * has stored. With the lets of which the same holds.
 */
export function expressedNames({ syntax, tensors }: CheckedCollective): ReadonlySet<string> {
  const touched = new Set<string>();
  const expressed = new Set<string>();
  for (const s of syntax.body) {
    for (const name of storedIn([s])) touched.add(name);
    const isWhole = isTensorAssignment(s);
    if (!isWhole && s.kind !== "let") continue;
    const name = isWhole ? s.target.text : s.name.text;
    const isTouched = someParts(s.value, (p) => touched.has(nameOf(p)));
    if (isTouched) touched.add(name);
    else touched.delete(name);
    if (!isWhole || tensors.has(name)) expressed.add(name);
  }
  return new Set([...expressed].filter((name) => !touched.has(name)));
}

function nameOf(p: Part): string {
  if (p.kind === "name") return p.name;
  return p.kind === "element" ? p.tensor.text : "";
}
