import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/setup-nvrtc.ts"],
    reporters: ["default", "./test/count-reporter.ts"],
    // Both cores of the machine that CI has, not all but one.
    maxWorkers: "100%",
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
