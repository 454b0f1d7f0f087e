/** What NVRTC makes of a text, from collc's cache of compiled kernels where a run before this one has put it. */
import { JitCache, jitCacheKey } from "../../src/runtime/jit-cache.js";
import { native } from "../../src/runtime/native.js";
import { compileCuda, nvrtcOptions, openNvrtc } from "../../src/runtime/program.js";
import { collcVersion } from "../../src/runtime/version.js";

const cache = new JitCache();

/** As programs are compiled to be launched. */
export async function compiledCuda(
  cudaText: string,
  arch: string,
): Promise<{ cubin: Uint8Array; ptx: string; log: string }> {
  const options = [...nvrtcOptions(arch), "with its PTX"];
  const { bytes, meta } = await cached(cudaText, arch, options, async () => {
    const { cubin, ptx, log } = await compileCuda(cudaText, arch);
    return { bytes: cubin, meta: { ptx, log } };
  });
  return { cubin: bytes, ptx: meta["ptx"]!, log: meta["log"]! };
}

/** The PTX alone, which takes a third of the time for products; registers, and instructions that are written in PTX, are not looked at. */
export async function ptxOf(cudaText: string, arch: string): Promise<string> {
  const options = nvrtcOptions(arch.replace("sm_", "compute_"));
  const { meta } = await cached(cudaText, arch, options, async () => {
    const { ok, ptx, log } = await native().nvrtcCompile(cudaText, "/collc/kernel.cu", options);
    if (!ok || ptx === undefined) throw new Error(`NVRTC refuses the printed text for ${arch}: ${log}`);
    return { bytes: new Uint8Array(0), meta: { ptx } };
  });
  return meta["ptx"]!;
}

async function cached(
  cudaText: string,
  arch: string,
  options: string[],
  build: Parameters<JitCache["getOrBuild"]>[1],
): ReturnType<JitCache["getOrBuild"]> {
  const nvrtcVersion = await openNvrtc();
  return cache.getOrBuild(jitCacheKey({ cudaText, arch, nvrtcVersion, options, collcVersion: collcVersion() }), build);
}
