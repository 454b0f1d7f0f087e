import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";
import { isAll, LEFT_OUT, SHARING, TESTS } from "./test/scope.js";

/**
 * Proofs and schedules run much code a few times. V8 of Node 20 then spends as long on optimising as on running it (see
 * `src/cli/short-run.ts`), and collects much that a larger nursery would have outlived: some of the proofs of the library took 27 s of
 * processor without, 21 s with these. A nursery that begins as large as it is needed saves 3 of 100 s more.
 */
const nursery = ["--min-semi-space-size=32", "--max-semi-space-size=64"];
const execArgv =
  Number(process.versions.node.split(".")[0]) < 22 ? ["--interrupt-budget=1000000", ...nursery] : nursery;

// Those that take minutes run with `npm run test:all`, which .ci/run calls where the machine is quick enough.
const long = [...(isAll ? [] : ["test/**/*.long.test.ts"]), ...LEFT_OUT];
// Processes of tests are told what was asked for here.
process.env["COLLC_TESTS"] = TESTS;

// Examples import the library by its name, as its users do.
const resolve = { alias: [{ find: /^collc$/, replacement: new URL("./src/index.ts", import.meta.url).pathname }] };

/** The tests of processes wait for half a minute altogether, in which one more has the core. What is asked for counts where it is. */
const isAsked =
  process.argv.some((word) => /^--max-?workers/i.test(word)) || process.env["VITEST_MAX_WORKERS"] !== undefined;
const oneMore = isAsked ? {} : { maxWorkers: availableParallelism() + 1 };

const common = {
  globalSetup: ["test/setup-nvrtc.ts"],
  execArgv,
  // Nothing is measured by these: they end what hangs, on a machine that many share, too.
  testTimeout: 600_000,
  hookTimeout: 600_000,
};

export default defineConfig({
  test: {
    reporters: ["default", "./test/count-reporter.ts"],
    // Both cores of the machine that CI has, not all but one. Not repeated below, where the command line could not change it.
    maxWorkers: "100%",
    projects: [
      {
        resolve,
        test: {
          ...common,
          name: "shared",
          include: SHARING,
          exclude: [...configDefaults.exclude, ...long],
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        resolve,
        test: {
          ...common,
          ...oneMore,
          name: "alone",
          include: ["test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...long, ...SHARING],
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
