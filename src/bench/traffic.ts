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
  evaluateExtent,
  printLayout,
  type DimValues,
  type DType,
  type Layout,
  type Manifest,
  type SignatureTensor,
  type Specification,
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
  const context: Context = { manifest, dims, n: manifest.ranks };
  let total = none;
  for (const [o, output] of manifest.outputs.entries()) {
    const specification = manifest.specification[o] ?? null;
    if (specification === null || specification.kind === "elements") return null;
    const moved = cheapest(specification, output.layout, output.dtype, context);
    if (moved === null) return null;
    total = add(total, moved);
  }
  if (total.algorithmBytes > 0) return total;
  // Nothing has to move (one rank, or replicated inputs): S is then what is computed.
  return { algorithmBytes: manifest.outputs.reduce((sum, t) => sum + logicalBytes(t, dims), 0), busBytes: 0 };
}

interface Context {
  readonly manifest: Manifest;
  readonly dims: DimValues;
  readonly n: number;
}

/** Bytes of a whole logical tensor. */
export function logicalBytes(tensor: Pick<SignatureTensor, "shape" | "dtype">, dims: DimValues): number {
  return tensor.shape.reduce<number>((n, e) => n * evaluateExtent(e, dims), DTYPES[tensor.dtype].bytes);
}

/** The least that moves so that the value lies in `target`; null if the formulas above do not cover it. */
function cheapest(s: Specification, target: Layout, dtype: DType, c: Context): Traffic | null {
  switch (s.kind) {
    case "constant":
      return none;
    case "input": {
      const tensor = c.manifest.inputs.find((t) => t.name === s.name)!;
      return convert(tensor.layout, target, logicalBytes(tensor, c.dims), c.n);
    }
    case "unary":
      return least(candidates(target, false), (layout) => [[s.a, layout]], target, s, dtype, c);
    case "binary":
      // Sums pass through addition; other functions need whole values.
      return least(
        candidates(target, s.fn === "add" || s.fn === "sub"),
        (layout) => [
          [s.a, layout],
          [s.b, layout],
        ],
        target,
        s,
        dtype,
        c,
      );
    case "matmul":
      return least(
        [...matmulLayouts.keys()],
        (layout) => {
          const [a, b] = matmulLayouts.get(layout)!;
          return [
            [s.a, a],
            [s.b, b],
          ];
        },
        target,
        s,
        dtype,
        c,
      );
  }
}

const replicated: Layout = { kind: "replicated" };
const sharded = (dim: number): Layout => ({ kind: "sharded", dim });
const partialSum: Layout = { kind: "partial", op: "sum" };

/** Layout of a product, and those its operands must have. */
const matmulLayouts = new Map<Layout, readonly [a: Layout, b: Layout]>([
  [replicated, [replicated, replicated]],
  [sharded(0), [sharded(0), replicated]],
  [sharded(1), [replicated, sharded(1)]],
  [partialSum, [sharded(1), sharded(0)]],
]);

function candidates(target: Layout, linear: boolean): Layout[] {
  const all = [target, replicated, sharded(0), sharded(1), ...(linear ? [partialSum] : [])];
  return all.filter((layout) => layout.kind !== "partial" || linear);
}

/** The cheapest of computing the value in one of `layouts` and then converting it to `target`. */
function least(
  layouts: readonly Layout[],
  operands: (layout: Layout) => readonly (readonly [Specification, Layout])[],
  target: Layout,
  s: Specification,
  dtype: DType,
  c: Context,
): Traffic | null {
  const shape = shapeOf(s, c);
  const bytes = shape.reduce((a, b) => a * b, DTYPES[dtype].bytes);
  let best: Traffic | null = null;
  for (const layout of layouts) {
    if (layout.kind === "sharded" && (shape[layout.dim] ?? 1) % c.n !== 0) continue;
    const parts = [
      ...operands(layout).map(([a, wanted]) => cheapest(a, wanted, dtype, c)),
      convert(layout, target, bytes, c.n),
    ];
    if (parts.includes(null)) continue;
    const total = (parts as Traffic[]).reduce(add, none);
    if (best === null || total.busBytes < best.busBytes) best = total;
  }
  return best;
}

function shapeOf(s: Specification, c: Context): number[] {
  switch (s.kind) {
    case "constant":
      return [];
    case "input":
      return c.manifest.inputs.find((t) => t.name === s.name)!.shape.map((e) => evaluateExtent(e, c.dims));
    case "unary":
      return shapeOf(s.a, c);
    case "binary": {
      const [a, b] = [shapeOf(s.a, c), shapeOf(s.b, c)];
      return a.length >= b.length ? a : b;
    }
    case "matmul":
      return [shapeOf(s.a, c)[0] ?? 1, shapeOf(s.b, c)[1] ?? 1];
  }
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
