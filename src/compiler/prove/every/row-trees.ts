/** What rounds make of the elements of a row: expressions of elements in one place, and of what whole rows fold to. */
import type { Op } from "../../ir/module.js";
import { scalarOf } from "../../ir/types.js";
import type { ScalarKind } from "../../types/dtype.js";
import type { FoldFunction } from "../../manifest.js";
import type { Counter } from "./bounds.js";
import type { Expression } from "./expressions.js";
import { factors, type Form, keyOf, minus, parameter, substituted } from "./forms.js";

/** Where an element lies that is read or stored: in the place itself, or one for each row, or one for each column. */
export type Where = "place" | "row" | "column";

/** An expression of one number. Equal ones have one key, whatever the lengths and the way. */
export type Tree =
  | { readonly kind: "op"; readonly op: Op; readonly of: readonly Tree[]; readonly key: string }
  | {
      readonly kind: "load";
      readonly buffer: string;
      /** -1 for the rank's own. */
      readonly owner: number;
      readonly where: Where;
      readonly type: ScalarKind;
      readonly key: string;
    }
  /** What the row of the place folds to. */
  | { readonly kind: "fold"; readonly fold: RowFold; readonly key: string }
  /** A number of lengths. */
  | { readonly kind: "length"; readonly expression: Expression; readonly key: string };

/** A fold of a number for each place of a row. */
export interface RowFold {
  readonly fn: FoldFunction;
  readonly of: Tree;
  readonly type: ScalarKind;
  readonly key: string;
}

const names = new Map<string, string>();

/** A short name for a text, one for each: expressions are held against each other again and again. */
function named(text: string): string {
  let name = names.get(text);
  if (name === undefined) names.set(text, (name = `v${names.size}`));
  return name;
}

/** An op on numbers, lane by lane. */
export function opTree(op: Op, of: readonly Tree[]): Tree {
  const { fn, value, name } = op.attributes;
  const type = scalarOf(op.results[0]!.type);
  const number = Object.is(value, -0) ? "-0" : String(value);
  const key = `${op.name} ${String(fn)} ${number} ${String(name)} ${type}(${of.map((t) => t.key).join()})`;
  return { kind: "op", op, of, key: named(key) };
}

export function loadTree(buffer: string, owner: number, where: Where, type: ScalarKind): Tree {
  return { kind: "load", buffer, owner, where, type, key: named(`${buffer}@${owner} ${where}`) };
}

export function foldOf(fn: FoldFunction, of: Tree, type: ScalarKind): RowFold {
  return { fn, of, type, key: `${fn} ${type} of ${of.key}` };
}

export function foldTree(fold: RowFold): Tree {
  return { kind: "fold", fold, key: `{${fold.key}}` };
}

/** All that a tree is made of, itself last. */
export function partsOf(tree: Tree): readonly Tree[] {
  const seen = new Set<Tree>();
  const visit = (t: Tree): void => {
    if (seen.has(t)) return;
    if (t.kind === "op") t.of.forEach(visit);
    if (t.kind === "fold") visit(t.fold.of);
    seen.add(t);
  };
  visit(tree);
  return [...seen];
}

/** What is folded up so far, in its order: numbers at places of a space, one after the other, or all that a loop counts. */
export type Folded<S> =
  | { readonly kind: "none" }
  | { readonly kind: "at"; readonly at: Form; readonly space: S }
  | { readonly kind: "both"; readonly of: readonly [Folded<S>, Folded<S>] }
  | { readonly kind: "over"; readonly counter: Counter; readonly of: Folded<S> };

/** A number of a space, in all iterations of these loops. */
export interface FoldedAt<S> {
  readonly at: Form;
  readonly space: S;
  readonly counters: readonly Counter[];
}

/** All that is folded up. */
export function foldedIn<S>(of: Folded<S>, counters: readonly Counter[] = []): readonly FoldedAt<S>[] {
  switch (of.kind) {
    case "none":
      return [];
    case "at":
      return [{ at: of.at, space: of.space, counters }];
    case "both":
      return of.of.flatMap((f) => foldedIn(f, counters));
    case "over":
      return foldedIn(of.of, [...counters, of.counter]);
  }
}

/** The same with other polynomials for some parameters. */
export function renamedFolded<S>(of: Folded<S>, by: ReadonlyMap<string, Form>): Folded<S> {
  switch (of.kind) {
    case "none":
      return of;
    case "at":
      return { ...of, at: substituted(of.at, by) };
    case "both":
      return { kind: "both", of: [renamedFolded(of.of[0], by), renamedFolded(of.of[1], by)] };
    case "over": {
      const { name, times, limit, isWhole } = of.counter;
      const counter = { name, times: substituted(times, by), limit: substituted(limit, by), isWhole };
      return { kind: "over", counter, of: renamedFolded(of.of, by) };
    }
  }
}

/** The same with places counted from another on. */
export function movedFolded<S>(of: Folded<S>, from: Form): Folded<S> {
  if (of.kind === "at") return { ...of, at: minus(of.at, from) };
  if (of.kind === "both") return { kind: "both", of: [movedFolded(of.of[0], from), movedFolded(of.of[1], from)] };
  return of.kind === "over" ? { ...of, of: movedFolded(of.of, from) } : of;
}

/** Names of parameters in it that its own loops do not count. */
export function namesInFolded<S>(of: Folded<S>): ReadonlySet<string> {
  const names = new Set<string>();
  const add = (f: Form): void => [...f.keys()].forEach((key) => factors(key).forEach((name) => names.add(name)));
  const visit = (f: Folded<S>): void => {
    if (f.kind === "at") add(f.at);
    else if (f.kind === "both") f.of.forEach(visit);
    else if (f.kind === "over") {
      visit(f.of);
      names.delete(f.counter.name);
      add(f.counter.times);
      add(f.counter.limit);
    }
  };
  visit(of);
  return names;
}

/** One text for what is folded up in one order, whatever its loops are called. */
export function orderOf<S>(of: Folded<S>, textOf: (space: S) => string, depth = 0): string {
  switch (of.kind) {
    case "none":
      return "none";
    case "at":
      return `${textOf(of.space)} at ${keyOf(of.at)}`;
    case "both":
      return `(${orderOf(of.of[0], textOf, depth)} + ${orderOf(of.of[1], textOf, depth)})`;
    case "over": {
      const { name, times, limit } = of.counter;
      const inner = renamedFolded(of.of, new Map([[name, parameter(`#${depth}`)]]));
      return `for ${keyOf(times)} to ${keyOf(limit)} ${orderOf(inner, textOf, depth + 1)}`;
    }
  }
}
