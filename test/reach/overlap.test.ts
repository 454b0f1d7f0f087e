/** Messages that go on beside kernels: which do, what is refused, and that it does not matter when they arrive. */
import { describe, expect, it } from "vitest";
import { execute } from "../../src/bench/execute.js";
import {
  besideOf,
  compile,
  type CompileResult,
  explain,
  type Kernel,
  type Manifest,
  type Op,
  requireOrderBetweenMessages,
  scheduleSteps,
} from "../../src/compiler/index.js";
import { stepsOfResult } from "../../src/compiler/compiled.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import { printKernel } from "../../src/compiler/ir/print.js";
import { verifySync } from "../../src/compiler/passes/support/verify-sync.js";
import { besideProblems } from "../../src/compiler/program/step-schedule.js";
import type { KernelStep } from "../../src/compiler/program/steps.js";
import { EmulatedGroup } from "../../src/runtime/group-cpu.js";
import { rejection } from "../runtime/helpers.js";
import { compiledFor, dimsFor, type Hosts } from "./programs.js";

const PAIRS: Hosts = { hosts: 2, gpus: 2 };
/** Programs some of whose kernels go on beside messages. */
const BESIDE = [
  ["all_reduce/hierarchical_in_chunks", PAIRS],
  ["all_reduce/rails_in_chunks", PAIRS],
  ["all_reduce/rails_in_chunks", { hosts: 3, gpus: 2 }],
  ["broadcast/rails", PAIRS],
  ["broadcast/relay", PAIRS],
  ["halo/ring", PAIRS],
  ["permute/send", { hosts: 4, gpus: 1 }],
] as const;

const after = ({ snapshots }: CompileResult, pass: string): Kernel => snapshots.find((s) => s.pass === pass)!.kernel;

/** Steps in letters: a launch, with the number of the step that it waits for, and messages, in brackets those that nothing goes on beside. */
function lanes(steps: readonly KernelStep[]): string {
  return steps
    .map((step) => {
      if (step.kind === "launch") return `l${step.awaits ?? ""}`;
      return step.kind === "message" && step.beside !== true ? "(m)" : "m";
    })
    .join(" ");
}

describe("what goes on beside messages", () => {
  it.each<[string, Hosts, string]>([
    ["all_reduce/hierarchical", PAIRS, "l (m) l"],
    ["all_reduce/hierarchical_in_chunks", PAIRS, "l m l m l m l m l1 l3 l5 l7"],
    ["all_reduce/rails_in_chunks", PAIRS, "l m l m l m l m l1 m l3 m l5 m l7 m l9 l11 l13 l15"],
    // What stays on a rank, and what goes to ranks of its host, needs no message.
    ["halo/ring", PAIRS, "l m l l1"],
    // Each step of a ring needs what the one before has brought.
    ["all_reduce/ring", PAIRS, "l (m) l (m) l (m) l (m) l (m) l (m) l"],
  ])("%s on %o: %s", (file, hosts, expected) => {
    expect(lanes(stepsOfResult(compiledFor(file, hosts)))).toBe(expected);
  });

  it("loops that touch the same elements stay in their order, whatever a message brings", () => {
    // The second loop stores what the third, which needs the messages, loads; the fourth stores there again.
    const text = `collective f(x: f32[n] local) -> (y: f32[n] local, z: f32[n] local) {
  for i in tiles(n) { y@((rank + 2) % world)[i] = x[i] }
  for i in tiles(n) { z[i] = x[i] * 2.0 }
  for i in tiles(n) { z[i] = z[i] + y[i] }
  for i in tiles(n) { z[i] = z[i] * x[i] }
}`;
    const program = compile(text, { ranks: 4, reach: { ranksPerDomain: 2 } });
    expect(program.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(lanes(stepsOfResult(program))).toBe("l m l l1");
    const { ops } = after(program, "overlap-messages").body;
    const place = (name: string): number => ops.findIndex((op) => op.name === name);
    const loops = ops
      .map(({ name }, i) => (name === "for" || name === "if" ? i : -1))
      .filter((i) => i > place("message"));
    // One loop beside the messages; what takes their data, and the two behind, after the wait.
    expect(loops.filter((i) => i < place("message_wait"))).toHaveLength(1);
    expect(loops.filter((i) => i > place("message_wait"))).toHaveLength(3);
  });

  it("a kernel with written barriers stays as it is", () => {
    const text = `collective f(x: f32[n] local) -> (y: f32[n] local, z: f32[n] local) {
  for i in tiles(n) { y@((rank + 2) % world)[i] = x[i] }
  barrier
  for i in tiles(n) { z[i] = x[i] }
}`;
    const program = compile(text, { ranks: 4, reach: { ranksPerDomain: 2 } });
    expect(lanes(stepsOfResult(program))).not.toMatch(/\d/);
  });

  it("says in its text what it waits for, and reads it back", () => {
    const text = printKernel(after(compiledFor("all_reduce/hierarchical_in_chunks", PAIRS), "derive-sync"));
    expect(text).toContain("message {beside=true}");
    expect(text).toContain("message_wait {pending=3}");
    expect(printKernel(parseKernel(text))).toBe(text);
  });
});

describe("a wait less, or a shorter one, is refused", () => {
  const without = (kernel: Kernel, change: (wait: Op) => readonly Op[], which: number): Kernel => {
    let seen = 0;
    const ops = kernel.body.ops.flatMap((op) => (op.name === "message_wait" && seen++ === which ? change(op) : [op]));
    return { ...kernel, body: { arguments: [], ops } };
  };

  it.each(BESIDE)("in the kernel that %s on %o is cut from", (file, hosts) => {
    const ordered = after(compiledFor(file, hosts), "derive-sync");
    const waits = ordered.body.ops.filter(({ name }) => name === "message_wait");
    expect(waits.length).toBeGreaterThan(0);
    expect(verifySync(ordered)).toEqual([]);
    waits.forEach((wait, which) => {
      const pending = wait.attributes["pending"] as number;
      const shorter = (op: Op): Op[] => [{ ...op, attributes: { pending: pending + 1 } }];
      for (const changed of [without(ordered, shorter, which), without(ordered, () => [], which)]) {
        expect(verifySync(changed).length, `wait ${which}`).toBeGreaterThan(0);
        expect(() => requireOrderBetweenMessages([{ pass: "derive-sync", kernel: changed }])).toThrow(
          /beside the messages/,
        );
      }
    });
  });

  it.each(BESIDE)("in the steps of %s on %o", (file, hosts) => {
    const steps = stepsOfResult(compiledFor(file, hosts));
    expect(besideProblems(steps)).toEqual([]);
    steps.forEach((step, at) => {
      if (step.kind !== "launch" || step.awaits === undefined) return;
      const { awaits, ...rest } = step;
      const earlier = steps.findLastIndex((s, i) => i < awaits && s.kind === "message");
      for (const changed of [rest, ...(earlier < 0 ? [] : [{ ...rest, awaits: earlier }])]) {
        const wrong = steps.map((s, i) => (i === at ? changed : s));
        expect(besideProblems(wrong)[0]).toMatch(
          new RegExp(`^step ${at} touches '.*' while step ${awaits} sends or receives it$`),
        );
      }
    });
  });

  it("and so are messages before the kernel that stores what they send", () => {
    const steps = stepsOfResult(compiledFor("all_reduce/hierarchical_in_chunks", PAIRS));
    const [first, second, third, fourth, ...rest] = steps;
    expect(besideProblems([first!, second!, fourth!, third!, ...rest])[0]).toMatch(
      /^step 3 touches '.*own_outbox_' while step 2 /,
    );
  });
});

/** The program with other steps. */
function withSteps(
  program: CompileResult,
  change: (steps: Manifest["plan"]["choices"][number]["steps"]) => Manifest["plan"]["choices"][number]["steps"],
): CompileResult {
  // prettier-ignore
  const { plan } = program.manifest!;
  const choices = plan.choices.map((choice) => ({ ...choice, steps: change(choice.steps) }));
  const manifest = { ...program.manifest!, plan: { ...plan, choices } };
  return Object.create(program, { manifest: { value: manifest, enumerable: true } }) as CompileResult;
}

describe("it does not matter when messages arrive", () => {
  it.each(BESIDE)("%s on %o", async (file, hosts) => {
    const program = compiledFor(file, hosts, { dtype: "f32" });
    for (const messages of ["early", "late", "any"] as const)
      for (const seed of messages === "any" ? [1, 2, 3] : [1]) {
        const group = new EmulatedGroup(hosts.hosts * hosts.gpus, { detectUnwritten: true, messages, seed });
        const done = await execute(group, program, dimsFor(program), { seed: 5, timing: { outer: 2 } });
        expect([done.check.correct, done.bitwiseEqualAcrossRanks ?? true], `${messages}, ${seed}`).toEqual([
          true,
          true,
        ]);
        await group.close();
      }
  });

  it("but where nobody waits for them", async () => {
    const program = compiledFor("all_reduce/hierarchical_in_chunks", PAIRS, { dtype: "f32" });
    const careless = withSteps(
      program,
      (steps) =>
      steps.map((step) => (step.kind === "launch" ? { kind: "launch", kernel: step.kernel, maxBlocks: step.maxBlocks } : step)), // prettier-ignore
    );
    const run = async (messages: "early" | "late"): Promise<boolean> => {
      const group = new EmulatedGroup(4, { detectUnwritten: true, messages });
      return (await execute(group, careless, dimsFor(program), { seed: 5, timing: { outer: 1 } })).check.correct;
    };
    expect(await run("early")).toBe(true);
    expect((await rejection(run("late"))).message).toMatch(/nobody has written|never written|unwritten/);
  });
});

describe("the time of steps on two lanes", () => {
  const launch = (awaits?: number): KernelStep => ({ kind: "launch", kernel: null as never, ...(awaits !== undefined && { awaits }) }); // prettier-ignore
  const message = (beside?: true): KernelStep => ({ kind: "message", ranks: [], ...(beside && { beside }) });

  it("is that of the longest way", () => {
    const steps = [launch(), message(true), launch(), message(true), launch(1), launch(3)];
    expect(scheduleSteps(steps, [10, 50, 20, 50, 5, 5])).toEqual([
      { start: 0, end: 10 },
      { start: 10, end: 60 },
      { start: 10, end: 30 },
      { start: 60, end: 110 },
      { start: 60, end: 65 },
      { start: 110, end: 115 },
    ]);
    expect(steps.map((_, i) => besideOf(steps, i))).toEqual([[], [], [1], [1], [3], []]);
  });

  it("is their sum where nothing goes on beside anything", () => {
    expect(scheduleSteps([launch(), message(), launch()], [1, 2, 3]).at(-1)).toEqual({ start: 3, end: 6 });
  });

  it("of a long tensor in chunks is less than of the same without, of a short one more; and explain has a line for each step", () => {
    const times = (file: string, n: number) => {
      const program = compiledFor(file, { hosts: 2, gpus: 4 });
      return explain(program, { n }, program.machine);
    };
    for (const [n, isAhead] of [
      [2 ** 26, true],
      [2 ** 16, false],
    ] as const)
      // prettier-ignore
      for (const way of ["hierarchical", "rails"]) {
        const [whole, chunks] = [times(`all_reduce/${way}`, n), times(`all_reduce/${way}_in_chunks`, n)];
        expect(chunks.prediction.total < whole.prediction.total).toBe(isAhead);
        const sum = (e: typeof whole): number => e.steps.reduce((all, { seconds }) => all + seconds, 0);
        expect(sum(whole)).toBeCloseTo(whole.prediction.total, 12);
        if (isAhead) expect(chunks.prediction.total).toBeLessThan(0.9 * sum(chunks));
        const last = chunks.steps.at(-1)!;
        expect(last.start + last.seconds).toBeCloseTo(chunks.prediction.total, 12);
      }
    const { steps } = times("all_reduce/hierarchical_in_chunks", 2 ** 26);
    expect(steps.filter(({ isBeside }) => isBeside)).toHaveLength(4);
    expect(steps.at(-1)).toMatchObject({ kind: "launch", number: 8, awaits: 4 });
  });
});
