/** Is the answer right? Every element of every output of every rank, for all data at once. */
import type { SignatureTensor } from "../manifest.js";
import { type Kernel, text } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import type { Span } from "../source.js";
import type { DimValues } from "../types/extent.js";
import type { Algebra, Number_ } from "./algebra.js";
import { describeDifference } from "./difference.js";
import { compareAtData } from "./evaluate.js";
import { ExactAlgebra, TooLarge } from "./exact.js";
import { execute } from "./execute.js";
import { FieldAlgebra } from "./field.js";
import { gridOf } from "./machine.js";
import { type Answer, CannotTell, Fails } from "./results.js";
import { Expectation, type Index, linear, shardOf } from "./specification.js";

export interface AnswerOptions {
  readonly dims: DimValues;
  /** Default 2: the second launch meets the flags and the scratch that the first one left. */
  readonly launches?: number;
  /** Number of a set of values for inputs that steer. */
  readonly sample?: number;
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
  try {
    const unspecified = kernel.outputs.filter((_, o) => kernel.specification[o] == null).map((t) => t.name);
    if (unspecified.length === kernel.outputs.length)
      return { status: "proved", claim, checked: 0, samples: 0, unspecified, executed: new Set() };
    const run = new Run(kernel, { ...options, launches }, new FieldAlgebra());
    const difference = run.firstDifference();
    if (difference !== null) explain(kernel, { ...options, launches }, difference);
    return { status: "proved", claim, checked: run.checked, samples: 0, unspecified, executed: run.executed };
  } catch (e) {
    if (e instanceof CannotTell) return { status: "unknown", claim, reason: e.message };
    if (!(e instanceof Fails)) throw e;
    const { kind, message, places, witness, help } = e;
    return { status: "wrong", claim, kind, message, places, witness, help };
  }
}

/** Where an output is not what it should be. For a `partial` output the rank is 0, and the value that of all ranks. */
interface Place {
  readonly output: number;
  readonly launch: number;
  readonly rank: number;
  readonly at: Index;
}

type RunOptions = AnswerOptions & { readonly launches: number };

/** A kernel executed on all ranks, and what its outputs should be. */
class Run {
  private readonly ended: Number_[][][][] = [];
  private readonly expectations: Expectation[];
  private readonly everyRank: readonly number[];
  readonly executed: ReadonlySet<object>;
  checked = 0;

  constructor(
    private readonly kernel: Kernel,
    options: RunOptions,
    private readonly algebra: Algebra,
  ) {
    const { launches, dims } = options;
    this.everyRank = Array.from({ length: kernel.world }, (_, r) => r);
    // A peer may still write to a rank whose own kernel has ended only if the ordering is wrong; that is not asked here.
    const machine = execute(kernel, options, algebra, false, (m, rank, launch) => {
      (this.ended[launch] ??= [])[rank] = kernel.outputs.map((t) => m.memory[m.bufferNumber(t.name)]![rank]!.slice());
    });
    this.executed = machine.executed;
    this.expectations = Array.from(
      { length: launches },
      (_, l) => new Expectation(kernel, dims, algebra, l, machine.inputs),
    );
  }

  firstDifference(): Place | null {
    const { kernel } = this;
    for (const [launch, expectation] of this.expectations.entries())
      for (const [output, tensor] of kernel.outputs.entries()) {
        const s = kernel.specification[output] ?? null;
        if (s === null) continue;
        const isOfElements = s.kind === "elements";
        // Ranks with values of their own, or of their row of the mesh, are compared with expectations of their own.
        const isOwn = isOfElements || [tensor, ...kernel.inputs].some((t) => isOfRank(t));
        const shape = isOfElements ? expectation.localShapeOf(tensor) : expectation.shapeOf(tensor);
        for (const at of indicesOf(shape)) {
          const wanted = isOwn ? null : expectation.element(s, at, 0);
          for (const rank of isOfElements ? this.everyRank : this.holders(expectation, tensor, at)) {
            this.checked++;
            const got = this.held(expectation, output, launch, rank, at);
            if (!this.algebra.isSame(got, wanted ?? expectation.element(s, at, rank)))
              return { output, launch, rank, at };
          }
        }
      }
    return null;
  }

  /** What a rank holds for an element, and what it should. */
  values({ output, launch, rank, at }: Place): { readonly got: Number_; readonly wanted: Number_ } {
    const expectation = this.expectations[launch]!;
    const wanted = expectation.element(this.kernel.specification[output]!, at, rank);
    return { got: this.held(expectation, output, launch, rank, at), wanted };
  }

  /** The ranks of which an element is asked for; of a `partial` tensor the first of each row. */
  private holders(expectation: Expectation, tensor: SignatureTensor, at: Index): readonly number[] {
    const { layout } = tensor;
    const isHolder = (rank: number): boolean => {
      const members = expectation.membersFor(tensor, rank);
      switch (layout.kind) {
        case "replicated":
        case "local":
          return true;
        case "on":
          return members[layout.rank] === rank;
        case "sharded":
          return members[shardOf(at, expectation.shapeOf(tensor), layout.dim, members.length).place] === rank;
        case "partial":
          return members[0] === rank;
      }
    };
    return this.everyRank.filter(isHolder);
  }

  private held(expectation: Expectation, output: number, launch: number, rank: number, at: Index): Number_ {
    const { kernel, algebra } = this;
    const tensor = kernel.outputs[output]!;
    const { layout } = tensor;
    const on = (r: number, index: number): Number_ =>
      this.ended[launch]![r]![output]![index] ?? algebra.poison(tensor.name, r, index);
    if (kernel.specification[output]!.kind === "elements")
      return on(rank, linear(at, expectation.localShapeOf(tensor)));
    const shape = expectation.shapeOf(tensor);
    const members = expectation.membersFor(tensor, rank);
    if (layout.kind === "sharded") return on(rank, shardOf(at, shape, layout.dim, members.length).index);
    const index = linear(at, shape);
    if (layout.kind !== "partial") return on(rank, index);
    return expectation.reduce(
      layout.op,
      members.map((r) => on(r, index)),
      tensor.dtype,
    );
  }
}

/** Whether different ranks have different values of the whole tensor. */
function isOfRank({ layout }: SignatureTensor): boolean {
  return layout.kind === "local" || layout.axis !== undefined;
}

/** Says how a value differs, with terms that can be read. Throws Fails, or CannotTell if it may not differ at all. */
function explain(kernel: Kernel, options: RunOptions, place: Place): never {
  const { output, launch, rank, at } = place;
  const element = `'${kernel.outputs[output]!.name}'[${at.join(", ")}]`;
  const name = kernel.outputs[output]!.name;
  const spans = new Map<number, Span>();
  walkKernel(kernel, (op) => {
    if (op.name === "store" && text(op, "buffer") === name) spans.set(op.span.start, op.span);
  });
  const places = [...spans.values()].map((span) => ({
    rank,
    block: -1,
    launch,
    span,
    what: `'${name}' is stored here`,
  }));
  let message = "is not what the signature says";
  let witness: readonly string[] = [];
  try {
    const { got, wanted } = new Run(kernel, options, new ExactAlgebra()).values(place);
    const atData = compareAtData(got, wanted);
    if (atData !== "differ") {
      const seen = atData === "agree" ? "agree at random data" : "could not be compared at random data";
      throw new CannotTell(
        `output ${element} on rank ${rank} is written in another form than the signature's, and no rule says that they are equal (they ${seen})`,
      );
    }
    [message, ...witness] = describeDifference(got, wanted, launch) as [string, ...string[]];
  } catch (e) {
    // Residues that differ are proof enough; the terms may be too large to hold.
    if (!(e instanceof TooLarge)) throw e;
  }
  throw new Fails("answer", `output ${element} on rank ${rank}: ${message}`, places, witness);
}

function* indicesOf(shape: readonly number[]): Generator<Index> {
  const total = shape.reduce((a, n) => a * n, 1);
  for (let q = 0; q < total; q++) {
    const at = new Array<number>(shape.length);
    let rest = q;
    for (let d = shape.length - 1; d >= 0; d--) {
      at[d] = rest % shape[d]!;
      rest = Math.floor(rest / shape[d]!);
    }
    yield at;
  }
}
