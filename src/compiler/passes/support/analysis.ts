/** Questions passes ask of values: where they come from, what they depend on, how they compare. */
import { staysNatural } from "../../ir/builder.js";
import type { Kernel, Op, Region, Value } from "../../ir/module.js";
import { walk } from "../../ir/visit.js";

/** Definitions of the values in a region, and a structural name for each pure value. */
export class Definitions {
  private readonly ops = new Map<Value, Op>();
  /** By which keys tell apart what is equal in form only. */
  private readonly numbers = new Map<Value, number>();
  private readonly argumentNumbers = new Map<Value, number>();
  private readonly bounds = new Map<Value, readonly [Value, Value]>();
  private readonly keys = new Map<Value, string>();
  /** Keys of values by what they are made of. */
  private readonly forms = new Map<string, string>();
  private readonly reached = new Map<Value, readonly Value[]>();
  private readonly region: Region;
  private differing: ReadonlySet<Value> | null = null;
  /** Ranks of the kernel; 1 of a region. */
  readonly world: number;

  constructor(root: Region | Kernel) {
    const region = "body" in root ? root.body : root;
    this.region = region;
    this.world = "body" in root ? root.world : 1;
    walk(region, (op) => {
      for (const r of op.results) {
        this.ops.set(r, op);
        this.numbers.set(r, this.numbers.size);
      }
      for (const inner of op.regions)
        for (const [d, a] of inner.arguments.entries()) {
          this.argumentNumbers.set(a, this.argumentNumbers.size);
          this.bounds.set(a, [op.operands[2 * d]!, op.operands[2 * d + 1]!]);
        }
    });
  }

  /** Values that differ from rank to rank. */
  get varying(): ReadonlySet<Value> {
    return (this.differing ??= varyingIn(this.region));
  }

  /** The op that gives the value; undefined for loop variables. */
  of(v: Value): Op | undefined {
    return this.ops.get(v);
  }

  /** Where a loop's variable begins, and what it stays below. */
  boundsOf(variable: Value): readonly [Value, Value] | undefined {
    return this.bounds.get(variable);
  }

  /** The op if it is a `binary` of this function. */
  binary(v: Value, fn: string): Op | undefined {
    const op = this.ops.get(v);
    return op?.name === "binary" && op.attributes["fn"] === fn ? op : undefined;
  }

  constant(v: Value): number | undefined {
    const op = this.ops.get(v);
    return op?.name === "const" ? (op.attributes["value"] as number) : undefined;
  }

  /** Whether an index is surely a multiple of `n`, by its form. */
  isMultiple(v: Value, n: number): boolean {
    const op = this.ops.get(v);
    if (op?.name === "const") return (op.attributes["value"] as number) % n === 0;
    if (op?.name !== "binary") return false;
    const parts = op.operands.map((o) => this.isMultiple(o, n));
    const fn = op.attributes["fn"] as string;
    if (fn === "mul") return parts.includes(true);
    return ["add", "sub", "min", "max"].includes(fn) && !parts.includes(false);
  }

  /** Whether an index is surely not below zero, by its form. */
  isNatural(v: Value): boolean {
    const op = this.ops.get(v);
    return op !== undefined && staysNatural(op, (operand) => this.isNatural(operand));
  }

  /** Whether an index grows by one with a variable, by its form. */
  isNext(index: Value, variable: Value): boolean {
    if (index === variable) return true;
    const sum = this.binary(index, "add")?.operands ?? [];
    const next = sum.filter((v) => this.argumentsOf(v).includes(variable));
    return next.length === 1 && this.isNext(next[0]!, variable);
  }

  /** Loop variables that the value is computed from. */
  argumentsOf(v: Value): readonly Value[] {
    let found = this.reached.get(v);
    if (found === undefined) {
      const op = this.ops.get(v);
      found = op === undefined ? [v] : [...new Set(op.operands.flatMap((o) => this.argumentsOf(o)))];
      this.reached.set(v, found);
    }
    return found;
  }

  /** Equal keys mean equal values wherever both are in scope. */
  key(v: Value): string {
    let key = this.keys.get(v);
    if (key === undefined) {
      key = this.makeKey(v);
      this.keys.set(v, key);
    }
    return key;
  }

  private makeKey(v: Value): string {
    const op = this.ops.get(v);
    if (op === undefined) return `argument${this.argumentNumbers.get(v) ?? "?"}`;
    const attributes = Object.values(op.attributes).join(" ");
    const operands = op.operands.map((o) => this.key(o));
    if (op.name === "binary" && ["add", "mul", "min", "max"].includes(String(op.attributes["fn"]))) operands.sort();
    const isImpure = op.name === "load" || op.name === "reduce" || op.name === "contract";
    const form = `${op.name}${isImpure ? `#${this.numbers.get(v)}` : ""} ${attributes} ${operands.join(" ")}`;
    // A number stands for the form: operands are used many times, and a text with all of theirs in it would double with each level.
    let key = this.forms.get(form);
    if (key === undefined) this.forms.set(form, (key = `form${this.forms.size}`));
    return key;
  }
}

/** Values that depend, through any op, on one of `roots`; loops with dependent bounds count, folds of such values, too. */
export function dependents(region: Region, roots: Iterable<Value>): Set<Value> {
  const found = new Set(roots);
  const visit = (op: Op): boolean => {
    let depends = op.operands.some((o) => found.has(o));
    if (depends) for (const inner of op.regions) for (const a of inner.arguments) found.add(a);
    for (const inner of op.regions) for (const o of inner.ops) if (visit(o) && o.name === "yield") depends = true;
    if (depends) for (const r of op.results) found.add(r);
    return depends;
  };
  region.ops.forEach(visit);
  return found;
}

/** Values that differ from rank to rank: `rank`, loads, and all that depends on them. */
export function rankVarying({ body }: Pick<Kernel, "body">): Set<Value> {
  return varyingIn(body);
}

function varyingIn(region: Region): Set<Value> {
  const roots: Value[] = [];
  walk(region, (op) => {
    if (op.name === "rank" || op.name === "load") roots.push(...op.results);
  });
  return dependents(region, roots);
}
