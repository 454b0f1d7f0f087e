// What `collc build` makes, on GPUs, without Node: builds the programs for the GPUs that are here, compiles examples/c and
// examples/cpp, and runs them, short and long, through every kernel of the plan; then the Python package by itself, with
// tensors of other libraries, and beside PyTorch; and programs whose copies the copy engines carry out, in C and in Python.
//
//   node test/gpu/aot.mjs --ranks 4 [--programs all_reduce,all_reduce/one_shot] [--examples c,cpp,python,copies,dlpack,pytorch] [--out rows.jsonl]
//
// Needs a C and a C++ compiler, NVRTC, python3, for cpp NCCL 2.29 or newer, and for pytorch PyTorch 2.9 or newer.
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { archOf, describeDevices, openCuda } from "../../dist/src/runtime/cuda/index.js";
import { openNccl } from "../../dist/src/runtime/nccl/library.js";
import { quietEnvironment } from "./harness.mjs";

const { values: options } = parseArgs({
  options: {
    ranks: { type: "string", default: "2" },
    programs: { type: "string", default: "all_reduce,all_reduce/one_shot,all_reduce/two_shot" },
    examples: { type: "string", default: "c,cpp,python,copies,dlpack,pytorch" },
    elements: { type: "string", default: "7,1000,40003,1000003,8388608" },
    seconds: { type: "string", default: "60" },
    out: { type: "string" },
  },
});
const root = fileURLToPath(new URL("../..", import.meta.url));
const examples = path.join(root, "examples");
const list = (text) => text.split(",").filter(Boolean);
const programs = list(options.programs);

/** Of collc.pytorch. */
const operators = ["all_reduce", "all_gather", "reduce_scatter"];

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
    const own = ["main.c", "ranks.c", "memory.c", "messages.c"].map((name) => path.join(c, name));
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

const environment = {
  ...process.env,
  ...quietEnvironment,
  PYTHONPATH: path.join(root, "python"),
  PYTHONDONTWRITEBYTECODE: "1",
};

/** Programs with copies: between two kernels, and beside a product; of each what is copied, and who waits for it. */
const copied = { "all_gather/push": "engine", "matmul/all_gather": "beside" };

/** Launched, replayed, and refused, in C and in processes of python3. */
async function runCopies() {
  const out = path.join(folder, "copies");
  for (const [name, copies] of Object.entries(copied)) {
    const mapping = ["--mapping", JSON.stringify({ copies }), "--root", path.join(root, "kernels")];
    const args = ["--ranks", options.ranks, "--dtype", "bf16", "--arch", arch, ...mapping, "-o", out];
    const file = path.join(root, "kernels", `${name}.coll`);
    execFileSync(process.execPath, [path.join(root, "dist/src/cli/main.js"), "build", file, ...args], {
      encoding: "utf8",
    });
  }
  const program = path.join(folder, "run-copies");
  const own = ["ranks.c", "memory.c"].map((name) => path.join(examples, "c", name));
  const made = readdirSync(out).filter((name) => name.endsWith(".c")).map((name) => path.join(out, name)); // prettier-ignore
  const sources = [path.join(root, "test/gpu/copies.c"), ...own, ...made];
  const flags = ["-std=gnu99", "-O2", `-I${out}`, `-I${path.join(examples, "c")}`];
  execFileSync(process.env.CC ?? "cc", [...flags, ...sources, "-o", program, "-ldl"]);
  for (const name of Object.keys(copied)) {
    const began = performance.now();
    const ran = spawnSync(program, ["--program", name, "--ranks", options.ranks, "--folder", out], {
      ...{ encoding: "utf8", timeout: Number(options.seconds) * 1000, env: environment },
    });
    const told = ran.stdout.split("\n").filter((line) => line.endsWith(": 0 wrong, other addresses refused")).length;
    const isRight = ran.status === 0 && told === Number(options.ranks);
    const problems = isRight ? [] : [`ends with ${ran.signal ?? ran.status}\n${ran.stderr}${ran.stdout}`];
    report(`copies in C: ${name}`, problems, Math.round(performance.now() - began));
    await runPython(`copies in Python: ${name}`, ([rank, run]) => {
      const args = [path.join(root, "test/gpu/copies.py"), name, rank, options.ranks, run, out];
      return [args, (said) => said.startsWith(`rank ${rank}: ${name}, `) && said.endsWith(": 0 wrong\n")];
    });
  }
}

/** Ranks as processes of python3. @param of gives, of a rank and a folder for the run, arguments and whether what is said is right */
async function runPython(name, of) {
  const began = performance.now();
  const run = mkdtempSync(path.join(folder, "run-"));
  const ranks = Array.from({ length: Number(options.ranks) }, (_, rank) => {
    const [args, isRight] = of([rank, run]);
    const limits = { timeout: Number(options.seconds) * 1000, env: environment };
    return promisify(execFile)("python3", args.map(String), limits).then(
      ({ stdout }) => (isRight(stdout) ? null : stdout),
      (error) => `${error.message}\n${error.stderr ?? ""}`,
    );
  });
  report(name, (await Promise.all(ranks)).filter(Boolean), Math.round(performance.now() - began));
}

/** Tensors of PyTorch, CuPy and JAX, those that are installed, by DLPack. */
async function runDlpack() {
  const began = performance.now();
  const run = mkdtempSync(path.join(folder, "run-"));
  const ranks = Array.from({ length: Number(options.ranks) }, (_, rank) => {
    const args = [path.join(root, "test/gpu/dlpack.py"), rank, options.ranks, run, built];
    // JAX would take most of the GPU's memory.
    const limits = { timeout: 2000 * Number(options.seconds), env: { ...environment, XLA_PYTHON_CLIENT_PREALLOCATE: "false" } }; // prettier-ignore
    return promisify(execFile)("python3", args.map(String), limits).then(
      ({ stdout }) => stdout,
      (error) => `${error.stdout ?? ""}FAIL ends: ${error.message}\n${error.stderr ?? ""}`,
    );
  });
  const told = await Promise.all(ranks);
  const names = new Set(told.flatMap((text) => [...text.matchAll(/^(?:ok|FAIL) ([^:\n]*(?:: [^:\n]*)?)/gm)].map((found) => found[1]))); // prettier-ignore
  for (const line of told[0].split("\n").filter((each) => each.startsWith("left out"))) console.log(line);
  for (const name of names) {
    const failed = told.filter((text) => !text.split("\n").includes(`ok ${name}`));
    report(`DLPack, ${name}`, failed, Math.round(performance.now() - began));
  }
  // Where no library is installed nothing was tried, and nothing failed. Ranks that say neither have failed.
  const silent = told.filter((text) => !/^left out/m.test(text));
  if (names.size === 0 && silent.length > 0) report("DLPack", silent, Math.round(performance.now() - began));
}

/** The operators beside torch.distributed, on both kinds of memory. */
function runPyTorch() {
  if (spawnSync("python3", ["-c", "import torch"]).status !== 0) return console.log("left out: python3 has no PyTorch");
  for (const memory of ["torch", "collc"]) {
    const began = performance.now();
    const script = [path.join(root, "test/gpu/pytorch_ops.py"), built, memory];
    const args = ["-m", "torch.distributed.run", "--nproc-per-node", options.ranks, ...script];
    const ran = spawnSync("python3", args, {
      encoding: "utf8",
      timeout: 5000 * Number(options.seconds),
      env: environment,
    });
    const lines = ran.stdout.split("\n");
    const ms = Math.round(performance.now() - began);
    for (const line of lines.filter((each) => each.startsWith("ok ")))
      report(`pytorch on ${memory} memory: ${line.slice(3)}`, [], ms);
    const wrong = lines.filter((each) => each.startsWith("FAIL "));
    if (wrong.length > 0 || ran.status !== 0)
      report(`pytorch on ${memory} memory`, wrong.length > 0 ? wrong : [`ends with ${ran.signal ?? ran.status}\n${ran.stderr.slice(-3000)}`], ms); // prettier-ignore
  }
}

/** Whether a version, `2.28.9`, is at least another. */
function isFrom(version, [major, minor]) {
  const [own, next] = version.split(".").map(Number);
  return own > major || (own === major && next >= minor);
}

try {
  const used = new Set([...programs, "all_reduce/one_shot", ...operators]);
  const files = [...used].map((program) => path.join(root, "kernels", `${program}.coll`));
  const command = [
    path.join(root, "dist/src/cli/main.js"),
    "build",
    ...files,
    "--ranks",
    options.ranks,
    "--dtype",
    "f32,bf16",
  ];
  execFileSync(process.execPath, [...command, "--arch", arch, "-o", built], { encoding: "utf8" });
  // Half of the ranks on each of two pretended hosts.
  const domain = Number(options.ranks) % 2 === 0 ? Number(options.ranks) / 2 : 0;
  const all_reduce = [command[0], "build", path.join(root, "kernels/all_reduce.coll")];
  if (domain > 0)
    execFileSync(process.execPath, [...all_reduce, "--ranks", options.ranks, "--reach", `2x${domain}`, "--dtype", "f32", "--arch", arch, "-o", built]); // prettier-ignore
  const chosen = list(options.examples);
  // Without PyTorch.
  if (chosen.includes("python"))
    await runPython("python: all_reduce/one_shot", ([rank, run]) => [
      [path.join(root, "test/python/rank.py"), "gpu", rank, options.ranks, run, built, "libcuda.so.1"],
      (said) => said === "wrong: 0\nwrong: 0\n",
    ]);
  if (chosen.includes("copies")) await runCopies();
  if (chosen.includes("dlpack")) await runDlpack();
  if (chosen.includes("pytorch")) runPyTorch();
  for (const example of chosen.filter((name) => name === "c" || name === "cpp")) {
    const across = example === "c" && domain > 0 && programs.includes("all_reduce") ? [["all_reduce", domain]] : [];
    const nccl = example === "cpp" || across.length > 0 ? await openNccl() : null;
    // Peers' addresses on the host begin with NCCL 2.29: before, the example says so and ends.
    if (example === "cpp" && !isFrom(nccl.version, [2, 29])) {
      console.log(`left out: examples/cpp needs NCCL 2.29, and this is ${nccl.version}`);
      continue;
    }
    const program = compiled(example);
    const library = nccl === null ? [] : ["--libnccl", nccl.path];
    for (const [name, hosts] of [...programs.map((program) => [program, 0]), ...across])
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
          ...(hosts > 0 ? ["--domain", String(hosts)] : []),
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
          `examples/${example}: ${name}${hosts > 0 ? ` on two pretended hosts of ${hosts}` : ""}, ${elements} elements`,
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
