// The GPU suite: every kernel of the library, one process a rank, against the reference made from its signature.
// Needs node, dist/, build/Release/collc.node, kernels/ and production node_modules; no test runner.
//
//   node test/gpu/suite.mjs --ranks 4 [--only all_reduce] [--quick] [--time] [--reach 2x2] [--backend nccl] [--round-partial-sums] [--out results.jsonl]
//
// Checks f32, f16 and bf16 from 2 elements up to 256 MiB, odd lengths and misaligned starts included; outputs are
// poisoned before each launch and lie between guard elements that must stay untouched. Prints one JSON line a case
// that fails, a summary line `N passed, N failed`, and with --time one line a size with microseconds.
import { createHash } from "node:crypto";
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { compile, fitDims, wayAt } from "../../dist/src/compiler/index.js";
import { connect } from "../../dist/src/runtime/connect.js";
import { detectLauncher } from "../../dist/src/runtime/env.js";
import { importsFromDisk, libraryFromDisk } from "../../dist/src/runtime/imports.js";
import { launchRanks } from "../../dist/src/runtime/launcher.js";
import { allocate, bytesOf, fillPoison } from "../../dist/src/runtime/numbers/index.js";
import { chosenReach, pretendHostToNccl } from "../../dist/src/runtime/reach.js";
import {
  checkOutputs,
  generatedInputs,
  makeRankInputs,
  programElements,
} from "../../dist/src/runtime/reference/index.js";
import { someScalars } from "../../dist/src/runtime/shapes.js";

const { values: options } = parseArgs({
  options: {
    ranks: { type: "string", default: "2" },
    only: { type: "string", default: "" },
    // Other programs than the library's: a folder.
    kernels: { type: "string", default: "" },
    dtypes: { type: "string", default: "f32,f16,bf16" },
    quick: { type: "boolean", default: false },
    // Only the largest case of every collective, 256 MiB, in every dtype.
    large: { type: "boolean", default: false },
    time: { type: "boolean", default: false },
    check: { type: "boolean", default: true },
    out: { type: "string", default: "" },
    rank: { type: "boolean", default: false },
    // Hosts that are pretended, and the GPUs of each: 2x2. NCCL takes them for hosts, too.
    reach: { type: "string" },
    backend: { type: "string", default: "cuda" },
    "round-partial-sums": { type: "boolean", default: false },
    // Knobs of the mapping as JSON, for sweeps: {"elementBlocks":32}.
    mapping: { type: "string", default: "{}" },
  },
  allowNegative: true,
});

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), "../..");
const ranks = Number(options.ranks);
const GUARD = 64;
const WIDTH = { f32: 4, f16: 2, bf16: 2 };

const kernels = options.kernels === "" ? path.join(root, "kernels") : path.resolve(options.kernels);
const library = readdirSync(kernels, { recursive: true, encoding: "utf8" })
  .filter((f) => f.endsWith(".coll") && f.includes(options.only))
  .sort();
if (library.length === 0) throw new Error(`no program in ${kernels} has '${options.only}' in its name`);

/** Dimensions to try for a kernel: [dims, element offset of every tensor]. */
function casesFor(manifest, dtype) {
  const w = manifest.ranks;
  if (options.large) return largeCases(manifest, dtype);
  const cases = [];
  const fitting = (dims) => fitDims(manifest.requirements, dims, new Set(manifest.dims));
  if (manifest.dims.length === 1) {
    const [d] = manifest.dims;
    const unit = manifest.requirements.length > 0 ? w : 1;
    const small = options.quick ? [2, 1000, 65536] : [2, 3, 7, 255, 1000, 4096, 16384, 20011, 65536, 262145];
    for (const n of small) for (const offset of [0, 1, 3]) cases.push([{ [d]: Math.ceil(n / unit) * unit }, offset]);
    const large = options.quick ? [1 << 20] : [(1 << 20) + 1, 1 << 22, 1 << 24];
    for (const bytes of large) cases.push([{ [d]: Math.ceil(bytes / WIDTH[dtype] / unit) * unit }, 0]);
    // Sizes and alignments of the tests in test/COVERAGE.md: bytes, and starts 16 bytes apart.
    for (const bytes of [4, 128, 8192, 8196, 36 * 1024 * 16])
      for (const offset of [0, 16 / WIDTH[dtype]])
        cases.push([{ [d]: Math.ceil(bytes / WIDTH[dtype] / unit) * unit }, offset]);
    if (!options.quick && dtype === "bf16") cases.push([{ [d]: 1 << 27 }, 0]);
    return cases.map(([dims, offset]) => [fitting({ [d]: dims[d] - (dims[d] % unit) }), offset]);
  }
  const shapes = [
    [1, 1, 1],
    [8, 24, 16],
    [51, 37, 29],
    [128, 128, 64],
    [160, 96, 100],
    // Few tiles, whose depth is cut.
    [16, 48, 1536],
    [3, 41, 1027],
    ...(options.quick
      ? []
      : [
          [257, 131, 67],
          [512, 512, 512],
          [1024, 768, 1280],
        ]),
  ];
  const names = ["m", "n", "k"];
  const size = (shape, d, i) => shape[names.includes(d) ? names.indexOf(d) : i % shape.length] * w;
  for (const shape of shapes)
    for (const offset of [0, 1])
      cases.push([fitting(Object.fromEntries(manifest.dims.map((d, i) => [d, size(shape, d, i)]))), offset]);
  return cases;
}

function largeCases(manifest, dtype) {
  const w = manifest.ranks;
  const elements = 2 ** 28 / WIDTH[dtype];
  const whole = (n) => n - (n % (128 * w));
  if (manifest.dims.length === 1) return [[{ [manifest.dims[0]]: whole(elements) }, 0]];
  return manifest.inputs.length > 1 ? [] : [[{ m: 4096 * w, n: whole(Math.floor(elements / (4096 * w))) }, 0]];
}

async function runRank() {
  const reach = chosenReach(options.reach, ranks);
  if (reach !== undefined) pretendHostToNccl(detectLauncher().rank, reach);
  const group = await connect({ backend: options.backend, ranks, timeoutMs: 20_000 });
  const rank = group.localRanks[0];
  const { backend } = group;
  const place = { backend, ...(reach !== undefined && { reach: options.reach }) };
  const say = (line) => rank === 0 && process.send(line);
  let passed = 0;
  let failed = 0;
  for (const file of library) {
    const text = readFileSync(path.join(kernels, file), "utf8");
    for (const dtype of options.dtypes.split(",")) {
      const mapping = JSON.parse(options.mapping);
      // Programs of one name take the library's ways, as users get them.
      const compiled = compile(text, {
        ...{ file: path.join(kernels, file), ranks, dtype, reach, mapping },
        ...{ resolve: importsFromDisk, library: libraryFromDisk },
        roundPartialSums: options["round-partial-sums"],
      });
      // Its `where` clause leaves these out, or it holds only what others import.
      if (compiled.diagnostics.some((d) => d.code === "empty-file" || d.code.endsWith("-not-allowed"))) continue;
      const refused = compiled.diagnostics.find((d) => d.code === "out-of-reach");
      if (refused !== undefined) {
        say({ file, dtype, ranks, ...place, refused: refused.message });
        continue;
      }
      const kernel = await group.load(compiled);
      if (options.check) {
        const began = performance.now();
        let count = 0;
        for (const [dims, offset] of casesFor(kernel.manifest, dtype)) {
          const problem = await checkCase(group, kernel, wayAt(compiled, dims).kernel, dims, offset, rank).catch(
            (e) => `threw: ${e.message}`,
          );
          const problems = (await group.exchange("result", problem))
            .map((p, r) => (p === null ? null : `rank ${r}: ${p}`))
            .filter(Boolean);
          count++;
          if (problems.length === 0) passed++;
          else {
            failed++;
            say({ file, dtype, dims, offset, problems: problems.slice(0, 2) });
          }
        }
        say({ file, dtype, ranks, ...place, cases: count, seconds: +((performance.now() - began) / 1000).toFixed(2) });
      }
      if (options.time && dtype === "bf16") await timeKernel(group, kernel, file, say);
      await kernel.unload();
    }
  }
  say({ summary: true, ranks, ...place, passed, failed });
  await group.close();
  process.exitCode = failed > 0 ? 1 : 0;
}

/** Tensors of one case, each between guards; what is in memory symmetric by need of the kernel. */
async function makeTensors(group, manifest, local, offset) {
  const tensors = {};
  const whole = [];
  // What is changed in place begins as the input.
  for (const [name, values] of Object.entries({ ...local.outputs, ...local.inputs })) {
    const { dtype } = [...manifest.inputs, ...manifest.outputs].find((t) => t.name === name);
    const length = values.length + 2 * GUARD + offset;
    const symmetric = manifest.symmetric.includes(name);
    const tensor = symmetric ? await group.symmetric(dtype, [length]) : group.local(dtype, [length]);
    const guarded = fillPoison(allocate(dtype, length));
    guarded.set(values, GUARD + offset);
    tensor.write(guarded);
    tensors[name] = tensor.view(GUARD + offset, [values.length]);
    whole.push({ name, tensor, values, start: GUARD + offset });
  }
  return { tensors, whole };
}

let seed = 1;
async function checkCase(group, kernel, program, lengths, offset, rank) {
  const { manifest } = kernel;
  const dims = { ...lengths, ...someScalars(manifest) };
  seed++;
  const local = makeRankInputs(manifest, dims, seed, rank);
  const { tensors, whole } = await makeTensors(group, manifest, local, offset);
  try {
    await group.barrier();
    // In place, a second launch would begin with what the first one left.
    for (let launch = 0; launch < (manifest.inPlace.length > 0 ? 1 : 2); launch++) await kernel.run(tensors, dims);
    const outputs = {};
    for (const { name, tensor, values, start } of whole) {
      const now = await tensor.read();
      const poison = fillPoison(allocate(tensor.dtype, GUARD));
      const untouched = (a) => Buffer.compare(bytesOf(a), bytesOf(poison.subarray(0, a.length))) === 0;
      if (
        !untouched(now.subarray(0, GUARD)) ||
        !untouched(now.subarray(start + values.length, start + values.length + GUARD))
      )
        return `'${name}': memory around it was written`;
      if (name in local.outputs) outputs[name] = now.subarray(start, start + values.length);
    }
    const all = Array.from({ length: manifest.ranks }, (_, r) => (r === rank ? { outputs } : undefined));
    const inputs = generatedInputs(manifest, dims, seed);
    const result = checkOutputs(manifest, dims, inputs, all, {
      maxElements: 1 << 18,
      seed,
      program: programElements(program, manifest, dims, [inputs])(0),
    });
    const digest = Object.values(outputs)
      .map((o) => createHash("sha1").update(bytesOf(o)).digest("hex"))
      .join();
    const digests = await group.exchange("digest", digest);
    const replicated = manifest.outputs.every((o) => o.layout.kind === "replicated");
    if (!result.correct)
      return `wrong: error ${result.maxError}, allowed ${result.tolerance}, first ${JSON.stringify(result.firstMismatch)}`;
    if (replicated && digests.some((d) => d !== digest)) return "not bitwise equal across ranks";
    if (result.unbounded === 1) return "nothing bounds the error of any element, so that nothing was checked";
    return null;
  } finally {
    for (const { tensor } of whole) await tensor.free();
  }
}

async function timeKernel(group, kernel, file, say) {
  const { manifest } = kernel;
  const w = manifest.ranks;
  const sizes = [1024, 32768, 65536, 262144, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28];
  const isProduct = manifest.dims.includes("k");
  const cases = isProduct
    ? [
        [512, 8192, 8192],
        [2048, 8192, 8192],
        [8192, 8192, 8192],
      ].map(([m, n, k]) => Object.fromEntries(manifest.dims.map((d) => [d, { m, n, k }[d] ?? n / 4])))
    : manifest.dims.length === 1
      ? sizes.map((bytes) => ({ [manifest.dims[0]]: bytes / 2 }))
      : // Rows of a model's width, and as many as it takes.
        sizes.map((bytes) => {
          const n = Math.min(8192, bytes / 8 / w);
          return { m: bytes / 2 / n, n };
        });
  for (const chosen of cases) {
    const dims = {
      ...fitDims(manifest.requirements, chosen, new Set(manifest.dims)),
      ...someScalars(manifest),
    };
    const local = makeRankInputs(manifest, dims, 7, group.localRanks[0]);
    const { tensors, whole } = await makeTensors(group, manifest, local, 0);
    const timing = await kernel.time(tensors, dims);
    say({
      file,
      ranks: w,
      dims,
      us: +timing.median.toFixed(2),
      min: +timing.min.toFixed(2),
      max: +timing.max.toFixed(2),
    });
    for (const { tensor } of whole) await tensor.free();
  }
}

if (options.rank) {
  try {
    await runRank();
  } catch (error) {
    console.error(error.message.slice(0, 2000));
    process.exit(1);
  }
} else {
  if (options.out) writeFileSync(options.out, "");
  const result = await launchRanks({
    ranks,
    args: [fileURLToPath(import.meta.url), "--rank", ...process.argv.slice(2)],
    onMessage: (_rank, line) => {
      if (options.out) appendFileSync(options.out, JSON.stringify(line) + "\n");
      console.log(
        line.summary ? `${line.ranks} ranks: ${line.passed} passed, ${line.failed} failed` : JSON.stringify(line),
      );
    },
  });
  if (result.failure) console.log(result.failure.message);
  process.exitCode = result.exitCode;
}
