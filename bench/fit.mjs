/**
 * Fits the numbers of a machine to what `collc tune` measured on it, and prints those that `src/compiler/machine/machines.ts` may have:
 *
 *   npm run build:ts && node bench/fit.mjs bench/results/2026-11-26-2x-nvidia-h100-tune.json h200x2
 *
 * from the numbers of the machine that is named. Least squares of the logarithm of predicted over measured, first over ways of one
 * kernel, then, for the numbers of copy engines, over those with copies. What little depends on stays near what it began with: the logarithm
 * of how far each number has gone counts, too. One number after the other, by steps that shrink.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { compile, DEFAULT_ARCH, machineFor, MACHINES } from "../dist/src/compiler/index.js";
import { predictCopies, predictWork } from "../dist/src/compiler/machine/cost.js";
import { gridOf } from "../dist/src/compiler/machine/rows.js";
import { workOfRank } from "../dist/src/compiler/machine/work.js";
import { stepsOfResult } from "../dist/src/compiler/compiled.js";
import { DTYPES } from "../dist/src/compiler/types/dtype.js";
import { dimsOf, sizeOf } from "../dist/src/compiler/program/plan.js";
import { importsFromDisk, libraryFromDisk } from "../dist/src/runtime/imports.js";
import { isChanged } from "./changed-ways.mjs";

const root = join(import.meta.dirname, "..");
/** But for `ownLoad`, which is set by hand for products. */
const OF_KERNELS = [
  ...["push", "pairPush", "pull", "serve", "blockPush", "blockPull", "memory", "cachedMemory", "blockMemory"],
  ...["flag", "release", "flagRank", "drain", "ownDrain", "grid", "peerLoad", "peerNext", "ownNext", "skew"],
  ...["packet", "packetSpread", "packetLoad"],
];
const OF_COPIES = ["copyEngine", "copyEnginePull", "copyEnginePort", "copyStart", "ownCopyStart"];
/** How much a number's distance from where it began counts, beside the error of one row in a thousand. */
const HOLD = 2;

const { plans, machine: gpu, date } = JSON.parse(readFileSync(process.argv[2], "utf8"));
const known = machineFor(DEFAULT_ARCH, plans[0].ranks, gpu);
const begun = MACHINES.find(({ name }) => name === process.argv[3]);
if (begun === undefined) throw new Error(`name the machine to begin with: ${MACHINES.map((m) => m.name).join(", ")}`);
const early = date >= "2026-11-26";

const rows = [];
for (const { conversion, ranks, dtype, measured } of plans) {
  const file = join(root, "kernels", `${conversion}.coll`);
  const text = readFileSync(file, "utf8");
  for (const way of new Set(Object.values(measured).flatMap((times) => Object.keys(times)))) {
    if (way === "nccl" || isChanged(way, date)) continue;
    const options = {
      file,
      ranks,
      dtype,
      resolve: importsFromDisk,
      library: libraryFromDisk,
      machine: known,
      variant: way,
    };
    const compiled = compile(text, { ...options, mapping: { earlyLaunch: early } });
    const { kernel } = compiled;
    for (const [size, times] of Object.entries(measured)) {
      if (times[way] === undefined) continue;
      const dims = dimsOf(kernel, sizeOf(kernel), Number(size));
      const steps = stepsOfResult(compiled).map((step) => {
        if (step.kind !== "launch")
          return (m) => predictCopies(step.copies, false, () => DTYPES[dtype].bytes, dims, m).total;
        const grid = gridOf(step.kernel, dims);
        const works = Array.from({ length: ranks }, (_, rank) => workOfRank(step.kernel, rank, dims, grid));
        return (m) => predictWork(works, m).total - (step.kernel.early === true ? m.earlyLaunch.value : 0);
      });
      rows.push({ way, size, us: times[way], steps });
    }
  }
}

const predicted = ({ steps }, m) => steps.reduce((sum, step) => sum + step(m), 0) * 1e6;
const square = (x) => x * x;

/** The machine with those numbers by which it foretells the rows best. */
function fitted(from, names, among) {
  const errorOf = (m) =>
    among.reduce((sum, row) => sum + square(Math.log(predicted(row, m) / row.us)), 0) +
    ((HOLD * among.length) / 1000) *
      names.reduce((sum, name) => sum + square(Math.log(m[name].value / from[name].value)), 0);
  let [machine, least] = [from, errorOf(from)];
  for (let step = 0.4; step > 0.01; step /= 2)
    for (let isBetter = true; isBetter;) {
      isBetter = false;
      for (const name of names)
        for (const factor of [1 + step, 1 / (1 + step)]) {
          const tried = { ...machine, [name]: { ...machine[name], value: machine[name].value * factor } };
          const error = errorOf(tried);
          if (error < least * (1 - 1e-6)) [machine, least, isBetter] = [tried, error, true];
        }
    }
  return machine;
}

const hasCopies = ({ way }) => way.endsWith("+copies");
const ofKernels = fitted(
  begun,
  OF_KERNELS,
  rows.filter((row) => !hasCopies(row)),
);
const machine = fitted(ofKernels, OF_COPIES, rows.filter(hasCopies));

for (const name of [...OF_KERNELS, ...OF_COPIES]) {
  const [was, is] = [begun[name].value, machine[name].value];
  console.log(`${name.padEnd(14)} ${was.toPrecision(3).padStart(10)} → ${is.toPrecision(3)}`);
}
const errors = (m) => rows.map((row) => Math.abs(predicted(row, m) / row.us - 1)).sort((a, b) => a - b);
const percent = (x) => `${(100 * x).toFixed(1)} %`;
for (const [what, m] of [
  [begun.name, begun],
  ["fitted", machine],
  [known.name, known],
]) {
  const all = errors(m);
  const within = all.filter((e) => e <= 0.15).length / all.length;
  console.log(
    `${what}: median ${percent(all[all.length >> 1])}, 90th of 100 ${percent(all[Math.floor(all.length * 0.9)])}, largest ${percent(all.at(-1))}, within 15 %: ${percent(within)}`,
  );
}
console.log(`${rows.length} rows; furthest off:`);
const worst = rows.map((r) => [predicted(r, machine) / r.us - 1, r]).sort((a, b) => Math.abs(b[0]) - Math.abs(a[0]));
for (const [error, { way, size, us }] of worst.slice(0, 12))
  console.log(`  ${way} ${size}: ${us} µs, ${percent(error)}`);
