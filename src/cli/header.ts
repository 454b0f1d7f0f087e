/**
 * The C header of a kernel that is compiled ahead of time: an inline launch function over the CUDA driver API, the grid,
 * and the sizes of what the caller must allocate. Needs `<cuda.h>` and nothing of collc.
 */
import {
  DTYPES,
  productOf,
  extent,
  printLayout,
  RELATION_SIGNS,
  type Extent,
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
const bufferName = (name: string): string => `buf_${name}`;

/** Bytes of one rank's buffer. */
export function bytesOfBuffer(buffer: Manifest["buffers"][number]): Extent {
  return extent("mul", productOf(buffer.shape), DTYPES[buffer.dtype].bytes);
}

/** The header's text. `cubinFile` is named in the comment only. */
export function headerOf(manifest: Manifest, cubinFile: string): string {
  const { symbol } = manifest;
  const guard = `COLLC_${symbol.toUpperCase()}_H`;
  const dims = manifest.dims.map((name) => `int64_t ${dimName(name)}`);
  const dimNames = manifest.dims.map(dimName);
  const unused = dimNames.map((name) => `  (void)${name};\n`).join("");
  const over = dims.length === 0 ? "void" : dims.join(", ");
  const work = manifest.grid.work.map((e) => `  if (${extentInC(e)} > blocks) blocks = ${extentInC(e)};\n`).join("");
  const sizes = manifest.buffers.map(
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
  return `/* Made by collc: ${symbol}, for ${manifest.ranks} ranks and ${manifest.arch}.
 *
 *   ${signature(manifest)}
 *
 * Load ${cubinFile} with cuModuleLoad and get "${symbol}" with cuModuleGetFunction, then, on every rank:
 *   ${symbol}_prepare(function);                 once
 *   ${symbol}_launch(function, …, stream);       any number of times
 *
 * A buffer of several pointers is symmetric: entry p is rank p's memory as mapped here, the own one included.
 * Zero signal and state buffers once, when they are allocated, and never again.
 */
#ifndef ${guard}
#define ${guard}

#include <cuda.h>
#include <stdint.h>

#define ${symbol.toUpperCase()}_NAME "${symbol}"
#define ${symbol.toUpperCase()}_RANKS ${manifest.ranks}
#define ${symbol.toUpperCase()}_BLOCK_THREADS ${manifest.blockThreads}
#define ${symbol.toUpperCase()}_SHARED_BYTES ${manifest.sharedBytes}

${sizes.join("\n")}
/* Blocks of a launch, the same on every rank. */
static inline unsigned ${symbol}_grid(${over}) {
  int64_t blocks = 1;
${unused}${work}  if (blocks > ${manifest.grid.maxBlocks}) blocks = ${manifest.grid.maxBlocks};
  return (unsigned)blocks;
}

/* Once for a function: asks for its shared memory. */
static inline CUresult ${symbol}_prepare(CUfunction function) {
  return cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, ${manifest.sharedBytes});
}

/*
${parameterLines(manifest)
  .map((line) => ` * ${line}`)
  .join("\n")}
 *
 * CUDA_ERROR_INVALID_VALUE: the dimensions cannot be divided as the layouts ask.
 */
static inline CUresult ${symbol}_launch(${["CUfunction function", ...manifest.parameters.map(parameterInC), "CUstream stream"].join(", ")}) {
${rules.join("")}  void *arguments[] = {${manifest.parameters.map(argumentInC).join(", ")}};
  ${launchCall(manifest, dimNames)}
}

#endif
`;
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

function describe(buffer: Manifest["buffers"][number]): string {
  const where = buffer.symmetric ? "in symmetric memory" : "local to the rank";
  const zero = buffer.role === "signal" || buffer.role === "state" ? ", zeroed once" : "";
  return `Bytes of ${buffer.role} '${buffer.name}' on each rank, ${where}${zero}.`;
}

type Parameter = Manifest["parameters"][number];

function parameterInC(p: Parameter): string {
  switch (p.kind) {
    case "peers":
      return `const CUdeviceptr ${bufferName(p.buffer)}[${p.ranks}]`;
    case "pointer":
      return `CUdeviceptr ${bufferName(p.buffer)}`;
    case "dim":
      return `int64_t ${dimName(p.name)}`;
    case "rank":
      return "int32_t rank";
    case "timeout":
      return "uint64_t timeout_ns";
    case "status":
      return "CUdeviceptr status";
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
    case "rank":
      return "&rank";
    case "timeout":
      return "&timeout_ns";
    case "status":
      return "&status";
  }
}

function parameterLines(manifest: Manifest): string[] {
  const width = Math.max(...manifest.parameters.map((p) => parameterName(p).length));
  return manifest.parameters.map((p) => `${parameterName(p).padEnd(width)}  ${parameterMeaning(manifest, p)}`);
}

function parameterName(p: Parameter): string {
  if (p.kind === "dim") return dimName(p.name);
  if (p.kind === "peers" || p.kind === "pointer") return bufferName(p.buffer);
  return p.kind === "timeout" ? "timeout_ns" : p.kind;
}

/** What a caller passes, in words; also in the manifest that `collc build` writes. */
export function parameterMeaning(manifest: Manifest, p: Parameter): string {
  const role = (name: string): string => manifest.buffers.find((b) => b.name === name)?.role ?? "buffer";
  switch (p.kind) {
    case "peers":
      return `device addresses of ${role(p.buffer)} '${p.buffer}' on every rank, as mapped here`;
    case "pointer":
      return `device address of this rank's ${role(p.buffer)} '${p.buffer}'`;
    case "dim":
      return `elements of dimension ${p.name}`;
    case "rank":
      return "this rank, from 0";
    case "timeout":
      return "how long a wait may take, in nanoseconds; 0: for ever";
    case "status":
      return "device address of 16 zeroed 32-bit words; the first is 1 after a wait that ran out";
  }
}

function launchCall({ symbol, blockThreads, sharedBytes, cooperative }: Manifest, dims: readonly string[]): string {
  const shape = `${symbol}_grid(${dims.join(", ")}), 1, 1, ${blockThreads}, 1, 1, ${sharedBytes}, stream, arguments`;
  // Blocks that wait on each other must all be resident, which a cooperative launch sees to.
  return cooperative
    ? `return cuLaunchCooperativeKernel(function, ${shape});`
    : `return cuLaunchKernel(function, ${shape}, 0);`;
}
