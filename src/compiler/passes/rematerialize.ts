/**
 * rematerialize: what follows from the launch alone (lengths, the rank) is computed again where it is used: after a product by roles,
 * in each way to store its tiles, and in each iteration where that uses much of it. While it multiplies, a thread has its part of the
 * accumulator in registers, and few are left: what a tile's store needs, and what the loops after the product need, would be kept in
 * them all the while, or spilled. The lengths and the rank are taken anew (`near`), so that no C compiler finds that they are what
 * they were, and computes it before the loop.
 */
import { type Kernel, type Op, type Region, Value } from "../ir/module.js";
import { walk, walkKernel } from "../ir/visit.js";
import { dropUnused } from "./support/unused.js";

/**
 * Values that a loop over an accumulator's elements keeps from before it, at most; with more, it computes them in each iteration.
 * All-reductions of 4 ranks use 14, for which ptxas spilled 64 bytes beside the 128 registers of the sums; reduce-scatters of 4 use 9, and nothing is spilled.
 */
const MOST_KEPT = 12;

export function rematerialize(kernel: Kernel): Kernel {
  if (!kernel.body.ops.some((op) => holds(op, "roles"))) return kernel;
  return dropUnused({ ...kernel, body: new Rematerializer(kernel).body(kernel.body) });
}

/** Whether an op is of that name, or one in it is. */
function holds(op: Op, name: Op["name"]): boolean {
  return op.name === name || op.regions.some(({ ops }) => ops.some((o) => holds(o, name)));
}

/** What holds a product by roles, or is one. */
function isCore(op: Op): boolean {
  return holds(op, "roles") || holds(op, "mma");
}

/** What a launch gives its kernel: parameters. */
function isGivenAnew(op: Op | undefined): boolean {
  return op?.name === "dim" || op?.name === "rank";
}

/** Two forms of one loop use the same values, and are printed as one. */
function isChoiceOfForms({ regions }: Op): boolean {
  return regions.every(({ ops }) => {
    const [loop, ...more] = ops.filter((o) => o.name !== "const");
    return loop?.name === "for" && more.length === 0;
  });
}

class Rematerializer {
  private readonly makers = new Map<Value, Op>();
  private readonly follow = new Map<Value, boolean>();

  constructor(kernel: Kernel) {
    walkKernel(kernel, (op) => op.results.forEach((v) => void this.makers.set(v, op)));
  }

  /** The kernel's body: what comes after its last product computes for itself. */
  body({ arguments: args, ops }: Region): Region {
    const last = ops.map(isCore).lastIndexOf(true);
    const kept = ops.slice(0, last + 1).map((op) => (isCore(op) ? this.around(op) : op));
    return { arguments: args, ops: [...kept, ...this.home(ops.slice(last + 1))] };
  }

  /** An op that holds products by roles: each role computes for itself. */
  private around(op: Op): Op {
    const inside = (r: Region): Region =>
      op.name === "roles" ? { arguments: r.arguments, ops: this.home(r.ops) } : this.body(r);
    return { ...op, regions: op.regions.map(inside) };
  }

  /** Ops that compute for themselves what follows from the launch; branches with loops in them, and what comes after a product, do so again. */
  private home(ops: readonly Op[]): Op[] {
    const first: Op[] = [];
    const made = new Map<Value | string, Value>();
    const near = (v: Value): Value => {
      const maker = this.makers.get(v);
      if (maker === undefined || maker.name === "const" || !this.followsFromLaunch(v)) return v;
      const isGiven = isGivenAnew(maker);
      const key = isGiven ? `${maker.name} ${String(maker.attributes["name"])}` : v;
      const known = made.get(key);
      if (known !== undefined) return known;
      const copy = new Value(v.type);
      made.set(key, copy);
      const attributes = isGiven ? { ...maker.attributes, near: true } : maker.attributes;
      const operands = maker.operands.map(near);
      first.push({ ...maker, operands, results: [copy], attributes });
      return copy;
    };
    // What is given itself is no register's: it is a parameter.
    const used = (v: Value): Value => (isGivenAnew(this.makers.get(v)) ? v : near(v));
    const copied = (op: Op): Op => {
      const operands = op.operands.map(used);
      if (op.regions.length === 0) return { ...op, operands };
      const isBranch = op.name === "if" && holds(op, "for") && !isCore(op) && !isChoiceOfForms(op);
      const isApart = isBranch || (op.attributes["map"] === "fragment" && this.launchValuesIn(op) > MOST_KEPT);
      const inside = ({ ops: inner }: Region): Op[] => {
        if (isApart) return this.home(inner);
        const last = inner.map(isCore).lastIndexOf(true);
        return last < 0
          ? inner.map(copied)
          : [...inner.slice(0, last + 1).map(copied), ...this.home(inner.slice(last + 1))];
      };
      return { ...op, operands, regions: op.regions.map((r) => ({ arguments: r.arguments, ops: inside(r) })) };
    };
    const isLiteral = (op: Op): boolean => op.name === "const";
    const rest = ops.filter((op) => !isLiteral(op)).map(copied);
    return [...ops.filter(isLiteral), ...first, ...rest];
  }

  /** How many values a loop uses that follow from the launch, and are not given by it as they are. */
  private launchValuesIn(loop: Op): number {
    const values = new Set<Value>();
    walk(loop.regions[0]!, ({ operands }) => {
      for (const v of operands)
        if (this.makers.get(v)?.operands.length !== 0 && this.followsFromLaunch(v)) values.add(v);
    });
    return values.size;
  }

  /** Whether a value depends on nothing but lengths, the rank and the grid, and costs less than a register. */
  private followsFromLaunch(v: Value): boolean {
    const known = this.follow.get(v);
    if (known !== undefined) return known;
    const op = this.makers.get(v);
    const follows = op !== undefined && this.isCheap(op) && op.operands.every((o) => this.followsFromLaunch(o));
    this.follow.set(v, follows);
    return follows;
  }

  private isCheap({ name, attributes, operands }: Op): boolean {
    switch (name) {
      case "const":
      case "dim":
      case "rank":
      case "block":
      case "grid":
      case "aligned":
      case "compare":
      case "select":
      case "cast":
      case "splat":
        return true;
      case "binary": {
        const isDivision = attributes["fn"] === "div" || attributes["fn"] === "rem";
        return !isDivision || this.makers.get(operands[1]!)?.name === "const";
      }
      default:
        return false;
    }
  }
}
