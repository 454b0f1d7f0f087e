/**
 * Builds the kernels that `products.py` checks and times: those of `products.coll`, and its first in tiles of other shapes.
 *
 *     node bench/build-products.mjs DIR
 *
 * Needs the built package (`npm run build`) and NVRTC, and no GPU.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { compile } from "../dist/src/compiler/index.js";
import { DEFAULT_PASS_OPTIONS } from "../dist/src/compiler/passes/options.js";
import { compileCuda } from "../dist/src/runtime/program.js";

const source = fileURLToPath(new URL("products.coll", import.meta.url));
const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error("usage: node bench/build-products.mjs DIR");
  process.exit(2);
}
mkdirSync(folder, { recursive: true });

const roles = { ...DEFAULT_PASS_OPTIONS.roles, few: null, narrower: [] };
const one = { consumers: 128, registers: null, gathering: null };
/** Tiles beside those that the compiler chooses. */
const SHAPES = {
  "128x256 of 16": { ...roles, group: 16 },
  "128x192": { ...roles, n: 192, stages: 5 },
  "128x128": { ...roles, n: 128, stages: 6 },
  "64x256": { ...roles, ...one, m: 64, stages: 5 },
  "64x128": { ...roles, ...one, m: 64, n: 128, stages: 8 },
};

const text = readFileSync(source, "utf8");
const NARROW = "mm_narrow";
const names = [...text.matchAll(/^collective (\w+)/gm)].map(([, name]) => name).filter((name) => name !== NARROW);
const plain = { dtype: "bf16", mapping: {} };
const units = [
  ...names.map((collective) => ({ ...plain, collective, name: collective })),
  ...Object.entries(SHAPES).map(([shape, roles]) => ({
    ...plain,
    collective: "mm",
    name: `mm@${shape}`,
    mapping: { roles },
  })),
  ...Object.entries({ i8: "i32", f8e4m3: "bf16", f8e5m2: "bf16" }).map(([T, U]) => ({
    ...plain,
    collective: NARROW,
    name: `mm_${T}`,
    dtype: { T, U },
  })),
];
const kernels = [];
for (const { collective, name, dtype, mapping } of units) {
  const compiled = compile(text, { file: source, collective, ranks: 1, dtype, arch: "sm_90a", mapping });
  const { cubin, log } = await compileCuda(compiled.cuda, "sm_90a");
  const notes = log.split("\n").filter((line) => /C75(0\d|1[0-8])|[1-9]\d* bytes spill/.test(line));
  console.log(`${name}: ${cubin.length} bytes${notes.length > 0 ? `, ${notes.join("; ")}` : ""}`);
  const file = `${name.replaceAll(/\W/g, "_")}.cubin`;
  writeFileSync(path.join(folder, file), cubin);
  const {
    inputs,
    outputs,
    kernels: [kernel],
  } = compiled.manifest;
  kernels.push({ inputs, outputs, ...kernel, collective: name, files: { cubin: file } });
}
writeFileSync(path.join(folder, "manifest.json"), JSON.stringify({ kernels }));
