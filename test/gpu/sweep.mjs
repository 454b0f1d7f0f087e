// Times programs under several mappings and sizes, a sample of each result compared with its signature afterwards: what
// choices of blocks, slabs and protocols are worth on a machine. One process a rank, one JSON line a measurement, a table at the end.
//
//   node test/gpu/sweep.mjs --ranks 4 --plan plan.json [--outer 15] [--out results.jsonl]
//
// plan.json: [{"file": "kernels/all_reduce/push.coll", "dtype": "bf16", "sizes": [1048576], "mappings": [{"slabRows": 4}]}]
// Sizes are bytes of the tensor named n (one dimension), or all dimensions: {"m": 512, "n": 8192, "k": 8192}. Needs what test/gpu/suite.mjs needs.
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { compile, fitDims } from "../../dist/src/compiler/index.js";
import { makeTensors, verify } from "../../dist/src/bench/execute.js";
import { connect } from "../../dist/src/runtime/connect.js";
import { importsFromDisk, libraryFromDisk } from "../../dist/src/runtime/imports.js";
import { backendOptions } from "../../dist/src/runtime/machine-at-hand.js";
import { launchRanks } from "../../dist/src/runtime/launcher.js";

const { values: options } = parseArgs({
  options: {
    ranks: { type: "string", default: "2" },
    plan: { type: "string" },
    // Replays of a graph of ten launches: thousands heat the GPU up as work without a pause does.
    outer: { type: "string", default: "15" },
    out: { type: "string", default: "" },
    rank: { type: "boolean", default: false },
  },
});
const root = path.join(path.dirname(fileURLToPath(import.meta.url)), "../..");
const ranks = Number(options.ranks);
const WIDTH = { f32: 4, f16: 2, bf16: 2, i32: 4, u32: 4, i8: 1, u8: 1, f8e4m3: 1, f8e5m2: 1 };

/** Elements of each output that are compared with the reference: a sample, for a sweep measures choices, not correctness. */
const maxElements = 2 ** 14;

async function runRank() {
  const group = await connect({ backend: "cuda", ranks, timeoutMs: 20_000 });
  const say = (line) => group.localRanks[0] === 0 && process.send(line);
  for (const { file, dtype = "bf16", sizes, mappings } of JSON.parse(readFileSync(options.plan, "utf8"))) {
    const place = path.join(root, file);
    const text = readFileSync(place, "utf8");
    const programs = mappings.map((mapping) => ({
      mapping,
      compiled: compile(text, {
        ...{ file: place, ranks, dtype, mapping },
        ...{ resolve: importsFromDisk, library: libraryFromDisk, ...backendOptions("cuda", ranks) },
      }),
    }));
    const error = programs.flatMap((p) => p.compiled.diagnostics).find((d) => d.severity === "error");
    if (error !== undefined) {
      say({ file, problem: error.message });
      continue;
    }
    const { manifest } = programs[0].compiled;
    const names = new Set(manifest.dims);
    for (const size of sizes) {
      const each = Math.max(1, Math.round(size / WIDTH[dtype]));
      const wanted = typeof size === "object" ? size : Object.fromEntries([...names].map((d) => [d, each]));
      const dims = fitDims(manifest.requirements, wanted, names);
      // Inputs are made once a size: to fill them takes longer than to time them.
      const tensors = await makeTensors(group, manifest, dims, 3);
      for (const { mapping, compiled } of programs) {
        const kernel = await group.load(compiled);
        const timing = await kernel.time(tensors, dims, { inner: 10, outer: Number(options.outer) });
        const { check, bitwiseEqualAcrossRanks } = await verify(group, manifest, dims, tensors, {
          seed: 3,
          maxElements,
        });
        const problem = !check.correct ? "wrong result" : bitwiseEqualAcrossRanks === false ? "ranks differ" : null;
        const { median, min, max } = timing;
        say({
          file,
          dtype,
          ranks,
          size: typeof size === "object" ? Object.values(size).join("x") : size,
          mapping,
          us: +median.toFixed(2),
          min: +min.toFixed(2),
          max: +max.toFixed(2),
          problem,
        });
        await kernel.unload();
      }
      for (const tensor of Object.values(tensors)) await tensor.free();
    }
  }
  await group.close();
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
  const lines = [];
  const result = await launchRanks({
    ranks,
    args: [fileURLToPath(import.meta.url), "--rank", ...process.argv.slice(2)],
    onMessage: (_rank, line) => {
      lines.push(line);
      if (options.out) appendFileSync(options.out, JSON.stringify(line) + "\n");
      if (line.problem) console.log(JSON.stringify(line));
    },
  });
  for (const file of new Set(lines.map((l) => l.file))) {
    const own = lines.filter((l) => l.file === file && l.us != null);
    const sizes = [...new Set(own.map((l) => l.size))];
    console.log(`${file}: microseconds by size ${sizes.join(" ")}`);
    for (const key of new Set(own.map((l) => JSON.stringify(l.mapping)))) {
      const at = (size) => own.find((l) => l.size === size && JSON.stringify(l.mapping) === key)?.us ?? "-";
      console.log(`  ${key.padEnd(60)} ${sizes.map((s) => String(at(s)).padStart(9)).join("")}`);
    }
  }
  if (result.failure) console.log(result.failure.message);
  process.exitCode = result.exitCode;
}
