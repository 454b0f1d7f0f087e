/**
 * How far the model's times are from measured ones, and what it costs to choose by it: writes bench/results/prediction.md.
 *
 *   npm run build:ts && node bench/prediction.mjs
 *
 * Like is compared with like: a time is that of a way, with the blocks that kernels had then, as far as files say so or the day tells.
 * What was measured of kernels that have changed since is left out, and named.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { choiceName, choiceOf, compile, machineFor, predictTime, DEFAULT_ARCH } from "../dist/src/compiler/index.js";
import { candidateOf } from "../dist/src/compiler/compiled.js";
import { dimsOf, planOf, sizeOf } from "../dist/src/compiler/program/plan.js";
import { evaluateExtent } from "../dist/src/compiler/types/extent.js";
import { DTYPES } from "../dist/src/compiler/types/dtype.js";
import { importsFromDisk, libraryFromDisk } from "../dist/src/runtime/imports.js";
import { CHANGED_WAYS, isChanged } from "./changed-ways.mjs";

const root = join(import.meta.dirname, "..");
const folder = join(root, "bench", "results");

/** Files of kernels that have changed since, or that do not say which way was taken. */
const LEFT_OUT = [
  {
    files: /^2026-11-21-4x-.*-(all_\w+|broadcast|reduce_scatter)\.json$/,
    why: "stores of 16 bytes were split into four until the next morning; `collc tune` measured all of these ways again after that",
  },
  {
    files: /^2026-11-22-4x-nvidia-h200-(all_\w+|broadcast|reduce_scatter)\.json$/,
    why: "the plan of that day's model, which the rows do not say; files of the tuned plan, beside them, have its ways",
  },
  {
    files: /^2026-11-21-4x-nvidia-h200-matmul\.json$/,
    why: "products on `mma.sync` whose phases did not overlap; so are the products among the library's times on 2 ranks",
  },
  {
    files: /^2026-11-21-gpu-library-times-4-ranks\.jsonl$/,
    why: "the library with split stores, and with scratch in one copy",
  },
  {
    files: /-hosts(-over-nvlink)?\.json$/,
    why: "hosts that were pretended, between which went sockets, or what no hosts have; docs/REACH.md has them",
  },
];
/** Launches began with a fence until then, which takes up to 1.7 µs: of short ones, what was measured before says little of those of now. */
const FENCE = { until: "2026-11-28", us: 20 };
const isLeftOut = (file) => LEFT_OUT.some(({ files }) => files.test(file));

/** Suites that ran with a measured plan, which says the way of each size. */
const TUNED_SUITE = /^2026-11-22-4x-nvidia-h200-tuned-/;
const TUNE_OF_TUNED_SUITE = "2026-11-22-4x-nvidia-h200-tune.json";
/** Until that day's noon, all kernels took 32 blocks, those with packets too; blocks wait in their places for their launch since 2026-11-26. */
const mappingOf = (file) => ({
  ...(/^2026-11-22-4x/.test(file) ? { elementBlocks: 32, busyBlocks: 32 } : {}),
  earlyLaunch: file >= "2026-11-26",
});

const json = (file) => JSON.parse(readFileSync(join(folder, file), "utf8"));
const lines = (file) =>
  readFileSync(join(folder, file), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
const taken = (choices, size) => choices.find(({ below }) => below === null || size < below);

/** The way that a plan takes; kernels of ways have a name of their collective and the way's. */
const wayOf = (manifest, dims) => choiceName(choiceOf(manifest, dims), manifest);

const programs = new Map();
/** A program as it is compiled now, with the mapping of then. */
function program({ kernel, ranks, dtype, variant, gpu = "NVIDIA H200", mapping = {} }) {
  const key = JSON.stringify([kernel, ranks, dtype, variant, gpu, mapping]);
  if (!programs.has(key)) {
    const file = join(root, "kernels", `${kernel}.coll`);
    const machine = machineFor(DEFAULT_ARCH, ranks, gpu);
    const options = { file, ranks, dtype, resolve: importsFromDisk, library: libraryFromDisk, machine, variant };
    programs.set(key, {
      compiled: compile(readFileSync(file, "utf8"), { ...options, mapping: { earlyLaunch: false, ...mapping } }),
      machine,
    });
  }
  return programs.get(key);
}

/** With the model's time; nothing for what does not compile, and for what has changed since. */
function predicted(m) {
  const { compiled, machine } = m.program ?? program(m);
  const { kernel, manifest } = compiled;
  if (kernel === null) return [];
  if (m.us < FENCE.us && m.measured < FENCE.until) return [];
  const dims = m.dims ?? dimsOf(kernel, sizeOf(kernel), m.bytes / DTYPES[m.dtype].bytes);
  if (isChanged(m.variant ?? wayOf(manifest, dims), m.measured) || isChanged(m.kernel, m.measured)) return [];
  const us = predictTime(compiled, dims, machine).total * 1e6;
  return [{ ...m, dims, predicted: us, error: us / m.us - 1 }];
}

/** Rows of `collc bench`: the way is the recorded one, else that of the measured plan, else the plan's of now. */
function suiteRows() {
  const { plans } = json(TUNE_OF_TUNED_SUITE);
  const found = new Map();
  const results = readdirSync(folder)
    .filter((file) => file.endsWith(".json") && !isLeftOut(file))
    .map((file) => ({ file, ...json(file) }))
    .filter(({ backend, rows }) => backend === "cuda" && Array.isArray(rows));
  // Of what was measured twice, the later one.
  for (const { file, ranks, dtype, rows, machine, date: measured } of results.sort((a, b) =>
    a.date < b.date ? -1 : 1,
  )) {
    for (const { label, dims, kernels } of rows)
      for (const [kernel, cell] of Object.entries(kernels)) {
        if (cell.us === undefined || cell.way === "nccl") continue;
        const size = Object.values(dims).reduce((a, b) => a * b, 1);
        const plan = TUNED_SUITE.test(file) ? plans.find((p) => p.conversion === kernel) : undefined;
        const variant = cell.way ?? (plan === undefined ? undefined : taken(plan.choices, size).way);
        const gpu = machine.gpus[0];
        const m = { kernel, ranks, dtype, dims, label, us: cell.us.median, variant, gpu, mapping: mappingOf(file) };
        found.set(JSON.stringify([kernel, ranks, dtype, label, gpu]), { ...m, measured });
      }
  }
  return [...found.values()].flatMap(predicted);
}

/** Ways that `collc tune` measured, and what the model would have chosen among them. */
function tuneRows(file) {
  const { plans, machine: gpu, date } = json(file);
  const rows = [];
  const regrets = [];
  for (const { conversion, ranks, dtype, measured } of plans) {
    const whole = program({ kernel: conversion, ranks, dtype, gpu, mapping: mappingOf(file) });
    const names = new Set(Object.values(measured).flatMap((times) => Object.keys(times)));
    // Ways that were slow enough to be left out of the plan are compiled one by one.
    const ways = [...names].flatMap((name) => {
      if (!whole.compiled.ways.includes(name) || isChanged(name, date)) return [];
      const known = whole.compiled.considered.find((way) => way.name === name);
      const mapping = mappingOf(file);
      return [known ?? { name, ...program({ kernel: conversion, ranks, dtype, variant: name, gpu, mapping }) }];
    });
    const { kernel } = ways[0].compiled;
    const by = sizeOf(kernel);
    const { plan, used } = planOf(ways.map(candidateOf), by, whole.machine);
    for (const [label, times] of Object.entries(measured)) {
      const dims = dimsOf(kernel, by, Number(label));
      for (const { name, compiled } of ways)
        if (times[name] !== undefined) {
          const row = { kernel: conversion, ranks, dtype, dims, label, us: times[name], variant: name, measured: date };
          rows.push(...predicted({ ...row, program: { compiled, machine: whole.machine } }));
        }
      const chosen = used[numberOf(taken(plan.choices, evaluateExtent(by, dims)), used)].name;
      const [[best, least]] = ways.map(({ name }) => [name, times[name]]).sort((a, b) => a[1] - b[1]);
      regrets.push({ conversion, size: label, chosen, best, regret: times[chosen] / least - 1 });
    }
  }
  return { file, rows, regrets };
}

/** Which of the plan's candidates a choice is. */
function numberOf({ steps }, used) {
  const { kernel } = steps.find(({ kind }) => kind === "launch");
  let first = 0;
  return used.findIndex((candidate) => {
    first += candidate.steps.filter(({ kind }) => kind === "launch").length;
    return kernel < first;
  });
}

/** Sweeps whose lines say the mapping. */
function sweepRows(file) {
  return lines(file)
    .filter(({ us, problem }) => us !== undefined && (problem ?? null) === null)
    .flatMap(({ file: path, ranks, dtype, bytes, size, us, mapping }) => {
      const kernel = path.replace(/^kernels\//, "").replace(/\.coll$/, "");
      const blocks = { ...mapping, busyBlocks: mapping.elementBlocks, loadBlocks: mapping.elementBlocks };
      return predicted({ kernel, ranks, dtype, bytes: bytes ?? size, us, mapping: blocks, measured: file });
    });
}

/** Single programs of the library on 2 ranks, of the latest file that has them. */
function libraryRows() {
  const found = new Map();
  for (const file of readdirSync(folder).sort()) {
    if (!/-gpu-(library-times|busy-blocks)-2-ranks\.jsonl$/.test(file)) continue;
    for (const { file: path, ranks, dims, us, when, elementBlocks, dtype = "bf16" } of lines(file)) {
      if (us === undefined || when !== undefined || elementBlocks !== undefined || path.startsWith("matmul/")) continue;
      const kernel = path.replace(/\.coll$/, "");
      // They had no packets then.
      const mapping = { elementBlocks: 32, transfers: "written" };
      const m = { kernel, ranks, dtype, dims, us, mapping, measured: file };
      found.set(JSON.stringify([kernel, dims]), m);
    }
  }
  return [...found.values()].flatMap(predicted);
}

const sizeOfRow = ({ dims }) => Object.values(dims).reduce((a, b) => a * b, 1);
const percent = (e) => `${e < 0 ? "−" : "+"}${Math.abs(e * 100).toFixed(0)} %`;
const time = (us) => (us >= 100 ? us.toFixed(0) : us.toPrecision(3));
const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
const within = (list) => list.filter((r) => Math.abs(r.error) <= 0.15).length;
const counted = (list) => {
  const middle = percent(median(list.map((r) => Math.abs(r.error)))).slice(1);
  return `${within(list)} of ${list.length} within 15 %; median of the absolute error ${middle}.`;
};

const out = [
  "# Predicted beside measured",
  "",
  "Made by `node bench/prediction.mjs` from the times in this folder: `collc explain`'s model, error of the prediction. The numbers of",
  "`h200x4`, `h200x2`, `h100x2` and `h100x4` were fitted to these times, so this says how well one model explains all ways and sizes, not how",
  "well it foretells a machine that nobody has measured. Times are those of the ways that were taken, with the blocks that kernels had then:",
  "on 4 ranks, 2026-11-22, 32, those with packets too. Left out, since kernels are others now:",
  "",
  ...LEFT_OUT.map(({ files, why }) => {
    const names = readdirSync(folder).filter((file) => files.test(file));
    return `- ${names.map((name) => `\`${name}\``).join(", ")}: ${why}.`;
  }),
  `- what took less than ${FENCE.us} µs before ${FENCE.until}, and what \`collc tune\` measured then: launches began with a fence, which takes up to 1.7 µs.`,
  ...CHANGED_WAYS.map(({ way, since, why }) => `- \`${way}\` before ${since}: ${why}.`),
  "",
  "Packets before 2026-11-30T12:00Z are in it: ranks sent some to themselves, and kernels had more instructions to fetch. Predicted are those of today, so what is short is said to take less than it did then.",
  "",
];

/** A table of predicted and measured times by kernel and size. */
function table(title, rows, name) {
  out.push(`## ${title}`, "", counted(rows), "");
  const labels = [...new Set([...rows].sort((a, b) => sizeOfRow(a) - sizeOfRow(b)).map((r) => r.label))];
  out.push(`| kernel | ${labels.join(" | ")} |`, `|---|${labels.map(() => "---|").join("")}`);
  for (const kernel of new Set(rows.map(name))) {
    const cells = labels.map((label) => {
      const r = rows.find((s) => name(s) === kernel && s.label === label);
      return r === undefined ? "" : `${time(r.predicted)} / ${time(r.us)} ${percent(r.error)}`;
    });
    out.push(`| ${kernel} | ${cells.join(" | ")} |`);
  }
  out.push("");
}

/** The same of products, which have as many shapes as there are models: a row each. */
function productTable(title, rows, name) {
  out.push(`## ${title}`, "", counted(rows), "");
  const kernels = [...new Set(rows.map(name))];
  out.push(`| M×N×K | ${kernels.join(" | ")} |`, `|---|${kernels.map(() => "---|").join("")}`);
  for (const label of new Set([...rows].sort((a, b) => sizeOfRow(a) - sizeOfRow(b)).map((r) => r.label))) {
    const cells = kernels.map((kernel) => {
      const r = rows.find((s) => name(s) === kernel && s.label === label);
      return r === undefined ? "" : `${time(r.predicted)} / ${time(r.us)} ${percent(r.error)}`;
    });
    out.push(`| ${label} | ${cells.join(" | ")} |`);
  }
  out.push("");
}

/** Errors in one line for each kernel. */
function list(title, rows, name) {
  out.push(`## ${title}`, "", `${counted(rows)} Errors from the smallest size measured to the largest.`, "");
  out.push("| kernel | errors | within 15 % |", "|---|---|---|");
  for (const key of new Set(rows.map(name))) {
    const own = rows.filter((r) => name(r) === key).sort((a, b) => a.us - b.us);
    out.push(`| ${key} | ${own.map((r) => percent(r.error)).join(", ")} | ${within(own)} of ${own.length} |`);
  }
  out.push("");
}

/** What the choice of each size costs. */
function regretTable({ file, regrets: rows }) {
  const sizes = [...new Set(rows.map((r) => r.size))].sort((a, b) => a - b);
  out.push(`### ${file}, by elements`, "");
  out.push(`| conversion | ${sizes.join(" | ")} |`, `|---|${sizes.map(() => "---|").join("")}`);
  const short = (way) => way.slice(way.indexOf("/") + 1);
  for (const conversion of new Set(rows.map((r) => r.conversion))) {
    const cells = sizes.map((size) => {
      const r = rows.find((one) => one.conversion === conversion && one.size === size);
      if (r === undefined) return "";
      return r.chosen === r.best ? short(r.best) : `${short(r.chosen)} ${percent(r.regret)}, ${short(r.best)} best`;
    });
    out.push(`| ${conversion} | ${cells.join(" | ")} |`);
  }
  out.push("");
}

const suites = suiteRows();
for (const key of new Set(suites.map((r) => JSON.stringify([r.ranks, r.gpu, r.dtype])))) {
  const [ranks, gpu, dtype] = JSON.parse(key);
  const rows = suites.filter((r) => r.ranks === ranks && r.gpu === gpu && r.dtype === dtype);
  const isPlanned = rows.some((r) => r.variant === undefined);
  const which = isPlanned ? "as planned now: the way of then is not on record" : "the ways that were taken";
  const isProduct = (r) => r.kernel.startsWith("matmul/");
  const [conversions, products] = [rows.filter((r) => !isProduct(r)), rows.filter(isProduct)];
  const where = `\`collc bench\`, ${ranks} × ${gpu}, ${dtype}, ${which}`;
  if (conversions.length > 0) table(`Suites of ${where}`, conversions, (r) => r.kernel);
  if (products.length > 0) productTable(`Products of ${where}`, products, (r) => r.kernel);
}

const tuned = readdirSync(folder)
  .filter((file) => /-tune\.json$/.test(file) && file >= FENCE.until)
  .sort()
  .reverse()
  .map(tuneRows);
for (const { file, rows } of tuned) table(`Ways that \`collc tune\` measured, by elements: ${file}`, rows, (r) => r.variant); // prettier-ignore

const regrets = tuned.flatMap((t) => t.regrets);
const cheap = regrets.filter(({ regret }) => regret <= 0.1).length;
out.push(
  "## What choosing by the model costs",
  "",
  "The plan that the model makes of the ways that `collc tune` measured, held against the fastest of them at each size: how much longer",
  `the choice took. ${cheap} of ${regrets.length} within 10 %, most of them on the times that the numbers were fitted to. The same way's time differs by up`,
  "to 0.3 µs from run to run. Plans take no packets above 16 MiB, for their memory, also where they are the fastest.",
  "",
);
tuned.forEach(regretTable);

const shape = ({ elementThreads, elementBlocks }) =>
  `${elementBlocks} blocks${elementThreads === undefined ? "" : ` of ${elementThreads}`}`;
const packets = sweepRows("2026-11-22-gpu-packets-4-ranks.jsonl");
list("Packets, 4 ranks, by blocks and their threads", packets, (r) => `${r.kernel}, ${shape(r.mapping)}`);
const blocks = sweepRows("2026-11-23-gpu-sweep-blocks-2-ranks.jsonl");
list("Blocks, 2 ranks", blocks, (r) => `${r.kernel}, ${shape(r.mapping)}`);
const rest = libraryRows();
list("The rest of the library, 2 ranks", rest, (r) => r.kernel);

writeFileSync(join(folder, "prediction.md"), out.join("\n"));
const ways = tuned.flatMap((t) => t.rows);
const groups = { suites, tuned: ways, packets, blocks, rest };
for (const [name, rows] of Object.entries(groups)) console.log(`${name}: ${counted(rows)}`);
console.log(`chosen within 10 % of the fastest: ${cheap} of ${regrets.length}`);
