// Writes what docs/SCALE.md shows: simulated beside measured times, beside published figures, crossovers, and curves as SVG.
// Usage: npm run build:ts && node bench/scale.mjs [calibration|published|times|crossovers|curves]…
// All of it, with times made anew; the parts named, with times.json's points kept, so that a run that was ended goes on; or
// `--check` and parts, which writes nothing and fails where the page, times.json or a picture is not what the code gives. Of the times it
// makes those of up to 64 ranks again.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { scalePlot } from "../dist/src/bench/scale-plot.js";
import { clusterNamed, playFastest, Player, scheduleProgram } from "../dist/src/compiler/index.js";
import { importsFromDisk } from "../dist/src/index.js";

const root = new URL("../", import.meta.url).pathname;
const page = `${root}docs/SCALE.md`;
const timesFile = `${root}docs/scale/times.json`;
const isCheck = process.argv[2] === "--check";
const SIZES = [2 ** 10, 2 ** 14, 2 ** 18, 2 ** 22, 2 ** 26, 2 ** 30];
const WORLDS = [8, 64, 512, 4096];
/** Those whose times a check makes again. */
const CHECKED_WORLDS = [8, 64];
/** Programs of each operation that do it on several hosts. */
const PROGRAMS = {
  all_reduce: [
    "kernels/all_reduce/rails.coll",
    "kernels/all_reduce/hierarchical.coll",
    "examples/scale/rings.coll",
    "kernels/all_reduce/two_shot.coll",
    "kernels/all_reduce/ring.coll",
    "kernels/all_reduce/tree.coll",
    "kernels/all_reduce/recursive_doubling.coll",
  ],
  all_gather: ["kernels/all_gather/hierarchical.coll", "kernels/all_gather/push.coll", "kernels/all_gather/bruck.coll", "kernels/all_gather/ring.coll"], // prettier-ignore
  reduce_scatter: ["kernels/reduce_scatter/hierarchical.coll", "kernels/reduce_scatter/pull.coll", "kernels/reduce_scatter/ring.coll"], // prettier-ignore
  all_to_all: ["kernels/all_to_all/hierarchical.coll", "kernels/all_to_all/push.coll"],
};
const FLAT_RING = /\/rings?\.coll$/;
const nameOf = (file) =>
  file
    .replace(/\.coll$/, "")
    .split("/")
    .slice(-2)
    .join("/");

const players = new Map();
function playerOf(file, ranks, cluster, dtype) {
  const key = `${file} ${ranks} ${cluster.name} ${dtype}`;
  if (!players.has(key)) {
    const text = readFileSync(root + file, "utf8");
    let player = null;
    try {
      const { schedule } = scheduleProgram(text, { file, ranks, dtype, resolve: importsFromDisk, cluster });
      player = schedule === null ? null : new Player(schedule, cluster);
    } catch (error) {
      if (error.exitCode !== 2) throw error;
    }
    players.clear();
    players.set(key, player);
  }
  return players.get(key);
}

/** @param chunks how many chunks a tensor goes in; as many as are fastest if it is left out */
function simulate(file, ranks, sizes, { machine = "dgx-h100", dtype = "f32", chunks } = {}) {
  const cluster = clusterNamed(machine);
  const player = playerOf(file, ranks, cluster, dtype);
  if (player === null || sizes.length === 0) return [];
  return sizes.map((bytes) => {
    const { seconds, chunks: n } = playFastest(player, bytes, ranks, chunks);
    process.stderr.write(`${nameOf(file)} ${ranks} ${bytes}: ${(seconds * 1e6).toFixed(1)} µs\n`);
    return { name: nameOf(file), ranks, bytes, seconds, chunks: n };
  });
}

/** nccl-tests' factor from size over time to bus bandwidth. */
const FACTORS = {
  all_reduce: (n) => (2 * (n - 1)) / n,
  all_gather: (n) => (n - 1) / n,
  reduce_scatter: (n) => (n - 1) / n,
  all_to_all: (n) => (n - 1) / n,
};
const percent = (model, real) => `${model >= real ? "+" : "−"}${Math.abs((model / real - 1) * 100).toFixed(0)} %`;
const sizeText = (b) => (b >= 2 ** 30 ? `${b / 2 ** 30} GiB` : b >= 2 ** 20 ? `${b / 2 ** 20} MiB` : b >= 1024 ? `${b / 1024} KiB` : `${b} B`); // prettier-ignore
const number = (x) => String(Number(x.toPrecision(3)));

const sections = {
  /** Kernels of the library on one host, one kernel as written, beside what `collc bench` measured. */
  async calibration() {
    const folder = `${root}bench/results/`;
    const rows = [];
    const errors = [];
    for (const file of readdirSync(folder)
      .filter((f) => /^2026-11-21-4x-nvidia-h200-(all|reduce|broad)\w+\.json$/.test(f))
      .sort()) {
      const result = JSON.parse(readFileSync(folder + file, "utf8"));
      const kernels = [...new Set(result.rows.flatMap((r) => Object.keys(r.kernels)))].filter((k) => k.includes("/"));
      for (const kernel of kernels) {
        const measured = result.rows.flatMap((r) => ("us" in (r.kernels[kernel] ?? {}) ? [{ bytes: r.size, us: r.kernels[kernel].us.median }] : [])); // prettier-ignore
        const model = simulate(`kernels/${kernel}.coll`, result.ranks, measured.map((m) => m.bytes), { machine: "h200x4", dtype: result.dtype, chunks: 1 }); // prettier-ignore
        const cells = measured.map(({ bytes, us: real }, i) => {
          const own = model[i].seconds * 1e6;
          errors.push(Math.abs(own / real - 1));
          return { bytes, text: `${number(own)} / ${number(real)} ${percent(own, real)}` };
        });
        rows.push({ kernel, cells });
      }
    }
    const sizes = rows[0].cells.map((c) => c.bytes);
    errors.sort((a, b) => a - b);
    const within = errors.filter((e) => e <= 0.15).length;
    return [
      `${within} of ${errors.length} within 15 %; median of the absolute error ${(100 * errors[errors.length >> 1]).toFixed(0)} %, largest ${(100 * errors.at(-1)).toFixed(0)} %.`,
      "",
      `| simulated / measured, µs | ${sizes.map(sizeText).join(" | ")} |`,
      `| --- |${sizes.map(() => " ---: |").join("")}`,
      ...rows.map(({ kernel, cells }) => `| ${kernel} | ${sizes.map((b) => cells.find((c) => c.bytes === b)?.text ?? "").join(" | ")} |`), // prettier-ignore
    ].join("\n");
  },

  async published() {
    const figures = JSON.parse(readFileSync(`${root}bench/published.json`, "utf8"));
    const errors = [];
    const lines = figures.map(({ op, ranks, bytes, busbw, us: time, source, note, isInput }) => {
      // Rings of thousands of steps are no way to do it, and take minutes to simulate.
      const files = PROGRAMS[op].filter((f) => ranks <= 256 || !FLAT_RING.test(f));
      const found = files.flatMap((f) => simulate(f, ranks, [bytes]));
      const best = found.reduce((a, b) => (b.seconds < a.seconds ? b : a));
      const own = busbw === undefined ? best.seconds * 1e6 : (FACTORS[op](ranks) * bytes) / best.seconds / 1e9;
      const real = busbw ?? time;
      // A figure that the model was given says nothing of it.
      if (isInput !== true) errors.push(Math.abs(own / real - 1));
      const unit = busbw === undefined ? "µs" : "GB/s";
      return `| ${op} | ${ranks} | ${sizeText(bytes)} | ${real} ${unit} | ${number(own)} ${unit} | ${percent(own, real)} | ${best.name} | [${source.replace("https://github.com/", "").replace("/issues/", "#")}](${source})${note === "" ? "" : `: ${note}`} |`;
    });
    errors.sort((a, b) => a - b);
    return [
      `${errors.filter((e) => e <= 0.2).length} of ${errors.length} within 20 %; median of the absolute error ${(100 * errors[errors.length >> 1]).toFixed(0)} %, largest ${(100 * errors.at(-1)).toFixed(0)} %.`,
      "",
      "| operation | GPUs | size | published | simulated | error | program | where |",
      "| --- | ---: | ---: | ---: | ---: | ---: | --- | --- |",
      ...lines,
    ].join("\n");
  },

  /** All times, into times.json. What it has is not simulated again: delete it after a change of the model. */
  async times() {
    const points = existsSync(timesFile) ? JSON.parse(readFileSync(timesFile, "utf8")) : [];
    for (const ranks of isCheck ? CHECKED_WORLDS : WORLDS)
      for (const op of Object.keys(PROGRAMS))
        for (const program of PROGRAMS[op]) {
          if (ranks > 512 && FLAT_RING.test(program)) continue;
          const known = (bytes) => points.find((p) => p.op === op && p.name === nameOf(program) && p.ranks === ranks && p.bytes === bytes); // prettier-ignore
          for (const { name, bytes, seconds } of simulate(
            program,
            ranks,
            SIZES.filter((b) => isCheck || !known(b)),
          )) {
            const point = { op, name, ranks, bytes, seconds: Number(seconds.toPrecision(5)) };
            if (isCheck) same(`${name} at ${ranks} ranks, ${sizeText(bytes)}`, known(bytes)?.seconds, point.seconds);
            else points.push(point);
          }
          if (!isCheck) writeFileSync(timesFile, JSON.stringify(points) + "\n");
        }
    return null;
  },

  /** The fastest program at each size and number of ranks. */
  async crossovers() {
    const points = JSON.parse(readFileSync(timesFile, "utf8"));
    const rows = Object.keys(PROGRAMS).flatMap((op) =>
      WORLDS.flatMap((ranks) => {
        const here = points.filter((p) => p.op === op && p.ranks === ranks);
        if (here.length === 0) return [];
        const runs = [];
        for (const bytes of [...new Set(here.map((p) => p.bytes))].sort((a, b) => a - b)) {
          const best = here.filter((p) => p.bytes === bytes).reduce((a, b) => (b.seconds < a.seconds ? b : a));
          const last = runs.at(-1);
          if (last?.name === best.name) last.to = bytes;
          else runs.push({ name: best.name, from: bytes, to: bytes });
        }
        return `| ${op} | ${ranks} | ${runs.map(({ name, from, to }) => `${name} ${from === to ? sizeText(from) : `${sizeText(from)} to ${sizeText(to)}`}`).join("; ")} |`; // prettier-ignore
      }),
    );
    return ["| operation | ranks | the fastest |", "| --- | ---: | --- |", ...rows].join("\n");
  },

  async curves() {
    const points = JSON.parse(readFileSync(timesFile, "utf8"));
    const images = [];
    for (const op of Object.keys(PROGRAMS)) {
      const own = points.filter((p) => p.op === op);
      picture(`${op}.svg`, await scalePlot(own, `${op}, f32, dgx-h100, simulated`));
      const few = own.filter((p) => [2 ** 10, 2 ** 18, 2 ** 26, 2 ** 30].includes(p.bytes));
      picture(`${op}-ranks.svg`, await scalePlot(few, `${op} over ranks, f32, dgx-h100, simulated`, "ranks")); // prettier-ignore
      images.push(`![${op} over sizes](scale/${op}.svg)`, "", `![${op} over ranks](scale/${op}-ranks.svg)`, "");
    }
    return images.join("\n").trim();
  },
};

/** @throws where what the files say is not what the code gives */
function same(what, said, given) {
  if (said === given) return;
  throw new Error(`docs/scale: ${what} is ${said}, the code gives ${given}: node bench/scale.mjs && npx prettier --write docs/SCALE.md`); // prettier-ignore
}

function picture(name, text) {
  const file = `${root}docs/scale/${name}`;
  if (!isCheck) writeFileSync(file, text);
  else same(name, existsSync(file) && readFileSync(file, "utf8") === text ? "as drawn" : "another picture", "as drawn");
}

mkdirSync(`${root}docs/scale`, { recursive: true });
const named = process.argv.slice(isCheck ? 3 : 2);
// Points of a model that has changed since would stay.
if (named.length === 0) rmSync(timesFile, { force: true });
for (const name of named.length > 0 ? named : Object.keys(sections)) {
  const text = await sections[name]();
  if (text === null) continue;
  const before = readFileSync(page, "utf8");
  const [open, close] = [`<!-- scale ${name} -->`, `<!-- /scale ${name} -->`];
  const [from, to] = [before.indexOf(open), before.indexOf(close)];
  if (from < 0 || to < from) throw new Error(`${page} has no place for ${name}`);
  if (isCheck) {
    // Tables are laid out by prettier.
    const words = (t) => t.replace(/-{3,}/g, "-").replace(/\s+/g, " ").trim();
    if (words(before.slice(from + open.length, to)) === words(text)) continue;
    throw new Error(
      `docs/SCALE.md does not say what the code does: node bench/scale.mjs ${name} && npx prettier --write docs/SCALE.md`,
    );
  }
  writeFileSync(page, `${before.slice(0, from + open.length)}\n\n${text}\n\n${before.slice(to)}`);
}
