#!/usr/bin/env node
/**
 * The audit: attacks collc for a bounded time without a GPU, and writes how many were tried and held to docs/AUDIT.md.
 *
 *   npm run audit [-- --seconds 60 --seed 7 --only store,signals --no-write --no-build]
 *
 * Every attack has a seed, printed, so that what fails can be had again. It exits with 1 if anything did not hold.
 */
import { spawn, spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string", default: String(randomBytes(4).readUInt32BE(0)) },
    only: { type: "string", default: "" },
    "no-write": { type: "boolean", default: false },
    "no-build": { type: "boolean", default: false },
  },
});
const budgetMs = Number(values.seconds) * 1000;
if (!(budgetMs > 0)) {
  console.error(`--seconds ${values.seconds} is not a number above 0`);
  process.exit(2);
}
const entry = join(root, "dist/src/cli/main.js");
const folder = mkdtempSync(join(tmpdir(), "collc-audit-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** Numbers from the seed and a name, so that attacks do not depend on which others ran. */
function generator(name) {
  let state = createHash("sha256").update(`${values.seed}/${name}`).digest().readUInt32BE(0);
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    below: (n) => Math.floor(next() * n),
    bytes: (n) => Buffer.from(Array.from({ length: n }, () => next() * 256)),
  };
}

/** Runs a process; the end, and the peak of a hang, are bounded. */
function run(args, { timeoutMs = 120_000, env = {}, onStart } = {}) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text) => (out = (out + text).slice(-100_000)));
    }
    let isLate = false;
    const killer = setTimeout(() => {
      isLate = true;
      child.kill("SIGKILL");
    }, timeoutMs);
    child.on("close", (code, signal) => {
      clearTimeout(killer);
      resolve({ code, signal, out, isLate });
    });
    onStart?.(child);
  });
}

/** Attacks: each calls `tell(isHeld, what)` once a try, until `isOver()`. */
const attacks = {
  "programs from fuzzers": async ({ tell, ms }) => {
    const report = join(folder, "fuzz.json");
    const { code, out } = await run(
      [
        "node_modules/vitest/vitest.mjs",
        "run",
        "test/fuzz",
        "--reporter=default",
        "--reporter=json",
        `--outputFile=${report}`,
      ],
      { timeoutMs: ms * 4 + 300_000, env: { FUZZ_SEED: values.seed, FUZZ_SECONDS: String(ms / 1000) } },
    );
    for (const [, inputs] of out.matchAll(/: (\d+) of \d+ inputs in/g))
      for (let i = 1; i < Number(inputs); i++) tell(true, "input");
    let results = [];
    try {
      results = JSON.parse(readFileSync(report, "utf8")).testResults.flatMap((file) => file.assertionResults);
    } catch {
      tell(false, `the fuzzers did not report (exit ${code}): ${out.slice(-300)}`);
    }
    for (const { status, fullName } of results) if (status !== "pending") tell(status === "passed", fullName);
  },

  "hostile programs and files": async ({ tell, below }) => {
    const { hostilePrograms } = await import(join(root, ".out/audit/hostile-programs.js"));
    for (const [name, { text, expected }] of Object.entries(hostilePrograms)) {
      const path = join(folder, "hostile.coll");
      writeFileSync(path, text);
      const { code, out } = await run(["--max-old-space-size=1024", entry, "check", path, "--ranks", "2"]);
      tell(code === 1 && expected.test(out), `${name}: exit ${code}`);
    }
    for (const path of ["/dev/zero", "/dev/urandom", "/proc/self/mem", "/", "/dev/null"]) {
      const { code } = await run([entry, "check", path], { timeoutMs: 30_000 });
      tell([1, 2, 3].includes(code), `${path}: exit ${code}`); // 3: a folder that may not be read
    }
    const good = readFileSync(join(root, "kernels/all_reduce/two_shot.coll"));
    for (let i = 0; i < 20; i++) {
      const bytes = Buffer.from(good);
      for (let k = 0; k < 1 + below(8); k++) bytes[below(bytes.length)] = below(256);
      const path = join(folder, "damaged.coll");
      writeFileSync(path, bytes);
      const { code } = await run([entry, "emit", path, "--stage", "cuda"]);
      tell([0, 1, 2].includes(code), `damaged text ${i}: exit ${code}`);
    }
  },

  "connections to a store": async ({ tell, isOver, below, bytes }) => {
    const { hostStore, connectStore } = await import(join(root, "dist/src/runtime/store.js"));
    const secret = "s".repeat(64);
    const lines = [];
    const server = await hostStore({ world: 64, secret, runId: "audit", onRefused: (line) => lines.push(line) });
    const idle = [];
    for (let rank = 0; !isOver();) {
      const batch = Array.from(
        { length: 50 },
        () =>
          new Promise((resolve) => {
            const socket = connect({ host: "127.0.0.1", port: server.port });
            const done = () => resolve(socket.destroy());
            socket.on("error", done).on("close", done);
            socket.on("connect", () => {
              const kind = below(4);
              if (kind === 0) socket.write(bytes(1 + below(2000)));
              else if (kind === 1) {
                const text = Buffer.from(
                  JSON.stringify({ rank: below(99), world: 64, nonce: "\u001b[2J", proof: bytes(8).toString("hex") }),
                );
                const frame = Buffer.alloc(8 + text.length);
                frame.writeUInt32BE(4 + text.length, 0);
                frame.writeUInt32BE(text.length, 4);
                text.copy(frame, 8);
                socket.write(frame);
              } else if (kind === 2) {
                idle.push(socket);
                return resolve();
              } else socket.write(Buffer.from([0xff, 0xff, 0xff, 0xff, 1]));
              setTimeout(done, 5 + below(20));
            });
          }),
      );
      await Promise.all(batch);
      for (let i = 0; i < 50; i++) tell(true, "connection");
      // A member comes and goes among them.
      if (rank < 64) {
        const options = {
          host: "127.0.0.1",
          ports: [server.port],
          secret,
          runId: "audit",
          rank,
          world: 64,
          timeoutMs: 10_000,
        };
        const isIn = await connectStore(options).then(
          (store) => store.close().then(() => true),
          () => false,
        );
        tell(isIn, `rank ${rank} was kept out`);
        rank++;
      }
      while (idle.length > 400) idle.shift().destroy();
    }
    tell(lines.length <= 5 && lines.every((line) => !/[\p{Cc}]/u.test(line)), `lines printed: ${lines.length}`);
    for (const socket of idle) socket.destroy();
    await server.close();
  },

  "signals to real runs": async ({ tell, isOver, below }) => {
    const kernel = join(root, "kernels/all_reduce/one_shot.coll");
    const jobs = [
      ["run", kernel, "--backend", "cpu", "--dim", "n=4194304", "--iters", "100"],
      [
        "build",
        kernel,
        join(root, "kernels/all_reduce/two_shot.coll"),
        "--arch",
        "sm_90a",
        "--ranks",
        "4",
        "-o",
        join(folder, "out"),
      ],
      ["check", join(root, "kernels"), "--ranks", "2,4"],
      ["bench", "all_reduce", "--backend", "cpu", "--ranks", "4"],
    ];
    const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
    while (!isOver()) {
      const job = jobs[below(jobs.length)];
      const signal = signals[below(signals.length)];
      const cache = join(folder, `cache-${below(1e9)}`); // so that NVRTC has something to do
      const after = below(1500);
      const {
        code,
        signal: how,
        isLate,
      } = await run([entry, ...job], {
        timeoutMs: 20_000,
        env: { COLLC_CACHE_MAX_MB: below(2) === 0 ? "0" : "64", TMPDIR: folder, XDG_RUNTIME_DIR: cache },
        onStart: (child) => setTimeout(() => child.kill(signal), after),
      });
      tell(!isLate, `${signal} after ${after} ms to ${job[0]}: ${isLate ? "it went on" : (how ?? code)}`);
    }
  },

  "corrupted cache entries": async ({ tell, isOver, below, bytes }) => {
    const { JitCache } = await import(join(root, "dist/src/runtime/jit-cache.js"));
    const directory = join(folder, "kernels");
    mkdirSync(directory, { mode: 0o700 });
    const kernel = { bytes: bytes(5000), meta: { symbol: "k" } };
    for (let i = 0; !isOver() && i < 20_000; i++) {
      const key = `key${i % 50}`;
      const path = join(directory, `${key}.kernel`);
      const get = () => new JitCache({ directory }).getOrBuild(key, () => kernel);
      await get();
      const data = readFileSync(path);
      const kind = below(4);
      if (kind === 0) data[below(data.length)] ^= 1 << below(8);
      const damaged =
        kind === 1
          ? data.subarray(0, below(data.length))
          : kind === 2
            ? Buffer.concat([data, bytes(1 + below(9))])
            : kind === 3
              ? bytes(below(8000))
              : data;
      writeFileSync(path, damaged);
      const got = await get();
      tell(Buffer.from(got.bytes).equals(kernel.bytes), `entry damaged in way ${kind}`);
    }
    chmodSync(directory, 0o777);
  },

  "tests of the addon with sanitizers": async ({ tell }) => {
    const report = join(folder, "sanitized.json");
    const { code, out } = await run(
      [
        "node_modules/vitest/vitest.mjs",
        "run",
        "test/native/sanitized.long.test.ts",
        "--reporter=json",
        `--outputFile=${report}`,
      ],
      { timeoutMs: 1_800_000, env: { COLLC_TESTS: "all" } },
    );
    try {
      const files = JSON.parse(readFileSync(report, "utf8")).testResults;
      for (const { status, fullName } of files.flatMap((file) => file.assertionResults))
        tell(status === "passed", fullName);
    } catch {
      tell(false, `they did not report (exit ${code}): ${out.slice(-300)}`);
    }
  },
};

function prepare() {
  const build = spawnSync("npm", ["run", "--silent", "build"], { cwd: root, encoding: "utf8" });
  if (build.status !== 0) throw new Error(build.stdout + build.stderr);
  const options = ["--outDir", ".out/audit", "--module", "nodenext", "--target", "es2022", "--skipLibCheck"];
  spawnSync(
    process.execPath,
    ["node_modules/typescript-7/bin/tsc", "test/safety/hostile-programs.ts", "--ignoreConfig", ...options],
    { cwd: root },
  );
  if (!readdirSync(join(root, ".out/audit")).includes("hostile-programs.js"))
    throw new Error("the hostile programs are not there");
}

console.log(`seed ${values.seed}, ${values.seconds} s an attack`);
if (!values["no-build"]) prepare();
const chosen = Object.keys(attacks).filter(
  (name) => values.only === "" || values.only.split(",").some((part) => name.includes(part)),
);
const rows = [];
let isAllHeld = true;
for (const name of chosen) {
  const started = performance.now();
  const row = { name, tried: 0, held: 0, failures: [] };
  const tell = (isHeld, what) => {
    row.tried++;
    if (isHeld) row.held++;
    else if (row.failures.length < 10) row.failures.push(what);
  };
  try {
    await attacks[name]({
      ...generator(name),
      tell,
      ms: budgetMs,
      isOver: () => performance.now() - started > budgetMs,
    });
  } catch (error) {
    tell(false, error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  row.seconds = Math.round((performance.now() - started) / 1000);
  rows.push(row);
  isAllHeld &&= row.held === row.tried;
  console.log(`${row.held === row.tried ? "held" : "FAILED"}  ${name}: ${row.held} of ${row.tried}, ${row.seconds} s`);
  for (const failure of row.failures) console.log(`        ${failure}`);
  await sleep(0);
}

// Outcomes are kept by attack, so that one of them can be had anew.
const kept = join(root, "docs/audit.json");
const commit = spawnSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root, encoding: "utf8" }).stdout.trim();
const outcomes = existsSync(kept) ? JSON.parse(readFileSync(kept, "utf8")) : {};
for (const { name, ...outcome } of rows) outcomes[name] = { ...outcome, seed: values.seed, commit };
const cells = Object.keys(attacks)
  .filter((name) => name in outcomes)
  .map((name) => [name, ...["tried", "held", "seconds", "seed", "commit"].map((key) => String(outcomes[name][key]))]);
const titles = ["attack", "tried", "held", "seconds", "seed", "commit"];
const line = (row) => `| ${row.join(" | ")} |`;
const table = [titles, titles.map((_, i) => (i > 0 && i < 4 ? "--:" : "---")), ...cells].map(line).join("\n");
const failures = Object.keys(attacks).flatMap(
  (name) => outcomes[name]?.failures?.map((f) => `- ${name}: ${f.split("\n")[0]}`) ?? [],
);
const text = `# The audit

\`npm run audit\` attacks collc without a GPU and writes this table. Each attack is bounded (\`--seconds\`, default 60) and has a
seed, so that what fails can be had again: \`npm run audit -- --only store --seed 7\`. What is defended against whom is in
[SECURITY.md](../SECURITY.md).

${table}
${failures.length === 0 ? "\nAll of it held.\n" : `\nNot held:\n\n${failures.join("\n")}\n`}`;
if (!values["no-write"]) {
  const { format } = await import("prettier");
  writeFileSync(kept, await format(JSON.stringify(outcomes), { parser: "json" }));
  writeFileSync(join(root, "docs/AUDIT.md"), await format(text, { parser: "markdown", printWidth: 120 }));
}
process.exit(isAllHeld ? 0 : 1);
