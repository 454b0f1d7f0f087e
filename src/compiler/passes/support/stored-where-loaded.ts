/**
 * What lower-tensors promises of the memory that it makes: a rank loads no element that nobody has stored there.
 *
 * Where ranks divide a tensor and each keeps its part to itself, the loops that store the part have bounds made of the
 * rank. Such memory may be loaded only on the same rank, in loops with the same bounds, at the same place along the divided
 * dimension. A constant index, another loop's variable or a peer's copy may lie in a part that is somebody else's; not that of a peer
 * whose number leaves the same remainder, where the rank is in the bounds by that remainder alone.
 */
import { type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../../ir/module.js";
import { type Extent, extent } from "../../types/extent.js";
import { extentKey } from "../../types/normal-form.js";
import type { Problem } from "../../ir/verify-structure.js";
import { walkKernel } from "../../ir/visit.js";

export function storedWhereLoaded(after: Kernel, before: Kernel): Problem[] {
  const given = new Set(before.buffers.map((b) => b.name));
  const made = after.buffers.filter((b) => !given.has(b.name)).map((b) => b.name);
  const accesses = new Map<string, { readonly stores: Op[]; readonly loads: Op[] }>(
    made.map((name) => [name, { stores: [], loads: [] }]),
  );
  const ranges = new Ranges(after.body);
  walkKernel(after, (op) => {
    if (op.name !== "load" && op.name !== "store") return;
    const found = accesses.get(text(op, "buffer"));
    if (op.name === "load") found?.loads.push(op);
    else found?.stores.push(op);
  });
  return [...accesses].flatMap(([name, { stores, loads }]) => {
    const isOwn = stores.every((s) => memoryOperands(s).peer === null);
    return isOwn ? stores.flatMap((s) => loads.flatMap((l) => problemsOf(name, s, l, ranges))) : [];
  });
}

function problemsOf(name: string, store: Op, load: Op, ranges: Ranges): Problem[] {
  const [to, from] = [memoryOperands(store), memoryOperands(load)];
  return to.indices.flatMap((index, d) => {
    const part = ranges.of(index);
    if (part === null || !part.isOfRank) return [];
    const found = ranges.of(from.indices[d]!);
    const isThere = from.peer === null || ranges.hasSamePart(from.peer, index);
    if (isThere && found?.key === part.key) return [];
    const how = isThere ? "at an index that may lie outside its part" : "from a peer, which has another part";
    const message = `load: '${name}', of which each rank stores a part along dimension ${d}, is loaded ${how}`;
    return [{ message, op: load }];
  });
}

/** Values that an index takes. */
interface Range {
  /** Equal for equal ranges. */
  readonly key: string;
  /** It differs from rank to rank. */
  readonly isOfRank: boolean;
}

/** The ranges of loops' variables, and of such a variable after what the rank's part begins with. */
class Ranges {
  private readonly makers = new Map<Value, Op>();
  private readonly bounds = new Map<Value, readonly [Value, Value]>();

  constructor(body: Region) {
    this.collect(body);
  }

  private collect(region: Region): void {
    for (const op of region.ops) {
      for (const r of op.results) this.makers.set(r, op);
      if (op.name === "for" || op.name === "reduce")
        op.regions[0]!.arguments.forEach((v, d) =>
          this.bounds.set(v, [op.operands[2 * d]!, op.operands[2 * d + 1]!] as const),
        );
      for (const inner of op.regions) this.collect(inner);
    }
  }

  of(v: Value): Range | null {
    const bounds = this.bounds.get(v);
    if (bounds !== undefined) {
      const [lo, hi] = bounds.map((b) => this.expression(b)) as [string, string];
      return { key: `${lo}..${hi}`, isOfRank: /\brank\b/.test(lo + hi) };
    }
    const op = this.makers.get(v);
    if (op?.name !== "binary" || op.attributes["fn"] !== "add") return null;
    const named: Value[] = [];
    const [a, b] = op.operands.map((each) => this.of(each)?.key ?? this.expression(each, named)) as [string, string];
    return { key: `${a} + ${b}`, isOfRank: /\brank\b/.test(a + b) };
  }

  /** Whether a peer stores what this rank does of an index that its part decides: their numbers leave one remainder, and the part is made of that. */
  hasSamePart(peer: Value, index: Value): boolean {
    const [modulus, ...others] = new Set(this.remaindersIn(index));
    return modulus !== undefined && modulus > 0 && others.length === 0 && this.timesRank(peer, modulus) === 1;
  }

  /** What the rank's number is divided by wherever only the remainder counts; 0 where all of the number does. */
  private remaindersIn(v: Value): number[] {
    const op = this.makers.get(v);
    if (op?.name === "rank") return [0];
    if (op?.name === "binary" && op.attributes["fn"] === "rem" && this.makers.get(op.operands[0]!)?.name === "rank")
      return [this.constant(op.operands[1]!) ?? 0];
    return [...(this.bounds.get(v) ?? []), ...(op?.operands ?? [])].flatMap((o) => this.remaindersIn(o));
  }

  /** How many times the rank's number a value is, up to multiples of a modulus; null where that is not known. */
  private timesRank(v: Value, modulus: number): number | null {
    const op = this.makers.get(v);
    const constant = this.constant(v);
    if (op?.name === "rank") return 1;
    if (constant !== null) return constant % modulus === 0 ? 0 : null;
    if (op?.name !== "binary") return null;
    const [fn, operands] = [op.attributes["fn"], op.operands];
    if (fn === "mul" && operands.some((o) => (this.constant(o) ?? 1) % modulus === 0)) return 0;
    const [a, b] = operands.map((o) => this.timesRank(o, modulus)) as [number | null, number | null];
    if (a === null || b === null) return null;
    return fn === "add" ? a + b : fn === "sub" ? a - b : null;
  }

  private constant(v: Value): number | null {
    const op = this.makers.get(v);
    return op?.name === "const" ? Number(op.attributes["value"]) : null;
  }

  /** What a value is computed from, down to constants, dimensions and the rank; lengths that are equal are written alike. */
  private expression(v: Value, named: Value[] = []): string {
    const length = this.extentOf(v);
    if (length !== null) return extentKey(length);
    const op = this.makers.get(v);
    if (op === undefined) {
      if (!named.includes(v)) named.push(v);
      // Loops that take the same values in the same place are written alike.
      const range = (this.bounds.get(v) ?? []).map((bound) => this.expression(bound, named)).join("..");
      return `%${named.indexOf(v)} of ${range}`;
    }
    const parts = [...Object.values(op.attributes).map(String), ...op.operands.map((o) => this.expression(o, named))];
    return `${op.name}(${parts.join(", ")})`;
  }

  /** The value as a length, in which the rank is one more name; null if it is made of anything else. */
  private extentOf(v: Value): Extent | null {
    const op = this.makers.get(v);
    if (op?.name === "const") return Number(op.attributes["value"]);
    if (op?.name === "dim") return text(op, "name");
    if (op?.name === "rank") return "rank";
    const sign = op?.name === "binary" ? SIGNS[text(op, "fn")] : undefined;
    if (sign === undefined) return null;
    const [a, b] = op!.operands.map((o) => this.extentOf(o)) as [Extent | null, Extent | null];
    return a === null || b === null ? null : extent(sign, a, b);
  }
}

const SIGNS: Readonly<Record<string, "add" | "sub" | "mul" | "div" | "mod" | "min" | "max">> = {
  add: "add",
  sub: "sub",
  mul: "mul",
  div: "div",
  rem: "mod",
  min: "min",
  max: "max",
};
