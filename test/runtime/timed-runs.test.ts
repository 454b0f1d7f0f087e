/** What is timed is what must be right: launches that are timed store their outputs anew. */
import { expect, it } from "vitest";
import { execute } from "../../src/bench/execute.js";
import { connect } from "../../src/runtime/connect.js";
import { compileFile, LIBRARY } from "../kernels/library.js";

const file = LIBRARY.find(({ name }) => name === "all_reduce/one_shot")!;
const options = { seed: 3, timing: { inner: 1, outer: 1 } };

it("finds launches that store nothing while they are timed", async () => {
  const compiled = compileFile(file, { ranks: 2, dtype: "f32" });
  const group = await connect({ backend: "cpu", ranks: 2 });
  try {
    const right = await execute(group, compiled, { n: 64 }, options);
    expect([right.check.correct, right.timing !== null]).toEqual([true, true]);
    const idle = Object.create(group, {
      load: {
        value: async (...of: Parameters<typeof group.load>) => {
          const kernel = await group.load(...of);
          const none = { median: 1, min: 1, max: 1 };
          return Object.create(kernel, { time: { value: () => Promise.resolve(none) } }) as typeof kernel;
        },
      },
    }) as typeof group;
    const { check, timing } = await execute(idle, compiled, { n: 64 }, options);
    expect([check.correct, timing]).toEqual([false, null]);
  } finally {
    await group.close();
  }
});
