/**
 * The IR's data: a kernel holds buffers and one structured region; regions hold ops; ops use values.
 * One representation for all three levels. Passes build new regions; they never change an op in place.
 */
import type { MeshAxis, OutputSpecification, Requirement, ScalarParameter, SignatureTensor } from "../manifest.js";
import type { Span } from "../source.js";
import type { DType } from "../types/dtype.js";
import type { Extent } from "../types/extent.js";
import type { Layout } from "../types/layout.js";
import type { Level, OpName } from "./ops.js";
import type { Type } from "./types.js";

/** An SSA value: defined once, by an op or as a region's argument. Identity is the object. */
export class Value {
  constructor(readonly type: Type) {}
}

export type Attribute = number | string | boolean | Layout;
export type Attributes = Readonly<Record<string, Attribute | undefined>>;

export interface Op {
  readonly name: OpName;
  readonly operands: readonly Value[];
  readonly results: readonly Value[];
  readonly attributes: Attributes;
  readonly regions: readonly Region[];
  readonly span: Span;
}

export interface Region {
  readonly arguments: readonly Value[];
  readonly ops: readonly Op[];
}

export interface Buffer {
  readonly name: string;
  /**
   * `input`, `output`, `inout` (an input that is changed in place), `scratch`: global memory; `packet`: global memory that is written in packets of data and epoch, in
   * two copies that launches take in turn, so that a load waits for its packet; `signal`: flags peers write; `state`: u32 that outlive launches;
   * `shared`: the block's; `ring`: flags of a pipeline in shared memory, [stages]; `fragment`: spread over the block's registers; `register`: every thread has its own, and
   * code that all threads run keeps them equal.
   */
  readonly role:
    | "input"
    | "output"
    | "inout"
    | "scratch"
    | "packet"
    | "signal"
    | "state"
    | "shared"
    | "ring"
    | "fragment"
    | "register";
  readonly dtype: DType;
  /** What one rank (or block) holds, row-major. */
  readonly shape: readonly Extent[];
  /** Some access goes to a peer's copy. Derived by the pass `infer-symmetric`. */
  readonly symmetric: boolean;
  /** Name of the program's memory that it is, where several kernels or messages use it; absent: the kernel's own. */
  readonly memory?: string;
}

/** Where the source says what is claimed and what is allowed: the places of what is said of these. */
export interface Clauses {
  /** The `ensures` of each output; null where it has none. */
  readonly ensures: readonly (Span | null)[];
  /** The first condition on lengths; null where there is none. */
  readonly where: Span | null;
}

export interface Kernel {
  readonly name: string;
  readonly level: Level;
  readonly world: number;
  readonly dtypes: Readonly<Record<string, DType>>;
  readonly dims: readonly string[];
  readonly scalars: readonly ScalarParameter[];
  readonly inputs: readonly SignatureTensor[];
  readonly outputs: readonly SignatureTensor[];
  readonly specification: readonly (OutputSpecification | null)[];
  readonly mesh: readonly MeshAxis[];
  readonly requirements: readonly Requirement[];
  /** Absent of kernels that no source was read for. */
  readonly clauses?: Clauses;
  /** Ranks that share addresses, in runs of so many; absent: all of them. What crosses stands in ops `message` alone. */
  readonly ranksPerDomain?: number;
  readonly buffers: readonly Buffer[];
  /** Threads a block; 0 until the kernel is mapped to the machine. */
  readonly blockThreads: number;
  readonly maxBlocks: number;
  /** Blocks that a multiprocessor has at once, where registers and shared memory are divided among several. Absent: one. */
  readonly blocksEach?: number;
  /**
   * Blocks take their places while the launch before theirs in the stream still runs, and wait for its end before all else that
   * they do; so may those of the launch after it. Absent: they begin when that has ended.
   */
  readonly early?: true;
  /** Amounts of work that each loop over blocks can spread; the grid is the largest. */
  readonly work: readonly Extent[];
  readonly body: Region;
}

/** Whether a kernel has products of tiles: they alone have accumulators. */
export function multiplies({ buffers }: Pick<Kernel, "buffers">): boolean {
  return buffers.some(({ role }) => role === "fragment");
}

/** The buffer of this name. Throws RangeError if the kernel has none. */
export function bufferOf(kernel: Kernel, name: string): Buffer {
  const buffer = kernel.buffers.find((b) => b.name === name);
  if (buffer === undefined) throw new RangeError(`kernel '${kernel.name}' has no buffer '${name}'`);
  return buffer;
}

/** Whether a buffer is a tensor of the signature. */
export function isParameter({ role }: Pick<Buffer, "role">): boolean {
  return role === "input" || role === "output" || role === "inout";
}

/** `wanted`, or the same with underscores behind it if the kernel has a buffer of that name. */
export function freshName(kernel: Pick<Kernel, "buffers">, wanted: string): string {
  let name = wanted;
  while (kernel.buffers.some((b) => b.name === name)) name += "_";
  return name;
}

/** Whether a buffer lies in global memory, so that a launch must be given its address. */
export function isGlobal(buffer: Buffer): boolean {
  return !(
    buffer.role === "shared" ||
    buffer.role === "ring" ||
    buffer.role === "fragment" ||
    buffer.role === "register"
  );
}

/** The string attribute `key` of an op; verified IR always has it. */
export function text(op: Op, key: string): string {
  return op.attributes[key] as string;
}

/** Whether a memory op goes to a peer's copy. */
export function isRemote(op: Op): boolean {
  return op.attributes["remote"] === true;
}

/** Operands of a load, store, signal or aligned, by meaning. */
export interface MemoryOperands {
  readonly value: Value | null;
  readonly peer: Value | null;
  readonly indices: readonly Value[];
}

/** Splits the operands `[value?] [peer?] index…` of a memory op. */
export function memoryOperands(op: Op): MemoryOperands {
  let at = 0;
  const value = op.name === "store" || op.name === "signal" ? op.operands[at++]! : null;
  const peer = isRemote(op) ? op.operands[at++]! : null;
  return { value, peer, indices: op.operands.slice(at) };
}
