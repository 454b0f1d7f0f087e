/** Messages between ranks that share no addresses: what is proved of them, wrong ones, and who may touch what. */
import { describe, expect, it } from "vitest";
import {
  compile,
  type CompileResult,
  type Kernel,
  type Op,
  prove,
  PROOF_MAPPING,
  withMapping,
} from "../../src/compiler/index.js";
import { type Job, Subject } from "../../src/cli/proofs.js";
import { continuePasses } from "../../src/compiler/passes/runner.js";
import { PIPELINE } from "../../src/compiler/passes/pipeline.js";
import { verifySync } from "../../src/compiler/passes/support/verify-sync.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { printKernel } from "../../src/compiler/ir/print.js";
import { passOptions } from "../../src/compiler/options.js";
import { messageProblems } from "../../src/compiler/program/message-order.js";
import { beyondReach, type KernelStep, stepsOf } from "../../src/compiler/program/steps.js";
import { CpuFault, runHostile } from "../../src/runtime/cpu/index.js";
import { EmulatedGroup } from "../../src/runtime/group-cpu.js";
import { isAll } from "../scope.js";
import { rejection } from "../runtime/helpers.js";
import { compiledFor, type Hosts, libraryFiles } from "./programs.js";

const PAIRS: Hosts = { hosts: 2, gpus: 2 };
const SINGLES: Hosts = { hosts: 4, gpus: 1 };

const after = ({ snapshots }: CompileResult, pass: string): Kernel => snapshots.find((s) => s.pass === pass)!.kernel;

const cut = (kernel: Kernel): readonly KernelStep[] => {
  const steps = stepsOf(kernel);
  if (steps === null || "reason" in steps) throw new Error("it was not cut");
  return steps;
};

const FEW = ["all_gather/push", "all_reduce/one_shot", "all_reduce/two_shot", "all_to_all/push", "permute/send"];
const REFUSED = ["all_to_all/combine", "all_to_all/dispatch", "permute/table"];
const PROVED = isAll ? libraryFiles().filter((file) => !REFUSED.includes(file)) : FEW;
const hostsFor = (file: string): readonly Hosts[] => (FEW.includes(file) ? [PAIRS, SINGLES] : [PAIRS]);

/** Each way of a program, as a program of its own. */
const waysOf = (program: CompileResult): readonly CompileResult[] =>
  program.variants.length > 1 ? program.variants.map(({ compiled }) => compiled) : [program];

describe("what is launched", () => {
  it.each(PROVED)("%s is proved as the kernel that its steps are cut from", (file) => {
    for (const one of hostsFor(file).flatMap((hosts) => waysOf(compiledFor(file, hosts)))) {
      const { answer, ordering } = prove(withMapping(one, PROOF_MAPPING));
      expect([answer.status, ordering.status]).toEqual(["proved", "proved"]);
    }
  });

  it.each(PROVED)("%s is ordered without counting on messages for anything but what they carry", (file) => {
    for (const one of hostsFor(file).flatMap((hosts) => waysOf(compiledFor(file, hosts)))) {
      const ordered = after(one, "derive-sync");
      expect(verifySync(ordered)).toEqual([]);
      for (const step of cut(ordered)) if (step.kind === "launch") expect(beyondReach(step.kernel)).toBeNull();
    }
  });

  it("says in its text which ranks share addresses, and reads it back", () => {
    const program = compiledFor("all_gather/push", PAIRS);
    const kernels = [after(program, "derive-sync"), ...program.kernels.map(({ kernel }) => kernel)];
    for (const kernel of kernels) {
      const text = printKernel(kernel);
      expect(text).toContain("  reach 2\n");
      expect(printKernel(parseKernel(text))).toBe(text);
    }
    expect(printKernel(kernels[1]!)).toContain('memory "push/y_outbox"');
  });

  it("stays apart in another mapping, whoever said so", () => {
    const { options, diagnostics, manifest } = compiledFor("all_gather/push", PAIRS);
    expect(diagnostics).toEqual([]);
    const { reach, ...rest } = options;
    const said = compiledFor("all_gather/push", PAIRS, { ...rest, reach: undefined, mapping: { ranksPerDomain: 2 } });
    for (const one of [compiledFor("all_gather/push", PAIRS), said]) {
      const again = withMapping(one, { elementThreads: 64 });
      expect(again.manifest!.plan.choices[0]!.steps.map(({ kind }) => kind)).toEqual(
        manifest!.plan.choices[0]!.steps.map(({ kind }) => kind),
      );
    }
    expect(reach).toEqual({ ranksPerDomain: 2 });
  });

  it("is refused with a place by another mapping that parts the ranks", () => {
    const together = compiledFor("all_to_all/dispatch", { hosts: 1, gpus: 4 }, { reach: undefined });
    const { kernel, diagnostics } = withMapping(together, { ranksPerDomain: 2 });
    expect(kernel).toBeNull();
    expect(new Set(diagnostics.map(({ code }) => code))).toEqual(new Set(["out-of-reach"]));
  });

  it("is one kernel where all ranks share addresses", () => {
    const program = compiledFor("all_gather/push", { hosts: 1, gpus: 4 });
    expect(program.manifest!.plan.choices[0]!.steps.map(({ kind }) => kind)).toEqual(["launch"]);
    expect(program.manifest!.memory).toBeUndefined();
    expect(program.kernels[0]!.cuda).toBe(compiledFor("all_gather/push", { hosts: 1, gpus: 4 }, { reach: undefined }).kernels[0]!.cuda); // prettier-ignore
  });
});

/** The proof of a kernel as derive-sync might have left it, instead of as it did. */
function proofOf(program: CompileResult, change: (ops: readonly Op[]) => readonly Op[]): ReturnType<typeof prove> {
  const proved = withMapping(program, PROOF_MAPPING);
  const ordered = after(proved, "derive-sync");
  const changed = { ...ordered, body: { arguments: [], ops: change(ordered.body.ops) } };
  const rest = PIPELINE.slice(PIPELINE.findIndex(({ name }) => name === "derive-sync") + 1);
  const kernel = continuePasses(changed, rest, passOptions(proved.options));
  return prove({ ...proved, kernel });
}

const isMessage = (op: Op): boolean => op.name === "message";
const isWork = (op: Op): boolean => op.name === "for" || op.name === "if";

/** The op that fulfils the condition, put before all work, or one place of work later. */
function moved(ops: readonly Op[], is: (op: Op) => boolean, by: -1 | 1): readonly Op[] {
  const from = ops.findIndex(is);
  const rest = ops.filter((_, i) => i !== from);
  const places = rest.flatMap((op, i) => (isWork(op) ? [i] : []));
  const place = by < 0 ? places[0]! : places.find((i) => i >= from)! + 1;
  return [...rest.slice(0, place), ops[from]!, ...rest.slice(place)];
}

describe("wrong schedules are refused", () => {
  const program = compiledFor("all_gather/push", PAIRS);
  const reading = compiledFor("all_reduce/one_shot", PAIRS);

  it("as they are, both are proved", () => {
    for (const one of [program, reading]) {
      const { answer, ordering } = proofOf(one, (ops) => ops);
      expect([answer.status, ordering.status]).toEqual(["proved", "proved"]);
    }
  });

  it.each<[string, (ops: readonly Op[]) => readonly Op[]]>([
    ["messages before what they send is stored", (ops) => moved(ops, isMessage, -1)],
    ["messages after what they bring is taken", (ops) => moved(ops, isMessage, 1)],
    ["no messages", (ops) => ops.filter((op) => !isMessage(op))],
  ])("%s", (_, change) => {
    for (const one of [program, reading]) {
      const { answer, ordering } = proofOf(one, change);
      expect([answer.status, ordering.status]).not.toEqual(["proved", "proved"]);
      expect(answer.status).toBe("wrong");
    }
  });

  it("flags between hosts in place of a message's order", () => {
    const ordered = after(program, "derive-sync");
    const all = ordered.body.ops.map((op) => (op.name === "barrier" ? { ...op, attributes: { ...op.attributes, ranks: "all" } } : op)); // prettier-ignore
    // A store on a rank beyond, as the source has it: the verifier of what is launched sees it.
    const source = compiledFor("all_gather/push", PAIRS, { reach: undefined });
    const far = { ...after(source, "raise-products"), ranksPerDomain: 2 };
    expect(beyondReach({ ...ordered, body: { arguments: [], ops: all } })).toBeNull();
    expect(beyondReach({ ...far, ranksPerDomain: 2 })?.name).toBe("store");
  });

  it("order beside messages that is missing, by `collc check`", () => {
    const proved = withMapping(program, PROOF_MAPPING);
    const snapshots = proved.snapshots.map(({ pass, kernel }) => {
      const ops = kernel.body.ops.filter(({ name }) => pass !== "derive-sync" || name !== "barrier");
      return { pass, kernel: { ...kernel, body: { arguments: [], ops } } };
    });
    // The kernel itself is as it was: nothing but the walk between messages sees it.
    const job = { request: { collective: "push", ranks: 4 }, seed: 1, steps: null } as unknown as Job;
    const orderings = (own: CompileResult["snapshots"]) => (): unknown => {
      const subject = new Subject(job, { ...proved, snapshots: own }, null);
      return subject.orderings(subject.everywhere());
    };
    expect(orderings(snapshots)).toThrow(
      /beside the messages of push, nothing orders what ranks \d and \d do to '\w+' of rank \d/,
    );
    expect(orderings(proved.snapshots)).not.toThrow();
  });

  it("less order inside a host than derive-sync found", () => {
    const ordered = after(program, "derive-sync");
    const barriers = ordered.body.ops.filter(({ name }) => name === "barrier");
    expect(barriers.length).toBeGreaterThan(0);
    for (const barrier of barriers) {
      const ops = ordered.body.ops.filter((op) => op !== barrier);
      expect(verifySync({ ...ordered, body: { arguments: [], ops } })).not.toEqual([]);
    }
  });
});

describe("all ranks come to each other's messages", () => {
  const steps = cut(after(compiledFor("all_reduce/two_shot", PAIRS), "derive-sync"));
  const programs = (): (readonly KernelStep[])[] => Array.from({ length: 4 }, () => steps);
  const messages = steps.flatMap((step, i) => (step.kind === "message" ? [i] : []));

  it("as they are cut", () => {
    expect(messages).toHaveLength(2);
    expect(messageProblems(programs())).toEqual([]);
  });

  it("not where groups stand in another order on one rank, with other peers", () => {
    const ring = cut(after(compiledFor("all_gather/ring", SINGLES), "derive-sync"));
    const mixed = Array.from({ length: 4 }, () => [...ring]);
    const at = ring.flatMap((step, i) => (step.kind === "message" ? [i] : []));
    expect(messageProblems(mixed)).toEqual([]);
    // Rank 1 leaves its first step out: everybody else waits, round the ring.
    mixed[1]!.splice(at[0]!, 1);
    expect(messageProblems(mixed)[0]).toMatch(/^deadlock: rank 0 waits for rank 1/);
  });

  it("not where one host takes two groups in the other order", () => {
    const halves = steps.flatMap((step): KernelStep[] =>
      step.kind === "message" ? [half(step, 0), half(step, 1)] : [step],
    );
    const mixed = Array.from({ length: 4 }, () => [...halves]);
    expect(messageProblems(mixed)).toEqual([]);
    const [a, b] = halves.flatMap((step, i) => (step.kind === "message" ? [i] : []));
    for (const own of mixed.slice(0, 2)) [own[a!], own[b!]] = [own[b!]!, own[a!]!];
    expect(messageProblems(mixed)[0]).toBe(
      "deadlock: rank 0 waits for rank 3 in step 1 of its 4 with messages; rank 1 waits for rank 2 in step 1 of its 4 with messages; rank 2 waits for rank 0 in step 1 of its 4 with messages; rank 3 waits for rank 1 in step 1 of its 4 with messages",
    );
  });

  /** The steps with the first group of messages in two: on each rank one side of it, and then the other. */
  const inTurns = (
    order: (rank: number) => readonly ["sends" | "receives", "sends" | "receives"],
  ): (readonly KernelStep[])[] =>
    programs().map((own, rank) =>
      own.flatMap((step, i): KernelStep[] =>
        step.kind === "message" && i === messages[0] ? order(rank).map((side) => sideOf(step, side)) : [step],
      ),
    );

  it("not where all send first and then receive, each in a group of its own, or the other way round", () => {
    // Ranks of the first host send first, those of the second receive: that is well.
    expect(messageProblems(inTurns((rank) => (rank < 2 ? ["sends", "receives"] : ["receives", "sends"])))).toEqual([]);
    for (const order of [
      ["sends", "receives"],
      ["receives", "sends"],
    ] as const)
      expect(messageProblems(inTurns(() => order))[0]).toMatch(
        /^deadlock: rank 0 waits for rank 2 and 3 in step 1 of its 3 .*; rank 1 waits for .*; rank 2 waits for .*; rank 3 waits for /,
      );
    // One rank that does so holds up those that wait for it.
    const mixed = inTurns((rank) => (rank < 2 ? ["sends", "receives"] : ["receives", "sends"]));
    const wrong = inTurns(() => ["receives", "sends"]);
    expect(messageProblems([wrong[0]!, ...mixed.slice(1)])[0]).toMatch(/^deadlock: /);
  });

  it("not where one side has the messages of a pair in another order, or one goes to another rank", () => {
    const [first] = messages as [number];
    const step = steps[first]! as Message;
    const with0 = (edit: (ends: MessageEnds) => MessageEnds): (readonly KernelStep[])[] => {
      // Rank 0 sends each message in two parts that are not of one length, and so it is received.
      const parts = (ends: MessageEnds): MessageEnds =>
        ends.flatMap((end) => [
          { ...end, length: 3 },
          { ...end, length: 5 },
        ]);
      const ranks = step.ranks.map(({ sends, receives }, rank) => ({
        sends: rank === 0 ? edit(parts(sends)) : parts(sends),
        receives: parts(receives),
      }));
      return programs().map((own) => own.map((s, i) => (i === first ? { ...step, ranks } : s)));
    };
    expect(messageProblems(with0((ends) => ends))).toEqual([]);
    expect(messageProblems(with0((ends) => [...ends].reverse()))[0]).toMatch(
      /^rank 0 sends [35] elements to rank [23], which receives [35]$/,
    );
    expect(messageProblems(with0((ends) => ends.map((end) => ({ ...end, peer: 2 }))))[0]).toMatch(/^deadlock: .*rank 3 waits for rank 0/); // prettier-ignore
  });

  it("not where a receive has no send, or another length", () => {
    const [first] = messages as [number];
    const change = (edit: (ends: MessageEnds) => MessageEnds): (readonly KernelStep[])[] => {
      const step = steps[first]! as Extract<KernelStep, { kind: "message" }>;
      const ranks = step.ranks.map((own, rank) => (rank === 2 ? { ...own, receives: edit(own.receives) } : own));
      const changed = steps.map((s, i) => (i === first ? { ...step, ranks } : s));
      return Array.from({ length: 4 }, () => changed);
    };
    expect(messageProblems(change((ends) => ends.slice(1)))[0]).toMatch(/^deadlock: rank 0 waits for rank 2/);
    expect(messageProblems(change((ends) => ends.map((end) => ({ ...end, length: 1 }))))[0]).toMatch(
      /^rank 0 sends .* elements to rank 2, which receives 1$/,
    );
  });
});

type Message = Extract<KernelStep, { kind: "message" }>;
type MessageEnds = Message["ranks"][number]["receives"];

/** What each rank only sends, or only receives, in a step. */
function sideOf(step: Message, side: "sends" | "receives"): KernelStep {
  const ranks = step.ranks.map((ends) => ({ sends: [], receives: [], [side]: ends[side] }));
  return { ...step, ranks };
}

/** The messages of a step between ranks of one parity of their difference. */
function half(step: Message, parity: 0 | 1): KernelStep {
  const of = (rank: number, ends: MessageEnds): MessageEnds => ends.filter(({ peer }) => (peer + rank) % 2 === parity);
  return {
    ...step,
    ranks: step.ranks.map(({ sends, receives }, rank) => ({ sends: of(rank, sends), receives: of(rank, receives) })),
  };
}

describe("on emulated ranks", () => {
  it("an access beyond the host is an error, though the memory is there", async () => {
    const source = compile("collective f(x: T[n] local) -> y: T[n] local {\n  for i in tiles(n) {\n    y@((rank + 2) % world)[i] = x[i]\n  }\n}", { ranks: 4, dtype: "f32" }); // prettier-ignore
    const kernels = source.kernels.map((k) => ({ ...k, kernel: { ...k.kernel, ranksPerDomain: 2 } }));
    const group = new EmulatedGroup(4, {});
    const tensors = { x: await group.symmetric("f32", [8]), y: await group.symmetric("f32", [8]) };
    const loaded = await group.load({ ...source, kernels });
    const fault = await rejection(loaded.run(tensors, { n: 8 }));
    expect(fault).toBeInstanceOf(CpuFault);
    expect(fault.message).toContain("those that share addresses with this one are 0 to 1");
    await group.close();
  });

  it("tensors of a program with messages need no symmetric memory between hosts of one GPU", () => {
    expect(compiledFor("all_reduce/two_shot", SINGLES).manifest!.symmetric).toEqual([]);
    expect(compiledFor("all_reduce/two_shot", PAIRS).manifest!.symmetric).toEqual(["y"]);
  });

  describe("what nobody has written of an outbox is sent as that", () => {
    const hostile = (loop: string): string | undefined => {
      const text = `collective f(x: T[n] local) -> y: T[n] local {
        scratch s: T[n]
        for i in tiles(n) { y[i] = 0 }
        ${loop}
      }`;
      const mapping = { ...PROOF_MAPPING, ranksPerDomain: 1 };
      const { kernel, manifest } = compile(text, { ranks: 3, dtype: "bf16", mapping });
      return runHostile(kernel!, manifest!, { dims: { n: 107 }, schedules: 2, seed: 0 }).failure?.message;
    };

    it.each([
      ["loaded by some elements", "for i in tiles(n) { if i % 3 == 1 { y[i] = x@0[i / 2] } }"],
      ["stored by some elements", "for i in tiles(n) { if i % 3 == 1 { y@((rank + 1) % world)[i] = x[i] } }"],
    ])("and is not missed where it is %s", (_, loop) => expect(hostile(loop)).toBeUndefined());

    it("and is missed by who loads it", () => {
      const loop = `for i in tiles(n) { if i % 3 == 1 { s@((rank + 1) % world)[i] = x[i] } }
        for i in tiles(n) { y[i] = s[i] }`;
      expect(hostile(loop)).toContain("of 's' is read but was never written");
    });
  });
});
