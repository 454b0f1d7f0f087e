import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/setup-nvrtc.ts"],
    reporters: ["default", "./test/count-reporter.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
