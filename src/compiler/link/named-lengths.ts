/**
 * Long lengths that stand in a signature as numbers, as dimensions: `x: T[m, 4096]` becomes `x: T[m, n4096] … where n4096 == 4096`.
 * It is the same program, and has shorter forms that a proof can go through.
 */
import type { Collective, Expression, Requirement } from "../ast/nodes.js";

/** Numbers below this one are short enough to be gone through. */
const LONG = 256;

/** The collective with names for its long lengths; null where it has none. Constants and functions have been put in place. */
export function nameLengths(collective: Collective): Collective | null {
  const found = new Map<number, Expression>();
  const look = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    if (isLength(node) && !found.has(node.value)) found.set(node.value, node);
    for (const part of Object.values(node)) look(part);
  };
  for (const { shape } of [...collective.inputs, ...collective.outputs]) look(shape);
  if (found.size === 0) return null;
  const known = namesIn(collective);
  const names = new Map([...found.keys()].map((length) => [length, freshName(length, known)]));
  const conditions = [...found].map(([length, { span }]): Requirement => {
    const left: Expression = { kind: "name", name: names.get(length)!, span };
    const right: Expression = { kind: "number", value: length, isInteger: true, span };
    return { choices: null, condition: { kind: "binary", operator: "==", left, right, span }, span };
  });
  const named = renamed(collective, names, false) as Collective;
  return { ...named, requires: [...named.requires, ...conditions] };
}

type Length = Extract<Expression, { kind: "number" }>;

function isLength(node: object): node is Length {
  const { kind, value, isInteger } = node as Partial<Length>;
  return kind === "number" && isInteger === true && value! >= LONG;
}

function namesIn(collective: Collective): ReadonlySet<string> {
  return new Set(JSON.stringify(collective).match(/\w+/g));
}

function freshName(length: number, known: ReadonlySet<string>): string {
  let name = `n${length}`;
  while (known.has(name)) name += "_";
  return name;
}

/** Parts of a node that are about places and lengths, whatever the node itself is about. */
const PLACES = new Set([
  "shape",
  "indices",
  "peer",
  "ranges",
  "range",
  "over",
  "from",
  "to",
  "length",
  "rank",
  "parts",
]);

/**
 * The tree with names in place of lengths. Numbers that values are made of stay: `x[i, 4096] * 4096` is the same for
 * other lengths, and a dimension would be of another type.
 * @param isPlace whether what the node says is a place or a length
 */
function renamed(node: unknown, names: ReadonlyMap<number, string>, isPlace: boolean): unknown {
  if (Array.isArray(node)) return node.map((part) => renamed(part, names, isPlace));
  if (typeof node !== "object" || node === null) return node;
  const name = isPlace && isLength(node) ? names.get(node.value) : undefined;
  if (name !== undefined) return { kind: "name", name, span: (node as Length).span };
  const { kind } = node as { readonly kind?: string };
  const partAt = ([key, part]: [string, unknown]): [string, unknown] => {
    // A name for an index is one; conditions are about places where they read nothing.
    const isStatement = (key === "value" && kind === "let") || key === "condition";
    const isOne = isStatement ? !readsElements(part) : isPlace || PLACES.has(key);
    return [key, key === "span" ? part : renamed(part, names, isOne)];
  };
  return Object.fromEntries(Object.entries(node).map(partAt));
}

function readsElements(node: unknown): boolean {
  return JSON.stringify(node).includes('"kind":"element"');
}
