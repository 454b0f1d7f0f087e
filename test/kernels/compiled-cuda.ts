/** What NVRTC makes of a text, from collc's cache of compiled kernels where a run before this one has put it. */
import { JitCache, jitCacheKey } from "../../src/runtime/jit-cache.js";
import { compileCuda, nvrtcOptions, openNvrtc } from "../../src/runtime/program.js";
import { collcVersion } from "../../src/runtime/version.js";

const cache = new JitCache();

export async function compiledCuda(
  cudaText: string,
  arch: string,
): Promise<{ cubin: Uint8Array; ptx: string; log: string }> {
  const options = [...nvrtcOptions(arch), "with its PTX"];
  const key = jitCacheKey({ cudaText, arch, nvrtcVersion: await openNvrtc(), options, collcVersion: collcVersion() });
  const { bytes, meta } = await cache.getOrBuild(key, async () => {
    const { cubin, ptx, log } = await compileCuda(cudaText, arch);
    return { bytes: cubin, meta: { ptx, log } };
  });
  return { cubin: bytes, ptx: meta["ptx"]!, log: meta["log"]! };
}
