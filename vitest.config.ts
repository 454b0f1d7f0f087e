import { defineConfig } from "vitest/config";

/**
 * Proofs and schedules run much code a few times. V8 of Node 20 then spends as long on optimising as on running it (see
 * `src/cli/patient-compiler.ts`), and collects much that a larger nursery would have outlived: some of the proofs of the library took 27 s of
 * processor without, 21 s with these.
 */
const execArgv =
  Number(process.versions.node.split(".")[0]) < 22
    ? ["--interrupt-budget=1000000", "--max-semi-space-size=64"]
    : ["--max-semi-space-size=64"];

export default defineConfig({
  // Examples import the library by its name, as its users do.
  resolve: { alias: [{ find: /^collc$/, replacement: new URL("./src/index.ts", import.meta.url).pathname }] },
  test: {
    include: ["test/**/*.test.ts"],
    // Those that take minutes run with `npm run test:all`, which .ci/run calls.
    exclude: process.env["COLLC_TESTS"] === "all" ? [] : ["test/**/*.long.test.ts"],
    globalSetup: ["test/setup-nvrtc.ts"],
    reporters: ["default", "./test/count-reporter.ts"],
    // Both cores of the machine that CI has, not all but one.
    maxWorkers: "100%",
    execArgv,
    // Nothing is measured by these: they end what hangs, on a machine that many share, too.
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
