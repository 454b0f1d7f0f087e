/** Errors of a kernel running on the CPU backend: each names the kernel, the place and who did it. */
import type { Execution, Kernel, Op, SourceFile, Span } from "../../compiler/index.js";
import { RuntimeError } from "../errors.js";

export type CpuFaultKind =
  /** An access outside its buffer, or to a rank that does not exist. */
  | "bounds"
  /** A vector access that is not naturally aligned; a GPU would trap. */
  | "misaligned"
  /** A load of memory nobody has written (only with `detectUnwritten`). */
  | "unwritten"
  /** Integer or index division by zero, or of a negative index. */
  | "arithmetic"
  /** Every block waits and no flag can change. */
  | "deadlock"
  /** Two conflicting accesses that nothing orders (only under a hostile schedule). */
  | "race";

/** Where a fault happened. */
export interface FaultPlace {
  readonly kernel: string;
  readonly rank: number;
  readonly block: number;
  readonly buffer: string | null;
  /** Linear element index, or the index of the dimension that was exceeded; null where there is none. */
  readonly index: number | null;
  readonly span: Span;
}

/** A kernel did something it must not. Exit code 1. */
export class CpuFault extends RuntimeError {
  constructor(
    readonly kind: CpuFaultKind,
    message: string,
    readonly places: readonly FaultPlace[],
    help?: string,
  ) {
    super(message, help);
  }
}

/** `file:line:column` of a span, or its offsets where the source is not at hand. */
export function describeSpan(span: Span, source: SourceFile | undefined): string {
  if (source === undefined) return `source ${span.start}:${span.end}`;
  const { line, column } = source.position(span.start);
  return `${source.fileOf(span.start)}:${line}:${column}`;
}

/** Makes faults for one kernel. */
export class FaultReporter {
  constructor(
    readonly kernel: Kernel,
    private readonly source: SourceFile | undefined,
  ) {}

  place(op: Op, buffer: number | null, rank: number, block: number, index: number | null): FaultPlace {
    const name = buffer === null ? null : this.kernel.buffers[buffer]!.name;
    return { kernel: this.kernel.name, rank, block, buffer: name, index, span: op.span };
  }

  /** "wait at file:3:5", for lists. */
  where(op: Op): string {
    return `${op.name} at ${this.line(op)}`;
  }

  /** "file:3:5" of an op. */
  line(op: Op): string {
    return describeSpan(op.span, this.source);
  }

  make(
    kind: CpuFaultKind,
    f: Execution.Block,
    op: Op,
    buffer: number | null,
    index: number | null,
    what: string,
  ): CpuFault {
    const message = `kernel '${this.kernel.name}', rank ${f.rank}, block ${f.block}, ${this.where(op)}: ${what}`;
    return new CpuFault(kind, message, [this.place(op, buffer, f.rank, f.block, index)]);
  }
}

/** What a running kernel must not do, as faults: of a machine with these lengths. */
export class MachineFaults implements Execution.Faults {
  constructor(
    private readonly reporter: FaultReporter,
    private readonly machine: Pick<Execution.Machine, "shapes" | "lengths" | "offsets">,
  ) {}

  private name(buffer: number): string {
    return `'${this.reporter.kernel.buffers[buffer]!.name}'`;
  }

  bounds(f: Execution.Block, op: Op, buffer: number, index: number, lanes: number): never {
    const elements = lanes === 1 ? `index ${index}` : `elements ${index} to ${index + lanes - 1}`;
    const what = `${elements} of ${this.name(buffer)} lies outside its ${this.machine.lengths[buffer]!} elements`;
    throw this.reporter.make("bounds", f, op, buffer, index, what);
  }

  dimension(f: Execution.Block, op: Op, buffer: number, d: number, index: number): never {
    const length = this.machine.shapes[buffer]![d]!;
    const what = `index ${index} of dimension ${d} lies outside ${this.name(buffer)}, which has ${length}`;
    throw this.reporter.make("bounds", f, op, buffer, index, what);
  }

  peer(f: Execution.Block, op: Op, buffer: number, peer: number): never {
    const { world, ranksPerDomain: size = world } = this.reporter.kernel;
    const isThere = peer >= 0 && peer < world;
    const [first, last] = isThere ? [f.rank - (f.rank % size), f.rank - (f.rank % size) + size - 1] : [0, world - 1];
    const limit = `${isThere ? "those that share addresses with this one" : "the ranks"} are ${first} to ${Math.min(last, world - 1)}`;
    const what = `${this.name(buffer)} of rank ${peer} is asked for; ${limit}`;
    throw this.reporter.make("bounds", f, op, buffer, peer, what);
  }

  misaligned(f: Execution.Block, op: Op, buffer: number, index: number, owner: number, lanes: number): never {
    const offset = this.machine.offsets[buffer]?.[owner] ?? 0;
    const where = offset === 0 ? "" : ` (which starts ${offset} elements past an aligned address)`;
    const what = `${lanes} elements at index ${index} of ${this.name(buffer)}${where} are not naturally aligned`;
    throw this.reporter.make("misaligned", f, op, buffer, index, what);
  }

  unwritten(f: Execution.Block, op: Op, buffer: number, owner: number, index: number): never {
    const whose = owner === f.rank ? "" : ` of rank ${owner}`;
    const what = `element ${index} of ${this.name(buffer)}${whose} is read but was never written`;
    throw this.reporter.make("unwritten", f, op, buffer, index, what);
  }

  arithmetic(f: Execution.Block, op: Op, a: number, b: number): never {
    const fn = String(op.attributes["fn"]);
    const what = `${fn} of ${a} by ${b === 0 ? "zero" : `${b}, below zero`}`;
    throw this.reporter.make("arithmetic", f, op, null, null, what);
  }
}
