/** The event model: closed forms where there are some, bytes that are neither lost nor made, order, and the same result each time. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  type Cluster,
  compile,
  leastTime,
  type LinkUse,
  playFastest,
  Player,
  type Schedule,
} from "../../src/compiler/index.js";
import { trafficOfRank } from "../../src/compiler/explain/traffic.js";
import { moved } from "../../src/compiler/simulate/likeness.js";
import { packageRoot } from "../../src/runtime/native.js";
import { importsFromDisk } from "../../src/runtime/imports.js";
import { DGX, network, plain, scheduleFor, sourced } from "./support.js";
import { isAll } from "../scope.js";

const RING = "kernels/all_reduce/ring.coll";
const LIBRARY = [
  RING,
  "kernels/all_reduce/one_shot.coll",
  "kernels/all_reduce/two_shot.coll",
  "kernels/all_reduce/push.coll",
  "kernels/all_reduce/tree.coll",
  "kernels/all_reduce/recursive_doubling.coll",
  "kernels/all_reduce/hierarchical.coll",
  "kernels/all_gather/push.coll",
  "kernels/all_gather/pull.coll",
  "kernels/all_gather/ring.coll",
  "kernels/all_gather/bruck.coll",
  "kernels/reduce_scatter/pull.coll",
  "kernels/reduce_scatter/push.coll",
  "kernels/reduce_scatter/ring.coll",
  "kernels/broadcast/flat.coll",
  "kernels/broadcast/tree.coll",
  "kernels/broadcast/relay.coll",
  "kernels/broadcast/ring.coll",
  "kernels/broadcast/scatter_gather.coll",
  "kernels/all_to_all/push.coll",
  "kernels/reduce/pull.coll",
  "kernels/reduce/scatter.coll",
  "kernels/gather/push.coll",
  "kernels/scatter/pull.coll",
  "kernels/all_reduce/rails.coll",
  "examples/scale/rings.coll",
  "kernels/all_gather/hierarchical.coll",
  "kernels/reduce_scatter/hierarchical.coll",
  "kernels/all_to_all/hierarchical.coll",
  "kernels/broadcast/hierarchical.coll",
  "kernels/broadcast/rails.coll",
];

const seconds = (schedule: Schedule, cluster: Cluster, bytes: number, chunks = 1): number =>
  new Player(schedule, cluster).play(bytes, chunks).seconds;

describe("closed forms", () => {
  const bytes = 2 ** 26;

  test.each([2, 4, 8, 16])("a ring of %i in one domain: 2 (n − 1) / n of the bytes, and a flag a step", (n) => {
    const cluster = plain(n);
    const expected = (2 * (n - 1) * bytes) / n / 100e9 + 2 * (n - 1) * 1e-6;
    expect(seconds(scheduleFor(RING, n, cluster), cluster, bytes)).toBeCloseTo(expected, 9);
  });

  test.each([4, 16, 64])("a ring of %i hosts: the same with the network's latency", (n) => {
    const cluster = network(n, 3e-6);
    const expected = 2 * (n - 1) * (bytes / n / 100e9 + 3e-6);
    expect(seconds(scheduleFor(RING, n, cluster), cluster, bytes)).toBeCloseTo(expected, 9);
  });

  test("two-shot in one domain: both ways of (n − 1) / n of the bytes, and a flag before and after", () => {
    const cluster = plain(8);
    const expected = (2 * 7 * bytes) / 8 / 100e9 + 2e-6;
    const schedule = scheduleFor("kernels/all_reduce/two_shot.coll", 8, cluster);
    // Loads and stores of one phase share the ports.
    expect(seconds(schedule, cluster, bytes)).toBeCloseTo(expected, 9);
  });

  test("a direct all-to-all of hosts takes what a NIC has to send", () => {
    const cluster = network(16);
    const expected = ((15 / 16) * bytes) / 100e9;
    const all = seconds(scheduleFor("kernels/all_to_all/push.coll", 16, cluster), cluster, bytes);
    expect(all).toBeGreaterThan(expected);
    expect(all).toBeLessThan(expected * 1.02 + 20e-6);
  });

  test("a spine of half the rate takes twice as long for what crosses it", () => {
    const cluster: Cluster = { ...network(8), domainsPerPod: 1, nics: 1 };
    const schedule = scheduleFor("kernels/all_to_all/push.coll", 8, cluster);
    const full = seconds(schedule, cluster, 2 ** 30);
    const half = seconds(schedule, { ...cluster, oversubscription: sourced(2) }, 2 ** 30);
    expect(half / full).toBeCloseTo(2, 2);
  });
});

/** Bytes over links of a kind. */
const over = (links: readonly LinkUse[], kind: LinkUse["kind"]): number =>
  links.find((l) => l.kind === kind)?.bytes ?? 0;

describe("bytes are neither lost nor made", () => {
  test.each(LIBRARY.filter((_, i) => isAll || i % 2 === 0))("%s", (file) => {
    const schedule = scheduleFor(file, 32);
    const { links } = new Player(schedule, DGX).play(schedule.bytes * 4);
    let [near, far] = [0, 0];
    for (let rank = 0; rank < 32; rank++)
      for (const { loads, stores } of schedule.ranks[rank % schedule.period]!)
        for (const { ranks, bytes } of [loads, stores])
          ranks.forEach((p, k) => {
            const peer = moved(p, rank - (rank % schedule.period), 32, schedule.likeness);
            if (Math.floor(peer / 8) === Math.floor(rank / 8)) near += 4 * bytes[k]!;
            else far += 4 * bytes[k]!;
          });
    expect(near + far).toBeGreaterThan(0);
    for (const kind of ["NVLink out", "NVLink in"] as const) expect(over(links, kind)).toBeCloseTo(near, 0);
    for (const kind of ["NIC out", "NIC in"] as const) expect(over(links, kind)).toBeCloseTo(far, 0);
    expect(over(links, "leaf up")).toBe(over(links, "leaf down"));
    expect(over(links, "leaf up")).toBeLessThanOrEqual(far);
  });

  test("they are those of the program as it is launched, rank by rank", () => {
    for (const file of [RING, "kernels/all_gather/bruck.coll", "kernels/broadcast/relay.coll"]) {
      const schedule = scheduleFor(file, 8);
      const text = readFileSync(join(packageRoot(), file), "utf8");
      const { snapshots } = compile(text, { file, ranks: 8, dtype: "f32", resolve: importsFromDisk, stopAfter: "derive-sync" }); // prettier-ignore
      const { kernel } = snapshots.at(-1)!;
      for (let rank = 0; rank < 8; rank++) {
        const { stretches } = trafficOfRank(kernel, rank, { n: 64 * 64 });
        const sent = stretches.flatMap((s) => s.moves.flatMap((m) => [...m.bytesAt].map(([p, n]) => (p === rank ? 0 : n)))); // prettier-ignore
        const own = schedule.ranks[rank % schedule.period]!.flatMap((p) => [...p.loads.bytes, ...p.stores.bytes]);
        const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
        expect(sum(own), `${file}, rank ${rank}`).toBe(sum(sent));
      }
    }
  });
});

describe("ranks that are alike are followed once", () => {
  /** All ranks, whatever is alike. */
  const whole = ({ ranks, world, period, likeness, ...rest }: Schedule): Schedule => {
    const at = (list: Int32Array, by: number): Int32Array => list.map((p) => moved(p, by, world, likeness));
    const all = Array.from({ length: world }, (_, rank) =>
      ranks[rank % period]!.map((phase) => {
        const by = rank - (rank % period);
        const { loads, stores, awaits } = phase;
        return {
          ...phase,
          awaits: at(awaits, by),
          loads: { ...loads, ranks: at(loads.ranks, by) },
          stores: { ...stores, ranks: at(stores.ranks, by) },
        };
      }),
    );
    return { ...rest, world, ranks: all, period: world, likeness: "shift" };
  };

  test.each([
    "kernels/all_reduce/two_shot.coll",
    RING,
    "kernels/all_gather/bruck.coll",
    "kernels/all_reduce/rails.coll",
    "kernels/all_to_all/hierarchical.coll",
    "kernels/all_reduce/recursive_doubling.coll",
  ])("%s takes as long as with every rank followed", (file) => {
    const schedule = scheduleFor(file, 64);
    for (const cluster of [DGX, { ...DGX, domainsPerPod: 2, oversubscription: sourced(2) }]) {
      const [few, all] = [new Player(schedule, cluster), new Player(whole(schedule), cluster)];
      expect(few.followed).toBeLessThan(64);
      expect(all.followed).toBe(64);
      for (const [bytes, chunks] of [
        [2 ** 12, 1],
        [2 ** 26, 1],
        [2 ** 26, 4],
      ] as const) {
        // prettier-ignore
        const [a, b] = [few.play(bytes, chunks), all.play(bytes, chunks)];
        expect(a.seconds / b.seconds, `${bytes} in ${chunks}`).toBeCloseTo(1, 6);
        for (const kind of ["NVLink out", "NIC out", "leaf up"] as const)
          expect(over(a.links, kind)).toBeCloseTo(over(b.links, kind), 0);
      }
    }
  });
});

describe("the least time that a program can take", () => {
  test.each([
    ["kernels/all_reduce/recursive_doubling.coll", 4],
    ["kernels/all_reduce/two_shot.coll", 1],
    ["kernels/all_reduce/rails.coll", 4],
    [RING, 1],
  ])("%s in %i chunks takes hardly more where nobody is in anybody's way", (file, chunks) => {
    const player = new Player(scheduleFor(file, 64), DGX);
    for (const bytes of [2 ** 10, 2 ** 20, 2 ** 28]) {
      const times = player.play(bytes, chunks).seconds / player.atLeast(bytes, chunks);
      expect(times, `${bytes} bytes`).toBeGreaterThanOrEqual(1);
      expect(times, `${bytes} bytes`).toBeLessThan(1.1);
    }
  });

  test.each([
    [
      "hosts whose GPUs share NICs, pods of two hosts",
      { ...DGX, nics: 2, domainsPerPod: 2, oversubscription: sourced(2) },
    ],
    ["a network almost without latency", { ...DGX, latency: sourced(1e-7), messageTime: sourced(1e-8) }],
  ])("no less on %s", (_, cluster) => {
    for (const file of [
      "kernels/broadcast/relay.coll",
      "kernels/all_reduce/tree.coll",
      "kernels/all_reduce/hierarchical.coll",
    ]) {
      const player = new Player(scheduleFor(file, 32, cluster), cluster);
      for (const bytes of [2 ** 10, 2 ** 20, 2 ** 28])
        for (const chunks of [1, 2, 16])
          expect(player.play(bytes, chunks).seconds, `${file}, ${bytes} bytes in ${chunks}`).toBeGreaterThanOrEqual(player.atLeast(bytes, chunks)); // prettier-ignore
    }
  });

  test("of a size in any number of chunks it is no more than what the fastest takes", () => {
    for (const file of [
      "kernels/all_reduce/ring.coll",
      "kernels/all_reduce/tree.coll",
      "kernels/all_reduce/rails.coll",
    ]) {
      const player = new Player(scheduleFor(file, 64), DGX);
      for (const bytes of [2 ** 10, 2 ** 20, 2 ** 28])
        expect(playFastest(player, bytes, 64).seconds).toBeGreaterThanOrEqual(leastTime(player, bytes, 64));
    }
  });

  test.each(LIBRARY)("%s takes no less, and not many times as much", (file) => {
    for (const ranks of [8, 32]) {
      const player = new Player(scheduleFor(file, ranks), DGX);
      for (const bytes of [2 ** 10, 2 ** 20, 2 ** 28])
        for (const chunks of [1, 4]) {
          const least = player.atLeast(bytes, chunks);
          const { seconds } = player.play(bytes, chunks);
          expect(seconds / least, `${ranks} ranks, ${bytes} bytes in ${chunks}`).toBeGreaterThanOrEqual(1);
          // A bound of nothing would leave nothing out.
          expect(seconds / least, `${ranks} ranks, ${bytes} bytes in ${chunks}`).toBeLessThan(12);
        }
    }
  });
});

describe("order", () => {
  test.each(LIBRARY.filter((_, i) => isAll || i % 2 === 1))(
    "%s: no size takes less time than a smaller one, nor a network of half the speed, which takes at most twice as long",
    (file) => {
      const schedule = scheduleFor(file, 32);
      let before = 0;
      for (let bytes = 2 ** 10; bytes <= 2 ** 30; bytes *= 16) {
        const now = seconds(schedule, DGX, bytes);
        expect(now).toBeGreaterThanOrEqual(before);
        before = now;
      }
      const slow = { ...DGX, nicRate: sourced(DGX.nicRate.value / 2), latency: sourced(2 * DGX.latency.value) };
      const times = seconds(schedule, slow, 2 ** 28) / seconds(schedule, DGX, 2 ** 28);
      expect(times).toBeGreaterThan(1);
      expect(times).toBeLessThanOrEqual(2);
    },
  );

  test("two runs are the same to the last bit", () => {
    for (const file of LIBRARY.slice(0, 8)) {
      const schedule = scheduleFor(file, 32);
      expect(new Player(schedule, DGX).play(2 ** 24, 4)).toEqual(new Player(schedule, DGX).play(2 ** 24, 4));
    }
  });

  test.each([
    ["kernels/all_reduce/tree.coll", 0.00012413923321496505, 0.00012871847214952341, 0.0003981473994826971],
    ["kernels/all_reduce/gathered.coll", 0.0010212200000000139, 0.0010212200000000139, 0.0010212200000000139],
    ["kernels/all_reduce/ring.coll", 0.0030884879612525827, 0.00308898952017596, 0.0030935561614081],
  ])("%s at 512 ranks takes what it took when each message was an event of its own", (file, ...expected) => {
    // The numbers of h100x8 that it was found with: fits come and go.
    const SLOWER = 3.35 / 4.8;
    const then = Object.entries({
      ...{ push: 337e9, pairPush: 345e9, pull: 317e9, serve: 369e9, memory: 4.1e12 * SLOWER, cachedMemory: 4.1e12, blockMemory: 69e9 * SLOWER }, // prettier-ignore
      ...{ flag: 0.39e-6, flagRank: 0.07e-6, drain: 0.6e-6, ownDrain: 1.41e-6, grid: 0.24e-6, skew: 0.21e-6 },
      ...{ peerLoad: 1.74e-6, ownLoad: 1.32e-6, peerNext: 1.2e-6, ownNext: 0.465e-6 },
    }).map(([name, value]) => [name, sourced(value)]);
    const cluster = { ...DGX, machine: { ...DGX.machine, ...Object.fromEntries(then) } };
    const player = new Player(scheduleFor(file, 512, cluster, "bf16"), cluster);
    // Of each rank's messages only the first is in the queue of events now; the order is the same.
    const found = [2 ** 10, 2 ** 16, 2 ** 20].map((bytes) => playFastest(player, bytes, 512).seconds);
    found.forEach((seconds, i) => expect(seconds).toBeCloseTo(expected[i]!, 14));
  });

  test("phases of chunks overlap: in chunks, rails take little more than their slowest part", () => {
    const schedule = scheduleFor("kernels/all_reduce/rails.coll", 64);
    const player = new Player(schedule, DGX);
    const [one, many] = [player.play(2 ** 30, 1), player.play(2 ** 30, 16)];
    const busiest = Math.max(...many.links.map((l) => l.busy));
    expect(many.seconds).toBeLessThan(one.seconds);
    expect(many.seconds).toBeLessThan(1.4 * busiest);
    expect(one.seconds).toBeGreaterThan(1.5 * busiest);
  });
});
