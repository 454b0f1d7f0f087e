/** What blocks count from launch to launch in a kernel that gathers: launches, and how often blocks have told of each part. */
import { bufferOf, memoryOperands, type Op, text, type Value } from "../../../ir/module.js";
import { constant, equal, ZERO } from "../forms.js";
import { argumentOf, expect, type Follow, type Makers, refuse, Steps } from "./follow.js";
import type { Known } from "./known.js";
import type { Launches } from "./launches.js";
import { BLOCK } from "./numbers.js";

/** What a count grows by in each launch: 1, or the number of blocks. */
export type Growth = "launches" | "blocks";

interface Register {
  readonly state: string;
  readonly growth: Growth | null;
}

/** A count lies in the rows of blocks from launch to launch, and in a register in between, where each launch adds to it before its roles. */
export class Counts {
  private readonly registers = new Map<string, Register>();

  constructor(
    private readonly follow: Follow,
    private readonly makers: Makers,
    private readonly known: Known,
    private readonly launches: Launches,
  ) {}

  /** What a block does before its roles. */
  begin(ops: readonly Op[]): void {
    const states = new Map<Value, Op>();
    const loaded = new Map<Value, string>();
    for (const op of ops) {
      const buffer = op.name === "load" || op.name === "store" ? text(op, "buffer") : refuse(op);
      const { role } = bufferOf(this.follow.kernel, buffer);
      if (op.name === "load" && role === "state") states.set(op.results[0]!, op);
      else if (op.name === "load" && role === "register") {
        const name = this.registerAt(op);
        // Before that it has what nobody knows.
        expect(this.registers.has(name), "a number is not one of the block", op);
        loaded.set(op.results[0]!, name);
      } else if (op.name === "store" && role === "register") this.store(op, states, loaded);
      else refuse(op);
    }
    for (const op of states.values()) this.launches.read(op);
  }

  private store(op: Op, states: Map<Value, Op>, loaded: ReadonlyMap<Value, string>): void {
    const { value } = memoryOperands(op);
    const name = this.registerAt(op);
    const load = states.get(value!);
    if (load !== undefined) {
      const state = text(load, "buffer");
      const isOwn =
        load.operands.length === 1 && equal(this.follow.of(load.operands[0]!), this.follow.numbers.named(BLOCK));
      expect(isOwn && !this.registers.has(name), "counts are not those of the block", op);
      states.delete(value!);
      this.known.own(state, `rows of '${name}'`, op);
      this.known.own(name, `a register of '${state}'`, op);
      this.registers.set(name, { state, growth: null });
      return;
    }
    const sum = this.makers.get(value!);
    const register = this.registers.get(name);
    const isSum = sum?.name === "binary" && sum.attributes["fn"] === "add" && loaded.get(sum.operands[0]!) === name;
    expect(isSum && register?.growth === null, "counts do not grow by a launch", op);
    const by = this.makers.get(sum.operands[1]!);
    const isOne = by?.name === "const" && by.attributes["value"] === 1;
    const isGrid = by?.name === "cast" && this.makers.get(by.operands[0]!)?.name === "grid";
    expect(isOne || isGrid, "counts do not grow by a launch", op);
    this.registers.set(name, { ...register!, growth: isOne ? "launches" : "blocks" });
  }

  /** The one place of a register. */
  private registerAt(op: Op): string {
    const name = text(op, "buffer");
    const { indices, peer } = memoryOperands(op);
    const [size, ...others] = bufferOf(this.follow.kernel, name).shape;
    const isOne = size === 1 && others.length === 0 && peer === null && indices.length === 1;
    expect(isOne && equal(this.follow.of(indices[0]!), ZERO), "a number is not one of the block", op);
    return name;
  }

  /** A count is read, which has grown by this launch. */
  read(op: Op, growth: Growth): Value {
    const name = this.registerAt(op);
    expect(this.registers.get(name)?.growth === growth, "a number tells of something else", op);
    return op.results[0]!;
  }

  /** What a block does behind its roles: each row is kept by the block that has its number modulo the grid, and all are. */
  end(loop: Op): void {
    const { follow, launches } = this;
    const { numbers, kernel } = follow;
    if (launches.counter !== null) launches.grow(loop, true);
    const row = argumentOf(loop);
    follow.set(row, numbers.named("row"));
    const size = constant(kernel.maxBlocks);
    const hasAll = (name: string): boolean => follow.shape(name).length === 1 && equal(follow.shape(name)[0]!, size);
    expect(equal(follow.length(loop), size), "counts are not those of the block", loop);
    const body = new Steps(follow.effects(loop.regions[0]!), loop);
    const choice = body.next("if");
    body.end();
    const owner = numbers.apply("rem", numbers.named("row"), numbers.named("grid"));
    const isOwn = numbers.apply("eq", owner, numbers.named(BLOCK));
    expect(equal(follow.of(choice.operands[0]!), isOwn), "counts are not those of the block", choice);
    new Steps(follow.effects(choice.regions[1]!), choice).end();
    const kept = new Set<string>();
    const loaded = new Map<Value, string>();
    for (const op of follow.effects(choice.regions[0]!)) {
      const buffer = op.name === "load" || op.name === "store" ? text(op, "buffer") : refuse(op);
      // That one was looked at above.
      if (buffer === launches.counter) continue;
      if (op.name === "load") {
        const name = this.registerAt(op);
        expect(this.registers.get(name)?.growth != null, "counts do not grow by a launch", op);
        loaded.set(op.results[0]!, this.registers.get(name)!.state);
        continue;
      }
      const { value, indices, peer } = memoryOperands(op);
      const isKept = loaded.get(value!) === buffer && peer === null && indices.length === 1 && indices[0] === row;
      expect(isKept && hasAll(buffer), "counts are not those of the block", op);
      kept.add(buffer);
    }
    const isEach = [...this.registers.values()].every(({ state }) => kept.has(state));
    expect(isEach && kept.size === this.registers.size, "counts are not kept", loop);
  }
}
