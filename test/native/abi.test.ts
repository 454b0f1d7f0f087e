/** Our declarations of CUDA, NVRTC and NCCL against the real headers, where those are installed. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";

import { packageRoot } from "../../src/runtime/native.js";
import { cudaHeader, pythonHeader } from "./support.js";

const root = packageRoot();

interface Symbol {
  readonly member: string;
  readonly symbol: string;
}

function table(file: string): Symbol[] {
  const text = readFileSync(path.join(root, "native/api", file), "utf8");
  return [...text.matchAll(/^ {2}X\((\w+),\s*"(\w+)"/gm)].map(([, member, symbol]) => ({
    member: member!,
    symbol: symbol!,
  }));
}

/** What a header's macros make of `name`: cuMemAlloc → cuMemAlloc_v2. */
const current = (name: string) => `STRINGIFY(${name})`;

/** Symbols that we take on purpose in a version other than the newest header's, because older drivers have only it. */
const olderOnPurpose = new Set(["cuEventElapsedTime"]);

function compile(lines: readonly string[], includes: readonly string[] = []): string {
  const folder = mkdtempSync(path.join(tmpdir(), "collc-abi-"));
  try {
    const source = path.join(folder, "abi.cc");
    const program = path.join(folder, "abi");
    writeFileSync(source, lines.join("\n"));
    const flags = [`-I${path.join(root, "native")}`, ...includes.map((folder) => `-I${folder}`)];
    execFileSync("g++", ["-std=c++17", "-w", ...flags, source, "-o", program], { stdio: ["ignore", "pipe", "pipe"] });
    return execFileSync(program, { encoding: "utf8" });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe("ABI", () => {
  const cuda = cudaHeader();
  it.skipIf(cuda === null)("of the CUDA driver is cuda.h's", { timeout: 60_000 }, () => {
    const symbols = table("cuda.h");
    expect(symbols.length).toBeGreaterThan(50);
    const base = (symbol: string) =>
      symbol === "cuGraphInstantiateWithFlags" ? "cuGraphInstantiate" : symbol.replace(/_v\d$/, "");
    const output = compile([
      `#include "${cuda}"`,
      '#include "api/cuda.h"',
      `#include "${path.join(root, "test/native/abi-check.h")}"`,
      "#include <cstdio>",
      "#define STRINGIFY_(x) #x",
      "#define STRINGIFY(x) STRINGIFY_(x)",
      ...symbols.map(
        ({ member, symbol }) =>
          `static_assert(SameSignature<decltype(&${base(symbol)}), decltype(collc::cuda::Api::${member})>(), "${symbol}");`,
      ),
      ...["MULTIPROCESSOR_COUNT", "COOPERATIVE_LAUNCH", "MULTICAST_SUPPORTED"].map(
        (name) => `static_assert((int)CU_DEVICE_ATTRIBUTE_${name} == (int)collc::cuda::DEVICE_ATTRIBUTE_${name}, "");`,
      ),
      'static_assert(sizeof(CUmemAllocationProp) == sizeof(collc::cuda::CUmemAllocationProp), "");',
      'static_assert(offsetof(CUmemAllocationProp, location) == offsetof(collc::cuda::CUmemAllocationProp, location), "");',
      'static_assert(sizeof(CUmemAccessDesc) == sizeof(collc::cuda::CUmemAccessDesc), "");',
      "int main() {",
      ...symbols.map(({ symbol }) => `  std::puts("${symbol} " ${current(base(symbol))});`),
      "}",
    ]);
    for (const line of output.trim().split("\n")) {
      const [ours, theirs] = line.split(" ");
      if (!olderOnPurpose.has(ours!)) expect(ours).toBe(theirs);
    }
  });

  const nccl = pythonHeader("nvidia/nccl/include/nccl.h");
  it.skipIf(nccl === null || cuda === null)("of NCCL is nccl.h's", { timeout: 60_000 }, () => {
    const symbols = table("nccl.h");
    expect(symbols.length).toBeGreaterThan(10);
    compile(
      [
        `#include "${nccl}"`,
        '#include "api/nccl.h"',
        `#include "${path.join(root, "test/native/abi-check.h")}"`,
        ...symbols.map(
          ({ member, symbol }) =>
            `static_assert(SameSignature<decltype(&${symbol}), decltype(collc::nccl::Api::${member})>(), "${symbol}");`,
        ),
        'static_assert((int)ncclFloat8e5m2 == 11 && (int)ncclBfloat16 == 9 && (int)ncclAvg == 4, "");',
        "int main() {}",
      ],
      [path.dirname(cuda!)],
    );
  });

  const nvrtc = pythonHeader("nvidia/cu13/include/nvrtc.h");
  it.skipIf(nvrtc === null)("of NVRTC is nvrtc.h's", { timeout: 60_000 }, () => {
    const symbols = table("nvrtc.h");
    expect(symbols.length).toBeGreaterThan(8);
    compile([
      `#include "${nvrtc}"`,
      '#include "api/nvrtc.h"',
      `#include "${path.join(root, "test/native/abi-check.h")}"`,
      ...symbols.map(
        ({ member, symbol }) =>
          `static_assert(SameSignature<decltype(&${symbol}), decltype(collc::nvrtc::Api::${member})>(), "${symbol}");`,
      ),
      "int main() {}",
    ]);
  });

  it("has a table that the search reads", () => {
    expect(existsSync(path.join(root, "native/api/cuda.h"))).toBe(true);
    expect(table("cuda.h").map((row) => row.symbol)).toContain("cuMemCreate");
  });
});
