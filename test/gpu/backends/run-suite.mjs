// Runs one suite's cases in processes that may hang or die: a case that does is a failed case, and the next ones get
// fresh processes.
import { fileURLToPath } from "node:url";
import { launchRanks } from "../../../dist/src/runtime/launcher.js";
import { runCommands } from "./command.mjs";
import { runFaults } from "./faults.mjs";
import { caseMs, suites } from "./suites.mjs";

/** How long the other ranks may go on after one has failed, in milliseconds. */
const patienceMs = 25_000;
const program = fileURLToPath(new URL("rank.mjs", import.meta.url));

/**
 * @param options.world ranks, one a GPU.
 * @param options.env for the ranks.
 * @param options.deadline performance.now() at which what has not begun is left out.
 * @param options.only runs cases whose name holds it.
 * @param options.log gets each line the ranks print.
 * @returns rows {suite, world, name, ok, ms, detail}; `ok` is null for cases that were left out or skipped.
 */
export async function runSuite(suiteName, { world, env, deadline, only = "", log, say }) {
  const suite = suites[suiteName];
  if (suite.kind === "commands") return runCommands(suiteName, { world, env, deadline, only, log, say });
  if (suite.kind === "faults") return runFaults(suiteName, suite.backend, { world, env, deadline, only, log, say });
  const rows = [];
  const record = (row) => {
    rows.push({ suite: suiteName, world, ...row });
    say(rows.at(-1));
  };
  let rest = Object.keys(suite.cases).filter((name) => `${suiteName}: ${name}`.includes(only));
  while (rest.length > 0) {
    if (performance.now() > deadline) {
      for (const name of rest) record({ name, ok: null, ms: 0, detail: "left out: the time was over" });
      break;
    }
    const done = await runSome(suiteName, suite, rest, { world, env, log, record });
    // What failed is not tried again; a start that failed fails the first case.
    rest = rest.slice(Math.max(done, 1));
  }
  return rows;
}

/** One set of processes. @returns how many cases were dealt with. */
async function runSome(suiteName, suite, names, { world, env, log, record }) {
  let current = names[0];
  let done = 0;
  let pids = [];
  let late = null;
  let timer;
  let ended = false;
  const lastLines = [];
  let troubles = [];
  const arm = (ms = caseMs) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      late = `killed after ${ms} ms`;
      for (const pid of pids) {
        try {
          process.kill(-pid, "SIGKILL");
        } catch {
          // it is gone
        }
      }
    }, ms);
  };
  arm();
  const result = await launchRanks({
    ranks: suite.kind === "lists" ? 1 : world,
    args: [program, "--suite", suiteName, "--cases", JSON.stringify(names)],
    env: { ...env, ...suite.env, BACKENDS_GPUS: String(world) },
    onStart: (started) => {
      pids = started;
    },
    onOutput: (rank, stream, line) => {
      log(`[${suiteName}, rank ${rank} of ${world}] ${line}`);
      if (stream === "stderr") lastLines.push(`rank ${rank}: ${line}`);
      if (lastLines.length > 12) lastLines.shift();
    },
    onMessage: (rank, message) => {
      if (message.trouble !== undefined) {
        // The others may wait for this rank in vain: they get a little while to say so.
        if (troubles.length === 0) arm(patienceMs);
        troubles.push(`rank ${rank}: ${message.trouble}`);
        return;
      }
      arm();
      if (message.begin !== undefined) {
        current = message.begin;
        troubles = [];
        ended = false;
        return;
      }
      // What a case did not look at is not passed.
      const ok = message.ok && String(message.detail).startsWith("skipped") ? null : message.ok;
      record({ ...message, ok });
      ended = true;
      if (message.name === current && names[done] === current) done++;
    },
  });
  clearTimeout(timer);
  if (result.failure !== null && !ended) {
    const how = late === null ? result.failure.message : `${late}; last lines:\n${lastLines.join("\n")}`;
    record({ name: current, ok: false, ms: 0, detail: [...troubles, how].join("\n") });
    if (names[done] === current) done++;
  }
  return done;
}
