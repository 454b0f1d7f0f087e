/** Errors of a kernel running on the CPU backend: each names the kernel, the place and who did it. */
import type { Op, SourceFile, Span } from "../../compiler/index.js";
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

/** A place in generated code that can fail: the op it came from. */
export interface Site {
  readonly op: Op;
  /** Name of the buffer the op touches, if any. */
  readonly buffer: string | null;
}

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
    private readonly kernel: string,
    private readonly sites: readonly Site[],
    private readonly source: SourceFile | undefined,
  ) {}

  place(site: number, rank: number, block: number, index: number | null): FaultPlace {
    const { op, buffer } = this.sites[site]!;
    return { kernel: this.kernel, rank, block, buffer, index, span: op.span };
  }

  /** "wait at file:3:5", for lists. */
  where(site: number): string {
    const { op } = this.sites[site]!;
    return `${op.name} at ${describeSpan(op.span, this.source)}`;
  }

  /** "file:3:5" of a site. */
  line(site: number): string {
    return describeSpan(this.sites[site]!.op.span, this.source);
  }

  make(kind: CpuFaultKind, site: number, rank: number, block: number, index: number | null, what: string): CpuFault {
    const message = `kernel '${this.kernel}', rank ${rank}, block ${block}, ${this.where(site)}: ${what}`;
    return new CpuFault(kind, message, [this.place(site, rank, block, index)]);
  }

  bounds(site: number, rank: number, block: number, index: number, length: number, lanes: number): never {
    const { buffer } = this.sites[site]!;
    const what = lanes === 1 ? `index ${index}` : `elements ${index} to ${index + lanes - 1}`;
    throw this.make("bounds", site, rank, block, index, `${what} of '${buffer}' lies outside its ${length} elements`);
  }

  dimension(site: number, rank: number, block: number, d: number, index: number, length: number): never {
    const { buffer } = this.sites[site]!;
    const what = `index ${index} of dimension ${d} lies outside '${buffer}', which has ${length}`;
    throw this.make("bounds", site, rank, block, index, what);
  }

  peer(site: number, rank: number, block: number, peer: number, world: number): never {
    const { buffer } = this.sites[site]!;
    throw this.make(
      "bounds",
      site,
      rank,
      block,
      peer,
      `'${buffer}' of rank ${peer} is asked for; the ranks are 0 to ${world - 1}`,
    );
  }

  misaligned(site: number, rank: number, block: number, index: number, offset: number, lanes: number): never {
    const { buffer } = this.sites[site]!;
    const where = offset === 0 ? "" : ` (which starts ${offset} elements past an aligned address)`;
    const what = `${lanes} elements at index ${index} of '${buffer}'${where} are not naturally aligned`;
    throw this.make("misaligned", site, rank, block, index, what);
  }

  unwritten(site: number, rank: number, block: number, peer: number, index: number): never {
    const { buffer } = this.sites[site]!;
    const whose = peer === rank ? "" : ` of rank ${peer}`;
    throw this.make(
      "unwritten",
      site,
      rank,
      block,
      index,
      `element ${index} of '${buffer}'${whose} is read but was never written`,
    );
  }

  arithmetic(site: number, rank: number, block: number, a: number, b: number): never {
    const { op } = this.sites[site]!;
    const fn = String(op.attributes["fn"]);
    throw this.make("arithmetic", site, rank, block, null, `${fn} of ${a} by ${b === 0 ? "zero" : `${b}, below zero`}`);
  }
}
