/**
 * The C header of a program that is compiled ahead of time: of each kernel an inline launch function over the CUDA driver API, the
 * grid, and the sizes of what the caller must allocate; and which kernel some dimensions take. Needs `<cuda.h>` and nothing of collc.
 */
import {
  DTYPES,
  productOf,
  extent,
  printLayout,
  RELATION_SIGNS,
  type Extent,
  type KernelManifest,
  type Manifest,
} from "../compiler/index.js";

/** An extent as a C expression over `int64_t` dimensions. The world size is folded in already. */
export function extentInC(e: Extent): string {
  if (typeof e === "number") return `INT64_C(${e})`;
  if (typeof e === "string") return dimName(e);
  const [a, b] = [extentInC(e.a), extentInC(e.b)];
  switch (e.op) {
    case "add":
      return `(${a} + ${b})`;
    case "sub":
      return `(${a} - ${b})`;
    case "mul":
      return `(${a} * ${b})`;
    case "div":
      return `(${a} / ${b})`;
    case "mod":
      return `(${a} % ${b})`;
    case "ceildiv":
      return `((${a} + ${b} - 1) / ${b})`;
    case "min":
      return `(${a} < ${b} ? ${a} : ${b})`;
    case "max":
      return `(${a} > ${b} ? ${a} : ${b})`;
  }
}

// A tensor may be called `int` or `stream` in Coll; a prefix keeps C out of it.
const dimName = (name: string): string => `dim_${name}`;
const scalarName = (name: string): string => `num_${name}`;
const SCALARS_IN_C = { f32: "float", i32: "int32_t", u32: "uint32_t" } as const;
const bufferName = (name: string): string => `buf_${name}`;

/** Bytes of one rank's buffer. */
export function bytesOfBuffer(buffer: KernelManifest["buffers"][number]): Extent {
  return extent("mul", productOf(buffer.shape), DTYPES[buffer.dtype].bytes);
}

/** What a program is called in C, and its files on disk: of one kernel, that kernel's symbol. */
export function programName({ collective, ranks, dtypes, kernels }: Manifest): string {
  if (kernels.length === 1) return kernels[0]!.symbol;
  return ["coll", collective, `w${ranks}`, ...Object.values(dtypes)].join("_");
}

/** The header's text. `cubinFiles`, one a kernel, are named in the comment only. */
export function headerOf(manifest: Manifest, cubinFiles: readonly string[]): string {
  const { kernels } = manifest;
  const name = programName(manifest);
  const guard = `COLLC_${name.toUpperCase()}_H`;
  const how = kernels.map(
    (
      { symbol },
      i,
    ) => ` * Load ${cubinFiles[i]!} with cuModuleLoad and get "${symbol}" with cuModuleGetFunction, then, on every rank:
 *   ${symbol}_prepare(function);                 once
 *   ${symbol}_launch(function, …, stream);       any number of times`,
  );
  const whole =
    kernels.length === 1
      ? ""
      : ` * Which of its ${kernels.length} kernels some dimensions take, ${name}_choose says: all ranks launch that one.
 *
`;
  return `/* Made by collc: ${name}, for ${manifest.ranks} ranks and ${manifest.arch}.
 *
 *   ${signature(manifest)}
 *
${whole}${how.join("\n *\n")}
 *
 * A buffer of several pointers is symmetric: entry p is rank p's memory as mapped here, the own one included.
 * Zero packet, signal and state buffers once, when they are allocated, and never again.
 */
#ifndef ${guard}
#define ${guard}

#include <cuda.h>
#include <stdint.h>

${kernels.map((_, i) => kernelText(manifest, i)).join("\n")}${chooseText(manifest)}
#endif
`;
}

/** The number of the kernel that a size takes, for programs with several. */
function chooseText({ plan, kernels, dims, ...rest }: Manifest): string {
  if (kernels.length === 1) return "";
  const { unused, over } = dimsInC(dims);
  const lines = plan.choices.map(({ below, steps }) => {
    const [step] = steps;
    const found = `return ${step!.kernel}; /* ${kernels[step!.kernel]!.symbol} */\n`;
    return below === null ? `  ${found}` : `  if (size < INT64_C(${below})) ${found}`;
  });
  return `
/* The kernel that these dimensions take: every size takes exactly one, the same on all ranks. */
static inline int ${programName({ plan, kernels, dims, ...rest })}_choose(${over}) {
  const int64_t size = ${extentInC(plan.by)};
${unused}${lines.join("")}}
`;
}

function dimsInC(dims: readonly string[]): { names: string[]; unused: string; over: string } {
  const names = dims.map(dimName);
  return {
    names,
    unused: names.map((name) => `  (void)${name};\n`).join(""),
    over: names.length === 0 ? "void" : names.map((name) => `int64_t ${name}`).join(", "),
  };
}

function kernelText(manifest: Manifest, index: number): string {
  const kernel = manifest.kernels[index]!;
  const { symbol } = kernel;
  const { names, unused, over } = dimsInC(manifest.dims);
  const work = kernel.grid.work.map((e) => `  if (${extentInC(e)} > blocks) blocks = ${extentInC(e)};\n`).join("");
  const sizes = kernel.buffers.map(
    (buffer) => `/* ${describe(buffer)} */
static inline int64_t ${symbol}_bytes_${buffer.name}(${over}) {
${unused}  return ${extentInC(bytesOfBuffer(buffer))};
}
`,
  );
  const rules = manifest.requirements.map(
    (rule) =>
      `  if (!(${extentInC(rule.left)} ${RELATION_SIGNS[rule.relation]} ${extentInC(rule.right)})) return CUDA_ERROR_INVALID_VALUE; /* ${comment(rule.reason)} */\n`,
  );
  return `#define ${symbol.toUpperCase()}_NAME "${symbol}"
#define ${symbol.toUpperCase()}_RANKS ${manifest.ranks}
#define ${symbol.toUpperCase()}_BLOCK_THREADS ${kernel.blockThreads}
#define ${symbol.toUpperCase()}_SHARED_BYTES ${kernel.sharedBytes}

${sizes.join("\n")}
/* Blocks of a launch, the same on every rank. */
static inline unsigned ${symbol}_grid(${over}) {
  int64_t blocks = 1;
${unused}${work}${limits(manifest, index)}  return (unsigned)blocks;
}

/* Once for a function: asks for its shared memory. */
static inline CUresult ${symbol}_prepare(CUfunction function) {
  return cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, ${kernel.sharedBytes});
}

/*
${parameterLines(kernel)
  .map((line) => ` * ${line}`)
  .join("\n")}
 *
 * CUDA_ERROR_INVALID_VALUE: the dimensions cannot be divided as the layouts ask.
 */
static inline CUresult ${symbol}_launch(${["CUfunction function", ...kernel.parameters.flatMap((p) => parameterInC(p) ?? []), "CUstream stream"].join(", ")}) {
${rules.join("")}${kernel.parameters.flatMap((p) => (p.kind === "tensor-map" ? tensorMapInC(kernel, p) : [])).join("")}  void *arguments[] = {${kernel.parameters.map(argumentInC).join(", ")}};
  ${launchCall(kernel, names)}
}
`;
}

/** The plan's most blocks of a kernel, by size where they differ. */
function limits({ plan, kernels }: Manifest, index: number): string {
  const limit = (blocks: number): string => `if (blocks > ${blocks}) blocks = ${blocks};`;
  const asked = plan.choices.map((c) => c.steps.find((step) => step.kernel === index)?.maxBlocks ?? null);
  const own = asked.filter((blocks) => blocks !== null);
  if (new Set(own).size <= 1) return `  ${limit(own[0] ?? kernels[index]!.grid.maxBlocks)}\n`;
  const lines = plan.choices.map(({ below }, i) => {
    const then = asked[i] === null ? "{}" : `{ ${limit(asked[i]!)} }`;
    return below === null ? then : `if (${extentInC(plan.by)} < INT64_C(${below})) ${then} else `;
  });
  return `  ${lines.join("")}\n`;
}

function signature(manifest: Manifest): string {
  const declare = (tensors: Manifest["inputs"]): string =>
    tensors
      .map((t) => `${t.name}: ${t.dtype}[${t.shape.map(shapeText).join(", ")}] ${printLayout(t.layout)}`)
      .join(", ");
  return `${manifest.collective}(${declare(manifest.inputs)}) -> ${declare(manifest.outputs)}`;
}

const shapeText = (e: Extent): string =>
  typeof e === "object"
    ? extentInC(e)
        .replace(/INT64_C\((\d+)\)/g, "$1")
        .replaceAll("dim_", "")
    : String(e);
const comment = (text: string): string => text.replaceAll("*/", "* /");

function describe(buffer: KernelManifest["buffers"][number]): string {
  const where = buffer.symmetric ? "in symmetric memory" : "local to the rank";
  const zero = ["packet", "signal", "state"].includes(buffer.role) ? ", zeroed once" : "";
  return `Bytes of ${buffer.role} '${buffer.name}' on each rank, ${where}${zero}.`;
}

type Parameter = KernelManifest["parameters"][number];

function parameterInC(p: Parameter): string | null {
  switch (p.kind) {
    case "peers":
      return `const CUdeviceptr ${bufferName(p.buffer)}[${p.ranks}]`;
    case "pointer":
      return `CUdeviceptr ${bufferName(p.buffer)}`;
    case "dim":
      return `int64_t ${dimName(p.name)}`;
    case "scalar":
      return `${SCALARS_IN_C[p.dtype]} ${scalarName(p.name)}`;
    case "rank":
      return "int32_t rank";
    case "timeout":
      return "uint64_t timeout_ns";
    case "status":
      return "CUdeviceptr status";
    case "tensor-map":
      return null; // made by the launch
  }
}

function argumentInC(p: Parameter): string {
  switch (p.kind) {
    case "peers":
      // An array parameter is a pointer to its first element, which is what a struct by value is read from.
      return `(void *)${bufferName(p.buffer)}`;
    case "pointer":
      return `&${bufferName(p.buffer)}`;
    case "dim":
      return `&${dimName(p.name)}`;
    case "scalar":
      return `&${scalarName(p.name)}`;
    case "rank":
      return "&rank";
    case "timeout":
      return "&timeout_ns";
    case "status":
      return "&status";
    case "tensor-map":
      return mapName(p);
  }
}

type TensorMap = Extract<Parameter, { kind: "tensor-map" }>;

const mapName = ({ buffer, box }: TensorMap): string => `map_${buffer}_${box.join("x")}`;

const MAP_TYPES: Readonly<Record<string, string>> = {
  bf16: "CU_TENSOR_MAP_DATA_TYPE_BFLOAT16",
  f16: "CU_TENSOR_MAP_DATA_TYPE_FLOAT16",
};

/** Fills a tensor map, or one a rank; of what no map can describe it stays zero, which the kernel knows to avoid. */
function tensorMapInC(manifest: KernelManifest, p: TensorMap): string {
  const buffer = manifest.buffers.find((b) => b.name === p.buffer)!;
  const { bytes } = DTYPES[buffer.dtype];
  const sizes = [...buffer.shape].reverse().map(extentInC);
  const strides = sizes.slice(1).map((_, d) => `(${[...sizes.slice(0, d + 1), String(bytes)].join(" * ")})`);
  const count = Math.max(1, p.ranks);
  const own = bufferName(p.buffer);
  const start = p.ranks > 0 ? `${own}[p]` : buffer.symmetric ? `${own}[rank]` : own;
  const list = (texts: readonly string[]): string => `{${texts.join(", ")}}`;
  return `  CUtensorMap ${mapName(p)}[${count}] = {{{0}}};
  for (int p = 0; p < ${count}; p++) {
    const cuuint64_t sizes[] = ${list(sizes.map((e) => `(cuuint64_t)${e}`))}, strides[] = ${list(strides.map((e) => `(cuuint64_t)${e}`))};
    const cuuint32_t box[] = ${list([...p.box].reverse().map(String))}, steps[] = ${list(p.box.map(() => "1"))};
    if (${start} % 16 != 0 || strides[0] % 16 != 0) continue;
    const CUresult mapped = cuTensorMapEncodeTiled(&${mapName(p)}[p], ${MAP_TYPES[buffer.dtype]!}, ${sizes.length}, (void *)${start}, sizes, strides, box, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (mapped != CUDA_SUCCESS) return mapped;
  }
`;
}

function parameterLines(manifest: KernelManifest): string[] {
  const width = Math.max(...manifest.parameters.map((p) => parameterName(p).length));
  return manifest.parameters
    .filter((p) => p.kind !== "tensor-map")
    .map((p) => `${parameterName(p).padEnd(width)}  ${parameterMeaning(manifest, p)}`);
}

function parameterName(p: Parameter): string {
  if (p.kind === "dim") return dimName(p.name);
  if (p.kind === "scalar") return scalarName(p.name);
  if (p.kind === "peers" || p.kind === "pointer") return bufferName(p.buffer);
  return p.kind === "timeout" ? "timeout_ns" : p.kind;
}

/** What a caller passes, in words; also in the manifest that `collc build` writes. */
export function parameterMeaning(manifest: KernelManifest, p: Parameter): string {
  const role = (name: string): string => manifest.buffers.find((b) => b.name === name)?.role ?? "buffer";
  switch (p.kind) {
    case "peers":
      return `device addresses of ${role(p.buffer)} '${p.buffer}' on every rank, as mapped here`;
    case "pointer":
      return `device address of this rank's ${role(p.buffer)} '${p.buffer}'`;
    case "dim":
      return `elements of dimension ${p.name}`;
    case "scalar":
      return `the number ${p.name}, the same on every rank`;
    case "rank":
      return "this rank, from 0";
    case "timeout":
      return "how long a wait may take, in nanoseconds; 0: for ever";
    case "status":
      return "device address of 16 zeroed 32-bit words; the first is 1 after a wait that ran out";
    case "tensor-map":
      return `tensor maps of '${p.buffer}' in boxes of ${p.box.join("×")}`;
  }
}

function launchCall(
  { symbol, blockThreads, sharedBytes, cooperative }: KernelManifest,
  dims: readonly string[],
): string {
  const shape = `${symbol}_grid(${dims.join(", ")}), 1, 1, ${blockThreads}, 1, 1, ${sharedBytes}, stream, arguments`;
  // Blocks that wait on each other must all be resident, which a cooperative launch sees to.
  return cooperative
    ? `return cuLaunchCooperativeKernel(function, ${shape});`
    : `return cuLaunchKernel(function, ${shape}, 0);`;
}
