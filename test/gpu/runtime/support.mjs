// What the cases of runtime.mjs share.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { compile } from "../../../dist/src/compiler/index.js";

const kernels = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../../kernels");
export const compiled = (file, ranks, dtype = "f32") =>
  compile(readFileSync(path.join(kernels, file), "utf8"), { file, ranks, dtype });
export const words = (length, of) => Uint32Array.from({ length }, (_, i) => of(i));
export const throws = async (action, pattern) => {
  const error = await Promise.resolve()
    .then(action)
    .then(
      () => null,
      (e) => e,
    );
  assert(error !== null, `no error ${pattern}`);
  assert.match(error.message, pattern);
  return error;
};
export const sum = (ranks) => (ranks * (ranks + 1)) / 2;

/** An all-reduce ready to run: rank r gives r + 1 everywhere. */
export async function allReduce(group, n = 4096, file = "all_reduce/one_shot.coll") {
  const kernel = await group.load(compiled(file, group.world));
  const tensors = { x: await group.symmetric("f32", [n]), y: await group.symmetric("f32", [n]) };
  const own = group.localRanks[0] + 1;
  const reset = () => {
    tensors.x.write(new Float32Array(n).fill(own));
    tensors.y.write(new Float32Array(n).fill(NaN));
  };
  reset();
  await group.barrier();
  return {
    kernel,
    tensors,
    dims: { n },
    reset,
    run: () => kernel.run(tensors, { n }),
    launch: (stream) => kernel.launch(tensors, { n }, stream),
    check: async () => {
      const y = await tensors.y.read();
      const bad = y.findIndex((v) => v !== sum(group.world));
      assert.equal(bad, -1, `y[${bad}] is ${y[bad]}, not ${sum(group.world)}`);
    },
    free: async () => {
      await kernel.unload();
      for (const tensor of Object.values(tensors)) await tensor.free();
    },
  };
}

export async function reduceOnce(group, file) {
  const job = await allReduce(group, 4096, file);
  await job.run();
  await job.check();
  await job.free();
}

export const freeAll = async (...tensors) => {
  for (const tensor of tensors) await tensor.free();
};
