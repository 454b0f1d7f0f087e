/** Is the answer right? Every element of every output of every rank, for all data at once. */
import type { Kernel } from "../ir/module.js";
import type { SignatureTensor, Specification } from "../manifest.js";
import { NO_SPAN } from "../source.js";
import type { DimValues } from "../types/extent.js";
import { describeDifference } from "./difference.js";
import { execute } from "./execute.js";
import { gridOf, type Machine } from "./machine.js";
import { type Answer, CannotTell, Fails } from "./results.js";
import { Expectation, type Index, linear, shardOf } from "./specification.js";
import { Algebra, type Number_ } from "./terms.js";

export interface AnswerOptions {
  readonly dims: DimValues;
  /** Default 2: the second launch meets the flags and the scratch that the first one left. */
  readonly launches?: number;
  /** Whether buffers start at aligned addresses; both ways are worth proving. Default true. */
  readonly aligned?: boolean;
}

/**
 * Executes the kernel symbolically and compares what it stores with its specification. Holds for every schedule
 * if `proveOrdering` says that the accesses are ordered.
 */
export function proveAnswer(kernel: Kernel, options: AnswerOptions): Answer {
  const launches = options.launches ?? 2;
  const claim = { ranks: kernel.world, dims: options.dims, grid: gridOf(kernel, options.dims), launches };
  const algebra = new Algebra();
  let checked = 0;
  try {
    const unspecified = kernel.outputs.filter((_, o) => kernel.specification[o] == null);
    const ended: { outputs: Number_[][]; executed: number }[][] = [];
    const machine = execute(kernel, { ...options, launches }, algebra, false, (m, rank, launch) => {
      (ended[launch] ??= [])[rank] = { outputs: snapshot(m, rank), executed: 0 };
    });
    // A peer may still write to a rank whose own kernel has ended only if the ordering is wrong; that is not asked here.
    for (let launch = 0; launch < launches; launch++) {
      const expectation = new Expectation(kernel, options.dims, algebra, launch);
      kernel.outputs.forEach((tensor, o) => {
        const s = kernel.specification[o] ?? null;
        if (s !== null)
          checked += compare(
            kernel,
            tensor,
            s,
            expectation,
            ended[launch]!.map((r) => r.outputs[o]!),
            launch,
            algebra,
          );
      });
    }
    if (unspecified.length > 0)
      return { status: "unknown", claim, reason: `nothing says what '${unspecified[0]!.name}' must hold` };
    return { status: "proved", claim, checked, executed: machine.executed };
  } catch (e) {
    if (e instanceof CannotTell) return { status: "unknown", claim, reason: e.message };
    if (!(e instanceof Fails)) throw e;
    const { kind, message, places, witness } = e;
    return { status: "wrong", claim, kind, message, places, witness };
  }
}

function snapshot(machine: Machine, rank: number): Number_[][] {
  return machine.kernel.outputs.map((t) => machine.memory[machine.bufferNumber(t.name)]![rank]!.slice());
}

function compare(
  kernel: Kernel,
  tensor: SignatureTensor,
  s: Specification,
  expectation: Expectation,
  actual: readonly (readonly Number_[])[],
  launch: number,
  algebra: Algebra,
): number {
  const { layout } = tensor;
  const shape = expectation.shapeOf(tensor);
  const held = (rank: number, i: number): Number_ => actual[rank]![i] ?? algebra.poison(tensor.name, rank, i);
  const report = (rank: number, at: Index, got: Number_, wanted: Number_): never => {
    if (algebra.keptFactors)
      throw new CannotTell("a product of long sums was not multiplied out; the values may be equal in another form");
    const difference = describeDifference(got, wanted, launch);
    const element = `'${tensor.name}'[${at.join(", ")}]`;
    const where = { rank, block: -1, launch, span: NO_SPAN, what: `output ${element}` };
    throw new Fails("answer", `output ${element} on rank ${rank}: ${difference[0]!}`, [where], difference.slice(1));
  };
  const check = (rank: number, at: Index, i: number, wanted: Number_): void => {
    const got = held(rank, i);
    if (got !== wanted) report(rank, at, got, wanted);
  };
  let checked = 0;
  for (const at of indicesOf(shape)) {
    const i = linear(at, shape);
    const wanted = layout.kind === "local" ? null : expectation.element(s, at, 0);
    switch (layout.kind) {
      case "replicated":
        for (let r = 0; r < kernel.world; r++) check(r, at, i, wanted!);
        break;
      case "on":
        check(layout.rank, at, i, wanted!);
        break;
      case "sharded": {
        const { rank, index } = shardOf(at, shape, layout.dim, kernel.world);
        check(rank, at, index, wanted!);
        break;
      }
      case "partial": {
        const parts = actual.map((_, r) => held(r, i));
        const got = expectation.reduce(layout.op, parts, tensor.dtype);
        if (got !== wanted) report(0, at, got, wanted!);
        break;
      }
      case "local":
        for (let r = 0; r < kernel.world; r++) check(r, at, i, expectation.element(s, at, r));
    }
    checked += layout.kind === "replicated" || layout.kind === "local" ? kernel.world : 1;
  }
  return checked;
}

function* indicesOf(shape: readonly number[]): Generator<Index> {
  const total = shape.reduce((a, n) => a * n, 1);
  for (let q = 0; q < total; q++) {
    const at: number[] = [];
    let rest = q;
    for (let d = shape.length - 1; d >= 0; d--) {
      at.unshift(rest % shape[d]!);
      rest = Math.floor(rest / shape[d]!);
    }
    yield at;
  }
}
