/** The C of a folder of programs: of each its tables and a header with its arguments, and the table of all. */
import {
  DTYPES,
  type Extent,
  extent,
  type MessageEnd,
  type MessageStep,
  printLayout,
  productOf,
  RELATION_SIGNS,
  type SignatureTensor,
} from "../../compiler/index.js";
import {
  type ArtefactKernel,
  type ArtefactManifest,
  type ArtefactProgram,
  type ArtefactTarget,
  digest,
} from "./manifest.js";

/** `COLLC_ABI` of the `collc.h` that the tables are for. */
const ABI = 3;

/** Bytes of a file of the folder. */
export type ReadFile = (name: string) => Uint8Array;

// A tensor may be called `int` in Coll; a prefix keeps C out of it.
const dimName = (dim: string): string => `dim_${dim}`;
const scalarName = (scalar: string): string => `num_${scalar}`;
const SCALARS_IN_C = { f32: "float", i32: "int32_t", u32: "uint32_t" } as const;
const bufferName = (buffer: string): string => `buf_${buffer}`;

/** Tensors of the arguments, in their order; one of each memory: an input that is changed in place is its own output. */
const tensorsOf = ({ inputs, outputs, inPlace }: ArtefactProgram): SignatureTensor[] => [
  ...inputs,
  ...outputs.filter(({ name }) => !inPlace.includes(name)),
];

const quoted = (value: string): string => JSON.stringify(value).replaceAll("?", "\\?");
const comment = (value: string): string => value.replaceAll("*/", "* /");

function signatureOf(program: ArtefactProgram): string {
  const declare = (tensors: readonly SignatureTensor[]): string =>
    tensors.map((t) => `${t.name}: ${t.dtype}[${t.shape.map(shown).join(", ")}] ${printLayout(t.layout)}`).join(", ");
  const numbers = program.scalars.map((s) => `, ${s.name}: ${s.dtype}`).join("");
  return `${program.collective}(${declare(program.inputs)}${numbers}) -> ${declare(program.outputs)}`;
}

const SIGNS: Readonly<Record<string, string>> = { add: "+", sub: "-", mul: "*", div: "/", mod: "%" };

/** An extent for people. */
function shown(e: Extent): string {
  if (typeof e !== "object") return String(e);
  const sign = SIGNS[e.op];
  const of = (part: Extent): string =>
    typeof part === "object" && part.op in SIGNS ? `(${shown(part)})` : shown(part);
  return sign === undefined ? `${e.op}(${shown(e.a)}, ${shown(e.b)})` : `${of(e.a)} ${sign} ${of(e.b)}`;
}

/** An extent over `d`, the dimensions of a launch in order. */
function inC(e: Extent, dims: readonly string[]): string {
  if (typeof e === "number") return `INT64_C(${e})`;
  if (typeof e === "string") return `d[${dims.indexOf(e)}]`;
  const [a, b] = [inC(e.a, dims), inC(e.b, dims)];
  return e.op === "add" || e.op === "sub" || e.op === "mul"
    ? `(${a} ${SIGNS[e.op]!} ${b})`
    : `collc_${e.op}(${a}, ${b})`;
}

/** Functions of the dimensions, each once. */
class Functions {
  private readonly names = new Map<string, string>();
  constructor(private readonly dims: readonly string[]) {}

  of(e: Extent): string {
    return this.named("int64_t", inC(e, this.dims));
  }

  holds(left: Extent, sign: string, right: Extent): string {
    return this.named("int", `${inC(left, this.dims)} ${sign} ${inC(right, this.dims)}`);
  }

  private named(type: string, body: string): string {
    const key = `${type} NAME(const int64_t *d) { (void)d; return ${body}; }`;
    let name = this.names.get(key);
    if (name === undefined) this.names.set(key, (name = `e${this.names.size}`));
    return name;
  }

  text(): string {
    return [...this.names].map(([key, name]) => `static ${key.replace("NAME", name)}\n`).join("");
  }
}

/** Which kernels of one program share an address: all ranks' or this rank's. */
const isSymmetric = (program: ArtefactProgram, tensor: string): boolean => program.symmetric.includes(tensor);

/** Words of the arguments before each tensor, and before the numbers, which are at the end. */
function wordsOf(program: ArtefactProgram): { at: number[]; all: number } {
  let all = program.dims.length;
  const at = tensorsOf(program).map(({ name }) => {
    const before = all;
    all += isSymmetric(program, name) ? program.ranks : 1;
    return before;
  });
  return { at, all };
}

/** Bytes of the arguments. */
const argumentBytes = (program: ArtefactProgram): number =>
  8 * (wordsOf(program).all + Math.ceil(program.scalars.length / 2));

/** NAME.h */
export function headerText(program: ArtefactProgram): string {
  const { name, ranks } = program;
  const members = [
    ...program.dims.map((dim) => `  int64_t ${dimName(dim)};`),
    ...tensorsOf(program).map((t) => {
      const isInPlace = program.inPlace.includes(t.name);
      const role = isInPlace ? "input and output" : program.inputs.includes(t) ? "input" : "output";
      const what = `${role} '${t.name}', ${t.dtype}[${t.localShape.map(shown).join(", ")}]`;
      return isSymmetric(program, t.name)
        ? `  collc_pointer ${bufferName(t.name)}[${ranks}]; /* ${what}, symmetric: of every rank, as mapped here */`
        : `  collc_pointer ${bufferName(t.name)}; /* ${what}: of this rank */`;
    }),
    ...program.scalars.map((s) => `  ${SCALARS_IN_C[s.dtype]} ${scalarName(s.name)}; /* the same on every rank */`),
  ];
  const rules = program.requirements.map(
    (rule) =>
      ` *   ${shown(rule.left)} ${RELATION_SIGNS[rule.relation]} ${shown(rule.right)}: ${comment(rule.reason)}\n`,
  );
  const archs = program.targets.map((target) => target.arch).join(", ");
  const body = `#include "collc.h"

#if COLLC_ABI != ${ABI}
#error "collc.h is of another version of collc than ${name}"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ${name}_arguments {
${members.join("\n")}
} ${name}_arguments;
typedef char ${name}_arguments_are_words[sizeof(${name}_arguments) == ${argumentBytes(program)} ? 1 : -1];

extern const collc_program ${name};

/* Enqueues it on a CUstream. See collc_launch. */
static inline int ${name}_launch(collc_handle *handle, const ${name}_arguments *arguments, void *stream, collc_error *error) {
  return collc_launch(handle, &${name}, arguments, stream, error);
}

/* The same on a stream that is being captured into a CUDA graph: \`nodes\` are what ${name}_update changes. See collc_capture. */
static inline int ${name}_capture(collc_handle *handle, const ${name}_arguments *arguments, void *stream, collc_nodes *nodes, collc_error *error) {
  return collc_capture(handle, &${name}, arguments, stream, nodes, error);
}

/* Gives a captured launch other numbers and addresses, from the next launch of the executable graph on. See collc_update. */
static inline int ${name}_update(collc_handle *handle, const ${name}_arguments *arguments, const collc_nodes *nodes, void *graph_exec, collc_error *error) {
  return collc_update(handle, &${name}, arguments, nodes, graph_exec, error);
}

#ifdef __cplusplus
}
#endif
`;
  const guard = `${name.toUpperCase()}_H`;
  // Programs of one name in two folders must not pass for each other.
  const mark = `0x${digest([body, signatureOf(program), program.source, program.sourceSha256]).slice(0, 8)}`;
  return `/* Made by collc: ${name}, for ${ranks} ranks and ${archs}.
 *
 *   ${comment(signatureOf(program))}
${rules.length === 0 ? "" : ` *\n * Dimensions must fulfil:\n${rules.join("")}`} */
#if !defined(${guard})
#define ${guard} ${mark}

${body}
#elif ${guard} != ${mark}
#error "two headers are called ${name}.h, and are of different programs: build one of them with another --prefix"
#endif
`;
}

/** NAME.c @param read gives the cubins, of a program that embeds them */
export function sourceText(program: ArtefactProgram, read: ReadFile): string {
  const functions = new Functions(program.dims);
  const { at } = wordsOf(program);
  const tables: string[] = [];
  const table = (type: string, name: string, rows: readonly string[]): string => {
    if (rows.length === 0) return "NULL";
    tables.push(`static const ${type} ${name}[] = {\n${rows.map((row) => `  ${row},\n`).join("")}};\n`);
    return name;
  };
  const list = (values: readonly (string | number)[]): string => `{${values.join(", ")}}`;
  const dims = table("char *const", "dims", program.dims.map(quoted));
  const tensors = table(
    "collc_tensor",
    "tensors",
    tensorsOf(program).map((t, i) =>
      list([
        quoted(t.name),
        quoted(t.dtype),
        DTYPES[t.dtype].bytes,
        program.outputs.some(({ name }) => name === t.name) ? 1 : 0,
        isSymmetric(program, t.name) ? 1 : 0,
        functions.of(bytesOf(t.localShape, t.dtype)),
        at[i]!,
      ]),
    ),
  );
  const requirements = table(
    "collc_requirement",
    "requirements",
    program.requirements.map((rule) => {
      const sign = RELATION_SIGNS[rule.relation];
      const rows = [
        functions.holds(rule.left, sign, rule.right),
        quoted(`${shown(rule.left)} ${sign} ${shown(rule.right)}`),
      ];
      return list([...rows, quoted(rule.reason)]);
    }),
  );
  const targets = program.targets.map((target, t) => targetRow(program, target, t, { functions, table, read }));
  const rows = table("collc_target", "targets", targets);
  const { name, path, collective, ranks, mesh, dtypes } = program;
  const texts = [name, path, collective, signatureOf(program)].map(quoted);
  const variables = Object.entries(dtypes).map(([variable, dtype]) => `${variable}=${dtype}`);
  const axes = mesh.map((axis) => `${axis.name}=${axis.size}`);
  const last = [
    ...[ABI, ...texts, quoted(variables.join(",")), quoted(axes.join(",")), ranks],
    ...[program.ranksPerDomain ?? ranks, dims, program.dims.length],
    ...[
      tensors,
      tensorsOf(program).length,
      requirements,
      program.requirements.length,
      argumentBytes(program),
      rows,
      targets.length,
    ],
  ];
  return `/* Made by collc: the tables of ${name}. Compile it with collc.c. */
#include "${name}.h"

${functions.text()}
${tables.join("\n")}
const collc_program ${name} = ${list(last)};
`;
}

const bytesOf = (shape: readonly Extent[], dtype: keyof typeof DTYPES): Extent =>
  extent("mul", productOf(shape), DTYPES[dtype].bytes);

interface Tables {
  readonly functions: Functions;
  readonly table: (type: string, name: string, rows: readonly string[]) => string;
  readonly read: ReadFile;
}

function targetRow(program: ArtefactProgram, target: ArtefactTarget, t: number, tables: Tables): string {
  const { functions, table } = tables;
  const kernels = target.kernels.map((kernel, k) => kernelRow(program, target, kernel, `${t}_${k}`, tables));
  const choices = target.plan.choices.map((choice, c) => {
    const { below } = choice;
    const rows = choice.steps.flatMap((step, s) => {
      if (step.kind === "launch") return [`{${step.kernel}, ${step.maxBlocks}, NULL}`];
      if (step.kind !== "message") return []; // no build has others
      const at = `${t}_${c}_${s}`;
      return [`{-1, 0, ${table("collc_messages", `messages_${at}`, messageRows(step, target, at, tables))}}`];
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
  const parameters = kernel.parameters.map((p) => {
    switch (p.kind) {
      case "peers":
        return plain("COLLC_PEERS", bufferOf(p.buffer));
      case "pointer":
        return plain("COLLC_POINTER", bufferOf(p.buffer));
      case "dim":
        return plain("COLLC_DIM", program.dims.indexOf(p.name));
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

/** PREFIX_programs.h and PREFIX_programs.c: the table of all. */
export function tableTexts({ prefix, programs }: ArtefactManifest): { header: string; source: string } {
  const guard = `${prefix.toUpperCase()}_PROGRAMS_H`;
  const header = `/* Made by collc: all programs of this folder. Look one up with collc_find(${prefix}_programs, ${prefix}_program_count, …). */
#ifndef ${guard}
#define ${guard}

${programs.map(({ files }) => `#include "${files.header}"\n`).join("")}
#ifdef __cplusplus
extern "C" {
#endif

extern const collc_program *const ${prefix}_programs[];
extern const size_t ${prefix}_program_count;

#ifdef __cplusplus
}
#endif

#endif
`;
  const source = `/* Made by collc. */
#include "${prefix}_programs.h"

const collc_program *const ${prefix}_programs[] = {
${programs.map(({ name }) => `  &${name},\n`).join("")}};
const size_t ${prefix}_program_count = ${programs.length};
`;
  return { header, source };
}
