/**
 * How many bytes a collective has to move, derived from the layouts in its manifest; no collective is known by name.
 *
 * Bandwidths are those of nccl-tests (https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md):
 * algorithm bandwidth = S / t; bus bandwidth = algorithm bandwidth times a factor of the change of layout over n ranks,
 * so that the result compares with the speed of one GPU's link, whatever n is. S is the logical tensor, in bytes:
 *
 *   partial → replicated   2(n−1)/n    all_reduce: a reduce_scatter, then an all_gather
 *   sharded → replicated    (n−1)/n    all_gather
 *   partial → sharded       (n−1)/n    reduce_scatter
 *   sharded(a) → sharded(b) (n−1)/n    all_to_all; S is one rank's part of the tensor, as in nccl-tests
 *   on → replicated, partial → on   1  broadcast, reduce
 *   sharded → on, on → sharded (n−1)/n gather, scatter
 *   on(a) → on(b)           1          send
 *   replicated → any        0          every rank has it already
 *
 * In a signature with arithmetic (a matmul, then a reduce_scatter) the operands may be moved before it, or the result
 * after it; the cheapest way counts. What it moves is the floor of the wire, not what a certain kernel does.
 */
import {
  DTYPES,
  elementsOf,
  evaluateExtent,
  hasAxes,
  printLayout,
  shapeOfSpecification,
  type DimValues,
  type DType,
  type Layout,
  type Manifest,
  partsOfSpecification,
  type SignatureTensor,
  type Specification,
  specificationsOf,
} from "../compiler/index.js";

/** Bytes of one call. */
export interface Traffic {
  /** S of the formulas: what "algorithm bandwidth" divides by the time. */
  readonly algorithmBytes: number;
  /** S times the factor: what the busiest link direction of a rank carries at least. */
  readonly busBytes: number;
}

/** Bandwidths in GB/s (10^9 bytes) for a time in microseconds. */
export function bandwidths(traffic: Traffic, microseconds: number): { algorithm: number; bus: number } {
  const scale = 1 / (microseconds * 1e3);
  return { algorithm: traffic.algorithmBytes * scale, bus: traffic.busBytes * scale };
}

const none: Traffic = { algorithmBytes: 0, busBytes: 0 };
const add = (a: Traffic, b: Traffic): Traffic => ({
  algorithmBytes: a.algorithmBytes + b.algorithmBytes,
  busBytes: a.busBytes + b.busBytes,
});

/** What the collective moves; null where the signature does not say (`local` results, no specification). */
export function trafficOf(manifest: Manifest, dims: DimValues): Traffic | null {
  const context: Context = {
    manifest,
    dims,
    n: manifest.ranks,
    shapes: new Map(),
    dtypes: new Map(),
    numbers: new Map(),
  };
  // What travels along one axis meets nothing of another: there is no one busiest link to speak of.
  if ([...manifest.inputs, ...manifest.outputs].some((t) => hasAxes(t.layout))) return null;
  const results: Result[] = [];
  const specifications = specificationsOf(manifest.specification);
  for (const [o, { layout, dtype }] of manifest.outputs.entries()) {
    const s = specifications[o] ?? null;
    if (s === null || s.kind === "elements") return null;
    results.push({ value: dtypeOf(s, context) === dtype ? s : { kind: "cast", dtype, a: s }, layout, dtype });
  }
  // What one output has moved is there for the next, so it may count which is looked at first.
  const widestFirst = results.toSorted((a, b) => DTYPES[b.dtype].bytes - DTYPES[a.dtype].bytes);
  const orders = [results, widestFirst].map((order) => movesOf(order, context));
  if (orders.includes(null)) return null;
  const [first, other] = (orders as Moves[]).map(sumOf) as [Traffic, Traffic];
  const sum = other.busBytes < first.busBytes ? other : first;
  if (sum.algorithmBytes > 0) return sum;
  // Nothing has to move (one rank, or replicated inputs): S is then what is computed.
  return { algorithmBytes: manifest.outputs.reduce((sum, t) => sum + logicalBytes(t, dims), 0), busBytes: 0 };
}

/** What an output is, and where. */
interface Result {
  readonly value: Specification;
  readonly layout: Layout;
  readonly dtype: DType;
}

/** The moves that outputs need, one after the other; null if the formulas do not cover them. */
function movesOf(results: readonly Result[], context: Context): Moves | null {
  let total = noMoves;
  for (const { value, layout } of results) {
    const moved = cheapest(value, layout, { ...context, there: total, moved: new Map() });
    if (moved === null) return null;
    total = together([total, moved]);
  }
  return total;
}

interface Context {
  readonly manifest: Manifest;
  readonly dims: DimValues;
  readonly n: number;
  readonly shapes: Map<Specification, readonly number[]>;
  readonly dtypes: Map<Specification, DType | null>;
  readonly numbers: Map<Specification, number>;
}

interface Search extends Context {
  /** What has moved already. */
  readonly there: Moves;
  /** What is known already, by value and layout. Without it, the time grows with the ways to every use of a value. */
  readonly moved: Map<Specification, Map<string, Moves | null>>;
}

/** Conversions of values, each once: a value that is used twice in one layout moves there once. */
type Moves = ReadonlyMap<string, Traffic>;

const noMoves: Moves = new Map();

function together(moves: readonly Moves[]): Moves {
  const [first = noMoves, ...others] = moves.filter((m) => m.size > 0);
  return others.length === 0 ? first : new Map([first, ...others].flatMap((m) => [...m]));
}

function sumOf(moves: Moves): Traffic {
  return [...moves.values()].reduce(add, none);
}

/** Bytes of a whole logical tensor. */
export function logicalBytes(tensor: Pick<SignatureTensor, "shape" | "dtype">, dims: DimValues): number {
  return elementsOf(tensor.shape, dims) * DTYPES[tensor.dtype].bytes;
}

/** The least that moves so that the value lies in `target`; null if the formulas above do not cover it. */
function cheapest(s: Specification, target: Layout, c: Search): Moves | null {
  switch (s.kind) {
    case "constant":
    case "scalar":
      return noMoves;
    case "input": {
      const tensor = c.manifest.inputs.find((t) => t.name === s.name)!;
      return moving(s, tensor.layout, target, logicalBytes(tensor, c.dims), c);
    }
    default: {
      let known = c.moved.get(s);
      if (known === undefined) c.moved.set(s, (known = new Map()));
      const key = printLayout(target);
      let moved = known.get(key);
      if (moved === undefined) known.set(key, (moved = least(waysTo(s, target, c), target, s, c)));
      return moved;
    }
  }
}

/** The dtype of a value; null of a number. */
function dtypeOf(s: Specification, c: Context): DType | null {
  let dtype = c.dtypes.get(s);
  if (dtype === undefined) c.dtypes.set(s, (dtype = findDType(s, c)));
  return dtype;
}

function findDType(s: Specification, c: Context): DType | null {
  switch (s.kind) {
    case "input":
      return c.manifest.inputs.find((t) => t.name === s.name)!.dtype;
    case "cast":
    case "rounded":
      return s.dtype;
    case "compare":
      return "bool";
    case "iota":
      return "i32";
    default: {
      const parts = s.kind === "select" ? [s.a, s.b] : partsOfSpecification(s);
      return parts.reduce<DType | null>((found, p) => found ?? dtypeOf(p, c), null);
    }
  }
}

const replicated: Layout = { kind: "replicated" };
const sharded = (dim: number): Layout => ({ kind: "sharded", dim });
const partialSum: Layout = { kind: "partial", op: "sum" };

/** A layout that the value may be computed in, and those its operands must have for that. */
interface Way {
  readonly result: Layout;
  readonly operands: readonly (readonly [Specification, Layout])[];
}

function waysTo(s: Specification, target: Layout, c: Context): Way[] {
  const rank = shapeOf(s, c).length;
  const cuts = Array.from({ length: rank }, (_, d) => sharded(d));
  const parts = partsOfSpecification(s);
  const same = (layouts: readonly Layout[]): Way[] =>
    layouts.map((result) => ({ result, operands: parts.map((p) => [p, within(result, p, rank, c)] as const) }));
  switch (s.kind) {
    case "matmul": {
      const [a, b] = [shapeOf(s.a, c).length, shapeOf(s.b, c).length];
      const way = (result: Layout, left: Layout, right: Layout): Way => ({
        result,
        operands: [
          [s.a, left],
          [s.b, right],
        ],
      });
      return [
        way(replicated, replicated, replicated),
        way(sharded(rank - 2), sharded(a - 2), replicated),
        way(sharded(rank - 1), replicated, sharded(b - 1)),
        way(partialSum, sharded(a - 1), sharded(b - 2)),
        ...same(cuts.slice(0, -2)),
      ];
    }
    case "fold": {
      const along = cuts.filter((_, d) => d !== s.dim);
      const sums = s.fn === "sum" || s.fn === "mean";
      return [
        ...same([replicated, ...along, ...(sums ? [partialSum] : [])]),
        ...(sums ? [{ result: partialSum, operands: [[s.a, sharded(s.dim)] as const] }] : []),
      ];
    }
    case "permute":
      return [
        ...same([target, replicated].filter((l) => l.kind !== "sharded")),
        ...s.order.map((from, d) => ({ result: sharded(d), operands: [[s.a, sharded(from)] as const] })),
      ];
    case "reshape":
      return same([replicated, ...(rank > 0 ? [sharded(0)] : [])]);
    case "binary": {
      // Sums pass through addition; other functions need whole values.
      const isLinear = s.fn === "add" || s.fn === "sub";
      return same([target, replicated, ...cuts, partialSum].filter((l) => l.kind !== "partial" || isLinear));
    }
    default:
      return same([target, replicated, ...cuts].filter((l) => l.kind !== "partial"));
  }
}

/** The layout of an operand that is broadcast: dimensions are matched from the last one. */
function within(layout: Layout, operand: Specification, rank: number, c: Context): Layout {
  if (layout.kind !== "sharded") return layout;
  const shape = shapeOf(operand, c);
  const dim = layout.dim - rank + shape.length;
  return (shape[dim] ?? 1) === 1 ? replicated : sharded(dim);
}

/** The cheapest of computing the value in one of these ways and then converting it to `target`. */
function least(ways: readonly Way[], target: Layout, s: Specification, c: Search): Moves | null {
  const shape = shapeOf(s, c);
  const bytes = shape.reduce((a, b) => a * b, DTYPES[dtypeOf(s, c) ?? "f32"].bytes);
  let best: Moves | null = null;
  let fewest = Infinity;
  for (const { result, operands } of ways) {
    if (result.kind === "sharded" && (shape[result.dim] ?? 1) % c.n !== 0) continue;
    const parts = [...operands.map(([a, wanted]) => cheapest(a, wanted, c)), moving(s, result, target, bytes, c)];
    if (parts.includes(null)) continue;
    const total = together(parts as Moves[]);
    const { busBytes } = sumOf(new Map([...total].filter(([key]) => !c.there.has(key))));
    if (busBytes < fewest) [best, fewest] = [total, busBytes];
  }
  return best;
}

/** One value's change of layout; it is the same one whoever needs it. */
function moving(s: Specification, from: Layout, to: Layout, bytes: number, c: Context): Moves | null {
  const traffic = convert(from, to, bytes, c.n);
  if (traffic === null || traffic.algorithmBytes === 0) return traffic && noMoves;
  let number = c.numbers.get(s);
  if (number === undefined) c.numbers.set(s, (number = c.numbers.size));
  return new Map([[`${number} ${printLayout(from)} ${printLayout(to)} ${bytes}`, traffic]]);
}

function shapeOf(s: Specification, c: Context): readonly number[] {
  const input = (name: string): number[] =>
    c.manifest.inputs.find((t) => t.name === name)!.shape.map((e) => evaluateExtent(e, c.dims));
  return shapeOfSpecification(s, { input, extent: (e) => evaluateExtent(e, c.dims) }, c.shapes);
}

/** Traffic of one change of layout of a tensor of `bytes` logical bytes over `n` ranks. */
export function convert(from: Layout, to: Layout, bytes: number, n: number): Traffic | null {
  const moves = (factor: number, size = bytes): Traffic => ({ algorithmBytes: size, busBytes: size * factor });
  if (from.kind === "local" || to.kind === "local") return null;
  if (printLayout(from) === printLayout(to) || from.kind === "replicated" || n === 1) return none;
  const share = (n - 1) / n;
  switch (`${from.kind} ${to.kind}`) {
    case "partial replicated":
      return moves(2 * share);
    case "sharded replicated":
    case "partial sharded":
    case "sharded on":
    case "on sharded":
      return moves(share);
    case "sharded sharded":
      return moves(share, bytes / n);
    case "on replicated":
    case "partial on":
    case "on on":
      return moves(1);
    case "sharded partial":
    case "on partial":
      // Zeros elsewhere are no traffic.
      return none;
    default:
      return null;
  }
}
