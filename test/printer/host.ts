/** Compiles printed CUDA text with the host's C++ compiler against `shim.h`, and runs it. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parametersOf } from "../../src/compiler/emit/manifest.js";
import { launchLengthsOf } from "../../src/compiler/emit/launch-lengths.js";
import { withLengths } from "../../src/runtime/cuda/launch.js";
import { bufferName, symbolName } from "../../src/compiler/emit/names.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { bufferOf, isGlobal, type Kernel } from "../../src/compiler/ir/module.js";
import { evaluateExtent } from "../../src/compiler/types/extent.js";
import { allocate, bytesOf, type TypedArray } from "../../src/runtime/numbers/index.js";

/** A kernel's text, which may not be the kernel's own, and what to run it on. */
export interface HostCase {
  readonly kernel: Kernel;
  readonly cuda: string;
  readonly dims: Readonly<Record<string, number>>;
  readonly grid: number;
  /** Global memory by buffer and rank, as it is before the launch. */
  readonly memory: readonly (readonly TypedArray[])[];
}

const shim = fileURLToPath(new URL("shim.h", import.meta.url));
const compiler = process.env["CXX"] ?? "c++";

/** @returns what the command has printed. Throws with its errors. */
function run(command: string, args: readonly string[], seconds: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { timeout: seconds * 1000, killSignal: "SIGKILL" });
    let [out, err] = ["", ""];
    child.stdout.on("data", (chunk) => (out += String(chunk)));
    child.stderr.on("data", (chunk) => (err += String(chunk)));
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (code === 0) resolve(out);
      else reject(new Error(`${command} ends with ${signal ?? code}\n${err.slice(0, 4000)}`));
    });
  });
}

/** `asm("op.x %0, [%1];" : "=r"(a) : "l"(b) : "memory")` as `ptx::op_x(a, b)`. */
function withoutAssembly(text: string): string {
  const merged = text.replace(/"((?:[^"\\]|\\.)*)"(?:\s*"((?:[^"\\]|\\.)*)")+/g, (all) =>
    JSON.stringify([...all.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map((m) => m[1]).join("")),
  );
  let out = "";
  let from = 0;
  for (const match of merged.matchAll(/\basm\s*(?:volatile\s*)?\(/g)) {
    const open = match.index + match[0].length;
    let depth = 1;
    let at = open;
    for (; depth > 0; at++) depth += merged[at] === "(" ? 1 : merged[at] === ")" ? -1 : 0;
    const inside = merged.slice(open, at - 1);
    const [, instruction] = /^\s*"([^"]*)"/.exec(inside)!;
    const operands = [...inside.slice(instruction!.length).matchAll(/"[=+]?[a-z]"\s*\(/g)].map((m) => {
      const start = m.index + m[0].length;
      const rest = inside.slice(instruction!.length);
      let [d, i] = [1, start];
      for (; d > 0; i++) d += rest[i] === "(" ? 1 : rest[i] === ")" ? -1 : 0;
      return rest.slice(start, i - 1);
    });
    // What is written out in the instruction is part of its name.
    const name = instruction!
      .replace(/%%/g, "")
      .replace(/\\[nt]/g, " ")
      .replace(/%\d+|[[\]{};,]/g, " ")
      .trim()
      .replace(/[^A-Za-z0-9]+/g, "_");
    out += `${merged.slice(from, match.index)}ptx::${name.replace(/^(cp_async_wait_group)_\d+$/, "$1")}(${operands.join(", ")})`;
    from = at;
  }
  return out + merged.slice(from);
}

/** Text of a function that runs one case on the memory that a file holds. */
function runner({ kernel, dims, grid, memory }: HostCase, number: number): string {
  const all = withLengths(launchLengthsOf(kernel).lengths, dims);
  const args = parametersOf(kernel).map((p) => {
    switch (p.kind) {
      case "peers":
        return `peers_${bufferName(p.buffer)}`;
      case "pointer":
        return `(${C_TYPES[bufferOf(kernel, p.buffer).dtype]}*)at_${bufferName(p.buffer)}[rank]`;
      case "dim":
      case "length":
        return `${all[p.name]}ll`;
      case "rank":
        return "rank";
      case "timeout":
        return "0ull";
      case "status":
        return "status";
    }
  });
  const lines = kernel.buffers.flatMap((b, j) => {
    if (!isGlobal(b)) return [];
    const bytes = memory[j]![0]!.byteLength;
    const name = bufferName(b.name);
    return [
      `unsigned char* at_${name}[${kernel.world}];`,
      `for (auto& p : at_${name}) { p = at; at += ${Math.ceil(bytes / 256) * 256}; }`,
      `k${number}::Peers<${kernel.world}> peers_${name};`,
      `for (int r = 0; r < ${kernel.world}; r++) peers_${name}.p[r] = at_${name}[r];`,
    ];
  });
  const { bytes } = sharedLayout(kernel);
  return `static void run${number}(unsigned char* at) {
  static unsigned status[16];
  ${lines.join("\n  ")}
  launch(${kernel.world}, ${grid}, ${kernel.blockThreads}, ${bytes}, [&](int rank) { k${number}::${symbolName(kernel)}(${args.join(", ")}); });
}`;
}

function sizeOf(c: HostCase): number {
  return c.memory.flat().reduce((sum, a) => sum + Math.ceil(a.byteLength / 256) * 256, 0);
}

/** Runs all cases in one process; gives the memory that each leaves. */
export async function runOnHost(cases: readonly HostCase[]): Promise<TypedArray[][][]> {
  const folder = mkdtempSync(join(tmpdir(), "collc-printer-"));
  try {
    const parts: string[] = [];
    for (const [i, c] of cases.entries()) {
      const file = join(folder, `k${i}.cu`);
      writeFileSync(file, c.cuda);
      const expanded = await run(compiler, ["-E", "-P", "-x", "c++", file], 600);
      const text = withoutAssembly(expanded)
        .replace(
          /extern __shared__ __align__\(1024\) unsigned char shared_memory\[\];/,
          "unsigned char* const shared_memory = block_shared;",
        )
        .replace('extern "C" ', "");
      parts.push(`namespace k${i} {\n${text}\n}\n${runner(c, i)}`);
    }
    const calls = cases.map((c, i) => `run${i}(at); at += ${sizeOf(c)};`);
    const total = cases.reduce((sum, c) => sum + sizeOf(c), 0);
    const [source, program, before, after] = ["all.cpp", "all", "before", "after"].map((n) => join(folder, n)) as [
      string,
      string,
      string,
      string,
    ];
    writeFileSync(
      source,
      `#include "${shim}"\n${parts.join("\n")}
int main(int, char** argv) {
  unsigned char* const memory = (unsigned char*)std::aligned_alloc(256, ${total});
  FILE* f = std::fopen(argv[1], "rb");
  if (std::fread(memory, 1, ${total}, f) != ${total}) return 1;
  std::fclose(f);
  unsigned char* at = memory;
  ${calls.join("\n  ")}
  f = std::fopen(argv[2], "wb");
  std::fwrite(memory, 1, ${total}, f);
  return std::fclose(f);
}
`,
    );
    const flags = ["-std=c++17", "-O0", "-w", "-pthread", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off"];
    await run(compiler, [...flags, "-o", program, source], 600);
    const held = Buffer.alloc(total);
    let at = 0;
    const each = (visit: (array: TypedArray, at: number) => void): void => {
      at = 0;
      for (const c of cases)
        for (const array of c.memory.flat()) {
          visit(array, at);
          at += Math.ceil(array.byteLength / 256) * 256;
        }
    };
    each((array, to) => held.set(bytesOf(array), to));
    writeFileSync(before, held);
    await run(program, [before, after], 600);
    const left = readFileSync(after);
    at = 0;
    return cases.map((c) =>
      c.kernel.buffers.map((b, j) =>
        c.memory[j]!.map((array) => {
          const copy = allocate(b.dtype, array.length);
          bytesOf(copy).set(left.subarray(at, at + array.byteLength));
          at += Math.ceil(array.byteLength / 256) * 256;
          return copy;
        }),
      ),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const C_TYPES: Readonly<Record<string, string>> = {
  f32: "float",
  f16: "unsigned short",
  bf16: "unsigned short",
  f8e4m3: "unsigned char",
  f8e5m2: "unsigned char",
  i64: "long long",
  i32: "int",
  u32: "unsigned",
  i8: "signed char",
  u8: "unsigned char",
  bool: "bool",
};

/** Elements of each buffer for these dimensions. */
export function lengthsOf(kernel: Kernel, dims: Readonly<Record<string, number>>): number[] {
  return kernel.buffers.map((b) => b.shape.reduce<number>((a, e) => a * evaluateExtent(e, dims), 1));
}
