/**
 * Branches on data, for proofs: both are gone through, and what they store is chosen by the condition, as `where` would. That is
 * what the kernel does where branches only compute, load and store. Of accesses it shows some that the condition excludes, never
 * fewer: what is in order and inside without it is so with it, and what is not cannot be told (`isGuarded`).
 */
import { Builder } from "../ir/builder.js";
import { bufferOf, type Kernel, type Op, type Region, text, type Value } from "../ir/module.js";
import { definitionOf } from "../ir/ops.js";
import { lanesOf, vector } from "../ir/types.js";
import { copyRegion, type Rewrite, rewriteOps, Substitution, walkKernel } from "../ir/visit.js";
import { NO_SPAN } from "../source.js";
import { isFloat } from "../types/dtype.js";

/** Made once for each kernel: every proof asks. */
const known = new WeakMap<Kernel, Kernel>();
const guarded = new WeakSet<Op>();

/** Whether an access only happens where data says so. */
export const isGuarded = (op: Op | null): boolean => op !== null && guarded.has(op);

/** The kernel without branches on data that proofs have no values for, as far as they can be chosen from; itself where it has none. */
export function predicated(kernel: Kernel): Kernel {
  let made = known.get(kernel);
  if (made === undefined) {
    made = new Predication(kernel).kernel();
    known.set(kernel, made);
    known.set(made, made);
  }
  return made;
}

class Predication {
  private readonly makers = new Map<Value, Op>();
  private readonly stored = new Map<string, Value[]>();
  private readonly ofData = new Map<Value, boolean>();

  constructor(private readonly of: Kernel) {
    walkKernel(of, (op) => {
      for (const v of op.results) this.makers.set(v, op);
      if (op.name !== "store") return;
      const name = text(op, "buffer");
      this.stored.set(name, [...(this.stored.get(name) ?? []), op.operands[0]!]);
    });
  }

  kernel(): Kernel {
    const { of } = this;
    let found = false;
    walkKernel(of, (op) => void (found ||= this.isChoice(op)));
    if (!found) return of;
    const build = new Builder(NO_SPAN);
    const body = copyRegion(of.body, build, new Substitution(), this.under(null));
    return { ...of, body };
  }

  /** Whether a condition is of data, and both branches can be gone through. */
  private isChoice({ name, operands, regions }: Op): boolean {
    return name === "if" && this.isOfData(operands[0]!) && regions.every((r) => onlyAccesses(r));
  }

  /** Whether a value is made from elements that proofs have no values for: floats of inputs, on whatever way. */
  private isOfData(value: Value): boolean {
    const before = this.ofData.get(value);
    if (before !== undefined) return before;
    this.ofData.set(value, false);
    const op = this.makers.get(value);
    const found = op !== undefined && this.isMadeOfData(op);
    this.ofData.set(value, found);
    return found;
  }

  private isMadeOfData(op: Op): boolean {
    if (op.name === "load") {
      const { name, role, dtype } = bufferOf(this.of, text(op, "buffer"));
      if ((role === "input" || role === "inout") && isFloat(dtype)) return true;
      return (this.stored.get(name) ?? []).some((v) => this.isOfData(v));
    }
    const yielded = op.regions.flatMap((r) => r.ops.at(-1)?.operands ?? []);
    return [...op.operands, ...yielded].some((v) => this.isOfData(v));
  }

  /** How ops are copied where `guard` decides whether they take place; null where nothing does. */
  private under(guard: Value | null): Rewrite {
    return (op, build, values) => {
      if (this.isChoice(op)) {
        this.choice(op, guard, build, values);
        return true;
      }
      if (guard === null || (op.name !== "store" && op.name !== "load")) return false;
      if (op.name === "store") this.store(op, guard, build, values);
      else {
        const result = build.op(
          "load",
          op.operands.map((v) => values.get(v)),
          op.attributes,
          op.results[0]!.type,
        );
        values.set(op.results[0]!, result!);
        guarded.add(build.ops.at(-1)!);
      }
      return true;
    };
  }

  private choice(op: Op, guard: Value | null, build: Builder, values: Substitution): void {
    const [then, otherwise] = op.regions as readonly [Region, Region];
    const inside = (region: Region, condition: Value): void =>
      rewriteOps(
        region.ops,
        build,
        new Substitution(values),
        this.under(guard === null ? condition : build.binary("and", guard, condition)),
      );
    const maker = this.makers.get(op.operands[0]!);
    const parts = maker?.name === "binary" && maker.attributes["fn"] === "and" ? maker.operands : [];
    const indices = parts.filter((v) => !this.isOfData(v));
    const data = parts.filter((v) => this.isOfData(v));
    if (indices.length === 1 && data.length === 1) {
      // What indices decide is decided: only the rest is chosen.
      const condition = values.get(data[0]!);
      build.if(
        values.get(indices[0]!),
        () => {
          inside(then, condition);
          if (otherwise.ops.length > 0) inside(otherwise, build.unary("not", condition));
        },
        () => rewriteOps(otherwise.ops, build, new Substitution(values), this.under(guard)),
      );
      return;
    }
    const condition = values.get(op.operands[0]!);
    inside(then, condition);
    if (otherwise.ops.length > 0) inside(otherwise, build.unary("not", condition));
  }

  /** What was there stays, unless the condition holds. */
  private store(op: Op, guard: Value, build: Builder, values: Substitution): void {
    const operands = op.operands.map((v) => values.get(v));
    const [value, ...place] = operands as [Value, ...Value[]];
    const before = build.op("load", place, op.attributes, value.type)!;
    guarded.add(build.ops.at(-1)!);
    const lanes = lanesOf(value.type);
    const condition = lanes === 1 ? guard : build.op("splat", [guard], {}, vector("bool", lanes))!;
    build.op("store", [build.select(condition, value, before), ...place], op.attributes, null);
    guarded.add(build.ops.at(-1)!);
  }
}

/** Ops of one thread that can be gone through without being taken: they compute, load and store. */
function onlyAccesses(region: Region): boolean {
  return region.ops.every(({ name, attributes, regions }) => {
    const isPlain = ACCESSES.has(name) || definitionOf(name).effect === "pure";
    const isSpread = name === "for" && attributes["map"] !== "serial" && attributes["map"] !== "ranks";
    return isPlain && !isSpread && regions.every(onlyAccesses);
  });
}

const ACCESSES = new Set<string>(["load", "store", "if", "for", "reduce", "yield"]);
