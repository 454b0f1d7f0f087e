/**
 * What a graph means, in float64: a small witness that shares no code with the checker, the lowering and the prover. It works on the
 * logical tensors: inputs are put together from what the ranks hold, conversions of layout are the identity, and an output is cut
 * into what each rank must hold. Roundings to dtypes are left out, but for casts to whole numbers.
 */
import { UsageError } from "../../errors.js";
import { DTYPES, isDType } from "../types/dtype.js";
import { type DimValues, evaluateExtent } from "../types/extent.js";
import { build, type Dense, dense, FUNCTIONS, joined, map, PAIRS, part, permuted, product, reduction, reshaped, scalar, shard } from "./arrays.js"; // prettier-ignore
import type { Graph, GraphExtent, GraphNode, GraphOperand } from "./graph.js";

/** What each rank must hold of an output; null of a rank whose memory means nothing, and of all where the reduction counts. */
export interface Evaluated {
  readonly layout: string;
  readonly parts: readonly (Dense | null)[];
  /** The whole; of `local` outputs, rank 0's. */
  readonly logical: Dense;
}

type Held = Readonly<Record<string, readonly ArrayLike<number>[]>>;

/**
 * Evaluates a graph.
 * @param inputs by id, what each rank holds, row-major
 * @param graph with declared outputs, and no dtype variables in casts to whole numbers
 * @param dims and numbers of the launch
 * @param mesh its axes, the outermost first
 */
export function evaluateGraph(
  graph: Graph,
  ranks: number,
  dims: DimValues,
  inputs: Held,
  mesh: readonly Axis[] = [],
): Record<string, Evaluated> {
  const length = (e: GraphExtent): number => evaluateExtent(e, { ...dims, world: ranks });
  const all = Array.from({ length: ranks }, (_, rank) => rank);
  const runs = all.map((rank) => run(graph, rank, ranks, inputs, length, dims, mesh));
  return Object.fromEntries(
    graph.outputs.map(({ id, layout }) => {
      if (layout === undefined) throw new UsageError(`output '${id}' has no layout: give it`);
      const parts = all.map((rank): Dense | null => {
        let part: Dense | null = runs[rank]!.get(id)!;
        const at = coordinates(rank, ranks, mesh);
        for (const { axis, kind, argument } of placementsOf(layout, mesh)) {
          const [own, size] = axis === null ? [rank, ranks] : [at.get(axis)!, mesh.find((a) => a.name === axis)!.size];
          if (kind === "partial" || (kind === "on" && Number(argument) !== own)) part = null;
          else if (part !== null && kind === "sharded") part = shard(part, Number(argument), own, size);
        }
        return part;
      });
      return [id, { layout, parts, logical: runs[0]!.get(id)! }];
    }),
  );
}

/** An axis of the grid of ranks. */
interface Axis {
  readonly name: string;
  readonly size: number;
}

interface Placed {
  /** Null: of all ranks. */
  readonly axis: string | null;
  readonly kind: string;
  readonly argument: string;
}

/** What a layout says of each axis, the outermost first, or of all ranks. Of axes that it does not name: a value each. */
function placementsOf(text: string, mesh: readonly Axis[]): Placed[] {
  const written = [...text.matchAll(/(\w+)(?:\(([^)]*)\))?/g)].map(([, kind, inside = ""]): Placed => {
    const names = inside.split(",").map((a) => a.trim());
    const last = names.at(-1)!;
    const axis = mesh.some((a) => a.name === last) ? last : null;
    return { axis, kind: kind!, argument: axis !== null && names.length === 1 ? "" : names[0]! };
  });
  if (written.length === 1 && written[0]!.axis === null) return written;
  return mesh.map(({ name }) => written.find((p) => p.axis === name) ?? { axis: name, kind: "local", argument: "" });
}

/** A rank's place along each axis, the last the fastest. */
function coordinates(rank: number, ranks: number, mesh: readonly Axis[]): Map<string, number> {
  const at = new Map<string, number>();
  let rest = rank;
  for (const { name, size } of mesh.toReversed()) {
    at.set(name, rest % size);
    rest = Math.floor(rest / size);
  }
  return at;
}

/** Values by id, as rank `rank` sees them: only `local` tensors differ. */
function run(
  graph: Graph,
  rank: number,
  ranks: number,
  inputs: Held,
  length: (e: GraphExtent) => number,
  numbers: DimValues,
  mesh: readonly Axis[],
): Map<string, Dense> {
  const values = new Map<string, Dense>();
  for (const { id } of graph.scalars ?? []) values.set(id, scalar(numbers[id]!));
  for (const { id, shape, layout } of graph.inputs) {
    const lengths = shape.map(length);
    const placements = placementsOf(layout, mesh);
    const sizeOf = (axis: string | null): number => (axis === null ? ranks : mesh.find((a) => a.name === axis)!.size);
    const own = lengths.map((n, d) =>
      placements.reduce((m, p) => (p.kind === "sharded" && Number(p.argument) === d ? m / sizeOf(p.axis) : m), n),
    );
    const held = inputs[id]!.map((data) => dense(own, data));
    // What lies along the inner axes is put together first.
    const whole = (level: number, at: ReadonlyMap<string, number>): Dense => {
      const placed = placements[level];
      if (placed === undefined)
        return held[mesh.length === 0 ? at.get("")! : mesh.reduce((r, a) => r * a.size + at.get(a.name)!, 0)]!;
      const { axis, kind, argument } = placed;
      if (axis === null) return logicalOf(kind, argument, held, rank);
      const along = Array.from({ length: sizeOf(axis) }, (_, i) => whole(level + 1, new Map(at).set(axis, i)));
      return logicalOf(kind, argument, along, coordinates(rank, ranks, mesh).get(axis)!);
    };
    values.set(id, whole(0, coordinates(rank, ranks, mesh)));
  }
  const operand = (x: GraphOperand): Dense => {
    if (typeof x === "number") return scalar(x);
    const found = values.get(x);
    if (found !== undefined) return found;
    return operand(graph.outputs.find((o) => o.id === x)!.value); // an output, named before the end
  };
  for (const node of graph.nodes) values.set(node.id, evaluateNode(node, node.inputs.map(operand), length));
  const outputs = graph.outputs.map(({ id, value, shape }) => {
    const v = operand(value);
    // A number fills the output.
    return [id, typeof value === "number" ? map((x) => x, v, dense(shape!.map(length))) : v] as const;
  });
  return new Map([...values, ...outputs]);
}

function logicalOf(kind: string, argument: string, held: readonly Dense[], rank: number): Dense {
  switch (kind) {
    case "sharded":
      return joined(held, Number(argument));
    case "partial": {
      const fn = { sum: "add", avg: "add", min: "min", max: "max", prod: "mul" }[argument]!;
      const total = held.reduce((a, b) => map(PAIRS[fn]!, a, b));
      return argument === "avg" ? map((x) => x / held.length, total) : total;
    }
    case "on":
      return held[Number(argument)]!;
    case "local":
      return held[rank]!;
    default:
      return held[0]!;
  }
}

function evaluateNode(node: GraphNode, inputs: readonly Dense[], length: (e: GraphExtent) => number): Dense {
  const { op, dim, dtype } = node;
  const [a, b, c] = inputs as [Dense, Dense, Dense];
  if (dim !== undefined && ["sum", "mean", "prod", "min", "max"].includes(op)) return reduction(op, a, dim);
  if (Object.hasOwn(PAIRS, op)) return map(PAIRS[op]!, a, b);
  if (Object.hasOwn(FUNCTIONS, op)) return map(FUNCTIONS[op]!, a);
  if (op === "iota") return build(node.shape!.map(length), (index) => index[dim ?? 0]!);
  const { shape } = a;
  switch (op) {
    case "matmul":
      return product(a, b);
    case "where":
      return map((x, y, z) => (x !== 0 ? y : z), a, b, c);
    case "cast":
      if (dtype === "bool") return map((x) => Number(x !== 0), a);
      return isDType(dtype!) && DTYPES[dtype].kind === "int" ? map(Math.trunc, a) : a;
    case "transpose":
      return permuted(a, [...shape.slice(0, -2).keys(), shape.length - 1, shape.length - 2]);
    case "permute":
      return permuted(a, node.order!);
    case "reshape":
      return reshaped(a, node.shape!.map(length));
    case "repeat":
      return build(shape.map((n, d) => (d === dim ? n * node.times! : n)), (index) => {
        const of = index.map((i, d) => (d === dim ? Math.floor(i / node.times!) : i));
        return a.data[of.reduce((at, i, d) => at * shape[d]! + i, 0)]!;
      }); // prettier-ignore
    case "concat":
      return joined(inputs, dim!);
    case "slice": {
      const bounds = node.ranges!.map(({ from, to }, d) => [from === undefined ? 0 : length(from), to === undefined ? shape[d]! : length(to)] as const); // prettier-ignore
      return part(a, bounds.map(([from]) => from), bounds.map(([from, to]) => to - from)); // prettier-ignore
    }
    case "all_reduce":
    case "reduce_scatter":
    case "reduce":
    case "all_gather":
    case "gather":
    case "all_to_all":
    case "broadcast":
    case "scatter":
      return a;
    default:
      throw new UsageError(`the float64 reference does not know '${op}'`);
  }
}
