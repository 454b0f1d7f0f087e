/**
 * What nodes change in place, and what of that others see. A node whose target nobody else looks at any more is as good as one that makes
 * a new tensor. Every other one is carried out by the caller, always, and all that stands before it in the graph comes before it: then
 * memory has what the graph says, whichever names it has.
 */
import { type FxArgument, type FxGraph, type FxNode, isRef, refsOf } from "./fx.js";
import { baseOf, named, positional } from "./parameters.js";

export interface Effects {
  /** By node that changes what others see: the nodes that are tensors in that memory, as its arguments name them. */
  readonly changes: ReadonlyMap<string, readonly string[]>;
  /** Nodes that change nothing, and are carried out for what they may refuse: wherever in the order, as long as it is behind what they look at. */
  readonly checks: ReadonlySet<string>;
  /** By node that may be a copy, or not, the node that changes later what it may be a copy of. */
  readonly copies: ReadonlyMap<string, string>;
  /** By node, how many of `changes` stand before it. */
  readonly epochs: ReadonlyMap<string, number>;
}

/** Results that lie, or may lie, where their first argument does. */
const VIEWS = new Set("view reshape _unsafe_view unsqueeze squeeze flatten _reshape_alias contiguous alias detach expand to t numpy_T transpose permute slice select split split_with_sizes chunk unbind getitem wait_tensor".split(" ")); // prettier-ignore
/** Results that may be copies, and of which collc makes none. */
const COPIES = new Set(
  "clone contiguous reshape flatten _to_copy convert_element_type to cat repeat repeat_interleave stack".split(" "),
);
/** New memory that nothing is in, or numbers alone. */
const NEW = new Set("empty empty_like empty_strided new_empty new_zeros zeros zeros_like ones ones_like full full_like".split(" ")); // prettier-ignore

/** Calls of torch's own that look at a value, and do nothing else. */
const CHECKS = /^aten\.(_assert_\w+|_functional_assert_\w+|sym_constrain_range\w*)$/;

const nameOf = (node: FxNode): string =>
  baseOf(node.target ?? "")
    .split(".")
    .at(-1)!;
const namesIn = (a: FxArgument | undefined): string[] => (Array.isArray(a) ? a.flatMap(namesIn) : isRef(a) ? [a.node] : []); // prettier-ignore

/** Names of the nodes whose memory a call changes, as far as its target and its own word say. */
function targetsOf(node: FxNode): string[] {
  const { args = [], kwargs = {}, mutates = [] } = node;
  const first = /[^_]_$/.test(nameOf(node)) ? namesIn(args[0] ?? Object.values(kwargs)[0]) : [];
  const out = [...Object.entries(kwargs), ...Object.entries(named(node))].flatMap(([key, a]) => (/^out\d*$/.test(key) ? namesIn(a) : [])); // prettier-ignore
  return [...new Set([...mutates, ...first, ...out])];
}

/** What changes in a graph, and who sees it. */
export function effectsOf(fx: FxGraph): Effects {
  const place = new Map(fx.nodes.map((n, i) => [n.name, i]));
  const users = new Map<string, FxNode[]>(fx.nodes.map((n) => [n.name, []]));
  for (const n of fx.nodes) for (const name of refsOf(n)) users.get(name)!.push(n);
  /** By node, the nodes that have made the memory that it lies in. */
  const roots = new Map<string, ReadonlySet<string>>();
  const rootsOf = (names: readonly string[]): Set<string> => new Set(names.flatMap((name) => [...roots.get(name)!]));
  const isKnown = (n: FxNode): boolean => typeof positional(n) !== "string";
  const isNew = (name: string): boolean => {
    const node = fx.nodes[place.get(name)!]!;
    return node.op === "call_function" && (NEW.has(nameOf(node)) || (isKnown(node) && !VIEWS.has(nameOf(node))));
  };
  /** Whether nobody but a node looks at memory that it changes, then or later, under a name that was there before. */
  const isPrivate = (node: FxNode, memory: ReadonlySet<string>): boolean => {
    const before = new Set([...roots].filter(([, own]) => [...own].some((r) => memory.has(r))).map(([name]) => name));
    return [...memory].every(isNew) && [...before].every((name) => users.get(name)!.every((u) => u === node || before.has(u.name))); // prettier-ignore
  };
  const changes = new Map<string, readonly string[]>();
  const checks = new Set<string>();
  const epochs = new Map<string, number>();
  for (const node of fx.nodes) {
    epochs.set(node.name, changes.size);
    let targets = targetsOf(node);
    // A tracer keeps no call without users for its result: what nobody knows of is called for what it does to its arguments.
    const isCalledFor = node.op === "call_function" && users.get(node.name)!.length === 0 && !isKnown(node) && (node.shape === undefined || !/^(aten|prims)\./.test(baseOf(node.target ?? ""))); // prettier-ignore
    if (isCalledFor && targets.length === 0 && !/^(aten|prims)\./.test(baseOf(node.target ?? ""))) targets = refsOf(node); // prettier-ignore
    const memory = rootsOf(targets);
    if (isCalledFor && targets.length === 0 && CHECKS.test(baseOf(node.target ?? ""))) checks.add(node.name);
    else if (isCalledFor || (targets.length > 0 && !isPrivate(node, memory))) changes.set(node.name, targets);
    const first = VIEWS.has(nameOf(node)) ? namesIn(node.args?.[0] ?? Object.values(node.kwargs ?? {})[0]) : [];
    // What nobody knows of may lie where any of its arguments does.
    const others = node.op !== "call_function" || isKnown(node) || NEW.has(nameOf(node)) ? [] : refsOf(node);
    roots.set(node.name, targets.length > 0 ? memory : first.length > 0 ? rootsOf(first) : new Set([node.name, ...rootsOf(others)])); // prettier-ignore
  }
  const copies = new Map<string, string>();
  for (const node of fx.nodes) {
    if (node.op !== "call_function" || !COPIES.has(nameOf(node))) continue;
    const memory = rootsOf(refsOf(node));
    const later = [...changes].find(([by, targets]) => place.get(by)! > place.get(node.name)! && [...rootsOf(targets)].some((r) => memory.has(r))); // prettier-ignore
    if (later !== undefined) copies.set(node.name, later[0]);
  }
  return { changes, checks, copies, epochs };
}
