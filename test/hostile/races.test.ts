/** Which accesses to an element count as unordered, where a strand reads it again after it has signalled. */
import { expect, it } from "vitest";
import { Clocks } from "../../src/compiler/execute/order/clocks.js";
import { KnowledgeTable } from "../../src/compiler/execute/order/knowledge.js";
import { Races } from "../../src/compiler/execute/order/races.js";
import { READ, Trace, WRITE } from "../../src/compiler/execute/order/trace.js";
import { parseKernel } from "../../src/compiler/ir/parse.js";
import type { Op } from "../../src/compiler/ir/module.js";
import { small } from "../cpu/kernels.js";

class Watched extends Trace {
  readonly clocks = new Clocks(this, new KnowledgeTable(this));

  protected override startSegment(strand: number): number {
    const id = super.startSegment(strand);
    this.clocks.enter(id);
    return id;
  }
}

it("holds a write against the latest read of a strand, not against its first", () => {
  const kernel = parseKernel(
    small("buffer x: scratch f32[1] buffer f: signal u32[2]", "%z = const {value=0} : index", 2),
  );
  const trace = new Watched(kernel, 1, [1, 2]);
  const races = new Races(trace, trace.clocks, (earlier, later) => new Error(`${earlier} and ${later}`));
  const op = {
    name: "signal",
    operands: [],
    results: [],
    attributes: { mode: "set", scope: "sys", order: "release" },
    regions: [],
    span: { start: 0, end: 0 },
  } as Op;
  let accesses = 0;
  const access = (strand: number, kind: number): void => {
    trace.access(strand, 0, 0, 0, 1, kind, 0);
    accesses++;
    races.check(accesses - 1, trace.segmentCount - 1, 0, 0, 1, kind);
  };
  const tell = (from: number, to: number, slot: number): void => {
    const flag = trace.flag("f", 1, slot);
    trace.signal(from, flag, 1, op);
    trace.wait(to, flag, 1, { ...op, attributes: { scope: "sys", order: "acquire" } });
    trace.clocks.learn(to, trace.entity(1, 0), trace.clocks.handOn(flag.signals.at(-1)!));
  };
  const [reader, writer] = [trace.strand(trace.entity(0, 0), 0), trace.strand(trace.entity(1, 0), 0)];
  access(reader, READ);
  tell(reader, writer, 0);
  access(reader, READ);
  // The writer knows of what came before the signal.
  expect(() => access(writer, WRITE)).toThrow("1 and 2");
  tell(reader, writer, 1);
  expect(() => access(writer, WRITE)).not.toThrow();
});
