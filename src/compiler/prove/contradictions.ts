/**
 * Whether tests contradict each other at every length: their linear parts are inequalities between whole numbers, from which variables are
 * eliminated one by one (Fourier and Motzkin). In `where(i == n - 1, 0, x[min(i + 1, n - 1)])`, nobody asks for an `i + 1` that is greater than
 * `n - 1`, though intervals leave a chance to that at each length.
 */
import { OPPOSITE } from "../ir/functions.js";
import { type Kernel, type Op, text, type Value } from "../ir/module.js";
import type { Comparison } from "../ir/ops.js";
import { scalarOf } from "../ir/types.js";
import type { Extent } from "../types/extent.js";
import { greatestCommon } from "../types/requirement.js";
import {
  constant,
  constantOf,
  type Form,
  isConstant,
  minus,
  ONE,
  parameter,
  plus,
  scaled,
  ZERO,
} from "./every/forms.js";
import type { Parent, Test } from "./search.js";

/** Ways in which tests may hold, each a list of what is at least 0; inequalities at a time; the largest coefficient that is exact. */
const [MOST_WAYS, MOST_INEQUALITIES, LARGEST] = [64, 400, 2 ** 40];

/** Quotients by what is no number, and parts that each may have, of which it is asked. */
const [MOST_QUOTIENTS, MOST_PARTS] = [4, 32];

/** Each way that something may hold. */
type Ways = readonly (readonly Form[])[];

const ALWAYS: Ways = [[]];

/** Whether no lengths, ranks and iterations are as the tests, the loops around them and the conditions of the signature say. */
export function isContradiction(
  kernel: Kernel,
  makers: ReadonlyMap<Value, Op>,
  parents: readonly Parent[],
  tests: readonly Test[],
): boolean {
  const lines = new Lines(kernel, makers);
  let ways: Ways = [lines.required()];
  for (const test of tests) {
    ways = joined(ways, lines.waysOf(test));
    if (ways.length > MOST_WAYS) return false;
  }
  for (const { region } of parents) for (const variable of region.arguments) lines.of(variable);
  return ways.every((way) => {
    const known = [...way, ...lines.facts];
    return isImpossible(known) || (lines.quotients.length > 0 && isImpossible([...known, ...lines.limits(known)]));
  });
}

const joined = (a: Ways, b: Ways): Ways => a.flatMap((x) => b.map((y) => [...x, ...y]));

/** What gives equal values of equal ones. */
const PURE = new Set(["binary", "unary", "compare", "select", "cast"]);

/** Values as sums of lengths and of what is no sum, each times a number. */
class Lines {
  /** What is at least 0 wherever the values are. */
  readonly facts: Form[] = [];
  /** What is divided by no number, as `i` by the length of a part. */
  readonly quotients: { readonly of: Form; readonly by: Form; readonly quotient: Form }[] = [];
  private readonly forms = new Map<Value, Form>();
  private readonly named = new Map<string, Form>();
  /** What is never below 0. */
  private readonly naturals = new Set<string>();
  private unknowns = 0;

  constructor(
    private readonly kernel: Kernel,
    private readonly makers: ReadonlyMap<Value, Op>,
  ) {
    for (const name of kernel.dims) this.natural(parameter(`dim ${name}`));
    this.natural(parameter("rank"));
    this.facts.push(minus(constant(kernel.world - 1), parameter("rank")));
  }

  of(v: Value): Form {
    let form = this.forms.get(v);
    if (form === undefined) this.forms.set(v, (form = this.make(v)));
    return form;
  }

  /** Something of which nothing is known yet. */
  private unknown(): Form {
    return parameter(`value ${this.unknowns++}`);
  }

  private make(v: Value): Form {
    const op = this.makers.get(v);
    const d = op?.regions[0]?.arguments.indexOf(v) ?? -1;
    if (op === undefined || (d < 0 && op.regions.length > 0)) return this.unknown();
    if (d >= 0) return this.variable(op, d);
    if (op.name === "const") return constant(op.attributes["value"] as number);
    if (op.name === "dim") return parameter(`dim ${text(op, "name")}`);
    if (op.name === "rank") return parameter("rank");
    if (!PURE.has(op.name)) return this.unknown();
    const side = op.name === "select" ? this.chosen(op) : null;
    if (side !== null) return this.of(side);
    const operands = op.operands.map((w) => this.of(w));
    return this.sum(op, operands) ?? this.other(op, operands);
  }

  /** What is chosen where something is never below 0, as quotients that round down ask. */
  private chosen({ operands: [condition, , otherwise] }: Op): Value | null {
    const asked = this.makers.get(condition!);
    if (asked?.name !== "compare" || asked.attributes["fn"] !== "lt") return null;
    const [less, than] = asked.operands.map((v) => this.of(v)) as [Form, Form];
    return than.size === 0 && this.isNatural(less) ? otherwise! : null;
  }

  /** Of a loop: at least where it begins, and below where it ends. */
  private variable(op: Op, d: number): Form {
    const form = this.unknown();
    const [low, high] = [op.operands[2 * d], op.operands[2 * d + 1]];
    if (low === undefined || high === undefined) return form;
    this.facts.push(minus(form, this.of(low)), minus(minus(this.of(high), form), ONE));
    if (this.isNatural(this.of(low))) this.natural(form);
    return form;
  }

  /** Indices alone do not wrap. */
  private sum(op: Op, [a, b]: readonly Form[]): Form | null {
    if (op.name !== "binary" || scalarOf(op.results[0]!.type) !== "index") return null;
    switch (op.attributes["fn"]) {
      case "add":
        return plus(a!, b!);
      case "sub":
        return minus(a!, b!);
      case "mul":
        return isConstant(a!) ? scaled(b!, constantOf(a!)) : isConstant(b!) ? scaled(a!, constantOf(b!)) : null;
      default:
        return null;
    }
  }

  /** What is made of equal values in the same way is equal. */
  private other(op: Op, operands: readonly Form[]): Form {
    const key = `${op.name} ${JSON.stringify(op.attributes)} ${scalarOf(op.results[0]!.type)} ${operands.map(keyOf).join(" | ")}`;
    let form = this.named.get(key);
    if (form !== undefined) return form;
    this.named.set(key, (form = this.unknown()));
    const [a, b] = operands as [Form, Form];
    const fn = op.name === "binary" && scalarOf(op.results[0]!.type) === "index" ? op.attributes["fn"] : null;
    if (fn === "min") this.facts.push(minus(a, form), minus(b, form));
    if (fn === "max") this.facts.push(minus(form, a), minus(form, b));
    if (fn === "rem" && isConstant(b) && constantOf(b) > 0 && this.isNatural(a)) this.natural(form);
    if (fn === "div" && isConstant(b) && constantOf(b) > 0) {
      // It is cut off towards 0.
      const [rest, most] = [minus(a, scaled(form, constantOf(b))), constant(constantOf(b) - 1)];
      const isNatural = this.isNatural(a);
      this.facts.push(plus(rest, isNatural ? ZERO : most), minus(most, rest));
      if (isNatural) this.natural(form);
    } else if (fn === "div" && !isConstant(b) && this.isNatural(a) && this.isNatural(b))
      this.quotients.push({ of: a, by: b, quotient: form });
    return form;
  }

  /** What quotients are less than, of as many parts as there are ranks: where nothing that is divided comes to so many times the divisor. */
  limits(known: readonly Form[]): Form[] {
    const { world } = this.kernel;
    return this.quotients.slice(0, MOST_QUOTIENTS).flatMap(({ of, by, quotient }) => {
      for (let parts = 1; parts <= Math.min(world, MOST_PARTS); parts++)
        if (isImpossible([...known, minus(of, scaled(by, parts))])) return [minus(constant(parts - 1), quotient)];
      return [];
    });
  }

  private natural(form: Form): void {
    for (const name of form.keys()) this.naturals.add(name);
    this.facts.push(form);
  }

  /** Whether it is a sum of what is never below 0. */
  private isNatural(form: Form): boolean {
    return [...form].every(([name, n]) => n >= 0 && (name === "" || this.naturals.has(name)));
  }

  /** What the signature asks of lengths, as far as it is linear. */
  required(): Form[] {
    return this.kernel.requirements.flatMap(({ left, relation, right }) => {
      const [a, b] = [extentForm(left), extentForm(right)];
      const ways = a === null || b === null ? ALWAYS : compared(relation, a, b);
      return ways.length === 1 ? ways[0]! : [];
    });
  }

  waysOf(test: Test): Ways {
    if ("value" in test) return this.truth(test.value, test.is === 1);
    if ("less" in test) return compared("lt", this.of(test.less), this.of(test.than));
    const past = test.past === null ? ZERO : extentForm(test.past);
    if (past === null) return ALWAYS;
    return compared(test.past === null ? "lt" : "ge", this.of(test.index), past);
  }

  private truth(v: Value, holds: boolean): Ways {
    const op = this.makers.get(v);
    const fn = op?.attributes["fn"];
    const sides = (): Ways[] => op!.operands.map((side) => this.truth(side, holds));
    if (op?.name === "const") return (op.attributes["value"] !== 0) === holds ? ALWAYS : [];
    if (op?.name === "unary" && fn === "not") return this.truth(op.operands[0]!, !holds);
    if (op?.name === "binary" && (fn === "and" || fn === "or")) {
      const [a, b] = sides() as [Ways, Ways];
      const ways = (fn === "and") === holds ? joined(a, b) : [...a, ...b];
      return ways.length > MOST_WAYS ? ALWAYS : ways;
    }
    if (op?.name !== "compare" || scalarOf(op.operands[0]!.type) !== "index") return ALWAYS;
    const comparison = fn as Comparison;
    const [a, b] = op.operands.map((side) => this.of(side)) as [Form, Form];
    return compared(holds ? comparison : OPPOSITE[comparison], a, b);
  }
}

function compared(fn: Comparison, a: Form, b: Form): Ways {
  const [above, below] = [minus(a, b), minus(b, a)];
  switch (fn) {
    case "lt":
      return [[minus(below, ONE)]];
    case "le":
      return [[below]];
    case "gt":
      return [[minus(above, ONE)]];
    case "ge":
      return [[above]];
    case "eq":
      return [[above, below]];
    case "ne":
      return [[minus(below, ONE)], [minus(above, ONE)]];
  }
}

/** Null where it is not linear. */
function extentForm(e: Extent): Form | null {
  if (typeof e === "number") return constant(e);
  if (typeof e === "string") return parameter(`dim ${e}`);
  const [a, b] = [extentForm(e.a), extentForm(e.b)];
  if (a === null || b === null) return null;
  if (e.op === "add") return plus(a, b);
  if (e.op === "sub") return minus(a, b);
  if (e.op !== "mul") return null;
  return isConstant(a) ? scaled(b, constantOf(a)) : isConstant(b) ? scaled(a, constantOf(b)) : null;
}

const keyOf = (form: Form): string =>
  [...form]
    .map(([name, n]) => `${n} * ${name}`)
    .sort()
    .join(" + ");

/** Whether no whole numbers make all forms at least 0: shown by sums of them that are a number below 0. */
function isImpossible(forms: readonly Form[]): boolean {
  let left: Form[] = [];
  const add = (form: Form): boolean => {
    const tight = tightened(form);
    if (!isConstant(tight)) left.push(tight);
    return isConstant(tight) && constantOf(tight) < 0;
  };
  if (forms.some(add)) return true;
  for (;;) {
    const variable = easiest(left);
    if (variable === null) return false;
    const [lower, upper] = [1, -1].map((sign) => left.filter((f) => (f.get(variable) ?? 0) * sign > 0)) as [
      Form[],
      Form[],
    ];
    left = left.filter((f) => !f.has(variable));
    for (const a of lower)
      for (const b of upper) if (add(plus(scaled(a, -b.get(variable)!), scaled(b, a.get(variable)!)))) return true;
    const isTooMuch =
      left.length > MOST_INEQUALITIES || left.some((f) => [...f.values()].some((n) => Math.abs(n) > LARGEST));
    if (isTooMuch) return false;
  }
}

/** The variable of which the fewest sums are made. */
function easiest(forms: readonly Form[]): string | null {
  const counts = new Map<string, [lower: number, upper: number]>();
  for (const form of forms)
    for (const [name, n] of form) {
      if (name === "") continue;
      const count = counts.get(name) ?? [0, 0];
      count[n > 0 ? 0 : 1]++;
      counts.set(name, count);
    }
  let best: string | null = null;
  let fewest = Infinity;
  for (const [name, [lower, upper]] of counts) if (lower * upper < fewest) [best, fewest] = [name, lower * upper];
  return best;
}

/** What whole numbers make of it: divided by what divides all coefficients, and rounded down. */
function tightened(form: Form): Form {
  let common = 0;
  for (const [name, n] of form) if (name !== "") common = greatestCommon(common, n);
  if (common <= 1) return form;
  return new Map([...form].map(([name, n]) => [name, name === "" ? Math.floor(n / common) : n / common]));
}
