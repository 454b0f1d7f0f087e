/** How messages can stand for an access to ranks beyond: which of the loops around it decide about the peer, and which count its elements. */
import { type Buffer, bufferOf, freshName, isRemote, type Kernel, memoryOperands, type Op, text, type Value } from "../../ir/module.js"; // prettier-ignore
import { walk } from "../../ir/visit.js";
import { extent, type Extent, productOf } from "../../types/extent.js";
import { type Definitions } from "./analysis.js";
import type { Step } from "./nests.js";
import { RankValues } from "./rank-values.js";
import { upperBound, valueExtent } from "./upper-bound.js";

/** Iterations around an access that each have a message of their own, at most. */
const MOST_LEADS = 64;
/** What an outbox or inbox has for one peer is rounded up to so many elements, so that each peer's part begins aligned. */
const ROUND = 64;

/** Why no message can stand for an access. */
export class Refused extends Error {}

/** One variable of a loop around an access. */
export interface Variable {
  readonly loop: Op;
  /** Number of the variable. */
  readonly d: number;
  /** The peer is this variable, or it divided by so much: it then goes through the peer's part of the loop. */
  readonly part: Value | 1 | null;
}

/** What becomes of one access. */
export interface Plan {
  readonly access: Op;
  readonly path: readonly Step[];
  /** The loop over all ranks whose variable is the peer, which the other side need not go through. */
  readonly collapsed: Op | null;
  /** Loops that decide about the peer: each turn has a message of its own. */
  readonly leads: readonly Op[];
  /** Variables that the position of an iteration is counted by, the outermost first. */
  readonly variables: readonly Variable[];
  readonly outbox: Buffer;
  readonly inbox: Buffer;
}

/** Where a variable of a loop begins and ends. */
export function boundsOf(loop: Op, d: number): [Value, Value] {
  return [loop.operands[2 * d]!, loop.operands[2 * d + 1]!];
}

export class Planner {
  private readonly buffers: Buffer[] = [];

  constructor(
    private readonly kernel: Kernel,
    private readonly definitions: Definitions,
  ) {}

  /** @throws Refused where no message can stand for the access */
  plan(nest: Op, access: Op, path: readonly Step[]): Plan {
    const { definitions } = this;
    this.requireOrder(nest, access, path);
    const peer = memoryOperands(access).peer!;
    const loops = path.map(({ op }) => op).filter((op) => op.name !== "if");
    const collapsed = loops.find((op) => op.regions[0]!.arguments[0] === peer && this.isAllRanks(op)) ?? null;
    const { relevant, deciding } = this.reached(access, path, collapsed);
    const leads: Op[] = [];
    const variables: Variable[] = [];
    for (const loop of loops) {
      if (loop === collapsed) continue;
      loop.regions[0]!.arguments.forEach((v, d) => {
        if (!relevant.has(v)) return;
        if (!deciding.has(v)) return void variables.push({ loop, d, part: null });
        const quotient = definitions.binary(peer, "div");
        const divisor = quotient?.operands[0] === v ? quotient.operands[1]! : null;
        const isFixed = divisor !== null && !definitions.argumentsOf(divisor).some((a) => relevant.has(a));
        const part = isFixed ? divisor : peer === v && loop.attributes["map"] === "tiles" ? 1 : null;
        if (part !== null) variables.push({ loop, d, part });
        else if (loop.attributes["map"] !== "tiles" && (this.turns(loop) ?? Infinity) <= MOST_LEADS) leads.push(loop);
        else throw new Refused("which rank it goes to changes from element to element");
      });
    }
    const counted = new Set(variables.map(({ loop, d }) => loop.regions[0]!.arguments[d]!));
    for (const { loop, d } of variables)
      if (boundsOf(loop, d).some((v) => definitions.argumentsOf(v).some((a) => counted.has(a))))
        throw new Refused("the loops around it bound each other, so its elements are no box");
    const most = variables.map(({ loop, d, part }) => {
      const [lo, hi] = boundsOf(loop, d);
      if (part === 1) return 1;
      return (
        (part === null ? null : valueExtent(part, definitions)) ??
        upperBound(lo, hi, definitions) ??
        this.longest(lo, hi)
      );
    });
    const { dtype } = bufferOf(this.kernel, text(access, "buffer"));
    if (most.some((e) => e === null)) throw new Refused("how often a loop around it runs is not known before a launch");
    const chunk = extent("mul", extent("ceildiv", productOf(most as Extent[]), ROUND), ROUND);
    const shape = [...leads.map((op) => this.turns(op)!), this.kernel.world, chunk];
    const box = (kind: string): Buffer => {
      const taken = { ...this.kernel, buffers: [...this.kernel.buffers, ...this.buffers] };
      const name = freshName(taken, `${text(access, "buffer")}_${kind}`);
      const made: Buffer = { name, role: "scratch", dtype, shape, symmetric: false };
      this.buffers.push(made);
      return made;
    };
    return { access, path, collapsed, leads, variables, outbox: box("outbox"), inbox: box("inbox") };
  }

  /** What is sent before a nest, or arrives after it, must be what the nest itself would have found or left. */
  private requireOrder(nest: Op, access: Op, path: readonly Step[]): void {
    const name = text(access, "buffer");
    const ownTiles = path.find(({ op }) => op.attributes["map"] === "tiles")?.op;
    const isSerial = path.some(({ op }) => op.attributes["map"] === "serial" && !path.slice(0, path.findIndex((s) => s.op === op)).some((s) => s.op.attributes["map"] === "tiles")); // prettier-ignore
    walk({ arguments: [], ops: [nest] }, (op, parents) => {
      if (op === access || (op.name !== "load" && op.name !== "store") || text(op, "buffer") !== name) return;
      if (op.name === access.name) return;
      const isTogether = parents.find((p) => p.attributes["map"] === "tiles") === ownTiles;
      if (access.name === "load" && isRemote(op))
        throw new Refused(
          `'${name}' is stored to on peers in the same loop, so its elements have no one value to send`,
        );
      if (isSerial || !isTogether)
        throw new Refused(`'${name}' goes to and fro in one loop, whose turns would each take messages of their own`);
    });
  }

  /** The most iterations of a loop on any rank, where ranks alone decide about them. */
  private longest(lo: Value, hi: Value): number | null {
    const lengths = Array.from({ length: this.kernel.world }, (_, rank) => {
      const values = RankValues.of(this.definitions, rank);
      const [from, to] = [values.number(lo), values.number(hi)];
      return from === null || to === null ? null : to - from;
    });
    return lengths.some((n) => n === null) ? null : Math.max(0, ...(lengths as number[]));
  }

  private isAllRanks(op: Op): boolean {
    if (op.attributes["map"] === "tiles") return false;
    return this.turns(op) === this.kernel.world && this.definitions.constant(op.operands[0]!) === 0;
  }

  /** Turns of a loop; null where they are not known. */
  turns(op: Op): number | null {
    if (op.operands.length !== 2) return null;
    const [lo, hi] = op.operands.map((v) => this.definitions.constant(v));
    return lo !== undefined && hi !== undefined ? Math.max(0, hi - lo) : null;
  }

  /** Variables of the loops around an access that matter for it, and those of them that decide which rank it goes to. */
  private reached(
    access: Op,
    path: readonly Step[],
    collapsed: Op | null,
  ): { readonly relevant: ReadonlySet<Value>; readonly deciding: ReadonlySet<Value> } {
    const { definitions } = this;
    const { peer, indices } = memoryOperands(access);
    const conditions = path.filter(({ op }) => op.name === "if").map(({ op }) => op.operands[0]!);
    const closed = (roots: readonly Value[]): Set<Value> => {
      const found = new Set<Value>();
      const work = [...roots];
      for (let v = work.pop(); v !== undefined; v = work.pop())
        for (const a of definitions.argumentsOf(v)) {
          if (found.has(a)) continue;
          found.add(a);
          const step = path.find(({ op }) => op.regions[0]!.arguments.includes(a));
          if (step !== undefined) work.push(...boundsOf(step.op, step.op.regions[0]!.arguments.indexOf(a)));
        }
      return found;
    };
    return {
      relevant: closed([peer!, ...indices, ...conditions]),
      deciding: collapsed === null ? closed([peer!]) : new Set(),
    };
  }
}
