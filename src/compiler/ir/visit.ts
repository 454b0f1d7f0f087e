/** Walking and rebuilding regions. */
import type { Builder } from "./builder.js";
import { type Kernel, type Op, type Region, Value } from "./module.js";
import { definitionOf } from "./ops.js";

/** Calls `visit` for every op, outside in, in program order. */
export function walk(
  region: Region,
  visit: (op: Op, parents: readonly Op[]) => void,
  parents: readonly Op[] = [],
): void {
  for (const op of region.ops) {
    visit(op, parents);
    if (op.regions.length === 0) continue;
    const inside = [...parents, op];
    for (const inner of op.regions) walk(inner, visit, inside);
  }
}

export function walkKernel(kernel: Kernel, visit: (op: Op, parents: readonly Op[]) => void): void {
  walk(kernel.body, visit);
}

/** Buffers that an op, or anything in it, names. */
export function buffersNamed(op: Op): string[] {
  const { attributes = {}, optional = {} } = definitionOf(op.name);
  const own = Object.entries({ ...attributes, ...optional })
    .filter(([key, kind]) => kind === "buffer" && key in op.attributes)
    .map(([key]) => op.attributes[key] as string);
  return [...own, ...op.regions.flatMap((r) => r.ops.flatMap(buffersNamed))];
}

/** Values that stand for others while ops are copied. */
export class Substitution {
  private readonly map = new Map<Value, Value>();

  constructor(private readonly outer?: Substitution) {}

  get(v: Value): Value {
    let found = this.map.get(v);
    for (let scope = this.outer; found === undefined && scope !== undefined; scope = scope.outer)
      found = scope.map.get(v);
    return found ?? v;
  }

  set(from: Value, to: Value): void {
    this.map.set(from, to);
  }
}

/**
 * How one op is rebuilt. Return true when `rewrite` has emitted a replacement (and entered its results
 * in the substitution), false to have the op copied as it is, its regions rewritten in turn.
 */
export type Rewrite = (op: Op, build: Builder, values: Substitution) => boolean;

/** Copies ops into the builder under a substitution, giving each op to `rewrite` first. */
export function rewriteOps(
  ops: readonly Op[],
  build: Builder,
  values: Substitution,
  rewrite: Rewrite = () => false,
): void {
  for (const op of ops) {
    build.span = op.span;
    if (!rewrite(op, build, values)) copyOp(op, build, values, rewrite);
  }
}

/** Copies one op, its operands substituted and its regions rewritten. Pure ops go through the builder's folding. */
export function copyOp(op: Op, build: Builder, values: Substitution, rewrite: Rewrite = () => false): void {
  const operands = op.operands.map((v) => values.get(v));
  const folded = foldingCopy(op, build, operands);
  if (folded !== null) {
    values.set(op.results[0]!, folded);
    return;
  }
  const { regions: inner } = op;
  const { span } = build;
  const regions = inner.length === 0 ? inner : inner.map((region) => copyRegion(region, build, values, rewrite));
  build.span = span;
  const result = build.op(op.name, operands, op.attributes, op.results[0]?.type ?? null, regions);
  if (result !== null) values.set(op.results[0]!, result);
}

function foldingCopy(op: Op, build: Builder, operands: readonly Value[]): Value | null {
  const type = op.results[0]?.type;
  switch (op.name) {
    case "const":
      return build.constant(op.attributes["value"] as number, type!);
    case "binary":
      return build.binary(op.attributes["fn"] as never, operands[0]!, operands[1]!);
    case "compare":
      return build.compare(op.attributes["fn"] as never, operands[0]!, operands[1]!);
    case "select":
      return build.select(operands[0]!, operands[1]!, operands[2]!);
    default:
      return null;
  }
}

export function copyRegion(
  region: Region,
  build: Builder,
  values: Substitution,
  rewrite: Rewrite = () => false,
): Region {
  const inner = new Substitution(values);
  const args = region.arguments.map((a) => new Value(a.type));
  region.arguments.forEach((a, i) => inner.set(a, args[i]!));
  const outer = build.ops;
  build.ops = [];
  rewriteOps(region.ops, build, inner, rewrite);
  const ops = build.ops;
  build.ops = outer;
  return { arguments: args, ops };
}
