/** A kernel as movements, and what its lengths are in a whole box of them at once. */
import type { Kernel } from "../../ir/module.js";
import { productOf } from "../../types/extent.js";
import { Evaluation, type Expression, type Expressions } from "./expressions.js";
import { type Box, constant, constantOf, factors, type Form, substituted } from "./forms.js";
import type { Movement } from "./pieces.js";
import type { StretchOrder } from "./skeleton.js";

/** What one rank does in one stretch of one launch. */
export interface Unit {
  readonly rank: number;
  readonly launch: number;
  readonly stretch: number;
  readonly movements: readonly Movement[];
}

/** All that a kernel does, for any lengths. */
export interface Program {
  readonly kernel: Kernel;
  readonly expressions: Expressions;
  readonly launches: number;
  /** In an order that could happen. */
  readonly units: readonly Unit[];
  /** With one block, and with two, which stand for all there may be; see `blocks.ts`. */
  readonly orders: readonly StretchOrder[];
}

/** One box of lengths. Every question that it cannot answer as a whole throws what to do with it. */
export class Lengths {
  private readonly evaluation: Evaluation;

  constructor(
    readonly program: Program,
    readonly box: Box,
  ) {
    this.evaluation = new Evaluation(box.ranges, (e) => (e.kind === "dim" ? this.dim(e.name) : null));
  }

  private dim(name: string): Form {
    return this.box.names.get(name)!;
  }

  of(e: Expression): Form {
    return this.evaluation.of(e);
  }

  form(f: Form): Form {
    const by = new Map<string, Form>();
    for (const key of f.keys())
      for (const name of factors(key)) by.set(name, this.of(this.program.expressions.numbered(Number(name.slice(1)))));
    return substituted(f, by);
  }

  lengthOf(m: Movement): Form {
    return "root" in m.length ? this.of(this.program.expressions.numbered(m.length.root)) : constant(m.length.constant);
  }

  sizeOf(buffer: string): Form {
    const { kernel, expressions } = this.program;
    return this.of(expressions.extent(productOf(kernel.buffers.find((b) => b.name === buffer)!.shape)));
  }

  /** Whether the kernel takes these lengths at all. */
  isAllowed(): boolean {
    const { kernel, expressions } = this.program;
    return kernel.requirements.every(({ left, relation, right }) => {
      const holds = expressions.apply(relation, expressions.extent(left), expressions.extent(right));
      return constantOf(this.of(holds)) === 1;
    });
  }
}
