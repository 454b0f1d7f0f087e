/** A kernel with products in one case: what its numbers are, and which ops with effects it comes to, conditions being decided. */
import { bufferOf, type Kernel, type Op, type Region, text, type Value } from "../../../ir/module.js";
import { definitionOf } from "../../../ir/ops.js";
import { scalarOf } from "../../../ir/types.js";
import { walkKernel } from "../../../ir/visit.js";
import type { Span } from "../../../source.js";
import { NotShown } from "../conditions.js";
import { constant, constantOf, equal, type Form, plus, scaled } from "../forms.js";
import { type Assumed, BLOCK, NeedsCase, type Numbers, RANK } from "./numbers.js";

/** By value of a kernel, the op that makes it. */
export type Makers = ReadonlyMap<Value, Op>;

export function makersOf(kernel: Kernel): Makers {
  const makers = new Map<Value, Op>();
  walkKernel(kernel, (op) => op.results.forEach((v) => makers.set(v, op)));
  return makers;
}

/** @throws NotShown unless it holds */
export function expect(holds: boolean, reason: string, { span }: { readonly span: Span }): asserts holds {
  if (!holds) throw new NotShown(reason, span);
}

/** @throws NotShown, which names an op that stands where none or another is followed */
export function refuse(op: Op): never {
  const { buffer, to, from, ring } = op.attributes;
  const of = buffer ?? to ?? from ?? ring;
  const what = typeof of === "string" ? ` of '${of}'` : "";
  throw new NotShown(`there is a '${op.name}'${what} where products are not followed`, op.span);
}

/** Each case goes through the same regions, of which most ops are pure. */
const effectsIn = new WeakMap<Region, readonly Op[]>();

export class Follow {
  /** In the order in which they were made. */
  private values = new Map<Value, Form>();

  constructor(
    readonly kernel: Kernel,
    private readonly makers: Makers,
    readonly numbers: Numbers,
    /** Whether what a rank does has to do with others. */
    readonly isShared: boolean,
  ) {}

  /**
   * The case in which more is assumed. It begins with the values that nothing of that has a part in: most cases differ at their ends.
   * @param keeps whether it does; else it begins with none
   */
  assuming(more: Assumed, keeps: boolean): Follow {
    const { kernel, makers, numbers, isShared, values } = this;
    const follow = new Follow(kernel, makers, numbers.further(more, keeps), isShared);
    const count = keeps ? numbers.madeBefore(more) : 0;
    for (const [v, value] of values) {
      if (follow.values.size === count) break;
      follow.values.set(v, value);
    }
    return follow;
  }

  /** The number of the rank: any, or the one that is assumed in this case. */
  get rank(): Form {
    return this.numbers.named(RANK, 0, this.kernel.world - 1);
  }

  /** @throws NeedsCase where it is any: then each rank is looked at by itself */
  eachRank(): number {
    const { rank, numbers, kernel } = this;
    const any = numbers.atomOf(rank);
    if (any === null) return constantOf(rank);
    throw new NeedsCase(Array.from({ length: kernel.world }, (_, r) => new Map([[any.name, constant(r)]])));
  }

  set(v: Value, value: Form): void {
    const known = this.values.get(v);
    if (known !== undefined && equal(known, value)) return;
    // What was made of another value is made again.
    if (known !== undefined) {
      this.values = new Map([...this.values].slice(0, [...this.values.keys()].indexOf(v)));
      this.numbers.hasMade(this.values.size);
    }
    this.keep(v, value);
  }

  private keep(v: Value, value: Form): void {
    this.values.set(v, value);
    this.numbers.hasMade(this.values.size);
  }

  /** What makes a value; null of arguments of regions. */
  maker(v: Value): Op | null {
    return this.makers.get(v) ?? null;
  }

  /** The number that a value is. @throws NotShown for what is none, or is made in a way that is not followed */
  of(v: Value): Form {
    let value = this.values.get(v);
    if (value === undefined) {
      const op = this.makers.get(v);
      if (op === undefined) throw new NotShown("a number is one of another loop", this.kernel.body.ops[0]!.span);
      this.keep(v, (value = this.made(op)));
    }
    return value;
  }

  private made(op: Op): Form {
    const { numbers } = this;
    const kind = scalarOf(op.results[0]!.type);
    if (op.results[0]!.type.kind !== "scalar" || (kind !== "index" && kind !== "bool" && kind !== "u32")) refuse(op);
    const of = (i: number): Form => this.of(op.operands[i]!);
    // Numbers of launches are far from where they begin anew: of others nothing is asked.
    if (kind === "u32" && op.name !== "const" && op.attributes["fn"] !== "add") refuse(op);
    switch (op.name) {
      case "const":
        return constant(op.attributes["value"] as number);
      case "dim":
        return numbers.extent(text(op, "name"));
      case "rank":
        return this.isShared ? this.rank : refuse(op);
      case "block":
        return numbers.named(BLOCK);
      case "grid":
        return numbers.named("grid", 1, this.kernel.maxBlocks);
      case "aligned":
        return op.operands.length > 0 ? refuse(op) : this.begins(text(op, "buffer"), op.attributes["bytes"] as number);
      case "binary":
      case "compare":
        return numbers.apply(text(op, "fn"), of(0), of(1));
      case "select": {
        // Of two constants it is a number of the truth value, whichever that is.
        const [a, b] = [op.operands[1]!, op.operands[2]!].map((v) => this.constantOf(v));
        if (a != null && b != null) return plus(constant(b), scaled(of(0), a - b));
        return of(numbers.decided(of(0), op.span) !== 0 ? 1 : 2);
      }
      case "cast":
        // A truth value as a number is what it is here.
        return scalarOf(op.operands[0]!.type) === "bool" && kind === "index" ? of(0) : refuse(op);
      default:
        return refuse(op);
    }
  }

  /** The number that a constant is; null of other values. */
  private constantOf(v: Value): number | null {
    const op = this.makers.get(v);
    return op?.name === "const" ? (op.attributes["value"] as number) : null;
  }

  /** 1 where a buffer begins at a multiple of so many bytes, else 0. */
  begins(buffer: string, bytes: number): Form {
    return this.numbers.named(`aligned ${buffer} ${bytes}`, 0, 1);
  }

  /** The ops of a region that are no pure functions, in order; of conditions the side that is taken, but of those that a stage's release alone is under. */
  steps(region: Region): Op[] {
    const steps: Op[] = [];
    for (const op of this.effects(region)) {
      if (op.name !== "if" || op.regions[0]!.ops.some((o) => o.name === "ring_release")) steps.push(op);
      else
        steps.push(...this.steps(op.regions[this.numbers.decided(this.of(op.operands[0]!), op.span) !== 0 ? 0 : 1]!));
    }
    return steps;
  }

  /** The side that is taken where a region is nothing but a choice. */
  chosen(region: Region): Region {
    const [op, ...others] = this.effects(region);
    if (op?.name !== "if" || others.length > 0) return region;
    return this.chosen(op.regions[this.numbers.decided(this.of(op.operands[0]!), op.span) !== 0 ? 0 : 1]!);
  }

  /** Those of ops that are no pure functions. */
  effectsOf(ops: readonly Op[]): Op[] {
    return ops.filter((op) => definitionOf(op.name).effect !== "pure");
  }

  /** The ops of a region that are no pure functions, conditions among them. */
  effects(region: Region): readonly Op[] {
    let found = effectsIn.get(region);
    if (found === undefined) effectsIn.set(region, (found = this.effectsOf(region.ops)));
    return found;
  }

  /** How far a loop goes that begins with 0. */
  length(op: Op): Form {
    expect(
      op.regions[0]!.arguments.length === 1 && this.of(op.operands[0]!).size === 0,
      "a loop does not begin with 0",
      op,
    );
    return this.of(op.operands[1]!);
  }

  /** The shape of a buffer, as numbers. */
  shape(buffer: string): readonly Form[] {
    return bufferOf(this.kernel, buffer).shape.map((e) => this.numbers.extent(e));
  }

  /** The shape of a buffer of the block, which is known. */
  fixed(buffer: string): readonly number[] {
    return bufferOf(this.kernel, buffer).shape as readonly number[];
  }
}

/** Ops with effects, one after the other. */
export class Steps {
  private at = 0;

  constructor(
    private readonly steps: readonly Op[],
    readonly around: Op,
  ) {}

  /** The next op, which must be of that kind. @throws NotShown where it is another, or none */
  next(name: Op["name"], map?: string): Op {
    const op = this.steps[this.at++];
    if (op === undefined) throw new NotShown(`a '${name}' is missing`, this.around.span);
    if (op.name !== name || (map !== undefined && op.attributes["map"] !== map)) refuse(op);
    return op;
  }

  /** Whether an op of that kind is next. */
  isNext(name: Op["name"], map?: string): boolean {
    const op = this.steps[this.at];
    return op?.name === name && (map === undefined || op.attributes["map"] === map);
  }

  /** The next op; undefined where there is none. */
  get first(): Op | undefined {
    return this.steps[this.at];
  }

  /** Passes over the ops before the first of that kind. */
  skipTo(name: Op["name"], map: string): void {
    while (this.at < this.steps.length && !this.isNext(name, map)) this.at++;
  }

  /** @throws NotShown where ops are left */
  end(): void {
    const op = this.steps[this.at];
    if (op !== undefined) refuse(op);
  }
}

/** The one value that the region of a loop takes. */
export function argumentOf(op: Op): Value {
  const [region] = op.regions;
  expect(region !== undefined && region.arguments.length === 1, "a loop counts several numbers", op);
  return region.arguments[0]!;
}
