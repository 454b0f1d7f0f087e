/** Broadcasts among messages: which steps are, which are not, when they pay, and what ranks then wait for. */
import { describe, expect, it } from "vitest";
import { compile, type CompileResult, isFasterAsBroadcast, type MessageStep } from "../../src/compiler/index.js";
import { predictMessages } from "../../src/compiler/machine/messages.js";
import { planProblem } from "../../src/compiler/manifest.js";
import { broadcastsIn } from "../../src/compiler/program/broadcasts.js";
import { messageProblems } from "../../src/compiler/program/message-order.js";
import type { KernelStep } from "../../src/compiler/program/steps.js";
import { libraryFromDisk } from "../../src/runtime/imports.js";
import { isAll } from "../scope.js";
import { collc, kernel } from "../cli/support.js";
import { compiledFor, type Hosts, libraryFiles, outputs } from "./programs.js";

const ROWS: Hosts = { hosts: 4, gpus: 2 };
const SINGLES: Hosts = { hosts: 4, gpus: 1 };

const messagesOf = ({ manifest }: CompileResult): MessageStep[] =>
  manifest!.plan.choices.flatMap(({ steps }) => steps.filter((step) => step.kind === "message"));
const setsOf = (file: string, hosts: Hosts): MessageStep["broadcasts"][] =>
  messagesOf(compiledFor(file, hosts)).map(({ broadcasts }) => broadcasts);

describe("a step is a broadcast by who sends what to whom", () => {
  it("on the rails of hosts, among all ranks, and from a rank to those of another host", () => {
    const rails = [
      [0, 2, 4, 6],
      [1, 3, 5, 7],
    ];
    expect(setsOf("broadcast/hierarchical", ROWS)).toEqual([rails]);
    expect(setsOf("broadcast/flat", SINGLES)).toEqual([[[0, 1, 2, 3]]]);
    // Ranks of the root's own host have it by a store.
    expect(setsOf("broadcast/flat", { hosts: 2, gpus: 2 })).toEqual([[[0, 2, 3]]]);
  });

  it("in a program that is nobody's", () => {
    const program = compile(
      "collective tell(x: T[n] local) -> y: T[n] local { for i in tiles(n) { let v = x[i] * 3\n if rank == 2 { for p in ranks { y@p[i] = v } } } }",
      { ranks: 4, dtype: "f32", reach: { ranksPerDomain: 1 } },
    );
    expect(program.diagnostics).toEqual([]);
    expect(messagesOf(program).map(({ broadcasts }) => broadcasts)).toEqual([[[2, 0, 1, 3]]]);
  });

  it("not between two ranks, not where several send, and not where each peer gets something else", () => {
    expect(setsOf("broadcast/hierarchical", { hosts: 2, gpus: 2 })).toEqual([undefined]);
    expect(setsOf("all_gather/push", SINGLES)).toEqual([undefined]);
    expect(setsOf("scatter/pull", SINGLES)).toEqual([undefined]);
    expect(setsOf("gather/push", SINGLES)).toEqual([undefined]);
  });

  it("not where what one peer gets depends on it, or on what the loop over peers stores", () => {
    const sets = (body: string): unknown => {
      const text = `collective f(x: T[n] on(0)) -> y: T[n] replicated { scratch s: T[n]\n for i in tiles(n) { if rank == 0 { ${body} } } }`;
      const program = compile(text, { ranks: 4, dtype: "f32", reach: { ranksPerDomain: 1 } });
      expect(program.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
      return messagesOf(program).map(({ broadcasts }) => broadcasts);
    };
    expect(sets("for p in ranks { y@p[i] = x[i] }")).toEqual([[[0, 1, 2, 3]]]);
    expect(sets("for p in ranks { y@p[i] = x[(i + p) % n] }")).toEqual([undefined]);
    expect(sets("s[i] = x[i]\n for p in ranks { y@p[i] = s[i]\n s[i] = s[i] * 2 }")).toEqual([undefined]);
  });

  const [step] = messagesOf(compiledFor("broadcast/flat", SINGLES)) as [MessageStep];
  const changed = (rank: number, change: (own: MessageStep["ranks"][number]) => MessageStep["ranks"][number]): MessageStep["ranks"] =>
    step.ranks.map((own, r) => (r === rank ? change(own) : own)); // prettier-ignore

  it.each<[string, MessageStep["ranks"]]>([
    ["another place for one peer", changed(0, (own) => ({ ...own, sends: own.sends.map((end) => (end.peer === 2 ? { ...end, offset: 64 } : end)) }))], // prettier-ignore
    ["another length for one peer", changed(0, (own) => ({ ...own, sends: own.sends.map((end) => (end.peer === 2 ? { ...end, length: 64 } : end)) }))], // prettier-ignore
    ["another length at one receiver", changed(2, (own) => ({ ...own, receives: own.receives.map((end) => ({ ...end, length: 64 })) }))], // prettier-ignore
    ["a message more to one peer", changed(0, (own) => ({ ...own, sends: [...own.sends, own.sends[0]!] }))],
    ["a receiver that sends, too", changed(2, (own) => ({ ...own, sends: [{ ...own.receives[0]!, peer: 3 }] }))],
    ["a root that receives", changed(0, (own) => ({ ...own, receives: [{ ...own.sends[0]!, peer: 3 }] }))],
    ["a receiver with a message from elsewhere", changed(2, (own) => ({ ...own, receives: [...own.receives, { ...own.receives[0]!, peer: 3 }] }))], // prettier-ignore
  ])("not with %s", (_, ranks) => {
    expect(broadcastsIn(step.ranks)).toEqual([[0, 1, 2, 3]]);
    expect(broadcastsIn(ranks)).toEqual([]);
    const { manifest } = compiledFor("broadcast/flat", SINGLES);
    const plan = (of: MessageStep["ranks"]): string | null =>
      planProblem({ ...manifest!, plan: { by: 1, choices: [{ below: null, steps: [{ ...step, ranks: of }] }] } });
    expect(plan(step.ranks)).toBeNull();
    expect(plan(ranks)).toBe("choice 0 has a broadcast of ranks 0, 1, 2, 3, and there goes something else than the same from the first to all others"); // prettier-ignore
  });

  it("not where the compiler is told that nothing carries any", () => {
    const { manifest } = compiledFor("broadcast/flat", SINGLES, { broadcasts: false });
    expect(JSON.stringify(manifest)).not.toContain("broadcasts");
  });
});

describe("a broadcast is taken where it is faster", () => {
  const KILO = 1024;

  it("from about a megabyte on, sooner the more ranks there are, never between two", () => {
    for (const [ranks, first] of [
      [3, 1.4e6],
      [4, 1.05e6],
      [8, 0.82e6],
      [64, 0.72e6],
    ] as const) {
      // prettier-ignore
      expect([ranks, isFasterAsBroadcast(ranks, [first * 0.97])]).toEqual([ranks, false]);
      expect([ranks, isFasterAsBroadcast(ranks, [first * 1.03])]).toEqual([ranks, true]);
    }
    expect(isFasterAsBroadcast(2, [2 ** 30])).toBe(false);
    expect(isFasterAsBroadcast(8, [])).toBe(false);
  });

  it("and what is predicted is the faster of both", () => {
    const [step] = messagesOf(compiledFor("broadcast/flat", SINGLES)) as [MessageStep];
    const took = (of: MessageStep, n: number): number => predictMessages(of, () => 2, { n }).total;
    const { broadcasts: _, ...sends } = step;
    expect(took(step, KILO)).toBe(took(sends, KILO));
    // 64 MiB leave the root's adapter once instead of three times.
    expect(took(sends, 2 ** 25) / took(step, 2 ** 25)).toBeGreaterThan(2.8);
  });

  it("so a plan for many hosts takes the way whose messages are one, and an artefact the one that deals out", () => {
    const wayAt = (options: object): string => {
      const program = compiledFor("broadcast", ROWS, { ...options, library: libraryFromDisk });
      const last = program.manifest!.plan.choices.at(-1)!.steps[0]!;
      return last.kind === "launch" ? program.manifest!.kernels[last.kernel]!.name : last.kind;
    };
    expect(wayAt({})).toBe("broadcast/hierarchical");
    expect(wayAt({ broadcasts: false })).toBe("broadcast/rails");
  });

  it("which explain says", async () => {
    const args = ["explain", kernel("broadcast/hierarchical"), "--mesh", "4x2", "--reach", "4x2", "--dim"];
    const long = await collc([...args, "n=16Mi"]);
    expect(long.out).toContain("as broadcasts from rank 0 to 2, 4, 6; rank 1 to 3, 5, 7");
    expect((await collc([...args, "n=64Ki"])).out).not.toContain("as broadcasts");
    const json = JSON.parse((await collc([...args, "n=16Mi", "--json"])).out) as { messages: readonly { broadcasts: unknown }[] }; // prettier-ignore
    expect(json.messages[0]!.broadcasts).toEqual([[0, 2, 4, 6], [1, 3, 5, 7]]); // prettier-ignore
  });
});

describe("all ranks of a broadcast come to it", () => {
  const steps = messagesOf(compiledFor("broadcast/flat", SINGLES)) as readonly KernelStep[];
  const { broadcasts: _, ...sends } = steps[0] as MessageStep;

  it("for each may wait for each other: a peer that stays away holds up the other peers, as it does not with sends", () => {
    const after = (step: KernelStep): KernelStep => {
      const none = { sends: [], receives: [] };
      const to = (end: object) => ({ memory: "m", offset: 0, length: 8, ...end }) as MessageStep["ranks"][number]["sends"][number]; // prettier-ignore
      // Rank 1 tells rank 2 something behind it, which rank 2 takes before.
      const ranks = [
        none,
        { sends: [to({ peer: 2 })], receives: [] },
        { sends: [], receives: [to({ peer: 1 })] },
        none,
      ];
      return { ...(step as MessageStep), kind: "message", broadcasts: [], ranks };
    };
    const programs = (step: KernelStep): KernelStep[][] =>
      [0, 1, 2, 3].map((rank) => (rank === 2 ? [after(step), step] : [step, after(step)]));
    const straight = (step: KernelStep): KernelStep[][] => [0, 1, 2, 3].map(() => [step, after(step)]);
    for (const step of [steps[0]!, sends]) expect(messageProblems(straight(step))).toEqual([]);
    // Rank 1 has what the root sent, and goes on: sends wait for their own other side alone. But the root waits for rank 2.
    expect(messageProblems(programs(sends))).toEqual([]);
    expect(messageProblems(programs(steps[0]!))[0]).toMatch(/^deadlock: .*rank 1 waits for rank 2/);
  });
});

describe("one part of an outbox for all peers", () => {
  const outboxes = (file: string, hosts: Hosts): Record<string, number> =>
    Object.fromEntries(
      compiledFor(file, hosts).manifest!.memory!.filter(({ name }) => name.endsWith("outbox")).map(({ name, shape }) => [name, shape.length]), // prettier-ignore
    );

  it("where all get the same, whether they are told or ask", () => {
    expect(outboxes("all_gather/push", ROWS)).toEqual({ "push/y_outbox": 1 });
    expect(outboxes("all_gather/pull", ROWS)).toEqual({ "pull/x_outbox": 1 });
    expect(outboxes("all_reduce/two_shot", ROWS)).toEqual({ "two_shot/x_outbox": 2, "two_shot/y_outbox": 1 });
    expect(outboxes("all_to_all/push", ROWS)).toEqual({ "push/y_outbox": 2 });
  });

  it("brings what it brought", async () => {
    const bodies = [
      "for i in tiles(chunk(n, rank)) { for p in ranks { y@p[i] = x[i] } }",
      "for i in tiles(chunk(n, rank)) { let v = x[(i + rank) % n]\n for p in ranks { if p != 1 { y@p[i] = v } } }",
      "for i in tiles(n) { let v = x[(i + rank) % n]\n for p in ranks { if p == (rank + 2) % world { y@p[i] = v } } }",
      "for i in tiles(n) { y[i] = x@(0)[i] + x@(world - 1)[i] }",
      "for k in 0..2 { for i in tiles(n) { if i % 3 == k { y[i] = x@(k)[i] } } }",
    ];
    for (const body of bodies) {
      const text = `collective f(x: T[n] local) -> y: T[n] local { ${body} }`;
      const at = (ranksPerDomain: number): CompileResult => compile(text, { ranks: 4, dtype: "f32", reach: { ranksPerDomain } }); // prettier-ignore
      const whole = await outputs(at(4), 4, { n: 70 });
      for (const gpus of [1, 2]) {
        const apart = at(gpus);
        expect([body, apart.manifest!.memory!.every(({ name, shape }) => !name.includes("outbox") || shape.length === 1)]).toEqual([body, true]); // prettier-ignore
        expect([body, await outputs(apart, 4, { n: 70 })]).toEqual([body, whole]);
      }
    }
  });
});

it.runIf(isAll)("every file of the library has the sets that its steps say, on four hosts", () => {
  const found = libraryFiles().filter((file) => {
    const { manifest } = compiledFor(file, SINGLES);
    return manifest !== null && messagesOf({ manifest } as CompileResult).some((step) => step.broadcasts !== undefined);
  });
  expect(found).toEqual(["broadcast", "broadcast/flat", "broadcast/hierarchical"]);
});
