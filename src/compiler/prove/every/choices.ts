/** Conditions that lengths and addresses decide, on one way through a stretch: what was decided, and what follows from it. */
import { type Expression, type Expressions, isComparison } from "./expressions.js";
import { constantOf, factors, type Form, isConstant, keyOf, ONE, Undecided, ZERO } from "./forms.js";
import { startOf } from "./stretches.js";

/** What was decided, by what is asked. */
export type Decisions = ReadonlyMap<string, boolean>;

export class Choices {
  /** Forms that are multiples of a number on this way, by their key. */
  readonly multiples = new Map<string, number>();
  /** By buffer: what its address is a multiple of on this way, in bytes. */
  readonly starts = new Map<string, number>();
  private readonly decisions: Map<string, boolean>;

  /**
   * @param decisions what this way takes as decided; what else there is to decide does not hold on it
   * @param otherwise told of the decisions of each way that leaves this one at such a place
   */
  constructor(
    private readonly expressions: Expressions,
    decisions: Decisions,
    private readonly otherwise: (decisions: Decisions) => void,
    private readonly formOf: (e: Expression) => Form,
  ) {
    this.decisions = new Map(decisions);
  }

  /** Conditions that have to hold together: one question, as nothing follows from it if one does not hold. */
  conjunction(e: Expression, of: (e: Expression) => Form): Form {
    const open: Form[] = [];
    for (const condition of conjuncts(e)) {
      const f = of(condition);
      const known = isConstant(f) ? constantOf(f) !== 0 : this.decisions.get(`${keyOf(f)} != 0`);
      if (known === false) return ZERO;
      if (known === undefined) open.push(f);
      // A way that leaves another takes over what was decided there, and learns from it here.
      else this.hold(f);
    }
    if (open.length < 2) return truth(open.every((f) => this.decided(f)));
    if (open.some(hasLoops)) throw new Undecided();
    const holds = this.choice(open.map(keyOf).join(" and "));
    for (const f of holds ? open : []) {
      this.decisions.set(`${keyOf(f)} != 0`, true);
      this.hold(f);
    }
    return truth(holds);
  }

  /** A condition as 0 or 1. Address tests, and what lengths decide, go both ways. */
  decided(f: Form): boolean {
    if (isConstant(f)) return constantOf(f) !== 0;
    if (hasLoops(f)) throw new Undecided();
    const holds = this.choice(`${keyOf(f)} != 0`);
    if (holds) this.hold(f);
    return holds;
  }

  /** A condition that has to be taken both ways. */
  choice(question: string): boolean {
    const found = this.decisions.get(question);
    if (found !== undefined) return found;
    this.otherwise(new Map(this.decisions).set(question, true));
    this.decisions.set(question, false);
    return false;
  }

  /** A condition holds on this way. */
  private hold(f: Form): void {
    const [[key, times]] = f as unknown as [[string, number]];
    if (times === 1 && key.startsWith("@")) this.learn(this.expressions.numbered(Number(key.slice(1))));
  }

  /** `x % c == 0` holds, or a buffer begins at a multiple of so many bytes. */
  private learn(e: Expression): void {
    const begins = e.kind === "symbol" ? startOf(e.name) : null;
    if (begins !== null) this.starts.set(begins.buffer, Math.max(begins.bytes, this.starts.get(begins.buffer) ?? 1));
    if (e.kind !== "apply" || e.fn !== "eq") return;
    const [x, zero] = e.of;
    if (zero?.kind !== "constant" || zero.value !== 0 || x?.kind !== "apply" || x.fn !== "rem") return;
    const [of, by] = x.of;
    if (by?.kind !== "constant") return;
    // What is a multiple in any case has no part in it.
    const open = [...this.formOf(of!)].filter(([, n]) => n % by.value !== 0);
    this.multiples.set(keyOf(new Map(open)), by.value);
  }
}

/** Whether an expression is 0 or 1 as a condition is, and no number. */
export function isCondition(e: Expression): boolean {
  if (e.kind === "constant") return e.value === 0 || e.value === 1;
  if (e.kind !== "apply") return e.kind === "symbol" && startOf(e.name) !== null;
  if (e.fn === "select") return e.of.slice(1).every(isCondition);
  return isComparison(e.fn) || (["and", "or", "not"].includes(e.fn) && e.of.every(isCondition));
}

export function truth(holds: boolean): Form {
  return holds ? ONE : ZERO;
}

/** Whether a name is that of what goes with loops or blocks. */
export function isLoop(name: string): boolean {
  return name.startsWith("~") || name === "block";
}

export function hasLoops(f: Form): boolean {
  return [...f.keys()].some((key) => factors(key).some(isLoop));
}

function conjuncts(e: Expression): readonly Expression[] {
  return e.kind === "apply" && e.fn === "and" ? e.of.flatMap(conjuncts) : [e];
}
