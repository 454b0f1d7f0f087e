/**
 * Scratch in two copies that launches take in turn. What a launch writes then meets what the launch before the last read,
 * and the synchronisation of the one in between has ordered that: a barrier that only guarded reuse goes.
 */
import { Builder } from "../../ir/builder.js";
import { freshName, type Kernel, type Op, text, type Value } from "../../ir/module.js";
import { INDEX } from "../../ir/types.js";
import { copyOp, rewriteOps, Substitution, walkKernel } from "../../ir/visit.js";
import { contractsIn } from "./contraction.js";
import { hasSync } from "./sync-ops.js";

/**
 * Scratch that may have two copies: all of its accesses stand in tile loops, and in none that a block works on as a whole,
 * since the code that accesses it doubles.
 */
export function rotatable(kernel: Kernel): string[] {
  const candidates = new Set(kernel.buffers.filter((b) => b.role === "scratch").map((b) => b.name));
  walkKernel(kernel, (op, parents) => {
    if (op.name !== "load" && op.name !== "store") return;
    const tiles = parents.find((p) => p.attributes["map"] === "tiles");
    // A message is no code of a kernel, and knows no launches.
    const isSent = parents.some((p) => p.name === "message");
    if (isSent || tiles === undefined || contractsIn(tiles).length > 0) candidates.delete(text(op, "buffer"));
  });
  return [...candidates];
}

/** The kernel with two copies of this scratch, each op that touches it taking that of the launch. */
export function rotate(kernel: Kernel, names: ReadonlySet<string>): Kernel {
  if (names.size === 0) return kernel;
  const twins = new Map([...names].map((name) => [name, freshName(kernel, `${name}_odd`)]));
  const build = new Builder(kernel.body.ops[0]!.span);
  const parity = build.op("launch_parity", [], {}, INDEX)!;
  const isOdd = build.compare("ne", parity, build.constant(0));
  rewriteOps(kernel.body.ops, build, new Substitution(), (op, _, values) => {
    if (op.results.length > 0 || hasSync(op) || !touches(op, names)) return false;
    build.if(
      isOdd,
      () => rewriteOps([op], build, values, (o, __, inner) => renamed(o, build, inner, twins)),
      () => copyOp(op, build, values),
    );
    return true;
  });
  const buffers = kernel.buffers.flatMap((b) => {
    const twin = twins.get(b.name);
    return twin === undefined ? [b] : [b, { ...b, name: twin }];
  });
  return { ...kernel, buffers, body: { arguments: [], ops: build.ops } };
}

function touches(op: Op, names: ReadonlySet<string>): boolean {
  if ((op.name === "load" || op.name === "store") && names.has(text(op, "buffer"))) return true;
  return op.regions.some((r) => r.ops.some((o) => touches(o, names)));
}

function renamed(op: Op, build: Builder, values: Substitution, twins: ReadonlyMap<string, string>): boolean {
  const twin = op.name === "load" || op.name === "store" ? twins.get(text(op, "buffer")) : undefined;
  if (twin === undefined) return false;
  const operands = op.operands.map((v: Value) => values.get(v));
  const result = build.op(op.name, operands, { ...op.attributes, buffer: twin }, op.results[0]?.type ?? null);
  if (result !== null) values.set(op.results[0]!, result);
  return true;
}
