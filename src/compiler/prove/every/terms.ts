/** What stores are of: expressions of loads, each at an index that counts loops. */
import type { Op } from "../../ir/module.js";
import { printType } from "../../ir/types.js";
import type { Span } from "../../source.js";
import {
  constant,
  constantOf,
  factors,
  type Form,
  isConstant,
  keyOf,
  parameter,
  plus,
  rangeOf,
  substituted,
  ZERO,
} from "./forms.js";
import { demand, NotShown } from "./conditions.js";

/** What is stored, as an expression of loads: an operation on others, or the number of a load. */
export type Term = { readonly text: string; readonly of: readonly Term[] } | { readonly load: Access };

/** Something at one element: `index` counts loops, and what is the same for the whole stretch. */
export interface Access {
  readonly op: Op;
  readonly buffer: string;
  /** The rank; -1 for its own. Constant once peers that go with the block are resolved. */
  readonly owner: Form;
  readonly index: Form;
  readonly lanes: number;
  /** Whether it is of packets, which lie in slots. */
  readonly isPacket?: boolean;
  /** Of one element that all lanes have: the load of that. */
  readonly spread?: Access;
}

/** A term of one number as that of all lanes of a vector, each of which has the same elements. */
export function spreadTerm(term: Term, lanes: number): Term {
  const made = new Map<Term, Term>();
  const spread = (t: Term): Term => {
    let other = made.get(t);
    if (other === undefined) {
      other = "load" in t ? { load: { ...t.load, lanes, spread: t.load } } : { text: t.text, of: t.of.map(spread) };
      made.set(t, other);
    }
    return other;
  };
  return loadsOf(term).size === 0 ? term : spread(term);
}

/** One lane of a packet. */
export function laneOf(access: Access, lane: number): Access {
  return { ...access, index: plus(access.index, constant(lane)), lanes: 1 };
}

/** The type of what an op makes, of one lane. */
export function laneTypeOf(op: Op): string {
  return printType(op.results[0]!.type).replace(/^vec<\d+ x (.*)>$/, "$1");
}

/** A loop around an access: its variable is `low` plus `name`, which is below `count`. */
export interface Loop {
  readonly name: string;
  readonly map: "serial" | "blocks" | "visits" | "threads" | "lanes" | "block";
  readonly low: Form;
  readonly count: Form;
  /** Of strips: what must not be negative, so that there are as many as the length has. */
  readonly covered?: Form;
}

export interface StoreSeen {
  readonly access: Access;
  readonly term: Term;
  readonly loops: readonly Loop[];
}

/** The digits of an access: its loops, its lanes, and its blocks where no loop goes over them. @param grid number of blocks */
export function digitsOf({ access, loops }: StoreSeen, grid: Form): readonly Loop[] {
  const all: Loop[] = [...loops];
  if (access.lanes > 1) all.push({ name: "lanes", map: "lanes", low: ZERO, count: constant(access.lanes) });
  if (!loops.some((l) => l.map === "blocks" || l.map === "visits"))
    all.push({ name: "block", map: "block", low: ZERO, count: grid });
  return all;
}

/** Peers in an order that goes with the block: `@~4:1` is (block + 1) % 4. */
export const ROTATED = "@~";

export function rotation(of: Form, by: Form): Form | null {
  if (!isConstant(by) || of.get("block") !== 1 || [...of.keys()].some((key) => key !== "" && key !== "block"))
    return null;
  const world = constantOf(by);
  if (constantOf(of) < 0) return null;
  return parameter(`${ROTATED}${world}:${((constantOf(of) % world) + world) % world}`);
}

/** How many peers there are in such an order. */
function peersOf(name: string): number {
  return Number(name.slice(ROTATED.length).split(":")[0]);
}

/**
 * A rank that is named: one of those that there are, or of the peers that a block goes through from its own on.
 * @param isTurn whether another number is that of a turn, which is a rank where turns are taken one by one
 * @throws NotShown
 */
export function checkedPeer(owner: Form, world: number, span: Span, isTurn: (f: Form) => boolean = () => false): Form {
  const isPeer = [...owner.keys()].every((key) => key === "" || key.startsWith(ROTATED));
  if (!isPeer && !isTurn(owner)) throw new NotShown("lengths decide which rank is meant", span);
  if (!isPeer) return owner;
  const { low, high } = rangeOf(owner, { get: (name) => ({ low: 0, high: peersOf(name) - 1 }) });
  demand("inside", low >= 0 && high < world, "a rank is meant that may be none of those that there are", span);
  return owner;
}

/**
 * Stores of which each block does the same for all peers, in an order of its own: one for each peer instead. What a block
 * does for (block + k) % c, for all k below c, it does for all numbers below c.
 */
export function unrotated(stores: readonly StoreSeen[]): StoreSeen[] {
  const plain: StoreSeen[] = [];
  const groups = new Map<string, { readonly one: StoreSeen; readonly name: string; readonly seen: Set<string> }>();
  const namesOf = new Map<Term, ReadonlySet<string>>();
  const namesIn = (term: Term): ReadonlySet<string> => {
    let names = namesOf.get(term);
    if (names === undefined) namesOf.set(term, (names = rotatedIn(loadsOf(term))));
    return names;
  };
  const texts = new Map<Term, string>();
  for (const store of stores) {
    const names = new Set([...rotatedIn([store.access]), ...namesIn(store.term)]);
    const [name] = names;
    const { op } = store.access;
    if (name === undefined) {
      plain.push(store);
      continue;
    }
    if (names.size > 1) throw new NotShown("peers go with the block in another way", op.span);
    const [world] = name.slice(ROTATED.length).split(":");
    const by = new Map([[name, parameter(`${ROTATED}${world}`)]]);
    const key = textOf(replaced(store, by, namesIn), texts);
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = { one: store, name, seen: new Set() }));
    if (group.seen.has(name)) throw new NotShown("an element is stored twice", op.span);
    group.seen.add(name);
  }
  for (const { one, name, seen } of groups.values()) {
    const world = peersOf(name);
    if (seen.size !== world) throw new NotShown("peers go with the block in another way", one.access.op.span);
    for (let p = 0; p < world; p++) plain.push(replaced(one, new Map([[name, constant(p)]]), namesIn));
  }
  return plain;
}

function rotatedIn(accesses: Iterable<Access>): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { owner, index } of accesses)
    for (const key of [...owner.keys(), ...index.keys()])
      for (const name of factors(key)) if (name.startsWith(ROTATED)) names.add(name);
  return names;
}

/** The loads of a term. Terms share parts, so each is visited once. */
export function loadsOf(term: Term): Set<Access> {
  const loads = new Set<Access>();
  const seen = new Set<Term>();
  const visit = (t: Term): void => {
    if (seen.has(t)) return;
    seen.add(t);
    if ("load" in t) loads.add(t.load);
    else t.of.forEach(visit);
  };
  visit(term);
  return loads;
}

/** A term as text, one for equal terms, no longer than the term has different parts. */
export function termText(term: Term, ofLoad: (load: Access) => string): string {
  const written = new Map<Term, string>();
  const names = new Map<string, string>();
  const write = (t: Term): string => {
    let text = written.get(t);
    if (text !== undefined) return text;
    if ("load" in t) text = ofLoad(t.load);
    else {
      const whole = `${t.text}(${t.of.map(write).join()})`;
      text = names.get(whole);
      if (text === undefined) names.set(whole, (text = `#${names.size}`));
    }
    written.set(t, text);
    return text;
  };
  const last = write(term);
  return names.size === 0 ? last : [...names.keys()].join("; ");
}

function replaced(
  store: StoreSeen,
  by: ReadonlyMap<string, Form>,
  namesIn: (term: Term) => ReadonlySet<string>,
): StoreSeen {
  const access = (a: Access): Access => ({ ...a, owner: substituted(a.owner, by), index: substituted(a.index, by) });
  const made = new Map<Term, Term>();
  const term = (t: Term): Term => {
    let other = made.get(t);
    if (other === undefined)
      made.set(t, (other = "load" in t ? { load: access(t.load) } : { text: t.text, of: t.of.map(term) }));
    return other;
  };
  // Terms that stay as they are stay shared.
  const isRotated = namesIn(store.term).size > 0;
  return { ...store, access: access(store.access), term: isRotated ? term(store.term) : store.term };
}

function textOf({ access, term, loops }: StoreSeen, texts: Map<Term, string>): string {
  const one = ({ buffer, owner, index, lanes }: Access): string => `${buffer} ${keyOf(owner)} ${keyOf(index)} ${lanes}`;
  let text = texts.get(term);
  if (text === undefined) texts.set(term, (text = termText(term, one)));
  return `${one(access)} ${text} ${loops.map((l) => l.name).join()}`;
}
