/**
 * Numbers of lengths, blocks and iterations where tiles are counted: polynomials in *atoms*, of which each is a dimension, a counter, or a function of
 * polynomials, such as a quotient. Two numbers that are made alike are one polynomial, so what is expected of a kernel is made here, too, and compared.
 * What atoms are is assumed case by case: a truth value is 0 or 1, and the remainder of the least of several numbers is that of one of them.
 */
import { NO_SPAN, type Span } from "../../../source.js";
import type { Extent } from "../../../types/extent.js";
import { Unwinding } from "../../../unwinding.js";
import { NotShown } from "../conditions.js";
import {
  constant,
  constantOf,
  equal,
  factors,
  type Form,
  isConstant,
  keyOf,
  minus,
  numberOf,
  ONE,
  parameter,
  plus,
  product,
  type Range,
  rangeOf,
  scaled,
  ZERO,
} from "../forms.js";

/** What an atom is: a name with bounds, or a function of numbers. */
export interface Atom {
  readonly name: string;
  readonly fn: string;
  readonly of: readonly Form[];
  readonly range: Range;
  /** Numbers of which it is one; null where nothing is known of that. */
  readonly options: readonly Form[] | null;
  /** The number that is the atom. */
  readonly form: Form;
}

/** What a function comes to: a number, which has the one atom in it that was asked for to make it; null where there is none. */
interface Result {
  readonly form: Form;
  readonly atom: string | null;
}

/** What is assumed of atoms, by name. */
export type Assumed = ReadonlyMap<string, Form>;

/** An atom is one of several things: who computes starts again with each of them. */
export class NeedsCase extends Unwinding {
  constructor(readonly options: readonly Assumed[]) {
    super("a number is one of several");
  }
}

/** More numbers than there are in all cases of a kernel. */
const MOST_FORMS = 2 ** 26;

/** Atoms of all cases: one name for what is made alike. */
export class Atoms {
  private readonly byKey = new Map<string, Atom>();
  private readonly byName = new Map<string, Atom>();
  private readonly results = new Map<string, Map<number, Result>>();
  private readonly fixed = new Map<string, boolean>();
  /** Answers that are the same in all cases, by what they are to. */
  readonly answers = new Map<string, boolean>();

  private pairOf(a: Form, b: Form): number {
    return numberOf(a) * MOST_FORMS + numberOf(b);
  }

  /** What a function of two numbers was found to be in some case where nothing was assumed of its atom. */
  resultOf(fn: string, a: Form, b: Form): Result | undefined {
    return this.results.get(fn)?.get(this.pairOf(a, b));
  }

  keepResult(fn: string, a: Form, b: Form, result: Result): void {
    let all = this.results.get(fn);
    if (all === undefined) this.results.set(fn, (all = new Map<number, Result>()));
    all.set(this.pairOf(a, b), result);
  }

  /** @param make what it is, if it is new */
  of(fn: string, of: readonly Form[], make: () => Pick<Atom, "range" | "options">): Atom {
    const key = of.length === 0 ? fn : `${fn} ${of.map((f) => numberOf(f)).join(" ")}`;
    let atom = this.byKey.get(key);
    if (atom === undefined) {
      const further = make();
      const name = `#${this.byKey.size}`;
      atom = { name, fn, of, form: parameter(name), ...further };
      this.byKey.set(key, atom);
      this.byName.set(atom.name, atom);
    }
    return atom;
  }

  named(name: string): Atom {
    return this.byName.get(name)!;
  }

  get(name: string): Range | undefined {
    return this.byName.get(name)?.range;
  }

  /** Whether an atom is made of lengths, of the rank, and of how many blocks there are, alone, which is asked of each again and again. @param are says it of numbers */
  isFixed(name: string, are: (f: Form) => boolean): boolean {
    let is = this.fixed.get(name);
    if (is === undefined) {
      const { fn, of } = this.named(name);
      is = of.length > 0 ? of.every(are) : fn === "grid" || fn === RANK || fn.startsWith(DIM);
      this.fixed.set(name, is);
    }
    return is;
  }
}

/** The name of the number of the block. */
export const BLOCK = "block";

/** The name of the number of the rank. */
export const RANK = "rank";

/** Before the name of a dimension. */
export const DIM = "dim ";

const TRUTH: Range = { low: 0, high: 1 };
const ANY: Range = { low: -Infinity, high: Infinity };

/** The numbers of one case. */
export class Numbers {
  private readonly rebuilt = new Map<string, Form>();
  /** By name of an atom, how many values were made before anybody asked for it. */
  private readonly asked = new Map<string, number>();
  /** How many values have been made of these numbers. */
  private made = 0;
  /** Atoms that were asked for while a function was applied. */
  private met: string[] = [];
  private ofLengths: Assumed | null = null;

  constructor(
    private readonly atoms: Atoms,
    readonly assumed: Assumed,
  ) {}

  /** How many of the first values are the same where more is assumed: those that were made before anybody asked for any of it. */
  madeBefore(more: Assumed): number {
    return Math.min(this.made, ...[...more.keys()].map((name) => this.asked.get(name) ?? this.made));
  }

  /** Who makes values has so many. */
  hasMade(count: number): void {
    // What is made again in place of values may be of whatever was asked for since.
    if (count < this.made) for (const [name, before] of this.asked) this.asked.set(name, Math.min(before, count));
    this.made = count;
  }

  /** The numbers of a case in which more is assumed. @param keeps whether its first values are made already */
  further(more: Assumed, keeps: boolean): Numbers {
    const numbers = new Numbers(this.atoms, new Map([...this.assumed, ...more]));
    if (!keeps) return numbers;
    numbers.made = this.madeBefore(more);
    for (const [name, before] of this.asked) if (before <= numbers.made) numbers.asked.set(name, before);
    return numbers;
  }

  /** What has a name and is no function of others: a dimension, a counter, a test of an address. */
  named(name: string, low = 0, high = Infinity): Form {
    return this.atom(name, [], () => ({ range: { low, high }, options: null }));
  }

  private atom(fn: string, of: readonly Form[], make: () => Pick<Atom, "range" | "options">): Form {
    const { name, form } = this.atoms.of(fn, of, make);
    this.met.push(name);
    this.ask(name);
    return this.assumed.get(name) ?? form;
  }

  private ask(name: string): void {
    if (!this.asked.has(name)) this.asked.set(name, this.made);
  }

  private range(f: Form): Range {
    // A product's bounds are the products of bounds where none is below 0.
    const isBelow = (name: string): boolean => this.atoms.get(name)!.low < 0;
    const isProduct = (key: string): boolean => key !== "" && factors(key).length > 1 && factors(key).some(isBelow);
    if ([...f.keys()].some(isProduct)) return ANY;
    return rangeOf(f, this.atoms);
  }

  /** The least that a number may be. */
  least(f: Form): number {
    return this.range(f).low;
  }

  /** The most that a number may be. */
  most(f: Form): number {
    return this.range(f).high;
  }

  /** The length of a dimension of a buffer. */
  extent(e: Extent): Form {
    if (typeof e === "number") return constant(e);
    if (typeof e === "string") return this.named(`${DIM}${e}`);
    const [a, b] = [this.extent(e.a), this.extent(e.b)];
    if (e.op === "ceildiv") return this.rounds(a, b);
    return this.apply(e.op === "mod" ? "rem" : e.op, a, b);
  }

  /** How many of `by` something takes: the quotient, rounded up. */
  rounds(a: Form, by: Form): Form {
    return this.apply("div", minus(plus(a, by), ONE), by);
  }

  /**
   * A function of the device level. Cases differ in what is assumed of atoms alone: what it comes to is found once for all that assume nothing of its own.
   * @throws NotShown for one that is not followed
   */
  apply(fn: string, a: Form, b: Form): Form {
    const known = this.atoms.resultOf(fn, a, b);
    if (known !== undefined && (known.atom === null || !this.assumed.has(known.atom))) {
      if (known.atom !== null) this.ask(known.atom);
      return known.form;
    }
    this.met = [];
    const form = this.applied(fn, a, b);
    const [atom = null, ...further] = this.met;
    if (further.length === 0 && (atom === null || !this.assumed.has(atom)))
      this.atoms.keepResult(fn, a, b, { form, atom });
    return form;
  }

  private applied(fn: string, a: Form, b: Form): Form {
    switch (fn) {
      case "add":
        return plus(a, b);
      case "sub":
        return minus(a, b);
      case "mul":
        return product(a, b);
      case "div":
        return this.quotient(a, b);
      case "rem":
        return this.remainder(a, b);
      case "min":
      case "max":
        return this.extreme(fn, a, b);
      case "and":
        return this.every([a, b]);
      case "or":
        return minus(ONE, this.every([minus(ONE, a), minus(ONE, b)]));
      case "lt":
        return this.isPositive(minus(b, a));
      case "gt":
        return this.isPositive(minus(a, b));
      case "ge":
        return minus(ONE, this.isPositive(minus(b, a)));
      case "le":
        return minus(ONE, this.isPositive(minus(a, b)));
      case "eq":
        return this.isZero(minus(a, b));
      case "ne":
        return minus(ONE, this.isZero(minus(a, b)));
      default:
        throw new NotShown(`there is a '${fn}' of lengths`, NO_SPAN);
    }
  }

  /** Whether machines divide these as mathematics does. */
  private divides(a: Form, b: Form): boolean {
    return this.least(a) >= 0 && this.least(b) >= 1;
  }

  private quotient(a: Form, b: Form): Form {
    const isSound = this.divides(a, b);
    if (isSound && this.range(a).high < this.least(b)) return ZERO;
    if (isSound && isConstant(b)) {
      const by = constantOf(b);
      if (isConstant(a)) return constant(Math.floor(constantOf(a) / by));
      if ([...a.values()].every((n) => n % by === 0)) return new Map([...a].map(([key, n]) => [key, n / by]));
    }
    return this.atom("div", [a, b], () => {
      if (!isSound) return { range: ANY, options: null };
      const [from, to] = [this.range(a), this.range(b)];
      const low = to.high === Infinity ? 0 : Math.floor(from.low / to.high);
      return { range: { low, high: Math.floor(from.high / to.low) }, options: null };
    });
  }

  private remainder(a: Form, b: Form): Form {
    const isSound = this.divides(a, b);
    if (isSound && isConstant(b)) {
      const by = constantOf(b);
      const rest: Form = new Map([...a].map(([key, n]) => [key, n % by] as const).filter(([, n]) => n !== 0));
      const { low, high } = this.range(rest);
      if (low >= 0 && high < by) return rest;
    }
    return this.atom("rem", [a, b], () => {
      if (!isSound) return { range: ANY, options: null };
      // All cases have these: they are made where nothing is assumed, and a case puts what it assumes in them.
      const options = new Numbers(this.atoms, new Map()).remainders(a, b);
      return { range: { low: 0, high: this.range(b).high - 1 }, options };
    });
  }

  /** The remainders of the numbers of which one is the least of all; null of what is no such number. */
  private remainders(a: Form, b: Form): readonly Form[] | null {
    const [name, ...others] = [...a.keys()];
    if (name === undefined || others.length > 0 || a.get(name) !== 1 || factors(name).length !== 1) return null;
    const atom = this.atoms.named(name);
    if (atom.fn !== "min") return null;
    const options = new Map<string, Form>();
    for (const f of atom.of)
      for (const rest of this.remainders(f, b) ?? [this.remainder(f, b)]) options.set(keyOf(rest), rest);
    return [...options.values()];
  }

  private extreme(fn: "min" | "max", a: Form, b: Form): Form {
    if (equal(a, b)) return a;
    const difference = this.range(minus(a, b));
    if (difference.high <= 0) return fn === "min" ? a : b;
    if (difference.low >= 0) return fn === "min" ? b : a;
    const sorted = [a, b].sort((x, y) => (keyOf(x) < keyOf(y) ? -1 : 1));
    return this.atom(fn, sorted, () => {
      const [x, y] = [this.range(a), this.range(b)];
      const of = fn === "min" ? Math.min : Math.max;
      return { range: { low: of(x.low, y.low), high: of(x.high, y.high) }, options: null };
    });
  }

  private every(all: readonly Form[]): Form {
    const parts = new Map<string, Form>();
    for (const f of all.flatMap((g) => this.partsOf(g))) {
      if (isConstant(f) && constantOf(f) === 0) return ZERO;
      if (!isConstant(f)) parts.set(keyOf(f), f);
    }
    const sorted = [...parts.keys()].sort().map((key) => parts.get(key)!);
    if (sorted.length < 2) return sorted[0] ?? ONE;
    return this.atom("and", sorted, () => ({ range: TRUTH, options: null }));
  }

  /** The conditions that hold together where one does. */
  partsOf(condition: Form): readonly Form[] {
    const atom = this.atomOf(condition);
    return atom?.fn === "and" ? atom.of : [condition];
  }

  /** What a number is, where it is one atom; null of others. */
  atomOf(f: Form): Atom | null {
    const [name, ...others] = [...f.keys()];
    const isOne = name !== undefined && name !== "" && others.length === 0 && f.get(name) === 1;
    return isOne && factors(name).length === 1 ? this.atoms.named(name) : null;
  }

  /** 1 where a number is more than 0, else 0. */
  isPositive(f: Form): Form {
    const { low, high } = this.range(f);
    if (low >= 1) return ONE;
    if (high <= 0) return ZERO;
    return this.atom("positive", [f], () => ({ range: TRUTH, options: null }));
  }

  private isZero(f: Form): Form {
    const { low, high } = this.range(f);
    if (isConstant(f) || low > 0 || high < 0) return constantOf(f) === 0 && isConstant(f) ? ONE : ZERO;
    const other = scaled(f, -1);
    const sorted = keyOf(f) < keyOf(other) ? f : other;
    return this.atom("zero", [sorted], () => ({ range: TRUTH, options: null }));
  }

  /**
   * The constant that a number is in this case.
   * @throws NeedsCase where it has to be assumed, NotShown where it is none
   */
  decided(f: Form, span: Span = NO_SPAN): number {
    if (isConstant(f)) return constantOf(f);
    const one = this.undecided(f, new Set());
    if (one === null) throw new NotShown("a length decides in a way that is not followed", span);
    // What differs from block to block would have blocks share tiles in several ways.
    if (this.mentions(one, BLOCK, new Set())) throw new NotShown("the number of the block decides", span);
    const { name, options } = one;
    if (options !== null) throw this.cases(name, options);
    return this.either(one);
  }

  /**
   * Whether a condition holds in this case, whatever the numbers are that it is about.
   * @throws NeedsCase where it has to be assumed
   */
  holds(condition: Form, span: Span): boolean {
    for (const part of this.partsOf(condition)) {
      const atom = this.atomOf(part) ?? this.atomOf(minus(ONE, part));
      if (atom !== null && ["positive", "zero"].includes(atom.fn)) this.either(atom);
      if (this.decided(part, span) === 0) return false;
    }
    return true;
  }

  /** @throws NeedsCase, for a truth value and its opposite */
  private either(atom: Atom): never {
    throw new NeedsCase([this.held(atom), new Map([[atom.name, ZERO]])]);
  }

  /** What is so where a truth value is 1: of several conditions together, that each of them holds. */
  private held({ name, fn, of }: Atom): Assumed {
    const yes = new Map([[name, ONE]]);
    if (fn === "zero") {
      // An atom that is a constant is one from here on.
      const names = [...of[0]!.keys()].filter((key) => key !== "");
      const times = of[0]!.get(names[0]!)!;
      if (names.length === 1 && Math.abs(times) === 1 && factors(names[0]!).length === 1)
        yes.set(names[0]!, constant(constantOf(of[0]!) === 0 ? 0 : -constantOf(of[0]!) / times));
    }
    for (const part of fn === "and" ? of : []) {
      const one = this.atomOf(part);
      const all: Assumed = one === null ? new Map([[this.atomOf(minus(ONE, part))!.name, ZERO]]) : this.held(one);
      for (const [other, value] of all) yes.set(other, value);
    }
    return yes;
  }

  /**
   * Whether conditions are decided together: where they do not all hold, most kernels do one thing, whichever does not. Each is a truth value or the opposite of one, and
   * none is made of numbers that are one of several.
   */
  private isDecidedTogether(all: Atom): boolean {
    return (
      all.of.every((part) => {
        const one = this.atomOf(part) ?? this.atomOf(minus(ONE, part));
        const isOne = one !== null && one.fn !== "and" && one.options === null;
        return isOne && this.undecided(part, new Set()) === one;
      }) && !this.mentions(all, BLOCK, new Set())
    );
  }

  /** @throws NeedsCase where a number has a part that is one of several */
  resolved(f: Form): void {
    const one = this.undecided(f, new Set());
    if (one !== null && one.options !== null) throw this.cases(one.name, one.options);
  }

  private cases(name: string, options: readonly Form[]): NeedsCase {
    return new NeedsCase(options.map((o) => new Map([[name, this.again(o)]])));
  }

  /** Whether an atom is made of one with a name. */
  private mentions(atom: Atom, name: string, seen: Set<string>): boolean {
    if (atom.fn === name) return true;
    if (seen.has(atom.name)) return false;
    seen.add(atom.name);
    const inner = atom.of.flatMap((f) => [...f.keys()].flatMap((key) => (key === "" ? [] : factors(key))));
    return inner.some((other) => this.mentions(this.atoms.named(other), name, seen));
  }

  /** Whether a number is made of lengths, of the rank, and of how many blocks there are, alone. */
  isFixed(f: Form): boolean {
    for (const key of f.keys())
      if (key !== "" && !factors(key).every((name) => this.atoms.isFixed(name, (g) => this.isFixed(g)))) return false;
    return true;
  }

  /** What is assumed of lengths, of addresses, of the rank, and of how many blocks there are, alone: it is one for all iterations of a launch. */
  get assumedOfLengths(): Assumed {
    return (this.ofLengths ??= new Map([...this.assumed].filter(([name]) => this.isFixed(parameter(name)))));
  }

  /** The atom of a name. */
  atomNamed(name: string): Atom {
    return this.atoms.named(name);
  }

  /** Whether an atom is 0 or 1. */
  isTruth(name: string): boolean {
    const { low, high } = this.atoms.named(name).range;
    return low >= 0 && high <= 1;
  }

  /** An atom that has to be assumed before a number is a constant: of those that have options the first, or a truth value; null where there is none. */
  private undecided(f: Form, seen: Set<string>): Atom | null {
    let truth: Atom | null = null;
    for (const key of f.keys())
      for (const name of key === "" ? [] : factors(key)) {
        if (seen.has(name)) continue;
        seen.add(name);
        const atom = this.atoms.named(name);
        if (atom.options !== null) return atom;
        if (atom.fn === "and" && this.isDecidedTogether(atom)) {
          truth ??= atom;
          continue;
        }
        for (const part of atom.of) {
          const inner = this.undecided(part, seen);
          if (inner !== null && (inner.options !== null || atom.fn === "and")) return inner;
        }
        if (atom.range.low === 0 && atom.range.high === 1 && atom.fn !== "min") truth ??= atom;
      }
    return truth;
  }

  /** The same number where more is assumed. */
  assuming(more: Assumed): (f: Form) => Form {
    const numbers = new Numbers(this.atoms, new Map([...this.assumed, ...more]));
    return (f) => numbers.again(f);
  }

  /** The same number where that is assumed, and nothing else. */
  assumingAlone(assumed: Assumed): (f: Form) => Form {
    const numbers = new Numbers(this.atoms, assumed);
    return (f) => numbers.again(f);
  }

  /** What is the same in all cases. @param key has all in it that it depends on */
  once(key: string, make: () => boolean): boolean {
    let is = this.atoms.answers.get(key);
    if (is === undefined) this.atoms.answers.set(key, (is = make()));
    return is;
  }

  private again(f: Form): Form {
    let sum: Form = ZERO;
    for (const [key, n] of f) {
      let term: Form = constant(n);
      for (const name of key === "" ? [] : factors(key)) term = product(term, this.atomAgain(name));
      sum = plus(sum, term);
    }
    return sum;
  }

  private atomAgain(name: string): Form {
    const known = this.assumed.get(name) ?? this.rebuilt.get(name);
    if (known !== undefined) return known;
    const { fn, of } = this.atoms.named(name);
    const [a, b] = of.map((f) => this.again(f));
    const made =
      a === undefined
        ? this.atoms.named(name).form
        : fn === "positive"
          ? this.isPositive(a)
          : fn === "zero"
            ? this.isZero(a)
            : fn === "and"
              ? this.every(of.map((f) => this.again(f)))
              : this.apply(fn, a, b!);
    this.rebuilt.set(name, made);
    return made;
  }

  /** Whether what is assumed of this case cannot be where more is assumed. */
  excludes(more: Assumed): boolean {
    const again = this.assuming(more);
    for (const [name, value] of this.assumed) {
      const { fn, of } = this.atoms.named(name);
      if (of.length === 0 || !isConstant(value)) continue;
      const [a] = of.map(again);
      const found = fn === "positive" ? this.isPositive(a!) : fn === "zero" ? this.isZero(a!) : null;
      if (found !== null && isConstant(found) && constantOf(found) !== constantOf(value)) return true;
    }
    return false;
  }
}
