/** Bugs known from the field (DESIGN.md, section 6), each as a small kernel, and what must not be reported. */
import { describe, expect, it } from "vitest";
import { OPS } from "../../src/compiler/ir/ops.js";
import type { Kernel } from "../../src/compiler/ir/module.js";
import { proveOrdering, type Wrong } from "../../src/compiler/prove/index.js";
import { kernelOf, leave, mailbox, meet, move, pull } from "./field-kernels.js";

/** `proved`, or the kind of what is wrong and its message. */
function order(kernel: Kernel, launches = 3): string {
  const answer = proveOrdering(kernel, { dims: {}, launches });
  if (answer.status === "unknown") return `unknown: ${answer.reason}`;
  return answer.status === "proved" ? "proved" : `${answer.kind}: ${answer.message}`;
}

describe("the protocols as they should be", () => {
  it("pull between two meetings", () => expect(order(pull())).toBe("proved"));
  it("a mailbox with two slots needs no meeting at the end", () => expect(order(mailbox(2))).toBe("proved"));
});

describe("bugs from the field", () => {
  it("a release without system scope", () =>
    expect(order(pull({}, { scope: "gpu" }))).toMatch(/^race: data race on 'x'/));
  it("no release at all", () => expect(order(pull({ release: "relaxed" }))).toMatch(/^race: /));
  it("a relaxed start barrier", () =>
    expect(order(pull({ acquire: "relaxed", release: "relaxed" }))).toMatch(/^race: data race on 'x'/));
  it("only the polling thread acquires", () => expect(order(pull({ after: false }))).toMatch(/^race: /));
  it("one thread releases for others that it has not met", () =>
    expect(order(pull({}, { before: false }))).toMatch(/^race: data race on 'x'/));
  it("no meeting at the end, while the caller writes the inputs anew", () => {
    const answer = proveOrdering(pull({}, null), { dims: {} }) as Wrong;
    expect(answer.message).toMatch(/^data race on 'x'\[\d\] of rank \d: .* are not ordered$/);
    expect(answer.places.some((p) => p.block === -1)).toBe(true);
    expect(answer.witness.length).toBeGreaterThan(2);
  });
  it("a slot is used again one launch too early", () =>
    expect(order(mailbox(1))).toMatch(/^race: data race on 'mail'/));

  it("exact-match waits, which overshoot, cannot be written: a wait is for a value or more", () => {
    expect(Object.keys(OPS.wait.attributes)).toEqual(["buffer", "scope", "order"]);
    expect(OPS.wait.doc).toContain("is not negative");
  });

  it("a ring with too few buffers", () => {
    // Four steps, two buffers, and nobody says when a buffer has been read.
    const step = (k: number, buffers: number): string => `
      %at${k}_${buffers} = const {value=${(k % buffers) * 8}} : index
      %n${k}_${buffers} = const {value=${k + 1}} : u32
      %v${k}_${buffers} = binary %epoch, %n${k}_${buffers} {fn="add"} : u32
      ${move("x", "%zero", "ring", `%at${k}_${buffers}`, "store")}
      block_sync
      for %zero, %one {map="threads"} (%s${k}_${buffers}) {
        signal %v${k}_${buffers}, %next, %zero {buffer="flags", mode="set", scope="sys", order="release", remote=true}
      }
      for %zero, %one {map="threads"} (%w${k}_${buffers}) {
        wait %v${k}_${buffers}, %zero {buffer="flags", scope="sys", order="acquire"}
      }
      block_sync
      ${move("ring", `%at${k}_${buffers}`, "y", "%zero")}
      block_sync`;
    const ring = (buffers: number): Kernel =>
      kernelOf([0, 1, 2, 3].map((k) => step(k, buffers)).join("") + leave(4), {
        world: 3,
        buffers: [`ring: scratch f32[${buffers * 8}] symmetric`],
      });
    expect(order(ring(2), 1)).toMatch(/^race: data race on 'ring'/);
    expect(order(ring(4), 1)).toBe("proved");
  });

  it("everybody waits before anybody signals", () => {
    const answer = proveOrdering(
      kernelOf(`for %zero, %one {map="threads"} (%t) {
        wait %u1, %next, %next {buffer="flags", scope="sys", order="acquire"}
        signal %u1, %next, %rank {buffer="flags", mode="set", scope="sys", order="release", remote=true}
      }`),
      { dims: {} },
    ) as Wrong;
    expect(answer.kind).toBe("deadlock");
    expect(answer.witness).toContain("in a circle: rank 0 waits for rank 1 waits for rank 0");
  });

  it("a flag that is set back", () => {
    const flag = (value: string): string =>
      `signal ${value}, %next, %zero {buffer="flags", mode="set", scope="sys", order="release", remote=true}`;
    const kernel = kernelOf(`for %zero, %one {map="threads"} (%t) {
        ${flag("%u2")}
        ${flag("%u1")}
      }
      for %zero, %one {map="threads"} (%s) {
        wait %u1, %zero {buffer="flags", scope="sys", order="acquire"}
      }`);
    expect(order(kernel, 1)).toBe("proved");
    const setBack = `for %zero, %one {map="threads"} (%t) {
        ${flag("%u2")}
      }
      for %zero, %one {map="threads"} (%s) {
        wait %u2, %zero {buffer="flags", scope="sys", order="acquire"}
      }
      for %zero, %one {map="threads"} (%r) {
        ${flag("%u1")}
      }`;
    // With two ranks the schedule that is executed meets it; with one it does not, and it is found all the same.
    expect(order(kernelOf(setBack), 1)).toMatch(/^deadlock: /);
    expect(order(kernelOf(setBack, { world: 1 }), 1)).toMatch(/^lost-signal: /);
  });

  it("more blocks than can be resident", () => {
    const kernel = kernelOf(meet(1) + leave(1), { blocks: 1 });
    expect(proveOrdering(kernel, { dims: {}, residentBlocks: 0 })).toMatchObject({
      status: "wrong",
      kind: "residency",
    });
  });
});

describe("what must not be reported", () => {
  it("branches of which a rank takes one", () => {
    const body = `%is = compare %rank, %zero {fn="eq"} : bool
      if %is () {${move("x", "%zero", "mail", "%zero", "store")}
      } () {${move("x", "%zero", "y", "%zero")}
      }`;
    const kernel = kernelOf(body + meet(1) + move("mail", "%zero", "y", "%zero") + meet(2) + leave(2), {
      buffers: ["mail: scratch f32[8] symmetric"],
    });
    expect(order(kernel)).toBe("proved");
  });
  it("a decision that data makes is unknown, not safe", () => {
    const kernel = kernelOf(`%x0 = load %zero {buffer="x"} : f32
      %f = const {value=0} : f32
      %is = compare %x0, %f {fn="gt"} : bool
      if %is () {
        block_sync
      } () {
      }`);
    expect(order(kernel)).toBe("unknown: the condition of an if depends on data");
  });
});
