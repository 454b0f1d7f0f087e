/** Steps of plans that NCCL does: from a measured plan through the compiler to calls on a group's tensors. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { choiceOf, compile, explain, NCCL_WAY, planProblem, type TunedChoice } from "../../src/compiler/index.js";
import { DeviceKernel } from "../../src/runtime/device-kernel.js";
import { EmulatedGroup } from "../../src/runtime/group-cpu.js";
import { importsFromDisk, libraryFromDisk } from "../../src/runtime/imports.js";
import { packageRoot } from "../../src/runtime/native.js";
import { fakeCubin } from "../native/support.js";
import { closeAll, connectRanks, onAll, useFakeMachine } from "./device-groups.js";
import { rejection } from "./helpers.js";

beforeAll(() => {
  useFakeMachine();
  vi.stubEnv("COLLC_NCCL", path.join(packageRoot(), "build/Release/fake-nccl/libnccl.so.2"));
});

const text = (name: string): string => readFileSync(path.join(packageRoot(), `kernels/${name}.coll`), "utf8");
const compiled = (name: string, ranks: number, choices: readonly TunedChoice[], dtype = "bf16" as const) =>
  compile(text(name), {
    ...{ file: `kernels/${name}.coll`, ranks, dtype, resolve: importsFromDisk, library: libraryFromDisk },
    tuned: () => choices,
  });
/** NCCL's from 1000 elements on. */
const mixed = (way: string): TunedChoice[] => [
  { below: 1000, way },
  { below: null, way: NCCL_WAY },
];

describe("a measured plan that takes NCCL", () => {
  it("launches a kernel below, and calls NCCL above", () => {
    const program = compiled("all_gather", 2, mixed("all_gather/push"));
    const { manifest, variants, machine } = program;
    expect(planProblem(manifest!)).toBeNull();
    expect(variants.map((v) => v.name)).toEqual(["all_gather/push"]);
    expect(choiceOf(manifest!, { n: 998 }).steps).toEqual([
      { kind: "launch", kernel: 0, maxBlocks: machine.storeBlocks.value },
    ]);
    expect(choiceOf(manifest!, { n: 1000 }).steps).toEqual([
      { kind: "library", library: "nccl", call: "all_gather", input: "x", output: "y", root: 0 },
    ]);
    expect(explain(program, { n: 4096 }, machine).plan).toMatchObject({ chosen: "nccl", isMeasured: true });
  });

  it("has a kernel to look at where it takes NCCL at all sizes", () => {
    const { manifest, variants } = compiled("broadcast", 2, [{ below: null, way: NCCL_WAY }]);
    expect(variants).toHaveLength(1);
    expect(choiceOf(manifest!, { n: 1 }).steps).toMatchObject([{ call: "broadcast", root: 0 }]);
  });

  it.each(["all_reduce", "reduce_scatter", "all_to_all"])(
    "cannot for %s, which it rounds or would have to cut",
    (name) => {
      expect(() => compiled(name, 2, [{ below: null, way: NCCL_WAY }]).manifest).toThrow(
        `${name} takes nccl, which there is not`,
      );
    },
  );

  it("is refused by the cpu backend, in words", async () => {
    const group = new EmulatedGroup(2, {});
    const program = await group.load(compiled("all_gather", 2, mixed("all_gather/push")));
    const run = async (n: number): Promise<void> => {
      const tensors = { x: await group.symmetric("bf16", [n / 2]), y: await group.symmetric("bf16", [n]) };
      await program.run(tensors, { n });
    };
    await run(16);
    expect((await rejection(run(2000))).message).toContain(
      "takes nccl at this size, which the cpu backend does not have",
    );
    await group.close();
  });
});

describe.each(["cuda", "nccl"] as const)("on a group of the %s backend", (backend) => {
  it("NCCL moves every byte, and the group gives its communicator back", async () => {
    const groups = await connectRanks(3, { backend });
    for (const name of ["all_gather", "broadcast"] as const) {
      const { manifest } = compiled(name, 3, [{ below: null, way: NCCL_WAY }]);
      // The kernel beside it is never launched.
      const own = { ...manifest!, kernels: [] };
      const results = await onAll(groups, async (group, rank) => {
        const program = await DeviceKernel.load(group, own, [fakeCubin("fake_store params=8,8 registers=32")]);
        const n = 3 * 777;
        const x = await group.symmetric("bf16", [name === "all_gather" ? 777 : n]);
        const y = await group.symmetric("bf16", [n]);
        x.write(Uint16Array.from({ length: x.shape[0]! }, (_, i) => 5000 * rank + i));
        y.write(new Uint16Array(n).fill(0xffff));
        await program.run({ x, y }, { n });
        const prepared = await program.prepare({ x, y }, { n });
        prepared.launch(group.defaultStream);
        await group.defaultStream.synchronize();
        prepared.release();
        const values = [...(await y.read())];
        await program.unload();
        return values;
      });
      const expected =
        name === "all_gather"
          ? [0, 1, 2].flatMap((rank) => Array.from({ length: 777 }, (_, i) => 5000 * rank + i))
          : Array.from({ length: 3 * 777 }, (_, i) => i);
      for (const values of results) expect(values).toEqual(expected);
    }
    await closeAll(groups);
  });
});
