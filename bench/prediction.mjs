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
import { importsFromDisk, libraryFromDisk } from "../dist/src/runtime/imports.js";

const root = join(import.meta.dirname, "..");
const folder = join(root, "bench", "results");

/** Kernels that have another form since they were measured, with the ranks of that measurement. */
const changed = new Set(["all_reduce/quantised 4", "all_to_all/transposed 4"]);

/** Times by kernel, ranks and size; of the latest file that has them. */
function measured() {
  const found = new Map();
  const note = (kernel, ranks, dtype, dims, us, suite, label, rest = {}) =>
    found.set(`${suite} ${kernel} ${ranks} ${dtype} ${rest.variant} ${JSON.stringify(dims)}`, {
      ...rest,
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
          // Two ranks took so many blocks then.
          note(
            path.replace(/\.coll$/, ""),
            ranks,
            dtype,
            dims,
            us,
            false,
            "",
            ranks === 2 ? { elementBlocks: 32 } : {},
          );
      }
    if (!file.endsWith(".json")) continue;
    const { backend, ranks, dtype, rows, plans } = JSON.parse(readFileSync(join(folder, file), "utf8"));
    // Of what was tuned, the ways of one dimension.
    for (const plan of (plans ?? []).filter((p) => p.ranks === 2 && p.conversion !== "all_to_all"))
      for (const [n, times] of Object.entries(plan.measured))
        for (const [variant, us] of Object.entries(times))
          if (variant !== "nccl")
            note(plan.conversion, plan.ranks, plan.dtype, { n: Number(n) }, us, "tuned", n, { variant });
    if (backend !== "cuda" || !Array.isArray(rows)) continue;
    for (const { label, dims, kernels } of rows)
      for (const [kernel, cell] of Object.entries(kernels))
        if (cell.us !== undefined) note(kernel, ranks, dtype, dims, cell.us.median, true, label);
  }
  return [...found.values()];
}

const programs = new Map();
function program({ kernel, ranks, dtype, variant, elementBlocks }) {
  const key = `${kernel} ${ranks} ${dtype} ${variant} ${elementBlocks}`;
  if (!programs.has(key)) {
    const file = join(root, "kernels", `${kernel}.coll`);
    const machine = machineFor(DEFAULT_ARCH, ranks);
    const options = { file, ranks, dtype, resolve: importsFromDisk, library: libraryFromDisk, machine, variant };
    const mapping = elementBlocks === undefined ? {} : { elementBlocks };
    programs.set(key, { compiled: compile(readFileSync(file, "utf8"), { ...options, mapping }), machine });
  }
  return programs.get(key);
}

const rows = measured().flatMap((m) => {
  const { compiled, machine } = program(m);
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
  "Made by `node bench/prediction.mjs` from the times in this folder: `collc explain`'s model on `h200x4` and `h200x2`, error of the",
  "prediction. The machine's numbers were fitted to these times and to those with 32, 64 and 132 blocks on 2 ranks, so this says how",
  "well one model explains all kernels and sizes, not how well it foretells a machine that nobody has measured.",
  "",
];

/** A table of predicted and measured times by kernel and size. */
function table(title, suite, name) {
  out.push(
    `## ${title}`,
    "",
    `${within(suite)} of ${suite.length} within 15 %; median of the absolute error ${percent(median(suite.map((r) => Math.abs(r.error)))).slice(1)}.`,
    "",
  );
  const labels = [...new Set([...suite].sort((a, b) => sizeOf(a) - sizeOf(b)).map((r) => r.label))];
  out.push(`| kernel | ${labels.join(" | ")} |`, `|---|${labels.map(() => "---|").join("")}`);
  for (const kernel of new Set(suite.map(name)))
    out.push(
      `| ${kernel} | ${labels
        .map((label) => {
          const r = suite.find((s) => name(s) === kernel && s.label === label);
          return r === undefined ? "" : `${time(r.predicted)} / ${time(r.us)} ${percent(r.error)}`;
        })
        .join(" | ")} |`,
    );
  out.push("");
}

const suites = rows.filter((r) => r.suite === true && !r.kernel.startsWith("matmul/"));
for (const ranks of [4, 2])
  for (const dtype of ["bf16", "f32"]) {
    const suite = suites.filter((r) => r.ranks === ranks && r.dtype === dtype);
    if (suite.length > 0) table(`Suites of \`collc bench\`, ${ranks} ranks, ${dtype}`, suite, (r) => r.kernel);
  }
const tuned = rows.filter((r) => r.suite === "tuned");
if (tuned.length > 0) table("Ways that `collc tune` measured, 2 ranks, by elements", tuned, (r) => r.variant);
out.push("## The rest of the library", "", "Errors from the smallest size measured to the largest.", "");
out.push("| kernel | ranks | errors | within 15 % |", "|---|---|---|---|");
const rest = rows.filter(
  (r) => !changed.has(`${r.kernel} ${r.ranks}`) && (r.suite === false || r.kernel.startsWith("matmul/")),
);
for (const key of new Set(rest.map((r) => `${r.kernel} ${r.ranks}`))) {
  const list = rest.filter((r) => `${r.kernel} ${r.ranks}` === key).sort((a, b) => a.us - b.us);
  const [kernel, ranks] = key.split(" ");
  out.push(
    `| ${kernel} | ${ranks} | ${list.map((r) => percent(r.error)).join(", ")} | ${within(list)} of ${list.length} |`,
  );
}
writeFileSync(join(folder, "prediction.md"), out.join("\n") + "\n");
console.log(
  `${within(suites)} of ${suites.length} times of the suites within 15 %, ${within(tuned)} of ${tuned.length} of what was tuned, ${within(rest)} of ${rest.length} of the rest`,
);
