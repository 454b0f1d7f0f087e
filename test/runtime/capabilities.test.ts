/** What machines and groups can do, on the fake driver and NVML. */
import path from "node:path";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { capabilitiesOf } from "../../src/runtime/capabilities/group.js";
import {
  agreeOnLibrary,
  agreeOnMulticast,
  capabilities,
  multicastChoice,
  multicastObstacle,
  nvlinkMatrix,
} from "../../src/runtime/capabilities/index.js";
import { EmulatedGroup } from "../../src/runtime/group-cpu.js";
import { native, type NvmlLink, packageRoot } from "../../src/runtime/native.js";
import { localExchanges } from "../native/support.js";
import { closeAll, connectRanks, onAll, useFakeMachine } from "./device-groups.js";
import { rejection } from "./helpers.js";

beforeAll(() => {
  useFakeMachine();
  vi.stubEnv("COLLC_NVML", path.join(packageRoot(), "build/Release/fake-nvml"));
});
afterEach(() => vi.restoreAllMocks());

const pciOf = (bus: number) => ({ domain: 0, bus, device: 0 });
const gpu = (bus: number, links: readonly NvmlLink[]) => ({ pciDomain: 0, pciBus: bus, pciDevice: 0, links });

describe("NVLinks of pairs", () => {
  it("counts direct links, and what the poorer side has at the switches", () => {
    const direct = (to: number, link: number): NvmlLink => ({ link, remote: "gpu", remotePci: pciOf(to) });
    const up = (link: number): NvmlLink => ({ link, remote: "switch", remotePci: pciOf(0x80) });
    const ring = [gpu(1, [direct(2, 0), direct(2, 1)]), gpu(2, [direct(1, 0), direct(1, 1)]), gpu(3, [])];
    expect(nvlinkMatrix(ring)).toEqual([
      [0, 2, 0],
      [2, 0, 0],
      [0, 0, 0],
    ]);
    expect(nvlinkMatrix([gpu(1, [up(0), up(1), up(2)]), gpu(2, [up(0)])])).toEqual([
      [0, 1],
      [1, 0],
    ]);
  });
});

describe("a machine", () => {
  it("has GPUs, pairs, links and a domain", async () => {
    const { driver, devices, peers, warnings } = await capabilities();
    expect(driver).toEqual({ cuda: "13.0", nvidia: "580.00.1" });
    expect(devices).toHaveLength(4);
    expect(devices[0]).toMatchObject({
      cooperativeLaunch: true,
      posixFd: true,
      fabricHandle: false,
      multicast: false,
      multicastObstacle: "the device has no multicast",
      nvlinks: 18,
      fabric: { state: 3, clique: 7 },
    });
    expect(peers[1]![1]).toBeNull();
    expect(peers[0]![3]).toMatchObject({ access: true, nvlinks: 18 });
    expect(warnings).toEqual([]);
  });

  it("stands without what NVML would say", async () => {
    vi.spyOn(native(), "nvmlDevice").mockImplementation(() => {
      throw new Error("GPU is lost");
    });
    const { devices, peers, warnings } = await capabilities();
    expect(devices.map(({ nvlinks }) => nvlinks)).toEqual([0, 0, 0, 0]);
    expect(peers[0]![1]!.access).toBe(true);
    expect(warnings).toHaveLength(4);
    expect(warnings[2]).toBe("NVLinks of GPU 2 are unknown: GPU is lost");
  });
});

describe("a group", () => {
  it("knows who reaches whom, what joins them, and what all have", async () => {
    const canAccessPeer = native().canAccessPeer.bind(native());
    // GPUs 0 and 2 do not reach each other.
    vi.spyOn(native(), "canAccessPeer").mockImplementation((a, b) => a + b !== 2 && canAccessPeer(a, b));
    const groups = await connectRanks(3);
    const all = await onAll(groups, (group) => capabilitiesOf(group));
    expect(all[1]).toEqual(all[0]);
    expect(all[0]).toMatchObject({
      sameHost: true,
      reaches: [
        [true, true, false],
        [true, true, true],
        [false, true, true],
      ],
      fabric: false,
      cooperativeLaunch: true,
      multicast: { usable: false },
    });
    expect(all[0]!.hosts.map(({ ranks }) => ranks)).toEqual([[0, 1, 2]]);
    expect(all[0]!.nvlinks[0]).toEqual([0, 18, 18]);
    expect(all[0]!.multicast.reasons).toEqual([0, 1, 2].map((rank) => `rank ${rank}: the device has no multicast`));
    const pair = await Promise.all([groups[2]!, groups[0]!].map((group) => group.subgroup([2, 0])));
    const some = await Promise.all(pair.map((group) => capabilitiesOf(group)));
    expect(some[0]!.reaches).toEqual([
      [true, false],
      [false, true],
    ]);
    await closeAll(groups);
  });

  it("sees ranks that share a GPU reach each other", async () => {
    const groups = await connectRanks(5);
    const [first] = await onAll(groups, (group) => capabilitiesOf(group));
    expect(first!.reaches[0]![4]).toBe(true);
    await closeAll(groups);
  });

  it("of ranks that share a GPU is refused by the libraries that take one a rank", async () => {
    vi.stubEnv("COLLC_NCCL", path.join(packageRoot(), "build/Release/fake-nccl"));
    const error = await rejection(connectRanks(5, { backend: "nccl" }));
    expect(error.message).toBe("ranks 0 and 4 share a GPU, and NCCL takes one rank a GPU");
  });

  it("of the cpu backend has no hardware", async () => {
    const group = new EmulatedGroup(2, {});
    expect(await capabilitiesOf(group)).toMatchObject({ sameHost: true, multicast: { usable: false } });
    await group.close();
  });
});

describe("multicast", () => {
  const all = <T>(answers: readonly (string | null)[], act: (exchange: never, reason: string | null) => Promise<T>) =>
    Promise.all(localExchanges(answers.length).map((exchange, rank) => act(exchange as never, answers[rank]!)));

  it("is off when disabled or absent, and reported", () => {
    expect(multicastObstacle({ multicast: true }, {})).toBeNull();
    expect(multicastObstacle({ multicast: true }, { COLLC_DISABLE_MULTICAST: "0" })).toBeNull();
    expect(multicastObstacle({ multicast: true }, { COLLC_DISABLE_MULTICAST: "1" })).toMatch(/is set/);
    expect(multicastObstacle({ multicast: false }, {})).toMatch(/no multicast/);
    expect(multicastChoice(undefined, {})).toBe("default-off");
    expect(multicastChoice("allow", {})).toBe("allow");
    expect(multicastChoice("allow", { COLLC_DISABLE_MULTICAST: "1" })).toBe("off");
  });

  it("is taken from the whole group when one rank lacks it", async () => {
    for (const one of await all([null, null, null], agreeOnMulticast))
      expect(one).toEqual({ usable: true, reasons: [] });
    for (const one of await all([null, "set-up failed", null], agreeOnMulticast))
      expect(one).toEqual({ usable: false, reasons: ["rank 1: set-up failed"] });
  });

  it("goes to libraries only where every rank asks for it and can", async () => {
    const describe = native().describeDevice.bind(native());
    vi.spyOn(native(), "describeDevice").mockImplementation((device) => ({
      ...describe(device),
      multicast: device < 2,
    }));
    const choose = (envs: readonly Record<string, string>[], devices: readonly number[]) =>
      Promise.all(
        localExchanges(envs.length).map((exchange, rank) =>
          agreeOnLibrary(exchange, "nccl", devices[rank]!, envs[rank]!),
        ),
      );
    const on = { NCCL_NVLS_ENABLE: "1" };
    expect(await choose([on, on], [0, 1])).toEqual(["allow", "allow"]);
    expect(await choose([on, on], [0, 2])).toEqual(["off", "off"]);
    expect(await choose([on, {}], [0, 1])).toEqual(["off", "off"]);
    expect(await choose([on, { ...on, COLLC_DISABLE_MULTICAST: "1" }], [0, 1])).toEqual(["off", "off"]);
    expect(await choose([on, on], [0, 99])).toEqual(["off", "off"]);
  });
});
