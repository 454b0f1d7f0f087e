/** How the values of a threads loop behave over the lanes of a vector of neighbouring iterations. */
import { bufferOf, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../../ir/module.js";
import { definitionOf } from "../../ir/ops.js";
import { scalarOf } from "../../ir/types.js";
import type { Definitions } from "./analysis.js";

export interface LaneFacts {
  /** Values that become vectors. */
  readonly data: ReadonlySet<Value>;
  /** Buffers accessed with vectors. */
  readonly buffers: ReadonlySet<string>;
  /** Values from outside the loop that must be multiples of the width. */
  readonly multiples: ReadonlySet<Value>;
}

/** Facts for taking `width` iterations at once, or null when the body does not allow it. */
export function laneFacts(loop: Op, width: number, kernel: Kernel, definitions: Definitions): LaneFacts | null {
  if (definitions.constant(loop.operands[0]!) !== 0) return null;
  const analysis = new LaneAnalysis(width, kernel, definitions);
  try {
    analysis.loop(loop);
    return analysis;
  } catch (e) {
    if (e === NOT_POSSIBLE) return null;
    throw e;
  }
}

/** Comparisons that no vector between two multiples of its width is divided by. */
const SPLITS: ReadonlySet<string> = new Set(["lt", "ge"]);

const NOT_POSSIBLE = Symbol("the body cannot be vectorised");

class LaneAnalysis implements LaneFacts {
  readonly data = new Set<Value>();
  readonly buffers = new Set<string>();
  readonly multiples = new Set<Value>();
  private readonly consecutive = new Set<Value>();
  private readonly inside = new Set<Value>();
  private variable: Value | null = null;

  constructor(
    private readonly width: number,
    private readonly kernel: Kernel,
    private readonly definitions: Definitions,
  ) {}

  loop(loop: Op): void {
    this.variable = loop.regions[0]!.arguments[0]!;
    this.inside.add(this.variable);
    this.consecutive.add(this.variable);
    this.region(loop.regions[0]!);
  }

  private region(region: Region): void {
    for (const op of region.ops) this.op(op);
  }

  private refuse(): never {
    throw NOT_POSSIBLE;
  }

  private op(op: Op): void {
    for (const r of op.results) this.inside.add(r);
    if (op.name === "load" || op.name === "store") this.memory(op);
    else if (definitionOf(op.name).effect === "pure") this.pure(op);
    else if (op.name === "if" || op.name === "for" || op.name === "reduce") {
      for (const v of op.operands) if (this.data.has(v) || this.consecutive.has(v)) this.refuse();
      for (const inner of op.regions) {
        for (const a of inner.arguments) this.inside.add(a);
        this.region(inner);
      }
      const yielded = op.name === "reduce" ? op.regions[0]!.ops.at(-1)!.operands[0]! : null;
      if (yielded !== null && this.data.has(yielded)) this.data.add(op.results[0]!);
      if (yielded !== null && this.consecutive.has(yielded)) this.refuse();
    } else if (op.name !== "yield") this.refuse();
  }

  private memory(op: Op): void {
    const { value, peer, indices } = memoryOperands(op);
    if (peer !== null && (this.data.has(peer) || this.consecutive.has(peer))) this.refuse();
    if (indices.length !== 1 || this.data.has(indices[0]!)) this.refuse();
    const index = indices[0]!;
    if (this.consecutive.has(index)) {
      this.mustBeMultiple(index);
      this.buffers.add(bufferOf(this.kernel, text(op, "buffer")).name);
      if (op.name === "load") this.data.add(op.results[0]!);
    } else if (op.name === "store") this.refuse(); // all lanes would write one element
    if (value !== null && this.consecutive.has(value)) this.refuse();
  }

  private pure(op: Op): void {
    const result = op.results[0]!;
    const consecutive = op.operands.filter((v) => this.consecutive.has(v));
    if (consecutive.length > 0) {
      this.consecutiveIndex(op, result);
      return;
    }
    if (op.operands.some((v) => this.data.has(v))) {
      if (scalarOf(result.type) === "index") this.refuse();
      this.data.add(result);
    }
  }

  /** An index op with a consecutive operand: the sum with a uniform one goes on, div and rem by a multiple split it. */
  private consecutiveIndex(op: Op, result: Value): void {
    const fn = op.name === "binary" ? op.attributes["fn"] : null;
    const [a, b] = op.operands as [Value, Value];
    const ca = this.consecutive.has(a);
    const cb = this.consecutive.has(b);
    if (this.data.has(a) || this.data.has(b) || (ca && cb)) this.refuse();
    if (op.name === "compare" && ca && SPLITS.has(op.attributes["fn"] as string)) {
      // Of a vector that starts at a multiple of the width, all lanes are below a bound that is one too, or none is.
      this.mustBeMultiple(a);
      this.mustBeMultiple(b);
      return;
    }
    if (fn === "add" || (fn === "sub" && ca)) {
      this.consecutive.add(result);
      return;
    }
    if ((fn === "div" || fn === "rem") && ca) {
      // Within a vector that starts at a multiple of the width, a divisor that is one too splits no vector.
      this.mustBeMultiple(a);
      this.mustBeMultiple(b);
      if (fn === "rem") this.consecutive.add(result);
      return;
    }
    this.refuse();
  }

  /** Makes sure that lane 0 of the value is a multiple of the width: by its form, or by a test before the loop. */
  private mustBeMultiple(v: Value): void {
    if (v === this.variable) return; // counts vectors, scaled by the width
    const { definitions, width } = this;
    const constant = definitions.constant(v);
    if (constant !== undefined) return constant % width === 0 ? undefined : this.refuse();
    const op = definitions.of(v);
    const fn = op?.name === "binary" ? op.attributes["fn"] : null;
    if (fn === "mul" && op!.operands.some((o) => (definitions.constant(o) ?? 1) % width === 0)) return;
    if ((fn === "add" || fn === "sub") && (this.inside.has(v) || this.hasKnownPart(op!))) {
      for (const o of op!.operands) this.mustBeMultiple(o);
      return;
    }
    if (!this.inside.has(v)) {
      this.multiples.add(v);
      return;
    }
    if (fn === "rem") {
      for (const o of op!.operands) this.mustBeMultiple(o);
      return;
    }
    if (fn === "mul") {
      const outside = op!.operands.find((o) => !this.inside.has(o));
      if (outside !== undefined) return this.mustBeMultiple(outside);
    }
    this.refuse();
  }

  /** Whether one summand is a multiple by its form, so that only the other needs a test. */
  private hasKnownPart(sum: Op): boolean {
    return sum.operands.some((o) => {
      const product = this.definitions.binary(o, "mul");
      return product?.operands.some((f) => (this.definitions.constant(f) ?? 1) % this.width === 0) ?? false;
    });
  }
}
