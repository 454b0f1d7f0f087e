/** Expressions of elements, as they stand in a body and as they stand in an `ensures` clause. */
import type { Contents, Context, Held, Meaning } from "./explicit-programs.js";

export interface Value {
  readonly body: string;
  readonly meaning: (contents: Contents) => Meaning;
  /** All ranks compute the same. */
  readonly isSameEverywhere: boolean;
}

/**
 * An element for place i of an array, made of arrays that hold something, and `let`s before it.
 * @param target what is stored to: in the same loop over elements, only its own place may be read.
 */
export function expression(x: Context, contents: Contents, target: Held): { lines: string[]; value: Value } {
  const readable = [...contents.keys()].filter((a) => a !== target);
  const value = make(x, readable, 2);
  if (!x.c.chance(0.3)) return { lines: [], value };
  const name = x.fresh("v");
  return { lines: [`let ${name} = ${value.body}`], value: { ...value, body: name } };
}

function make(x: Context, arrays: readonly Held[], depth: number): Value {
  const { c } = x;
  const again = (): Value => make(x, arrays, depth - 1);
  switch (depth === 0 ? c.below(3) : c.below(14)) {
    case 1:
      return reduction(x, arrays);
    case 2:
      return constant(x, c.pick(x.isInteger ? ["i32(1)", "i32(3)", "i32(-2)"] : ["f32(1)", "f32(0.5)", "f32(-2)"]));
    case 3:
    case 4:
      return combined([again(), again()], ([a, b]) => `(${a} + ${b})`);
    case 5:
      return combined([again(), again()], ([a, b]) => `(${a} - ${b})`);
    case 6:
      return combined([again()], ([a]) => `${a} * ${x.isInteger ? "i32(3)" : "f32(0.25)"}`);
    case 7: {
      const fn = c.pick(["min", "max"]);
      return combined([again(), again()], ([a, b]) => `${fn}(${a}, ${b})`);
    }
    case 8:
      return combined([again()], ([a]) => `(-${a})`);
    case 9: {
      const fn = c.pick(["abs", "relu"]);
      return combined([again()], ([a]) => `${fn}(${a})`);
    }
    case 10: {
      // Through a function of the file; its meaning is written out.
      const name = x.fresh("f");
      x.functions.push(`fn ${name}(a, b) = a * ${x.isInteger ? "i32(2)" : "f32(0.5)"} + (b - a)`);
      const parts = [again(), again()];
      const out = combined(parts, ([a, b]) => `(${a} * ${x.isInteger ? "i32(2)" : "f32(0.5)"} + (${b} - ${a}))`);
      return { ...out, body: `${name}(${parts[0]!.body}, ${parts[1]!.body})` };
    }
    case 12:
      return constant(x, x.number());
    case 13:
      if (x.isInteger) return again();
      return combined([again()], ([a]) => `pow(abs(${a}) + 1, 0.5)`);
    case 11: {
      // Of the rank or the place.
      const cast = x.isInteger ? "i32" : "f32";
      const ofRank = c.chance(0.5);
      return {
        body: ofRank ? `${cast}(rank)` : `${cast}(i)`,
        meaning: () => (r, i) => `${cast}(${ofRank ? r : i})`,
        isSameEverywhere: !ofRank,
      };
    }
    default:
      return read(x, arrays, "rank");
  }
}

function constant(_x: Context, text: string): Value {
  return { body: text, meaning: () => () => text, isSameEverywhere: true };
}

function combined(parts: readonly Value[], write: (texts: readonly string[]) => string): Value {
  return {
    body: write(parts.map((p) => p.body)),
    meaning: (contents) => (r, i, q) => write(parts.map((p) => p.meaning(contents)(r, i, q))),
    isSameEverywhere: parts.every((p) => p.isSameEverywhere),
  };
}

/** Where an element is read, as a function of where it is used. */
const PLACES: readonly ((i: string) => string)[] = [
  (i) => i,
  (i) => `((${i}) + 1) % n`,
  (i) => `n - 1 - (${i})`,
  (i) => `((${i}) * 2) % n`,
  (i) => `(${i}) / 2`,
  () => "0",
];

const PEERS: readonly ((r: string) => string)[] = [
  (r) => r,
  (r) => `((${r}) + 1) % world`,
  (r) => `((${r}) - 1) % world`,
  (r) => `(world - 1 - (${r}))`,
  (r) => `((${r}) * 2 + 1) % world`,
  () => "0",
  () => "(world - 1)",
];

/** @param rank whose part is read: this rank's, or a variable's of a reduction. */
function read(x: Context, arrays: readonly Held[], rank: string): Value {
  const { c } = x;
  const array = c.pick(arrays);
  const place = c.pick(PLACES);
  const isMine = rank === "rank";
  const peer = isMine ? c.pick(PEERS) : (r: string) => r;
  const row = array.hasRows ? c.pick(PEERS) : null;
  const isHere = peer("r") === "r" && isMine;
  const at = isHere ? "" : /^\w+$/.test(peer(rank)) ? `@${peer(rank)}` : `@(${peer(rank)})`;
  // Rows are counted from this rank, so that everybody reads another one.
  const index = row === null ? place("i") : `${row("rank")}, ${place("i")}`;
  return {
    body: `${array.name}${at}[${index}]`,
    meaning: (contents) => (r, i) =>
      contents.get(array)!(isMine ? peer(r) : rank, place(i), row === null ? "0" : row(r)),
    isSameEverywhere: (peer("r") === peer("s") || !isMine) && (row === null || row("r") === row("s")),
  };
}

function reduction(x: Context, arrays: readonly Held[]): Value {
  const { c } = x;
  const op = c.pick(["sum", "max", "min"]);
  const p = x.fresh("p");
  const over = c.chance(0.2) ? "0..world" : "ranks";
  const inner = read(x, arrays, p);
  const write = (text: string): string => `(${op}(${p} in ${over}) (${text}))`;
  return {
    body: write(inner.body),
    meaning: (contents) => {
      const meaning = inner.meaning(contents);
      // Names mean one thing: each use of the meaning has a variable of its own.
      return (r, i, q) => {
        const own = x.fresh("p");
        return `(${op}(${own} in ${over}) (${renamed(meaning(r, i, q), p, own)}))`;
      };
    },
    isSameEverywhere: inner.isSameEverywhere,
  };
}

const renamed = (text: string, from: string, to: string): string => text.replace(new RegExp(`\\b${from}\\b`, "g"), to);
