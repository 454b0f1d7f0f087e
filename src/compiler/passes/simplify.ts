/**
 * simplify: constant folding, common subexpressions, loop-invariant values moved out, casts and arrangements that undo
 * each other, and ops without use dropped. Runs several times in the pipeline; gives no op a new meaning.
 */
import { Builder } from "../ir/builder.js";
import { type Kernel, multiplies, type Op, type Region, Value } from "../ir/module.js";
import { definitionOf } from "../ir/ops.js";
import { printType, sameType, scalarOf } from "../ir/types.js";
import { Substitution } from "../ir/visit.js";
import { arranged } from "./support/arrangements.js";
import { isPartial } from "./support/partial.js";
import { dropUnused } from "./support/unused.js";
import { DTYPES, isDType } from "../types/dtype.js";

export function simplify(kernel: Kernel): Kernel {
  return dropUnused({ ...kernel, body: new Simplifier(!multiplies(kernel)).run(kernel.body) });
}

/** A region being built, and what is known inside it. */
interface Scope {
  readonly ops: Op[];
  readonly known: Map<string, Value>;
}

class Simplifier {
  private readonly build = new Builder({ start: 0, end: 0 });
  private readonly scopes: Scope[] = [];
  /** Index of the scope each value is defined in. */
  private readonly depth = new Map<Value, number>();
  private readonly ids = new Map<Value, number>();
  private readonly producers = new Map<Value, Op>();
  /** The scope that values do not leave: a role has few registers, and what it computes for itself costs less than to keep. */
  private floor = 0;

  /** @param rejoins whether rows and columns make places again: tiles have theirs, which those who print them go by */
  constructor(private readonly rejoins: boolean) {}

  run(region: Region, values = new Substitution()): Region {
    const level = this.scopes.length;
    const scope: Scope = { ops: [], known: new Map() };
    this.scopes.push(scope);
    const inner = new Substitution(values);
    const args = region.arguments.map((a) => {
      const copy = new Value(a.type);
      inner.set(a, copy);
      this.depth.set(copy, level);
      return copy;
    });
    for (const op of region.ops) this.op(op, inner, level);
    this.scopes.pop();
    return { arguments: args, ops: scope.ops };
  }

  private op(op: Op, values: Substitution, level: number): void {
    const operands = op.operands.map((v) => values.get(v));
    const result = op.results[0];
    if (definitionOf(op.name).effect === "pure") {
      values.set(result!, this.pure(op, operands));
      return;
    }
    if (op.name === "if") {
      const condition = this.build.constantOf(operands[0]!);
      if (condition !== undefined) {
        for (const inner of op.regions[condition !== 0 ? 0 : 1]!.ops) this.op(inner, values, level);
        return;
      }
    }
    const { floor } = this;
    if (op.name === "roles") this.floor = this.scopes.length;
    const regions = op.regions.map((r) => this.run(r, values));
    this.floor = floor;
    const copy: Op = { ...op, operands, results: op.results.map((r) => new Value(r.type)), regions };
    if (result !== undefined) {
      values.set(result, copy.results[0]!);
      this.depth.set(copy.results[0]!, level);
    }
    this.scopes[level]!.ops.push(copy);
  }

  /** The value of a pure op: folded, found, or built in the outermost scope that has its operands. */
  private pure(given: Op, givenOperands: readonly Value[]): Value {
    const made = arranged(given, givenOperands, this.producers);
    if (made instanceof Value) return made;
    const { op, operands } = made;
    const undone = this.undoneCast(op, operands) ?? this.rejoined(op, operands);
    if (undone !== null) return undone;
    const level = isPartial(op, operands[1] === undefined ? undefined : this.build.constantOf(operands[1]))
      ? this.scopes.length - 1
      : operands.reduce((d, v) => Math.max(d, this.depth.get(v) ?? 0), this.floor);
    const type = op.results[0]!.type;
    const folded = this.fold(op, operands);
    if (folded !== null && operands.includes(folded)) return folded;
    const constant = folded === null ? undefined : this.build.constantOf(folded);
    const name = constant === undefined ? op.name : "const";
    const attributes = constant === undefined ? op.attributes : { value: constant };
    const inputs = constant === undefined ? operands : [];
    const at = constant === undefined ? level : 0;
    let key = `${name} ${printType(type)}`;
    for (const v of inputs) key += ` ${this.id(v)}`;
    for (const attribute in attributes) {
      const given = attributes[attribute]!;
      key += `\n${attribute} ${typeof given === "object" ? JSON.stringify(given) : given}`;
    }
    for (let d = this.scopes.length - 1; d >= (constant === undefined ? this.floor : 0); d--) {
      const found = this.scopes[d]!.known.get(key);
      if (found !== undefined) return found;
    }
    const value = constant === undefined ? new Value(type) : folded!;
    const copy: Op = { name, operands: inputs, results: [value], attributes, regions: [], span: op.span };
    this.scopes[at]!.ops.push(copy);
    this.scopes[at]!.known.set(key, value);
    this.depth.set(value, at);
    this.producers.set(value, copy);
    return value;
  }

  private fold(op: Op, operands: readonly Value[]): Value | null {
    this.build.ops = [];
    switch (op.name) {
      case "const":
        return this.build.constant(op.attributes["value"] as number, op.results[0]!.type);
      case "binary":
        return this.build.binary(op.attributes["fn"] as never, operands[0]!, operands[1]!);
      case "compare":
        return this.build.compare(op.attributes["fn"] as never, operands[0]!, operands[1]!);
      case "select":
        return this.build.select(operands[0]!, operands[1]!, operands[2]!);
      default:
        return null;
    }
  }

  /** A widening cast and back gives the value itself: a copy moves bits, it does not convert. */
  private undoneCast(op: Op, operands: readonly Value[]): Value | null {
    if (op.name !== "cast") return null;
    const inner = this.producers.get(operands[0]!);
    if (inner?.name !== "cast") return null;
    const source = inner.operands[0]!;
    const kind = scalarOf(source.type);
    const isWidening = isDType(kind) && DTYPES[kind].compute === scalarOf(inner.results[0]!.type);
    return isWidening && sameType(source.type, op.results[0]!.type) ? source : null;
  }

  /** What is counted row by row, of its row and its column: (a / b) · b + a % b is a. Rows of nothing hold nothing. */
  private rejoined(op: Op, operands: readonly Value[]): Value | null {
    const of = (v: Value, fn: string): readonly Value[] => {
      const made = this.producers.get(v);
      return made?.name === "binary" && made.attributes["fn"] === fn ? made.operands : [];
    };
    if (
      !this.rejoins ||
      op.name !== "binary" ||
      op.attributes["fn"] !== "add" ||
      scalarOf(op.results[0]!.type) !== "index"
    )
      return null;
    const [x, y] = operands as readonly [Value, Value];
    for (const [rows, column] of [
      [x, y],
      [y, x],
    ] as const) {
      const [a, b] = of(column, "rem");
      const factors = of(rows, "mul");
      const row = factors.find((v) => v !== b) ?? factors[0];
      const [c, d] = row === undefined || !factors.includes(b!) ? [] : of(row, "div");
      if (a !== undefined && c === a && d === b) return a;
    }
    return null;
  }

  private id(v: Value): number {
    let id = this.ids.get(v);
    if (id === undefined) this.ids.set(v, (id = this.ids.size));
    return id;
  }
}
