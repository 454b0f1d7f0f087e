/** Our declarations of CUDA, NVRTC, NCCL and NVSHMEM against the real headers, where those are installed. */
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
  return [...text.matchAll(/^ {2}X\((?:[\w* ]+, )?(\w+),\s*"(\w+)"/gm)].map(([, member, symbol]) => ({
    member: member!,
    symbol: symbol!,
  }));
}

/** What a header's macros make of `name`: cuMemAlloc → cuMemAlloc_v2. */
const current = (name: string) => `STRINGIFY(${name})`;

/** Symbols that we take on purpose in a version other than the newest header's, because older drivers have only it. */
const olderOnPurpose = new Set(["cuEventElapsedTime"]);

/** One that the newest header has no declaration of any more, though every driver has the function. */
const undeclared = "cuStreamGetCaptureInfo_v2";

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
  it.skipIf(cuda === null)("of the CUDA driver is cuda.h's", () => {
    const isDeclared = readFileSync(cuda!, "utf8").includes(`(${undeclared})`); // what the name without a version means there
    const symbols = table("cuda.h").filter(({ symbol }) => isDeclared || symbol !== undeclared);
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
  it.skipIf(nccl === null || cuda === null)("of NCCL is nccl.h's", () => {
    const symbols = table("nccl.h");
    expect(symbols.length).toBeGreaterThan(10);
    compile(
      [
        `#include "${nccl}"`,
        // ncclGetPeerDevicePointer is declared for hosts among the device functions.
        '#if __has_include("nccl_device/core.h")',
        '#include "nccl_device/core.h"',
        "#endif",
        '#include "api/nccl.h"',
        `#include "${path.join(root, "test/native/abi-check.h")}"`,
        ...symbols.map(
          ({ member, symbol }) =>
            `static_assert(SameSignature<decltype(&${symbol}), decltype(collc::nccl::Api::${member})>(), "${symbol}");`,
        ),
        'static_assert((int)ncclFloat8e5m2 == 11 && (int)ncclBfloat16 == 9 && (int)ncclAvg == 4, "");',
        "int main() {}",
      ],
      [path.dirname(nccl!), path.dirname(cuda!)],
    );
  });

  const nvshmem = pythonHeader("nvidia/nvshmem/include/nvshmem_host.h");
  it.skipIf(nvshmem === null || cuda === null)("of NVSHMEM is nvshmem_host.h's", () => {
    const symbols = table("nvshmem.h");
    expect(symbols.length).toBeGreaterThan(20);
    const structures = {
      UniqueId: "nvshmemx_uniqueid_t",
      UniqueIdArgs: "nvshmemx_uniqueid_args_t",
      InitArgs: "nvshmemx_init_args_t",
      InitAttr: "nvshmemx_init_attr_t",
      TeamConfig: "nvshmem_team_config_t",
    };
    const output = compile(
      [
        '#include "nvshmem_host.h"',
        '#include "api/nvshmem.h"',
        `#include "${path.join(root, "test/native/abi-check.h")}"`,
        "#include <cstddef>",
        "#include <cstdio>",
        "using namespace collc::nvshmem;",
        ...symbols.map(
          ({ member, symbol }) =>
            `static_assert(SameSignature<decltype(&${symbol}), decltype(Api::${member})>(), "${symbol}");`,
        ),
        ...Object.entries(structures).map(
          ([ours, theirs]) => `static_assert(sizeof(${ours}) == sizeof(${theirs}), "");`,
        ),
        'static_assert(offsetof(TeamConfig, uniqueid) == offsetof(nvshmem_team_config_t, uniqueid), "");',
        'static_assert(offsetof(InitArgs, uid_args) == offsetof(nvshmemx_init_args_t, uid_args), "");',
        'static_assert((int)NVSHMEM_SIGNAL_SET == SIGNAL_SET && (int)NVSHMEM_SIGNAL_ADD == SIGNAL_ADD, "");',
        'static_assert((int)NVSHMEM_CMP_GE == CMP_GE && (int)NVSHMEM_TEAM_WORLD == (int)TEAM_WORLD, "");',
        'static_assert((unsigned)NVSHMEMX_INIT_WITH_UNIQUEID == INIT_WITH_UNIQUEID, "");',
        "int main() {",
        "  nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;",
        "  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;",
        "  nvshmem_team_config_t team = NVSHMEM_TEAM_CONFIG_INITIALIZER;",
        '  std::printf("%d %d %d %d %d\\n", attr.version, attr.args.version, attr.args.uid_args.version, id.version, team.version);',
        '  std::printf("%d %d %d %d %d\\n", VersionWord<InitAttr>(1), VersionWord<InitArgs>(1), VersionWord<UniqueIdArgs>(1),',
        "              VersionWord<UniqueId>(1), VersionWord<TeamConfig>(2));",
        "}",
      ],
      [path.dirname(nvshmem!), path.dirname(cuda!)],
    );
    const [theirs, ours] = output.trim().split("\n");
    expect(ours).toBe(theirs);
  });

  const nvrtc = pythonHeader("nvidia/cu13/include/nvrtc.h");
  it.skipIf(nvrtc === null)("of NVRTC is nvrtc.h's", () => {
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
