/**
 * What a program decides by lengths, ranks and iterations, and both ways that each decision can go: conditions of `if` and `where`,
 * the sides of `min` and `max`, loops that have iterations. A proof at some shapes says nothing of a way that none of them goes.
 *
 * Of `a and b`, each side is asked for as what alone decides; so are both of `or`. A choice inside of a choice is asked for where
 * the outer one takes it. What depends on data is left out: the execution follows all of that.
 */
import { type Kernel, type Op, type Region, type Value } from "../ir/module.js";
import { scalarOf } from "../ir/types.js";
import { walkKernel } from "../ir/visit.js";
import { NO_SPAN, type Span } from "../source.js";
import { isInteger } from "../types/dtype.js";
import type { DimValues } from "../types/extent.js";
import { type Found, type Parent, Search, type Test } from "./search.js";

/** One way that a decision can go. */
export interface Outcome {
  readonly span: Span;
  /** "where this condition holds". */
  readonly where: string;
  /** The decision's op, and those around it. */
  readonly parents: readonly Parent[];
  readonly tests: readonly Test[];
}

/** Steps of searches that ask whether some shapes lead there, and at which lengths it may be, each; and of all of a program, in equal parts. */
const [MOST_AT_SHAPE, MOST_ANYWHERE] = [20_000, 120_000];
const MOST_TOGETHER = 800_000;

/** Functions of whole numbers whose values are followed. */
const FOLLOWED = new Set(["const", "dim", "rank", "binary", "compare", "select", "cast", "unary"]);

const known = new WeakMap<Kernel, Outcomes>();

/** Found once for each program. */
export function outcomesOf(program: Kernel): Outcomes {
  let found = known.get(program);
  if (found === undefined) known.set(program, (found = new Outcomes(program)));
  return found;
}

/** The ops that give values, and the loops of variables; and which values are whole numbers of lengths, ranks and iterations. */
export interface Followed {
  readonly makers: ReadonlyMap<Value, Op>;
  readonly followed: ReadonlySet<Value>;
}

export function followedIn(program: Kernel): Followed {
  const makers = new Map<Value, Op>();
  const followed = new Set<Value>();
  const note = ({ ops }: Region): void => {
    for (const op of ops) {
      const isFollowed = op.operands.every((v) => followed.has(v));
      for (const v of op.results) {
        makers.set(v, op);
        if (FOLLOWED.has(op.name) && isFollowed && isCounted(v)) followed.add(v);
      }
      for (const region of op.regions) {
        for (const v of region.arguments) {
          makers.set(v, op);
          if (isFollowed) followed.add(v);
        }
        note(region);
      }
    }
  };
  note(program.body);
  return { makers, followed };
}

export class Outcomes {
  readonly all: readonly Outcome[];
  private readonly makers: ReadonlyMap<Value, Op>;
  private readonly followed: ReadonlySet<Value>;
  private readonly searches = new Map<Outcome, Search>();
  private readonly met = new Map<string, Found>();
  /** Steps that each may still take: a decision that takes many leaves the others theirs. */
  private readonly left = new Map<Outcome, number>();

  constructor(private readonly program: Kernel) {
    const { makers, followed } = followedIn(program);
    this.makers = makers;
    this.followed = followed;
    this.all = new Finder(makers, followed).find(program.body);
    const share = Math.max(MOST_AT_SHAPE, Math.floor(MOST_TOGETHER / Math.max(1, this.all.length)));
    for (const outcome of this.all) this.left.set(outcome, share);
  }

  /** Whether some rank and iteration goes this way at some lengths. */
  at(outcome: Outcome, dims: DimValues): Found {
    const key = `${this.all.indexOf(outcome)} ${JSON.stringify(dims)}`;
    let found = this.met.get(key);
    if (found === undefined) this.met.set(key, (found = this.search(outcome, dims, {}, MOST_AT_SHAPE)));
    return found;
  }

  /** The shortest lengths, none less than `least`, at which some rank and iteration goes this way; with a 0 only if there are no others. */
  lengthsFor(outcome: Outcome, least: DimValues = {}): Found {
    return firstOf(this.startsOf(least), (start) => this.search(outcome, null, start, MOST_ANYWHERE));
  }

  /** Where to search: from the shortest lengths on, then, if nobody has said which, with each dimension at 0. */
  private startsOf(least: DimValues): DimValues[] {
    const { dims } = this.program;
    return Object.keys(least).length > 0 ? [least] : [{}, ...dims.map((name) => ({ [name]: 0 }))];
  }

  /** The shortest lengths at which an op of the program runs. */
  lengthsOf(wanted: (op: Op) => boolean): Found {
    const { program, makers } = this;
    let found = "never" as Found;
    walkKernel(program, (op, ops) => {
      if (!wanted(op) || typeof found === "object") return;
      const parents = parentsOf(op, ops);
      const search = new Search(program, makers, parents, testsOf(parents, this.followed));
      const one = firstOf(this.startsOf({}), (start) => search.find(null, start, MOST_ANYWHERE).found);
      if (one !== "never") found = one;
    });
    return found;
  }

  /** Whether data decides about each op of the program that is asked for, in a branch or a loop around it. */
  isByData(wanted: (op: Op) => boolean): boolean {
    const all: boolean[] = [];
    walkKernel(this.program, (op, ops) => {
      if (wanted(op)) all.push(ops.some((around) => !around.operands.every((v) => this.followed.has(v))));
    });
    return all.length > 0 && all.every(Boolean);
  }

  private search(outcome: Outcome, at: DimValues | null, least: DimValues, limit: number): Found {
    let search = this.searches.get(outcome);
    if (search === undefined) {
      search = new Search(this.program, this.makers, outcome.parents, outcome.tests);
      this.searches.set(outcome, search);
    }
    const left = this.left.get(outcome)!;
    const { found, steps } = search.find(at, least, Math.min(limit, left));
    this.left.set(outcome, left - steps);
    return found;
  }
}

/** The first example; `never` where no search leaves a chance. */
function firstOf(starts: readonly DimValues[], search: (start: DimValues) => Found): Found {
  let all: Found = "never";
  for (const start of starts) {
    const found = search(start);
    if (typeof found === "object") return found;
    if (found === "undecided") all = found;
  }
  return all;
}

function isCounted(v: Value): boolean {
  if (v.type.kind !== "scalar") return false;
  const kind = scalarOf(v.type);
  return kind === "index" || kind === "bool" || isInteger(kind);
}

/** The ops around an op, and their regions that it is in. */
export function parentsOf(op: Op, ops: readonly Op[]): Parent[] {
  return ops.map((parent, i) => {
    const inner = ops[i + 1] ?? op;
    return { op: parent, region: parent.regions.find((r) => r.ops.includes(inner))! };
  });
}

/** That the branches around a place are taken, as far as they can be followed. */
export function testsOf(parents: readonly Parent[], followed: ReadonlySet<Value>): Test[] {
  return parents.flatMap(({ op, region }): Test[] =>
    op.name === "if" && followed.has(op.operands[0]!)
      ? [{ value: op.operands[0]!, is: region === op.regions[0] ? 1 : 0 }]
      : [],
  );
}

type Truth = Extract<Test, { readonly is: 0 | 1 }>;

class Finder {
  private readonly found = new Map<string, Outcome>();
  /** For values: choices that take them, wherever they are used. */
  private readonly chosen = new Map<Value, readonly Truth[]>();
  private readonly numbers = new Map<Value, number>();

  constructor(
    private readonly makers: ReadonlyMap<Value, Op>,
    private readonly followed: ReadonlySet<Value>,
  ) {}

  find(body: Region): Outcome[] {
    this.region(body, [], []);
    return [...this.found.values()].reverse();
  }

  /** From the last op to the first: those that use a value say where it is chosen. */
  private region({ ops }: Region, parents: readonly Parent[], yielded: readonly Truth[]): void {
    for (const op of [...ops].reverse()) {
      const own = op.name === "yield" ? yielded : op.results.length === 0 ? [] : this.chosenBy(op.results);
      op.operands.forEach((v, i) => {
        const side = op.name === "select" && i > 0 && this.followed.has(op.operands[0]!) ? [{ value: op.operands[0]!, is: i === 1 ? 1 : 0 } as const] : []; // prettier-ignore
        this.choose(v, [...own, ...side]);
      });
      this.decisions(op, parents, own);
      for (const region of op.regions) this.region(region, [...parents, { op, region }], own);
    }
  }

  private chosenBy(results: readonly Value[]): readonly Truth[] {
    return results.flatMap((v) => this.chosen.get(v) ?? []);
  }

  private choose(v: Value, by: readonly Truth[]): void {
    const before = this.chosen.get(v);
    const isIn = (t: Truth): boolean => by.some((b) => b.value === t.value && b.is === t.is);
    this.chosen.set(v, before === undefined ? by : before.filter(isIn));
  }

  private decisions(op: Op, parents: readonly Parent[], own: readonly Truth[]): void {
    const { followed } = this;
    const given = [...testsOf(parents, followed), ...own];
    const isFunction = op.name === "binary" || op.name === "unary";
    if (!isFunction)
      op.operands.forEach((v, i) => {
        if (v.type.kind !== "scalar" || scalarOf(v.type) !== "bool" || !followed.has(v)) return;
        const side = op.name === "select" && i > 0 && followed.has(op.operands[0]!) ? [{ value: op.operands[0]!, is: i === 1 ? 1 : 0 } as const] : []; // prettier-ignore
        for (const is of [0, 1] as const) {
          this.add(spanOf(this.makers.get(v), op), HOLDS[is], parents, [...given, ...side, { value: v, is }]);
          this.sides(v, is, [...given, ...side], parents);
        }
      });
    const fn = op.attributes["fn"];
    if (op.name === "binary" && (fn === "min" || fn === "max") && followed.has(op.results[0]!)) {
      const [a, b] = op.operands as [Value, Value];
      const where = (side: string): string => `where ${side} is the ${fn === "min" ? "lesser" : "greater"} one`;
      const [first, second] = [where("the first operand"), where("the second operand")];
      this.add(op.span, first, parents, [...given, fn === "min" ? { less: a, than: b } : { less: b, than: a }]);
      this.add(op.span, second, parents, [...given, fn === "min" ? { less: b, than: a } : { less: a, than: b }]);
    }
    this.quotients(op, parents, given);
    if ((op.name === "for" || op.name === "reduce") && op.operands.every((v) => followed.has(v))) {
      const iterations = op.operands.flatMap((low, i) =>
        i % 2 === 0 ? [{ less: low, than: op.operands[i + 1]! }] : [],
      );
      this.add(op.span, "in this loop", parents, [...given, ...iterations]);
    }
  }

  /** What is divided by a constant comes to it at some length: up to there the quotient is 0, and the remainder all of it. */
  private quotients(op: Op, parents: readonly Parent[], given: readonly Test[]): void {
    const fn = op.attributes["fn"];
    if (op.name !== "binary" || !this.followed.has(op.results[0]!) || (fn !== "div" && fn !== "shr" && fn !== "rem"))
      return;
    const [a, b] = op.operands as [Value, Value];
    const by = this.makers.get(b);
    if (by?.name !== "const") return;
    const least = fn === "shr" ? 2 ** (by.attributes["value"] as number) : (by.attributes["value"] as number);
    this.add(op.span, "where what is divided comes to the divisor", parents, [...given, { index: a, past: least }]);
  }

  /** A condition's sides as what alone makes it what it is. */
  private sides(v: Value, is: 0 | 1, given: readonly Test[], parents: readonly Parent[]): void {
    const op = this.makers.get(v);
    if (op?.name === "unary" && op.attributes["fn"] === "not") {
      this.sides(op.operands[0]!, is === 1 ? 0 : 1, given, parents);
      return;
    }
    const fn = op?.attributes["fn"];
    if (op?.name !== "binary" || (fn !== "and" && fn !== "or")) return;
    // What leaves the decision to the other side: true of `and`, false of `or`.
    const neutral = fn === "and" ? 1 : 0;
    op.operands.forEach((side, i) => {
      const other = op.operands[1 - i]!;
      if (!this.followed.has(side)) return;
      const tests: Test[] = [...given, ...(this.followed.has(other) ? [{ value: other, is: neutral } as const] : [])];
      if (is !== neutral)
        this.add(spanOf(this.makers.get(side), op), ALONE[is], parents, [...tests, { value: side, is }]);
      this.sides(side, is, tests, parents);
    });
  }

  private add(span: Span, where: string, parents: readonly Parent[], tests: readonly Test[]): void {
    const number = (v: Value): number => {
      if (!this.numbers.has(v)) this.numbers.set(v, this.numbers.size);
      return this.numbers.get(v)!;
    };
    const text = (t: Test): string => {
      if ("value" in t) return `${number(t.value)}=${t.is}`;
      return "less" in t ? `${number(t.less)}<${number(t.than)}` : `${number(t.index)}>=${JSON.stringify(t.past)}`;
    };
    const key = [...new Set(tests.map(text))].sort().join() + ` ${parents.map(({ op }) => op.operands.map(number).join()).join(";")}`; // prettier-ignore
    if (!this.found.has(key)) this.found.set(key, { span, where, parents, tests });
  }
}

const HOLDS = ["where this condition does not hold", "where this condition holds"] as const;
const ALONE = [
  "where this part alone makes the condition false",
  "where this part alone makes the condition true",
] as const;

function spanOf(maker: Op | undefined, user: Op): Span {
  return maker !== undefined && maker.span.end > 0 ? maker.span : user.span.end > 0 ? user.span : NO_SPAN;
}
