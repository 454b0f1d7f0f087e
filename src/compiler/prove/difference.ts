/** Says in words how a value differs from what it should be: which contributions lack, or count twice. */
import type { Number_, Term } from "./algebra.js";
import { Applied, Leaf, partsOfTerm, Poison, Product, Sum } from "./terms.js";

const SHOWN = 4;

/** Stands for what is too deep to be shown. */
const LEFT_OUT = "…";

/**
 * A sentence, then further lines.
 * @param isScalar whether a name is that of a number of the launch, which has no elements
 */
export function describeDifference(
  got: Number_,
  wanted: Number_,
  launch: number,
  isScalar: (name: string) => boolean,
): string[] {
  const texts = new Texts(launch, isScalar);
  const [is, should] = texts.apart(got, wanted);
  const isWhole = is === got && should === wanted;
  const sentence = texts.contributions(is, should);
  return [
    isWhole ? sentence : `differs inside of ${texts.of(wanted)}: ${sentence}`,
    `is        ${texts.of(is)}`,
    `should be ${texts.of(should)}`,
  ];
}

/** A value in words, as `describeDifference` has it. */
export function textOf(value: Number_, launch: number, isScalar: (name: string) => boolean): string {
  return new Texts(launch, isScalar).of(value);
}

/** What is small is no 0: 1e-12 beside a maximum is a choice. */
function round(x: number): string {
  return String(Math.abs(x) < 1e-3 ? Number(x.toPrecision(4)) : Math.round(x * 1e6) / 1e6);
}

function parts(x: Number_): (readonly [Term | "constant", number])[] {
  if (typeof x === "number") return x === 0 ? [] : [["constant", x]];
  if (!(x instanceof Sum)) return [[x, 1]];
  const all: (readonly [Term | "constant", number])[] = x.terms.map((t, i) => [t, x.coefficients[i]!] as const);
  if (x.constant !== 0) all.push(["constant", x.constant]);
  return all;
}

/** The parts that one value alone has, and those that the other alone has. */
function differingParts(a: Number_, b: Number_): { readonly own: Number_[]; readonly others: Number_[] } {
  const [ofA, ofB] = [a, b].map((x) => (typeof x === "number" ? [] : partsOfTerm(x))) as [Number_[], Number_[]];
  const [inA, inB] = [new Set(ofA), new Set(ofB)];
  return { own: ofA.filter((x) => !inB.has(x)), others: ofB.filter((x) => !inA.has(x)) };
}

/** Short texts of values, as they are at the end of a launch. */
class Texts {
  constructor(
    private readonly launch: number,
    private readonly isScalar: (name: string) => boolean,
  ) {}

  /** Short text of a value. */
  of(x: Number_, depth = 0): string {
    if (typeof x === "number") return round(x);
    if (x instanceof Leaf) return this.leaf(x);
    if (x instanceof Poison) return `what nobody has written to ${x.buffer}[${x.index}] of rank ${x.rank}`;
    if (depth > 3) return LEFT_OUT;
    const list = (items: readonly string[], by: string): string =>
      items.length > 8 ? `${items.slice(0, 8).join(by)}${by}… (${items.length})` : items.join(by);
    const deeper = (y: Number_): string => this.of(y, depth + 1);
    if (x instanceof Product) return list(x.factors.map(deeper), " · ");
    if (x instanceof Applied) return `${x.fn}(${list(x.args.map(deeper), ", ")})`;
    if (x instanceof Sum) {
      const items = x.terms
        .slice(0, 9)
        .map((t, i) => (x.coefficients[i] === 1 ? deeper(t) : `${round(x.coefficients[i]!)}·${deeper(t)}`));
      if (x.constant !== 0) items.push(round(x.constant));
      return x.terms.length > 8 ? `${items.slice(0, 8).join(" + ")} + … (${x.terms.length})` : items.join(" + ");
    }
    return "?";
  }

  private leaf({ rank, buffer, index, launch }: Leaf): string {
    const whose = rank < 0 ? "" : `rank ${rank}'s `;
    const place = this.isScalar(buffer) ? "" : `[${index}]`;
    return `${whose}${buffer}${place}${launch === this.launch ? "" : ` of launch ${launch}`}`;
  }

  /**
   * What is told apart: two values, or, where these have one text because it leaves out how they differ, the outermost parts
   * in which they differ that can be read.
   */
  apart(got: Number_, wanted: Number_): readonly [Number_, Number_] {
    if (this.of(got) !== this.of(wanted)) return [got, wanted];
    let pair: readonly [Number_, Number_] = [got, wanted];
    for (let isOneText = true; ;) {
      const { own, others } = differingParts(...pair);
      const texts = new Map(others.map((x) => [this.of(x), x]));
      const alike = own.find((x) => texts.has(this.of(x)));
      const [first, second] = alike === undefined ? [own[0], others[0]] : [alike, texts.get(this.of(alike))];
      const isOnly = own.length === 1 && others.length === 1 && pair.some((x) => this.of(x).includes(LEFT_OUT));
      if (first === undefined || second === undefined) return isOneText ? [got, wanted] : pair;
      if (!isOneText && !isOnly) return pair;
      pair = [first, second];
      isOneText = this.of(first) === this.of(second);
    }
  }

  /** Which contributions of a sum differ. */
  contributions(got: Number_, wanted: Number_): string {
    const a = new Map(parts(got));
    const b = new Map(parts(wanted));
    const lacks: string[] = [];
    const extra: string[] = [];
    for (const [t, n] of b) {
      const has = a.get(t) ?? 0;
      if (has === n) continue;
      const name = this.term(t);
      if (has === 0) lacks.push(`lacks ${name}`);
      else
        extra.push(has === 2 * n ? `counts ${name} twice` : `has ${round(has)} times ${name}, not ${round(n)} times`);
    }
    for (const [t, n] of a)
      if (!b.has(t))
        extra.push(`${t instanceof Poison ? "holds" : "has"} ${n === 1 ? "" : `${round(n)} times `}${this.term(t)}`);
    const all = [...lacks, ...extra];
    if (all.length === 0) all.push(`is ${this.of(got)}`);
    const more = all.length > SHOWN ? [`and ${all.length - SHOWN} more`] : [];
    return [...all.slice(0, SHOWN), ...more].join(", ");
  }

  private term(t: Term | "constant"): string {
    return t === "constant" ? "a constant" : this.of(t);
  }
}
