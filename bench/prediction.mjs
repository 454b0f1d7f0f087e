/**
 * How far the model's times are from measured ones, for every time in bench/results: writes bench/results/prediction.md.
 *
 *   npm run build:ts && node bench/prediction.mjs
 *
 * The kernels are compiled as they are now. Times that were measured of an earlier form of a kernel are of that form still.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compile, machineFor, predictTime, DEFAULT_ARCH } from "../dist/src/compiler/index.js";
import { importsFromDisk } from "../dist/src/runtime/imports.js";

const root = join(import.meta.dirname, "..");
const folder = join(root, "bench", "results");

/** Kernels that have another form since they were measured, with the ranks of that measurement. */
const changed = new Set(["all_reduce/quantised 4", "all_to_all/transposed 4"]);

/** Times by kernel, ranks and size; of the latest file that has them. */
function measured() {
  const found = new Map();
  const note = (kernel, ranks, dtype, dims, us, suite, label) =>
    found.set(`${suite} ${kernel} ${ranks} ${dtype} ${JSON.stringify(dims)}`, {
      kernel,
      ranks,
      dtype,
      dims,
      us,
      suite,
      label,
    });
  for (const file of readdirSync(folder).sort()) {
    if (/-gpu-(library-times|busy-blocks)-\d-ranks\.jsonl$/.test(file))
      for (const line of readFileSync(join(folder, file), "utf8").trim().split("\n")) {
        const { file: path, ranks, dims, us, when, elementBlocks, dtype = "bf16" } = JSON.parse(line);
        if (us !== undefined && when === undefined && elementBlocks === undefined)
          note(path.replace(/\.coll$/, ""), ranks, dtype, dims, us, false, "");
      }
    if (!file.endsWith(".json")) continue;
    const { backend, ranks, dtype, rows } = JSON.parse(readFileSync(join(folder, file), "utf8"));
    if (backend !== "cuda" || !Array.isArray(rows)) continue;
    for (const { label, dims, kernels } of rows)
      for (const [kernel, cell] of Object.entries(kernels))
        if (cell.us !== undefined) note(kernel, ranks, dtype, dims, cell.us.median, true, label);
  }
  return [...found.values()];
}

const programs = new Map();
function program(kernel, ranks, dtype) {
  const key = `${kernel} ${ranks} ${dtype}`;
  if (!programs.has(key)) {
    const file = join(root, "kernels", `${kernel}.coll`);
    const machine = machineFor(DEFAULT_ARCH, ranks);
    const compiled = compile(readFileSync(file, "utf8"), { file, ranks, dtype, resolve: importsFromDisk, machine });
    programs.set(key, { compiled, machine });
  }
  return programs.get(key);
}

const rows = measured().flatMap((m) => {
  const { compiled, machine } = program(m.kernel, m.ranks, m.dtype);
  if (compiled.kernel === null) return [];
  const us = predictTime(compiled, m.dims, machine).total * 1e6;
  return [{ ...m, predicted: us, error: us / m.us - 1 }];
});

const sizeOf = ({ dims }) => Object.values(dims).reduce((a, b) => a * b, 1);
const percent = (e) => `${e < 0 ? "−" : "+"}${Math.abs(e * 100).toFixed(0)} %`;
const time = (us) => (us >= 100 ? us.toFixed(0) : us.toPrecision(3));
const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
const within = (list) => list.filter((r) => Math.abs(r.error) <= 0.15).length;

const out = [
  "# Predicted beside measured",
  "",
  "Made by `node bench/prediction.mjs` from the times in this folder: `collc explain`'s model on `h200x4` and `h200x2`, bf16, error of the",
  "prediction. The machine's numbers were fitted to these times and to those with 32, 64 and 132 blocks on 2 ranks, so this says how",
  "well one model explains all kernels and sizes, not how well it foretells a machine that nobody has measured.",
  "",
  "## Suites of `collc bench`, 4 ranks",
  "",
];
const suite = rows.filter((r) => r.suite && !r.kernel.startsWith("matmul/"));
out.push(
  `${within(suite)} of ${suite.length} within 15 %; median of the absolute error ${percent(median(suite.map((r) => Math.abs(r.error)))).slice(1)}.`,
  "",
);
const labels = [...new Set([...suite].sort((a, b) => sizeOf(a) - sizeOf(b)).map((r) => r.label))];
out.push(`| kernel | ${labels.join(" | ")} |`, `|---|${labels.map(() => "---|").join("")}`);
for (const kernel of new Set(suite.map((r) => r.kernel)))
  out.push(
    `| ${kernel} | ${labels
      .map((label) => {
        const r = suite.find((s) => s.kernel === kernel && s.label === label);
        return r === undefined ? "" : `${time(r.predicted)} / ${time(r.us)} ${percent(r.error)}`;
      })
      .join(" | ")} |`,
  );
out.push("", "## The rest of the library", "", "Errors from the smallest size measured to the largest.", "");
out.push("| kernel | ranks | errors | within 15 % |", "|---|---|---|---|");
const rest = rows.filter((r) => !changed.has(`${r.kernel} ${r.ranks}`) && (!r.suite || r.kernel.startsWith("matmul/")));
for (const key of new Set(rest.map((r) => `${r.kernel} ${r.ranks}`))) {
  const list = rest.filter((r) => `${r.kernel} ${r.ranks}` === key).sort((a, b) => a.us - b.us);
  const [kernel, ranks] = key.split(" ");
  out.push(
    `| ${kernel} | ${ranks} | ${list.map((r) => percent(r.error)).join(", ")} | ${within(list)} of ${list.length} |`,
  );
}
writeFileSync(join(folder, "prediction.md"), out.join("\n") + "\n");
console.log(
  `${within(suite)} of ${suite.length} times of the suites within 15 %, ${within(rest)} of ${rest.length} of the rest`,
);
