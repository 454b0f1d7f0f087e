/**
 * How long programs take to compile: writes bench/results/compile-times.md. No GPU is needed, but NVRTC.
 *
 *   npm run build && node bench/compile.mjs
 *
 * Each program is compiled by a process of its own, once cold, then again; then NVRTC makes machine code of its kernels, one after the other, which
 * `load` has it do side by side; then the cubins are read from the cache. Three processes for each program: the median is told.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const PROGRAMS = [
  "all_reduce/one_shot",
  "all_reduce/two_shot",
  "all_gather",
  "reduce_scatter",
  "all_reduce",
  "all_to_all",
  "broadcast",
  "fused/all_reduce_bias_gelu",
  "fused/all_reduce_rms_norm",
  "matmul/all_gather",
  "matmul/reduce_scatter",
  "matmul/all_reduce",
];
const RANKS = 4;
const ARCH = "sm_90a";
const RUNS = 3;

/** One process: times in milliseconds. @param directory of its cache of kernels */
async function measure(name, directory) {
  const { expectShortRun } = await import("../dist/src/cli/short-run.js");
  expectShortRun();
  const { compile } = await import("../dist/src/compiler/index.js");
  const { importsFromDisk, libraryFromDisk } = await import("../dist/src/runtime/imports.js");
  const { compileCuda, nvrtcOptions, openNvrtc } = await import("../dist/src/runtime/program.js");
  const { JitCache, jitCacheKey } = await import("../dist/src/runtime/jit-cache.js");
  const file = join(root, "kernels", `${name}.coll`);
  const text = readFileSync(file, "utf8");
  const options = { file, ranks: RANKS, dtype: "bf16", arch: ARCH, resolve: importsFromDisk, library: libraryFromDisk };
  const timed = async (what) => {
    const start = performance.now();
    const result = await what();
    return [performance.now() - start, result];
  };
  const printed = () => compile(text, options).kernels.map(({ cuda }) => cuda);
  const [cold, texts] = await timed(printed);
  const [warm] = await timed(printed);
  const nvrtcVersion = await openNvrtc();
  const cache = new JitCache({ directory });
  const cubins = (build) =>
    Promise.all(
      texts.map((cudaText, i) => {
        const key = jitCacheKey({ cudaText, arch: ARCH, nvrtcVersion, options: nvrtcOptions(ARCH), collcVersion: "" });
        return cache.getOrBuild(key, () => build(i));
      }),
    );
  const nvrtc = [];
  const made = [];
  for (const cuda of texts) {
    const [took, { cubin }] = await timed(() => compileCuda(cuda, ARCH));
    nvrtc.push(took);
    made.push({ bytes: cubin, meta: {} });
  }
  await cubins((i) => Promise.resolve(made[i]));
  const [cached] = await timed(() => cubins(() => Promise.reject(new Error("it was not in the cache"))));
  const bytes = texts.map((cuda) => cuda.length);
  console.log(JSON.stringify({ cold, warm, nvrtc: Math.max(...nvrtc), cached, kernels: texts.length, bytes: Math.max(...bytes) })); // prettier-ignore
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

function report() {
  const cache = mkdtempSync(join(tmpdir(), "collc-compile-"));
  try {
    const rows = PROGRAMS.map((name) => {
      const runs = Array.from({ length: RUNS }, () =>
        JSON.parse(execFileSync(process.execPath, [import.meta.filename, name, cache], { encoding: "utf8" })),
      );
      const of = (key) => median(runs.map((run) => run[key]));
      process.stderr.write(`${name}: ${of("cold").toFixed(0)} ms\n`);
      return `| ${name} | ${of("kernels")} | ${of("cold").toFixed(0)} | ${of("warm").toFixed(0)} | ${(of("bytes") / 1000).toFixed(0)} | ${of("nvrtc").toFixed(0)} | ${of("cached").toFixed(1)} |`;
    });
    const page = `# Compile times

Made by \`node bench/compile.mjs\` on ${cpus().length} cores of ${cpus()[0].model}, Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}: milliseconds, the
median of ${RUNS} processes, for ${RANKS} ranks, bf16, ${ARCH}. _Cold_ is the first program of a process, from text to CUDA text, with all kernels of its plan;
_again_ the same program once more. _NVRTC_ is the kernel that takes longest, by itself; kernels of one program are compiled side by side. _Cached_ is
what it takes to have all of them from the cache.

| program | kernels | cold | again | longest text, kB | NVRTC | cached |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
${rows.join("\n")}

What is aimed at: 150 ms cold for communication alone, 500 ms with products, 5 and 10 ms from the cache. NVRTC is beyond that by far where there are products: a kernel
has tiles of several widths, with few rows and many, aligned and not, and ptxas compiles all of them.
`;
    writeFileSync(join(root, "bench/results/compile-times.md"), page);
  } finally {
    rmSync(cache, { recursive: true, force: true });
  }
}

const [name, directory] = process.argv.slice(2);
if (name === undefined) report();
else await measure(name, directory);
