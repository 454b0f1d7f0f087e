/**
 * Uneven splits that only the launch knows. What `dispatch` and `combine` leave in y is beyond their signatures, because
 * rows that nobody sends are not touched; so it is compared here with rows that are moved one by one, and on the way back
 * with what set out.
 */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/index.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { LIBRARY } from "./library.js";

const UNTOUCHED = -1;

function groupOf(name: string, world: number): CpuGroup {
  const { text } = LIBRARY.find((file) => file.name === name)!;
  const { kernel, manifest, source } = compile(text, { ranks: world, dtype: "i32" });
  return new CpuGroup(kernel!, manifest!, { source, seed: world });
}

/** How many rows each rank sends to each, every one at most m / world. */
const SPLITS: Readonly<Record<string, (from: number, to: number, most: number) => number>> = {
  nothing: () => 0,
  everything: (_from, _to, most) => most,
  "all to one rank": (_from, to, most) => (to === 0 ? most : 0),
  "one rank alone": (from, _to, most) => (from === 0 ? most : 0),
  uneven: (from, to, most) => (from * 5 + to * 3 + 1) % (most + 1),
};

describe.each([1, 2, 3, 4, 8])("on %i ranks", (world) => {
  const most = 7;
  const [m, n] = [most * world, 5];
  it.each(Object.keys(SPLITS))("%s", (name) => {
    const counts = Array.from({ length: world }, (_, from) =>
      Int32Array.from({ length: world }, (__, to) => SPLITS[name]!(from, to, most)),
    );
    const x = Array.from({ length: world }, (_, rank) =>
      Int32Array.from({ length: m * n }, (__, i) => rank * m * n + i),
    );
    const expected = Array.from({ length: world }, () => new Int32Array(world * m * n).fill(UNTOUCHED));
    const filled = new Array<number>(world).fill(0);
    // Senders in order of rank, so that a receiver has their rows one after the other.
    for (let from = 0; from < world; from++)
      for (let to = 0, row = 0; to < world; to++)
        for (let i = 0; i < counts[from]![to]!; i++, row++)
          expected[to]!.set(x[from]!.subarray(row * n, (row + 1) * n), filled[to]!++ * n);

    const sent = x.map((rows, rank) => ({
      inputs: { x: rows, counts: counts[rank]! },
      outputs: { y: new Int32Array(world * m * n).fill(UNTOUCHED), received: new Int32Array(world) },
    }));
    const dispatch = groupOf("all_to_all/dispatch", world);
    for (let launch = 0; launch < 2; launch++) dispatch.run(sent, { m, n });
    expect(sent.map(({ outputs }) => outputs.y)).toEqual(expected);
    expect(sent.map(({ outputs }) => outputs.received)).toEqual(
      counts.map((_, to) => Int32Array.from(counts, (row) => row[to]!)),
    );

    const back = sent.map(({ outputs }, rank) => ({
      inputs: { x: outputs.y, counts: counts[rank]! },
      outputs: { y: new Int32Array(m * n).fill(UNTOUCHED) },
    }));
    const combine = groupOf("all_to_all/combine", world);
    for (let launch = 0; launch < 2; launch++) combine.run(back, { m, n });
    back.forEach(({ outputs }, rank) => {
      const rows = counts[rank]!.reduce((a, b) => a + b, 0);
      expect(outputs.y.subarray(0, rows * n)).toEqual(x[rank]!.subarray(0, rows * n));
      expect(outputs.y.subarray(rows * n).every((v) => v === UNTOUCHED)).toBe(true);
    });
  });
});
