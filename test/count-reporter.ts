/** Closes a run with one plain line, `N passed, N failed, N skipped`, for whoever reads logs by machine. */
import type { Reporter, TestModule } from "vitest/node";

export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    for (const module of modules) {
      if (module.errors().length > 0) counts.failed++;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === "passed" || state === "failed") counts[state]++;
        else counts.skipped++;
      }
    }
    // After the default reporter's own summary, which is printed when the run ends, too.
    setImmediate(() => console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`));
  }
}
