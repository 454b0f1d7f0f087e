import { defineConfig } from "vitest/config";

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
    // Nothing is measured by these: they end what hangs, on a machine that many share, too.
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
});
