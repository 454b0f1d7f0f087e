/**
 * What an FX graph means, in float64: every rank computes what its nodes say, conversions exchange. A witness of its own, which shares
 * nothing with the way from FX to graphs but plain loops over arrays. Roundings to dtypes are left out.
 */
import { UsageError } from "../../../errors.js";
import { DTYPES, isDType } from "../../types/dtype.js";
import { build, type Dense, dense, FUNCTIONS, joined, map, PAIRS, part, permuted, product, reduction, reshaped, scalar, shard } from "../arrays.js"; // prettier-ignore
import { dimsOf, normOf } from "./evaluate-norms.js";
import { dtypeOf, type FxArgument, type FxGraph, type FxNode, type FxRef, isRef } from "./fx.js";
import { positional } from "./parameters.js";

type Value = Dense | readonly Dense[];

/** Where a tensor lies: whose memory it is, and the place of each of its elements there. */
interface Place {
  readonly root: string;
  readonly at: Value;
}

/** Results that lie where their first argument does; of the second row, where its elements follow one another. */
const VIEWS = new Set("wait_tensor getitem view _unsafe_view unsqueeze squeeze alias detach expand t transpose permute slice select split split_with_sizes chunk unbind".split(" ")); // prettier-ignore
const VIEWS_OF_ROWS = new Set(["reshape", "flatten", "contiguous"]);

const TWO: Readonly<Record<string, string>> = {
  add: "add", sub: "sub", mul: "mul", div: "div", minimum: "min", maximum: "max", pow: "pow",
  eq: "eq", ne: "ne", lt: "lt", le: "le", gt: "gt", ge: "ge", logical_and: "and", logical_or: "or",
}; // prettier-ignore
const FOLDED: Readonly<Record<string, string>> = { sum: "sum", mean: "mean", amax: "max", amin: "min", prod: "prod" };

/**
 * The values of a graph's nodes on every rank, one node after the other. A graph does not say which ranks its process groups are made
 * of: here they are the axes of a grid, the first group's ranks beside each other, so that no two groups are alike.
 */
export class FxReference {
  /** How many ranks there are. */
  readonly world: number;
  /** By node, rank by rank. */
  readonly values = new Map<string, readonly Value[]>();
  /** By process group, how far its ranks lie apart. */
  private readonly strides = new Map<string, number>();
  private readonly places = new Map<string, Place>();
  /** By node that has changed a list of tensors in place, and gives it back, the names of those. */
  private readonly changedLists = new Map<string, readonly string[]>();

  /** @param rounded what is stored of what a node gives */
  constructor(
    private readonly fx: FxGraph<number>,
    private readonly rounded: (value: Dense, node: FxNode<number>) => Dense = (value) => value,
  ) {
    let world = 1;
    for (const [group, ranks] of Object.entries(fx.groups)) {
      this.strides.set(group, world);
      world *= ranks;
    }
    this.world = world;
  }

  /** The ranks that are in a process group with one of them, in the group's order. */
  members(group: string, rank: number): number[] {
    const [ranks, stride] = [this.fx.groups[group]!, this.strides.get(group)!];
    const first = rank - (Math.floor(rank / stride) % ranks) * stride;
    return Array.from({ length: ranks }, (_, i) => first + i * stride);
  }

  /** A tensor that a node gives on a rank. */
  tensor(name: string, rank: number): Dense {
    const value = this.values.get(name)?.[rank];
    if (value === undefined || !("data" in value)) throw new UsageError(`'${name}' is no tensor`);
    return value;
  }

  /** Evaluates all nodes. @param inputs by placeholder, what each rank holds, row-major */
  run(inputs: Readonly<Record<string, readonly ArrayLike<number>[]>>): Dense[][] {
    for (const node of this.fx.nodes) {
      if (node.op === "placeholder")
        this.give(node.name, inputs[node.name]!.map((data) => dense(node.shape!, data))); // prettier-ignore
      else if (node.op === "call_function") this.step(node);
    }
    return outputsOf(this.fx).map((name) => Array.from({ length: this.world }, (_, rank) => this.tensor(name, rank)));
  }

  step(written: FxNode<number>): void {
    const node = positional(written) as FxNode<number> | string;
    if (typeof node === "string") throw new UsageError(`the float64 reference does not evaluate '${written.name}': ${node}`, "evaluate the graph without it"); // prettier-ignore
    const target = node.target!.replace(/^torch\.ops\./, "");
    const [space, said = target] = target.split(".");
    const name = said.replace(/([^_])_$|_out$/, "$1");
    const of = (rank: number): Value => {
      const found = space === "_c10d_functional" && name !== "wait_tensor" ? this.exchanged(node, name, rank) : this.call(node, target, name, (x) => this.values.get(x)![rank]!); // prettier-ignore
      return "data" in found ? this.rounded(found, node) : found;
    };
    const results = Array.from({ length: this.world }, (_, rank) => of(rank));
    const refs = (node.args ?? []).filter(isRef);
    const [first] = node.args ?? [];
    if (name !== said && Array.isArray(first)) {
      const changed = first.filter(isRef).map((x: FxRef) => x.node);
      changed.forEach((x, i) => this.change(x, x, results.map((list) => (list as readonly Dense[])[i]!))); // prettier-ignore
      this.changedLists.set(node.name, changed);
      return this.give(node.name, results);
    }
    const own = name === "getitem" ? this.changedLists.get(refs[0]!.node)?.[Number(node.args![1])] : undefined;
    if (own !== undefined) {
      this.values.set(node.name, this.values.get(own)!);
      this.places.set(node.name, this.places.get(own)!);
      return;
    }
    if (name !== said) return this.change(said.endsWith("_out") ? refs.at(-1)!.node : refs[0]!.node, node.name, results as Dense[]); // prettier-ignore
    const source = refs.length === 0 ? undefined : this.places.get(refs[0]!.node);
    const isInOrder = (at: Value): boolean => "data" in at && at.data.every((place, i) => place === at.data[0]! + i);
    if (source === undefined || !(VIEWS.has(name) || (VIEWS_OF_ROWS.has(name) && isInOrder(source.at)))) return this.give(node.name, results); // prettier-ignore
    this.values.set(node.name, results);
    this.places.set(node.name, { root: source.root, at: this.call(node, target, name, (x) => this.places.get(x)!.at) });
  }

  /** A value in memory of its own. */
  give(name: string, values: readonly Value[]): void {
    const [first] = values as [Value];
    this.values.set(name, values);
    if ("data" in first) this.places.set(name, { root: name, at: dense(first.shape, first.data.map((_, i) => i)) }); // prettier-ignore
  }

  /** Stores results where a tensor lies, which is what the node is from then on. All that lies there has other elements. */
  private change(target: string, node: string, results: readonly Dense[]): void {
    const place = this.places.get(target)!;
    this.places.set(node, place);
    const memory = (this.values.get(place.root) as readonly Dense[]).map(({ data }) => Float64Array.from(data));
    results.forEach(({ data }, rank) => data.forEach((x, i) => (memory[rank]![(place.at as Dense).data[i]!] = x)));
    const taken = ({ shape, data }: Dense, rank: number): Dense => dense(shape, data.map((i) => memory[rank]![i]!)); // prettier-ignore
    for (const [name, { root, at }] of this.places)
      if (root === place.root) this.values.set(name, memory.map((_, rank) => ("data" in at ? taken(at, rank) : at.map((part) => taken(part, rank))))); // prettier-ignore
  }

  /** What a rank has of an exchange with the others of its group; of a list, of each tensor. */
  private exchanged(node: FxNode<number>, name: string, rank: number): Value {
    const { args = [] } = node;
    const [first] = args;
    if (!name.endsWith("_coalesced")) return this.exchange(node, name, rank);
    const each = name.replace("_coalesced", "");
    return (first as readonly FxArgument[]).map((x) => this.exchange({ ...node, args: [x, ...args.slice(1)] }, each, rank)); // prettier-ignore
  }

  private exchange({ args = [] }: FxNode<number>, name: string, rank: number): Dense {
    // The group is the last text; a reduction stands second, as the root of a broadcast does.
    const group = args.findLast((a): a is string => typeof a === "string")!;
    const [, second] = args;
    const members = this.members(group, rank);
    const [own, ranks] = [members.indexOf(rank), members.length];
    const all = members.map((r) => this.tensor((args[0] as { node: string }).node, r));
    const reduced = (): Dense => {
      const fn = { sum: "add", avg: "add", max: "max", min: "min", product: "mul" }[String(second)]!;
      const total = all.reduce((a, b) => map(PAIRS[fn]!, a, b));
      return second === "avg" ? map((x) => x / ranks, total) : total;
    };
    switch (name) {
      case "all_reduce":
        return reduced();
      case "all_gather_into_tensor":
        return joined(all, 0);
      case "reduce_scatter_tensor":
        return shard(reduced(), 0, own, ranks);
      case "all_to_all_single":
        for (const sizes of args) if (Array.isArray(sizes) && sizes.some((n) => n !== sizes[0])) throw new UsageError(`the float64 reference has no all_to_all of uneven parts`); // prettier-ignore
        return joined(all.map((x) => shard(x, 0, own, ranks)), 0); // prettier-ignore
      case "broadcast":
        return all[Number(second)]!;
      default:
        throw new UsageError(`the float64 reference does not know _c10d_functional.${name}`);
    }
  }

  /** @param of values of other nodes */
  private call(node: FxNode<number>, target: string, name: string, of: (node: string) => Value): Value {
    const { args = [], shape } = node;
    const value = (a: FxArgument | undefined): Dense => {
      const found = isRef(a) ? of(a.node) : undefined;
      if (found !== undefined && "data" in found) return found;
      if (typeof a === "number" || typeof a === "boolean") return scalar(Number(a));
      if (a === "inf" || a === "-inf") return scalar(a === "inf" ? Infinity : -Infinity);
      throw new UsageError(`an argument of '${node.name}' is no tensor`);
    };
    const [a, b, c, d, e] = args;
    if (name.endsWith("getitem")) return (of((a as { node: string }).node) as readonly Dense[])[Number(b)]!;
    const scaledBy = (x: Dense, by: number): Dense => (by === 1 ? x : map((v) => v * by, x));
    if (name === "div" && c != null) return map((p, q) => (c === "floor" ? Math.floor(p / q) : Math.trunc(p / q)), value(a), value(b)); // prettier-ignore
    if (Object.hasOwn(TWO, name)) return map(PAIRS[TWO[name]!]!, value(a), scaledBy(value(b), Number(name === "div" ? 1 : (c ?? 1)))); // prettier-ignore
    if (name === "gelu" && b === "tanh") return map((x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))), value(a)); // prettier-ignore
    if (Object.hasOwn(FUNCTIONS, name)) return map(FUNCTIONS[name]!, value(a));
    if (Object.hasOwn(FOLDED, name)) {
      const x = value(a);
      const along = dimsOf(x, b);
      const kept = along.reduce((y, n) => reduction(FOLDED[name]!, y, n), x);
      return c === true
        ? kept
        : reshaped(
            kept,
            kept.shape.filter((_, n) => !along.includes(n)),
          );
    }
    const norm = normOf(node, name, value);
    if (norm !== null) return norm;
    switch (name) {
      case "mm":
      case "bmm":
      case "matmul": // prettier-ignore
        return product(value(a), value(b));
      case "addmm":
      case "baddbmm": // prettier-ignore
        return map(PAIRS["add"]!, scaledBy(value(a), Number(d ?? 1)), scaledBy(product(value(b), value(c)), Number(e ?? 1))); // prettier-ignore
      case "linear": {
        const y = product(value(a), permuted(value(b), [1, 0]));
        return c == null ? y : map(PAIRS["add"]!, y, value(c));
      }
      case "_scaled_mm": {
        const scale = (x: Dense): Dense => (x.shape.length === 0 ? reshaped(x, [1, 1]) : x);
        const y = map((p, q, r) => p * q * r, product(value(a), value(b)), scale(value(c)), scale(value(d)));
        return e == null ? y : map(PAIRS["add"]!, y, value(e));
      }
      case "view":
      case "reshape":
      case "_unsafe_view":
      case "unsqueeze":
      case "squeeze":
      case "flatten": // prettier-ignore
        return reshaped(value(a), shape!);
      case "wait_tensor":
      case "clone":
      case "contiguous":
      case "alias":
      case "detach": // prettier-ignore
        return value(a);
      case "empty":
        return dense(shape!);
      case "copy":
      case "fill": // prettier-ignore
        return map((_, x) => x, value(a), value(b));
      case "expand":
        return map((x) => x, value(a), dense(shape!));
      case "_to_copy":
      case "convert_element_type": {
        // prettier-ignore
        const dtype = dtypeOf(node.dtype);
        if (dtype === "bool") return map((x) => Number(x !== 0), value(a));
        return isDType(dtype) && DTYPES[dtype].kind === "int" ? map(Math.trunc, value(a)) : value(a);
      }
      case "t":
        return permuted(value(a), [1, 0]);
      case "transpose": {
        const x = value(a);
        const [p, q] = [dimsOf(x, b)[0]!, dimsOf(x, c)[0]!];
        return permuted(x, x.shape.map((_, n) => (n === p ? q : n === q ? p : n))); // prettier-ignore
      }
      case "permute":
        return permuted(value(a), dimsOf(value(a), b));
      case "slice":
      case "select": {
        // prettier-ignore
        const x = value(a);
        const dim = dimsOf(x, b ?? 0)[0]!;
        const length = x.shape[dim]!;
        const bound = (v: FxArgument | undefined, otherwise: number): number => Math.min(length, v == null ? otherwise : Number(v) < 0 ? Number(v) + length : Number(v)); // prettier-ignore
        const from = bound(c, 0);
        const to = name === "select" ? from + 1 : bound(d, length);
        const step = name === "select" ? 1 : Number(e ?? 1);
        const taken = part(x, x.shape.map((_, n) => (n === dim ? from : 0)), x.shape.with(dim, Math.ceil((to - from) / step)), x.shape.map((_, n) => (n === dim ? step : 1))); // prettier-ignore
        return reshaped(taken, shape!);
      }
      case "split":
      case "split_with_sizes": {
        // prettier-ignore
        const x = value(a);
        const dim = dimsOf(x, c ?? 0)[0]!;
        const length = x.shape[dim]!;
        const sizes = Array.isArray(b) ? b.map(Number) : Array.from({ length: Math.ceil(length / Number(b)) }, (_, i) => Math.min(Number(b), length - i * Number(b))); // prettier-ignore
        let at = 0;
        return sizes.map((n) => {
          const from = x.shape.map((_, k) => (k === dim ? at : 0));
          at += n;
          return part(x, from, x.shape.with(dim, n));
        });
      }
      case "cat": {
        const parts = (a as readonly FxArgument[]).map(value);
        return joined(parts, dimsOf(parts[0]!, b ?? 0)[0]!);
      }
      case "stack": {
        const dim = Number(b ?? 0) < 0 ? Number(b) + shape!.length : Number(b ?? 0);
        return joined((a as readonly FxArgument[]).map((x) => reshaped(value(x), shape!.with(dim, 1))), dim); // prettier-ignore
      }
      case "unbind": {
        const x = value(a);
        const dim = dimsOf(x, b ?? 0)[0]!;
        const own = x.shape.filter((_, n) => n !== dim);
        return Array.from({ length: x.shape[dim]! }, (_, i) => reshaped(part(x, x.shape.map((_, n) => (n === dim ? i : 0)), x.shape.with(dim, 1)), own)); // prettier-ignore
      }
      case "repeat": {
        const x = value(a);
        const all = reshaped(x, [...shape!.slice(x.shape.length).map(() => 1), ...x.shape]);
        return (b as readonly number[]).reduce((y, n, dim) => joined(Array.from({ length: n }, () => y), dim), all); // prettier-ignore
      }
      case "repeat_interleave": {
        const x = value(a);
        const dim = dimsOf(x, c)[0]!;
        return build(shape!, (index) => x.data[index.reduce((at, i, n) => at * x.shape[n]! + (n === dim ? Math.floor(i / Number(b)) : i), 0)]!); // prettier-ignore
      }
      case "glu": {
        const x = value(a);
        const dim = dimsOf(x, b ?? -1)[0]!;
        return map((v, gate) => v / (1 + Math.exp(-gate)), shard(x, dim, 0, 2), shard(x, dim, 1, 2));
      }
      case "fma":
        return map((x, y, z) => x * y + z, value(a), value(b), value(c));
      case "addcmul":
      case "addcdiv": // prettier-ignore
        return map((x, y, z) => x + Number(d ?? 1) * (name === "addcmul" ? y * z : y / z), value(a), value(b), value(c)); // prettier-ignore
      case "lerp":
        return map((x, y, by) => x + by * (y - x), value(a), value(b), value(c));
      case "full":
      case "full_like":
      case "scalar_tensor": // prettier-ignore
        return map((_, v) => v, dense(shape!), value(name === "scalar_tensor" ? a : b));
      case "arange":
      case "iota": {
        // prettier-ignore
        const [start, step] = name === "iota" ? [b, c] : [b == null ? 0 : a, c];
        return dense(
          shape!,
          Array.from({ length: shape![0]! }, (_, i) => Number(start ?? 0) + i * Number(step ?? 1)),
        );
      }
      case "rsub":
        return map((x, y) => y - Number(c ?? 1) * x, value(a), value(b));
      case "sign":
      case "sgn": // prettier-ignore
        return map(Math.sign, value(a));
      case "square":
        return map((x) => x ** 2, value(a));
      case "clamp":
      case "clamp_min":
      case "clamp_max": {
        // prettier-ignore
        const least = name === "clamp_max" ? null : b;
        const most = name === "clamp" ? c : name === "clamp_max" ? b : null;
        const bound = (v: FxArgument | undefined, otherwise: number): Dense => (v == null ? scalar(otherwise) : value(v)); // prettier-ignore
        return map((x, p, q) => Math.min(Math.max(x, p), q), value(a), bound(least, -Infinity), bound(most, Infinity));
      }
      case "masked_fill":
        return map((x, k, y) => (k === 0 ? x : y), value(a), value(b), value(c));
      case "bitwise_and":
        return map((p, q) => Number(BigInt(p) & BigInt(q)), value(a), value(b));
      case "bitwise_or":
        return map((p, q) => Number(BigInt(p) | BigInt(q)), value(a), value(b));
      case "bitwise_not":
        return map((p) => (node.dtype === "torch.bool" ? Number(p === 0) : -p - 1), value(a));
      case "reciprocal":
        return map((v) => 1 / v, value(a));
      case "where":
        return map((k, x, y) => (k !== 0 ? x : y), value(a), value(b), value(c));
      default:
        throw new UsageError(`the float64 reference does not know ${target}`);
    }
  }
}

/** Names of the nodes that a graph gives back. */
export function outputsOf(fx: FxGraph): string[] {
  const names: string[] = [];
  const visit = (a: FxArgument): void => {
    if (Array.isArray(a)) a.forEach(visit);
    else if (isRef(a)) names.push(a.node);
  };
  (fx.nodes.find((n) => n.op === "output")?.args ?? []).forEach(visit);
  return names;
}
