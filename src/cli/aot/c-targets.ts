/** The tables of a program for one architecture, in C. */
import {
  type Copy,
  type CopyEnd,
  type CopyStep,
  DTYPES,
  type Extent,
  extent,
  copyLanesOf,
  type MessageEnd,
  type MessageStep,
} from "../../compiler/index.js";
import { bytesOf, type Functions, quoted, tensorsOf, wordsOf } from "./c-words.js";
import type { ArtefactKernel, ArtefactProgram, ArtefactTarget } from "./manifest.js";

/** What rows are written into. */
export interface Tables {
  readonly functions: Functions;
  readonly table: (type: string, name: string, rows: readonly string[]) => string;
  /** Gives the cubins. */
  readonly read: (file: string) => Uint8Array;
}

/** A program for one architecture: its kernels, memory, plan, messages and copies. */
export function targetRow(program: ArtefactProgram, target: ArtefactTarget, t: number, tables: Tables): string {
  const { functions, table } = tables;
  const kernels = target.kernels.map((kernel, k) => kernelRow(program, target, kernel, `${t}_${k}`, tables));
  const choices = target.plan.choices.map((choice, c) => {
    const { below } = choice;
    const rows = choice.steps.flatMap((step, s) => {
      const at = `${t}_${c}_${s}`;
      switch (step.kind) {
        case "launch":
          return [`{${step.kernel}, ${step.maxBlocks}, NULL, NULL, 0}`];
        case "message":
          return [
            `{-1, 0, ${table("collc_messages", `messages_${at}`, messageRows(step, target, at, tables))}, NULL, 0}`,
          ];
        case "copy": {
          const rows = copyRows(step, program, target, at, tables);
          return [`{-1, 0, NULL, ${table("collc_copies", `copies_${at}`, rows)}, ${step.beside === true ? 1 : 0}}`];
        }
        case "library":
          return []; // no build has one
      }
    });
    return `{${below ?? 0}, ${table("collc_step", `steps_${t}_${c}`, rows)}, ${rows.length}}`;
  });
  const [, major, minor, variant] = /^sm_(\d+)(\d)([af]?)$/.exec(target.arch)!;
  const memories = (target.memory ?? []).map(
    ({ name, shape, dtype }) => `{${quoted(name)}, ${functions.of(bytesOf(shape, dtype))}}`,
  );
  const names = [
    ...[table("collc_kernel", `kernels_${t}`, kernels), kernels.length],
    ...[table("collc_memory", `memories_${t}`, memories), memories.length, functions.of(target.plan.by)],
  ];
  const letter = variant === "" ? 0 : `'${variant}'`;
  return `{${[quoted(target.arch), major, minor, letter, ...names, table("collc_choice", `choices_${t}`, choices)].join(", ")}}`;
}

/** What each rank sends and receives in a step. */
function messageRows({ ranks }: MessageStep, target: ArtefactTarget, at: string, tables: Tables): string[] {
  const { functions, table } = tables;
  const rows = (ends: readonly MessageEnd[]): string[] =>
    ends.map(({ peer, memory, offset, length }) => {
      const index = target.memory!.findIndex(({ name }) => name === memory);
      const [first, bytes] = [offset, length].map((e) =>
        functions.of(extent("mul", e, DTYPES[target.memory![index]!.dtype].bytes)),
      );
      return `{${peer}, ${index}, ${first!}, ${bytes!}}`;
    });
  return ranks.map(({ sends, receives }, r) => {
    const listed = (side: string, ends: readonly MessageEnd[]): string => `${table("collc_message", `${side}_${at}_${r}`, rows(ends))}, ${ends.length}`; // prettier-ignore
    return `{${listed("sends", sends)}, ${listed("receives", receives)}}`;
  });
}

/** What each rank copies in a step, lane by lane. */
function copyRows(
  { copies, beside }: CopyStep,
  program: ArtefactProgram,
  target: ArtefactTarget,
  at: string,
  tables: Tables,
): string[] {
  const { functions, table } = tables;
  const tensors = tensorsOf(program);
  const { memory = [] } = target;
  const bytesAt = ({ tensor, isMemory }: CopyEnd): number => {
    const held: readonly { readonly name: string; readonly dtype: keyof typeof DTYPES }[] = isMemory === true ? memory : tensors; // prettier-ignore
    return DTYPES[held.find(({ name }) => name === tensor)!.dtype].bytes;
  };
  const row = ({ rows, length, from, to }: Copy, lane: number): string => {
    const inBytes = (e: Extent): string => functions.of(extent("mul", e, bytesAt(from)));
    const end = ({ tensor, isMemory, rank, offset, pitch }: CopyEnd): string => {
      const index = (isMemory === true ? memory : tensors).findIndex(({ name }) => name === tensor);
      const place = isMemory === true ? `-1, ${index}` : `${index}, -1`;
      return `{${place}, ${rank}, ${inBytes(offset)}, ${inBytes(pitch)}}`;
    };
    return `{${lane}, ${functions.of(rows)}, ${inBytes(length)}, ${end(from)}, ${end(to)}}`;
  };
  return copies.map((list, r) => {
    const lanes = beside === true ? [list] : copyLanesOf(list, r, program.ranks);
    const rows = lanes.flatMap((own, lane) => own.map((copy) => row(copy, lane)));
    return `{${table("collc_copy", `copies_${at}_${r}`, rows)}, ${rows.length}}`;
  });
}

const ROLES = { scratch: "COLLC_SCRATCH", packet: "COLLC_PACKET", signal: "COLLC_SIGNAL", state: "COLLC_STATE" };
/** CUtensorMapDataType. */
const MAP_TYPES: Readonly<Record<string, number>> = { f16: 6, bf16: 9, f8e4m3: 0, f8e5m2: 0, i8: 0, u8: 0 };

function kernelRow(
  program: ArtefactProgram,
  target: ArtefactTarget,
  kernel: ArtefactKernel,
  at: string,
  tables: Tables,
): string {
  const { functions, table, read } = tables;
  const tensors = tensorsOf(program).map((t) => t.name);
  const { memory: shared = [] } = target;
  const buffers = kernel.buffers.map(({ name, role, symmetric, shape, dtype, memory }) => {
    const isTensor = role === "input" || role === "output" || role === "inout";
    const tensor = isTensor ? tensors.indexOf(name) : -1;
    const of = isTensor ? "COLLC_TENSOR" : ROLES[role];
    const held = memory === undefined ? -1 : shared.findIndex((m) => m.name === memory);
    return `{${quoted(name)}, ${of}, ${symmetric ? 1 : 0}, ${tensor}, ${held}, ${functions.of(bytesOf(shape, dtype))}}`;
  });
  const bufferOf = (name: string): number => kernel.buffers.findIndex((b) => b.name === name);
  const plain = (kind: string, index: number): string => `{${kind}, ${index}, 0, 0, 0, {0}, {0}, 0}`;
  const lengths = kernel.lengths.map(({ name }) => name);
  const computed = kernel.lengths.map(({ value }, i) => functions.of(value, lengths.slice(0, i)));
  const parameters = kernel.parameters.map((p) => {
    switch (p.kind) {
      case "peers":
        return plain("COLLC_PEERS", bufferOf(p.buffer));
      case "pointer":
        return plain("COLLC_POINTER", bufferOf(p.buffer));
      case "dim":
        return plain("COLLC_DIM", program.dims.indexOf(p.name));
      case "length":
        return plain("COLLC_LENGTH", program.dims.length + lengths.indexOf(p.name));
      case "scalar":
        return plain(
          "COLLC_SCALAR",
          8 * wordsOf(program).all + 4 * program.scalars.findIndex((s) => s.name === p.name),
        );
      case "rank":
        return plain("COLLC_RANK", 0);
      case "timeout":
        return plain("COLLC_TIMEOUT", 0);
      case "status":
        return plain("COLLC_WAITS", 0);
      case "tensor-map": {
        const { shape, dtype } = kernel.buffers[bufferOf(p.buffer)]!;
        const box = [...p.box].reverse().join(", ");
        const sizes = [...shape].reverse().map((e) => functions.of(e));
        return `{COLLC_MAP, ${bufferOf(p.buffer)}, ${p.ranks}, ${MAP_TYPES[dtype]!}, ${shape.length}, {${box}}, {${sizes.join(", ")}}, ${DTYPES[dtype].bytes}}`;
      }
    }
  });
  const cubin = read(kernel.files.cubin);
  let embedded = "NULL";
  // In words, so that it is aligned as the driver wants images.
  if (program.embedded) embedded = `(const unsigned char *)${table("uint64_t", `cubin_${at}`, wordsOfBytes(cubin))}`;
  const work = kernel.grid.work.reduce<Extent>((a, b) => extent("max", a, b), 1);
  const row = [
    ...[kernel.name, kernel.symbol, kernel.files.cubin].map(quoted),
    ...[embedded, cubin.byteLength, `UINT64_C(0x${hashOf(cubin).toString(16)})`],
    ...[
      kernel.blockThreads,
      kernel.sharedBytes,
      kernel.cooperative ? 1 : 0,
      kernel.early ? 1 : 0,
      kernel.grid.maxBlocks,
      functions.of(work),
    ],
    ...[table("collc_buffer", `buffers_${at}`, buffers), buffers.length],
    ...[table("collc_parameter", `parameters_${at}`, parameters), parameters.length],
    ...[table("collc_extent", `lengths_${at}`, computed), computed.length],
  ];
  return `{${row.join(", ")}}`;
}

/** Rows of eight little-endian words. */
function wordsOfBytes(bytes: Uint8Array): string[] {
  const padded = Buffer.alloc(Math.ceil(bytes.byteLength / 8) * 8);
  padded.set(bytes);
  const rows: string[] = [];
  for (let at = 0; at < padded.length; at += 64) {
    const words: string[] = [];
    for (let i = at; i < Math.min(at + 64, padded.length); i += 8)
      words.push(`0x${padded.readBigUInt64LE(i).toString(16)}u`);
    rows.push(words.join(", "));
  }
  return rows;
}

/** FNV-1a of 64 bits: whether a file is the one that the tables are of, not whether somebody forged it. */
function hashOf(bytes: Uint8Array): bigint {
  // In halves, because numbers hold 53 bits: the prime is 2^40 + 0x1b3.
  let [high, low] = [0xcbf29ce4, 0x84222325];
  for (const byte of bytes) {
    low = (low ^ byte) >>> 0;
    const product = low * 0x1b3;
    high = (Math.imul(high, 0x1b3) + Math.floor(product / 2 ** 32) + (low << 8)) >>> 0;
    low = product >>> 0;
  }
  return (BigInt(high) << 32n) | BigInt(low);
}
