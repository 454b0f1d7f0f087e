// NCCL over lists: one process, several GPUs. `place` has the devices.
import { NcclClique } from "../../../dist/src/runtime/nccl/index.js";
import { byteLength, check, DeviceMemory, encoded, mustThrow, range, readBack, same, valueOf } from "./support.mjs";

const N = 128;

function buffers(devices, dtype, count, fill) {
  return devices.map((device, i) => {
    const memory = DeviceMemory.allocate(device, byteLength(dtype, count));
    memory.write(
      encoded(
        dtype,
        range(count).map((j) => fill(i, j)),
      ),
    );
    return { device, pointer: memory.pointer, count, dtype, memory };
  });
}
const free = (...lists) => lists.flat().forEach((buffer) => buffer.memory.free());
const sum = (world, i) => range(world).reduce((total, r) => total + valueOf(r, i), 0);

async function using(devices, body) {
  const clique = await NcclClique.create(devices, { timeoutMs: 30_000 });
  try {
    return await body(clique);
  } finally {
    await clique.close();
  }
}

export const cliqueCases = {
  async "nccl lists: all_reduce, reduce, broadcast, all_gather, reduce_scatter"({ devices }) {
    const world = devices.length;
    return using(devices, async (clique) => {
      for (const dtype of ["f32", "bf16"]) {
        const inputs = buffers(devices, dtype, N, valueOf);
        const outputs = buffers(devices, dtype, N, () => 7);
        const wide = buffers(devices, dtype, N * world, valueOf);
        const check1 = (list, wanted, what) =>
          list.forEach((buffer, i) =>
            same(
              readBack(buffer.memory, dtype, buffer.count),
              range(buffer.count).map((j) => wanted(i, j)),
              `${what} ${dtype} on ${i}`,
            ),
          );
        clique.allReduce(inputs, { outputs });
        await clique.synchronize(20_000);
        check1(outputs, (_, j) => sum(world, j), "all_reduce");
        check1(inputs, valueOf, "all_reduce leaves its inputs");
        for (let root = 0; root < world; root++) {
          const [output] = buffers([devices[root]], dtype, N, () => 0);
          clique.reduce(inputs, { root, output });
          await clique.synchronize(20_000);
          same(
            readBack(output.memory, dtype, N),
            range(N).map((j) => sum(world, j)),
            `reduce to ${root}`,
          );
          free([output]);
          const copies = buffers(devices, dtype, N, valueOf);
          clique.broadcast(copies, { root });
          await clique.synchronize(20_000);
          check1(copies, (_, j) => valueOf(root, j), `broadcast from ${root}`);
          free(copies);
        }
        const gathered = buffers(devices, dtype, N * world, () => 0);
        clique.allGather(inputs, gathered);
        await clique.synchronize(20_000);
        check1(gathered, (_, j) => valueOf(Math.floor(j / N), j % N), "all_gather");
        clique.reduceScatter(wide, outputs);
        await clique.synchronize(20_000);
        check1(outputs, (i, j) => sum(world, i * N + j), "reduce_scatter");
        clique.allReduce(inputs);
        await clique.synchronize(20_000);
        check1(inputs, (_, j) => sum(world, j), "all_reduce in place");
        free(inputs, outputs, wide, gathered);
      }
      return `${world} GPUs`;
    });
  },

  async "nccl lists: wrong lists are refused before anything is enqueued"({ devices }) {
    await mustThrow(() => NcclClique.create(3), /must be a list/);
    await mustThrow(() => NcclClique.create([]), /one or more different GPUs/);
    await mustThrow(() => NcclClique.create([devices[0], devices[0]]), /different GPUs/);
    const world = devices.length;
    return using(devices, async (clique) => {
      const inputs = buffers(devices, "f32", N, valueOf);
      const error = await mustThrow(() => clique.allReduce(inputs[0]), /inputs must be a list/);
      check(error instanceof TypeError, "no list is a TypeError");
      await mustThrow(
        () => clique.allReduce([...inputs, inputs[0]]),
        new RegExp(`${world + 1} inputs for ${world} GPUs`),
      );
      await mustThrow(() => clique.allReduce(inputs, { outputs: [] }), new RegExp(`0 outputs for ${world} GPUs`));
      await mustThrow(() => clique.allReduce(inputs, { streams: [] }), new RegExp(`0 streams for ${world} GPUs`));
      await mustThrow(() => clique.broadcast(inputs, { root: world }), /root .* is not one/);
      await mustThrow(() => clique.reduce(inputs, { root: -1 }), /root -1 is not one/);
      await mustThrow(() => clique.reduce(inputs, { root: 0.5 }), /root 0.5 is not one/);
      await mustThrow(() => clique.allReduce(inputs, { op: "xor" }), /no reduction "xor"/);
      await mustThrow(
        () =>
          clique.allGather(
            inputs,
            inputs.map((b) => ({ ...b, count: 5 })),
          ),
        /5 elements/,
      );
      if (world > 1) {
        await mustThrow(() => clique.allReduce([...inputs].reverse()), /is on GPU/);
        const odd = inputs.map((b) => ({ ...b, count: N + 1 }));
        await mustThrow(() => clique.reduceScatter(odd, inputs), /do not divide|elements/);
      }
      await mustThrow(
        () => clique.allReduce(inputs, { outputs: inputs.map((b) => ({ ...b, dtype: "f16" })) }),
        /is f16/,
      );
      // Nothing was left half enqueued.
      clique.allReduce(inputs);
      await clique.synchronize(20_000);
      same(
        readBack(inputs[0].memory, "f32", N),
        range(N).map((j) => sum(world, j)),
        "afterwards",
      );
      free(inputs);
    });
  },
};
