// What `collc build` makes, on GPUs, without Node: builds the programs for the GPUs that are here, compiles examples/c and
// examples/cpp, and runs them, short and long, through every kernel of the plan.
//
//   node test/gpu/aot.mjs --ranks 4 [--programs all_reduce,all_reduce/one_shot] [--examples c,cpp] [--out rows.jsonl]
//
// Needs a C and a C++ compiler, NVRTC, and for cpp NCCL 2.29 or newer.
import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { archOf, describeDevices, openCuda } from "../../dist/src/runtime/cuda/index.js";
import { openNccl } from "../../dist/src/runtime/nccl/library.js";
import { quietEnvironment } from "./harness.mjs";

const { values: options } = parseArgs({
  options: {
    ranks: { type: "string", default: "2" },
    programs: { type: "string", default: "all_reduce,all_reduce/one_shot,all_reduce/two_shot" },
    examples: { type: "string", default: "c,cpp" },
    elements: { type: "string", default: "7,1000,40003,1000003,8388608" },
    seconds: { type: "string", default: "60" },
    out: { type: "string" },
  },
});
const root = fileURLToPath(new URL("../..", import.meta.url));
const examples = path.join(root, "examples");
const list = (text) => text.split(",").filter(Boolean);
const programs = list(options.programs);

openCuda();
const [gpu] = describeDevices();
const arch = archOf(gpu);
const folder = mkdtempSync(path.join(tmpdir(), "collc-aot-"));
const built = path.join(folder, "out");

function compiled(example) {
  const program = path.join(folder, example);
  const sources = readdirSync(built).filter((name) => name.endsWith(".c")).map((name) => path.join(built, name)); // prettier-ignore
  const [c, cpp] = [path.join(examples, "c"), path.join(examples, "cpp")];
  const [cc, cxx] = [process.env.CC ?? "cc", process.env.CXX ?? "c++"];
  if (example === "c") {
    const own = ["main.c", "ranks.c", "memory.c"].map((name) => path.join(c, name));
    execFileSync(cc, ["-std=gnu99", "-O2", `-I${built}`, ...own, ...sources, "-o", program, "-ldl"]);
    return program;
  }
  const objects = [path.join(c, "ranks.c"), ...sources].map((source, i) => {
    const object = path.join(folder, `${i}.o`);
    execFileSync(cc, ["-std=gnu99", "-O2", `-I${built}`, "-c", source, "-o", object]);
    return object;
  });
  const flags = ["-std=c++17", "-O2", `-I${built}`, `-I${c}`];
  execFileSync(cxx, [...flags, path.join(cpp, "main.cpp"), ...objects, "-o", program, "-ldl"]);
  return program;
}

let [passed, failed] = [0, 0];
function report(name, problems, ms) {
  if (problems.length === 0) passed++;
  else failed++;
  const row = { suite: "aot", backend: "cuda", ranks: Number(options.ranks), name, ok: problems.length === 0, ms, problems }; // prettier-ignore
  if (options.out) appendFileSync(options.out, JSON.stringify(row) + "\n");
  console.log(`${row.ok ? "ok  " : "FAIL"} ${name} (${(ms / 1000).toFixed(2)} s)`);
  for (const problem of problems) console.log("       " + problem.trim().split("\n").slice(0, 6).join("\n       "));
}

try {
  const files = programs.map((program) => path.join(root, "kernels", `${program}.coll`));
  const command = [
    path.join(root, "dist/src/cli/main.js"),
    "build",
    ...files,
    "--ranks",
    options.ranks,
    "--dtype",
    "f32",
  ];
  execFileSync(process.execPath, [...command, "--arch", arch, "-o", built], { encoding: "utf8" });
  for (const example of list(options.examples)) {
    const program = compiled(example);
    const library = example === "cpp" ? ["--libnccl", (await openNccl()).path] : [];
    for (const name of programs)
      for (const elements of list(options.elements)) {
        const began = performance.now();
        const args = [
          "--ranks",
          options.ranks,
          "--elements",
          elements,
          "--program",
          name,
          "--folder",
          built,
          ...library,
        ];
        const ran = spawnSync(program, args, {
          encoding: "utf8",
          timeout: Number(options.seconds) * 1000,
          env: { ...process.env, ...quietEnvironment },
        });
        const told = ran.stdout.split("\n").filter((line) => /: 0 (wrong|differ from NCCL's own)$/.test(line)).length;
        const isRight = ran.status === 0 && told === Number(options.ranks);
        const how = `ends with ${ran.signal ?? ran.status}\n${ran.stderr}${ran.stdout}`;
        report(
          `examples/${example}: ${name}, ${elements} elements`,
          isRight ? [] : [how],
          Math.round(performance.now() - began),
        );
      }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`aot, cuda, ${options.ranks} ranks: ${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
