/** Broadcasts among messages, on the fake driver and library: they come, and calls that do not fit each other are found. */
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { Manifest, MessageStep } from "../../src/compiler/index.js";
import { RuntimeError } from "../../src/runtime/errors.js";
import { NcclCommunicator } from "../../src/runtime/nccl/communicator.js";
import { isAll } from "../scope.js";
import { closeAll, closedAfterEach, connectRanks, onAll, useFakeMachine } from "./device-groups.js";
import { FAKES, outputOf, withChange } from "./suites-on-fakes.js";

/** What the case says, of ranks that are processes. */
const caseOn = (backend: string, ranks: number, env: Readonly<Record<string, string>> = {}): Promise<string> =>
  outputOf(["test/gpu/runtime.mjs", "--backend", backend, "--ranks", `${ranks}`, "--only", "as broadcasts"], { COLLC_NVSHMEM_ARENA_MB: "16", ...env }); // prettier-ignore

describe("what one rank sends all others", () => {
  const places: readonly (readonly [string, number])[] = isAll ? [["nccl", 3], ["nccl", 4], ["nvshmem", 3]] : [["nccl", 3]]; // prettier-ignore
  it.each(places)("comes by %s to %i ranks, in a graph and beside it", async (backend, ranks) => {
    const output = await caseOn(backend, ranks);
    expect(output, output).toContain(": 1 passed, 0 failed");
  });

  /** What is changed, and what is said of it. */
  const wrong: Readonly<Record<string, readonly [change: string, told: RegExp]>> = {
    "another length on one rank": [
      "const { broadcast } = own; own.broadcast = function (s, from, to, count, ...rest) { broadcast.call(this, s, from, to, this.rank === 2 ? count - 4 : count, ...rest); };",
      /came for broadcast of 2097152 bytes, root 0, rank 2 for broadcast of 2097148 bytes/,
    ],
    "another root on one rank": [
      "const { broadcast } = own; own.broadcast = function (s, from, to, count, dtype) { broadcast.call(this, s, from, to, count, dtype, this.rank === 2 ? 1 : 0); };",
      /came for broadcast of 2097152 bytes, root 0, rank 2 for broadcast of 2097152 bytes, root 1/,
    ],
    "its parts in another order on one rank": [
      "const { broadcast } = own; const held = []; own.broadcast = function (...call) { if (this.rank !== 2) return broadcast.apply(this, call); held.push(call); if (held.length === 2) while (held.length > 0) broadcast.apply(this, held.pop()); };",
      /came for broadcast of 2097152 bytes, root 0, rank 2 for broadcast of 12 bytes/,
    ],
    "ranks in another order": [
      "let made = 0; const { create } = NcclCommunicator; NcclCommunicator.create = (o) => create.call(NcclCommunicator, { ...o, rank: (o.rank + made++) % o.world });",
      /AssertionError.*round 0/,
    ],
  };

  it.each(Object.entries(wrong).slice(0, isAll ? 4 : 1))("with %s is found wrong", async (_, [change, told]) => {
    const all = `const own = NcclCommunicator.prototype;\n${change}`;
    const output = await withChange({ "nccl/communicator.js": "NcclCommunicator" }, all, (env) => caseOn("nccl", 3, env)); // prettier-ignore
    expect(output, output).toMatch(/: 0 passed, 1 failed/);
    expect(output, output).toMatch(told);
  });
});

describe("communicators of broadcasts", () => {
  beforeAll(() => {
    useFakeMachine();
    vi.stubEnv("COLLC_NCCL", FAKES["COLLC_NCCL"]);
  });
  const { open } = closedAfterEach();

  const end = { memory: "box", offset: 0, length: 8 };
  const none = { sends: [], receives: [] };
  /** Rank 3 sends ranks 0 and 1 the same; rank 2 has no part in it. */
  const step: MessageStep = {
    kind: "message",
    broadcasts: [[3, 0, 1]],
    ranks: [
      { sends: [], receives: [{ ...end, peer: 3 }] },
      { sends: [], receives: [{ ...end, peer: 3 }] },
      none,
      { sends: [0, 1].map((peer) => ({ ...end, peer })), receives: [] },
    ],
  };
  const plan: Manifest["plan"] = { by: 1, choices: [{ below: null, steps: [step, step] }] };

  it("are made once, of their ranks alone, and go with the group", async () => {
    const made = vi.spyOn(NcclCommunicator, "create");
    const gone = vi.spyOn(NcclCommunicator.prototype, "destroy");
    const groups = await connectRanks(4);
    await onAll(groups, (group) => group.messageCarriers.open({ plan, collective: "f" }));
    await onAll(groups, (group) => group.messageCarriers.open({ plan, collective: "g" }));
    const worlds = made.mock.calls.map(([{ world, rank }]) => `${rank} of ${world}`).sort();
    expect(worlds).toEqual(["0 of 3", "0 of 4", "1 of 3", "1 of 4", "2 of 3", "2 of 4", "3 of 4"]);
    await closeAll(groups);
    expect(gone).toHaveBeenCalledTimes(7);
    vi.restoreAllMocks();
  });

  it("go with a group that is stopped, too", async () => {
    const aborted = vi.spyOn(NcclCommunicator.prototype, "abort");
    const groups = await connectRanks(4);
    open.push(...groups);
    await onAll(groups, (group) => group.messageCarriers.open({ plan, collective: "f" }));
    // Nothing is stuck once communicators are stopped: what was held is let go of.
    const stuck = (): Promise<void> => Promise.reject(new RuntimeError("stuck", undefined, "timeout"));
    await onAll(groups, (group) => group.stops.settle(stuck));
    expect(aborted).toHaveBeenCalledTimes(7);
    vi.restoreAllMocks();
  });
});
