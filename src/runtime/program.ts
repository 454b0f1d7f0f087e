/** CUDA text → machine code: NVRTC, found and opened once a process, behind the cache of compiled kernels. */
import { InternalCompilerError } from "../compiler/index.js";
import { MachineError } from "./errors.js";
import { JitCache, jitCacheKey } from "./jit-cache.js";
import { native } from "./native.js";
import { requireNvrtc } from "./nvrtc.js";
import { collcVersion } from "./version.js";

/** Printed text uses what the architecture lacks: a dtype's conversions, say. */
export class ArchitectureError extends MachineError {
  /** @param feature as PTX calls it @param least architecture that has it */
  constructor(
    arch: string,
    readonly feature: string,
    readonly least: string,
  ) {
    super(
      `${arch} lacks ${feature}, which begins with ${least}`,
      `compile for ${least} or newer, or with other dtypes`,
    );
  }
}

/** What NVRTC made of a kernel. */
export interface CompiledProgram {
  readonly cubin: Uint8Array;
  readonly ptx: string;
  /** NVRTC's and ptxas's notes: registers, spills, instructions that were serialised. */
  readonly log: string;
  readonly nvrtcVersion: string;
}

let opened: Promise<string> | undefined;

/** Opens NVRTC and gives its version, `13.0`. Throws MachineError listing what was tried. */
export function openNvrtc(): Promise<string> {
  opened ??= (async () => {
    const location = await requireNvrtc();
    const { major, minor } = native().openNvrtc(location.path, location.builtins ?? undefined);
    return `${major}.${minor}`;
  })();
  return opened;
}

/**
 * Options of every compilation, ahead of time as well. Fixed, because results are compared across machines. Products and sums
 * are rounded one by one, as printed: where one of two lines had them contracted to one instruction, ranks would differ in bits
 * that hold the same tensor.
 */
export function nvrtcOptions(arch: string): string[] {
  return [
    `-arch=${arch}`,
    "--std=c++17",
    "--fmad=false",
    "--device-as-default-execution-space",
    "--ptxas-options=-v",
    "-lineinfo",
    "--diag-suppress=177",
  ];
}

/**
 * Compiles printed CUDA text.
 * @param arch a real architecture, such as `sm_90a`.
 * @throws MachineError without NVRTC, or with one that does not know the architecture; ArchitectureError for text that the
 * architecture is too old for; InternalCompilerError when NVRTC refuses what collc printed.
 */
export async function compileCuda(cuda: string, arch: string): Promise<CompiledProgram> {
  const nvrtcVersion = await openNvrtc();
  // A name without a folder would get the working directory's, and the cubin would differ from one to another.
  const result = await native().nvrtcCompile(cuda, "/collc/kernel.cu", nvrtcOptions(arch));
  // The other options are fixed and known to every version.
  if (result.codeName === "NVRTC_ERROR_INVALID_OPTION")
    throw new MachineError(
      `NVRTC ${nvrtcVersion} does not compile for ${arch}`,
      "choose an architecture it knows, such as sm_80, sm_90a or sm_100a, or another NVRTC with COLLC_NVRTC",
    );
  const lacking = /Feature '([^']+)' requires \.target (sm_\d+) or higher/.exec(result.log);
  if (!result.ok && lacking !== null) throw new ArchitectureError(arch, lacking[1]!, lacking[2]!);
  if (!result.ok || result.cubin === undefined || result.ptx === undefined)
    throw new InternalCompilerError(
      `NVRTC ${nvrtcVersion} refuses the printed text for ${arch}: ${result.codeName}\n${result.log}`,
      cuda,
    );
  return { cubin: result.cubin, ptx: result.ptx, log: result.log, nvrtcVersion };
}

let cache: JitCache | undefined;

/** The cubin of printed CUDA text, from the cache where it holds one. */
export async function cubinOf(
  cuda: string,
  arch: string,
  onProgress: (what: string) => void = () => {},
): Promise<Uint8Array> {
  cache ??= new JitCache({ onWarning: (message) => process.stderr.write(`collc: ${message}\n`) });
  const nvrtcVersion = await openNvrtc();
  const key = jitCacheKey({
    cudaText: cuda,
    arch,
    nvrtcVersion,
    options: nvrtcOptions(arch),
    collcVersion: collcVersion(),
  });
  const { bytes } = await cache.getOrBuild(key, async () => {
    onProgress(`compiling for ${arch}`);
    const { cubin, log } = await compileCuda(cuda, arch);
    return { bytes: cubin, meta: { log } };
  });
  return bytes;
}
