/** The number of a launch, which each block counts: it tells of pieces of tiles, and of which launch they are. */
import { bufferOf, memoryOperands, type Op, text } from "../../../ir/module.js";
import { constant, equal, type Form, ONE, plus } from "../forms.js";
import { argumentOf, expect, type Follow, refuse, Steps } from "./follow.js";
import { BLOCK } from "./numbers.js";

export class Launches {
  /** Of a block, how many launches there were before; null where that is not counted. */
  private before: Form | null = null;
  /** What they are counted in. */
  counter: string | null = null;

  constructor(private readonly follow: Follow) {}

  /** The number that tells of this launch. */
  get epoch(): Form {
    return plus(this.before!, ONE);
  }

  /** A block reads how many launches there were. */
  read(load: Op): void {
    const { kernel, numbers } = this.follow;
    const buffer = text(load, "buffer");
    const { indices, peer } = memoryOperands(load);
    const isOwn = bufferOf(kernel, buffer).role === "state" && peer === null && indices.length === 1;
    if (!isOwn || (this.counter !== null && this.counter !== buffer)) refuse(load);
    expect(equal(this.follow.of(indices[0]!), numbers.named(BLOCK)), "launches are not counted by each block", load);
    this.counter = buffer;
    this.before = numbers.named("launches");
    this.follow.set(load.results[0]!, this.before);
  }

  /**
   * Each row is kept by the block that has its number modulo the grid, and all are: so each block's is one more after each launch.
   * @param hasOthers whether other counts may be kept with it
   */
  grow(loop: Op, hasOthers = false): void {
    const { follow } = this;
    const { numbers, kernel } = follow;
    const row = numbers.named("row");
    follow.set(argumentOf(loop), row);
    const [rows] = follow.shape(this.counter!);
    const isAll = equal(follow.length(loop), rows!) && equal(rows!, constant(kernel.maxBlocks));
    expect(isAll, "launches are not counted by each block", loop);
    const body = new Steps(follow.effects(loop.regions[0]!), loop);
    const choice = body.next("if");
    body.end();
    const owner = numbers.apply("rem", row, numbers.named("grid"));
    const isOwn = numbers.apply("eq", owner, numbers.named(BLOCK));
    expect(equal(follow.of(choice.operands[0]!), isOwn), "launches are not counted by each block", choice);
    new Steps(follow.effects(choice.regions[1]!), choice).end();
    const isOther = (op: Op): boolean => hasOthers && text(op, "buffer") !== this.counter;
    const then = new Steps(
      follow.effects(choice.regions[0]!).filter((op) => !isOther(op)),
      choice,
    );
    const store = then.next("store");
    then.end();
    const { value, indices, peer } = memoryOperands(store);
    const isOne =
      text(store, "buffer") === this.counter &&
      peer === null &&
      equal(follow.of(indices[0]!), row) &&
      equal(follow.of(value!), this.epoch);
    expect(isOne, "launches are not counted by each block", store);
  }
}
