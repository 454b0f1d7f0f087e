/** Writes FX graphs as a dump has them, and runs what they are lowered to on emulated ranks, beside the float64 reference. */
import { expect } from "vitest";
import { dense, permuted, sizeOf } from "../../src/compiler/graph/arrays.js";
import { FxReference, outputsOf } from "../../src/compiler/graph/fx/evaluate.js";
import { atSizes, dtypeOf, FX_FORMAT, type FxArgument, type FxGraph, type FxNode, type FxSizeRange } from "../../src/compiler/graph/fx/fx.js"; // prettier-ignore
import { shapeAt, tidy } from "../../src/compiler/graph/fx/sizes.js";
import { lower, type Lowered, type LowerOptions } from "../../src/compiler/graph/index.js";
import { type DimValues, type DType, evaluateExtent, type Extent } from "../../src/compiler/index.js";
import { extent } from "../../src/compiler/types/extent.js";
import { requirementHolds } from "../../src/compiler/types/requirement.js";
import { CpuGroup } from "../../src/runtime/cpu/index.js";
import { allocate, decodeInto, encodeArray, fillPoison, type TypedArray } from "../../src/runtime/numbers/index.js";
import { eighths, expectClose } from "./support.js";

/** Numbers, or sums and products of sizes that only a launch knows. */
type Shape = readonly Extent[];
interface PlaceholderOptions {
  readonly replicated?: boolean;
  readonly strides?: Shape;
  readonly dtype?: string;
}

/** A region as torch's tracer leaves it: names in order, shapes of one rank. */
export class Dump {
  private readonly nodes: FxNode[] = [];
  private readonly counts = new Map<string, number>();
  private readonly groups: Record<string, number>;

  /** @param others process groups besides `tp`, which has all of the ranks that programs are for */
  constructor(
    readonly ranks: number,
    private readonly dtype = "float32",
    readonly name = "region",
    private readonly sizes: Readonly<Record<string, FxSizeRange>> = {},
    others: Readonly<Record<string, number>> = {},
  ) {
    this.groups = { tp: ranks, ...others };
  }

  input(name: string, shape: Shape, { dtype = this.dtype, ...rest }: PlaceholderOptions = {}): string {
    this.nodes.push({ name, op: "placeholder", shape, dtype: `torch.${dtype}`, ...rest });
    return name;
  }

  /** Arguments that name nodes become references; of other texts only names of groups and reductions are there. */
  call(
    target: string,
    args: readonly unknown[],
    shape: Shape | null,
    extra: { dtype?: string; kwargs?: Record<string, unknown> } = {},
  ): string {
    const base = target === "getitem" ? "getitem" : target.split(".")[1]!;
    const count = this.counts.get(base) ?? 0;
    this.counts.set(base, count + 1);
    const name = count === 0 && base.endsWith("_default") ? base : `${base}_${count + 1}`;
    const refer = (a: unknown): FxArgument =>
      Array.isArray(a)
        ? a.map(refer)
        : typeof a === "string" && this.nodes.some((n) => n.name === a)
          ? { node: a }
          : (a as FxArgument);
    const kwargs =
      extra.kwargs === undefined
        ? {}
        : { kwargs: Object.fromEntries(Object.entries(extra.kwargs).map(([k, v]) => [k, refer(v)])) };
    this.nodes.push({
      name,
      op: "call_function",
      target,
      args: args.map(refer),
      ...kwargs,
      ...(shape === null ? {} : { shape, dtype: `torch.${extra.dtype ?? this.dtype}` }),
    });
    return name;
  }

  shapeOf(name: string): Shape {
    return this.nodes.find((n) => n.name === name)!.shape!;
  }
  dtypeOf(name: string): string {
    return this.nodes.find((n) => n.name === name)!.dtype!.replace("torch.", "");
  }

  wait(x: string): string {
    return this.call("_c10d_functional.wait_tensor.default", [x], this.shapeOf(x), { dtype: this.dtypeOf(x) });
  }
  gather(x: string, group = "tp"): string {
    const [rows, ...rest] = this.shapeOf(x);
    const ranks = this.groups[group]!;
    return this.wait(
      this.call(
        "_c10d_functional.all_gather_into_tensor.default",
        [x, ranks, group],
        [tidy(extent("mul", ranks, rows!)), ...rest],
        { dtype: this.dtypeOf(x) },
      ),
    );
  }
  scatter(x: string, reduce = "sum", group = "tp"): string {
    const [rows, ...rest] = this.shapeOf(x);
    const ranks = this.groups[group]!;
    return this.wait(
      this.call(
        "_c10d_functional.reduce_scatter_tensor.default",
        [x, reduce, ranks, group],
        [tidy(extent("div", rows!, ranks)), ...rest],
      ),
    );
  }
  reduce(x: string, reduce = "sum", group = "tp"): string {
    return this.wait(this.call("_c10d_functional.all_reduce.default", [x, reduce, group], this.shapeOf(x)));
  }
  mm(a: string, b: string): string {
    return this.call("aten.mm.default", [a, b], [this.shapeOf(a)[0]!, this.shapeOf(b)[1]!]);
  }
  view(x: string, shape: Shape): string {
    return this.call("aten.view.default", [x, shape.map(lengthArgument)], shape, { dtype: this.dtypeOf(x) });
  }
  pointwise(fn: string, ...xs: (string | number)[]): string {
    const shapes = xs.flatMap((x) => (typeof x === "string" ? [this.shapeOf(x)] : []));
    const shape = shapes.reduce((a, b) =>
      a.length > b.length || (a.length === b.length && !b.some((n, d) => a[d] === 1 && n !== 1)) ? a : b,
    );
    return this.call(`aten.${fn}.${xs.length > 1 ? "Tensor" : "default"}`, xs, shape);
  }
  split(x: string, size: Extent, dim: number): string[] {
    const parts = this.call("aten.split.Tensor", [x, lengthArgument(size), dim], null);
    const shape = this.shapeOf(x).with(dim, size);
    return Array.from({ length: tidy(extent("div", this.shapeOf(x)[dim]!, size)) as number }, (_, i) =>
      this.call("getitem", [parts, i], shape, { dtype: this.dtypeOf(x) }),
    );
  }
  cat(parts: readonly string[], dim: number): string {
    const shape = this.shapeOf(parts[0]!);
    const length = parts.reduce<Extent>((sum, p) => extent("add", sum, this.shapeOf(p)[dim]!), 0);
    return this.call("aten.cat.default", [parts, dim], shape.with(dim, tidy(length)), {
      dtype: this.dtypeOf(parts[0]!),
    });
  }

  graph(...outputs: readonly string[]): FxGraph {
    const output: FxNode = { name: "output", op: "output", args: [outputs.map((node) => ({ node }))] };
    // As it comes from a file.
    return JSON.parse(
      JSON.stringify({
        format: FX_FORMAT,
        name: this.name,
        groups: this.groups,
        ...(Object.keys(this.sizes).length === 0 ? {} : { sizes: this.sizes }),
        nodes: [...this.nodes, output],
      }),
    ) as FxGraph;
  }
}

/** A length among arguments. */
export function lengthArgument(e: Extent): FxArgument {
  return typeof e === "number" ? e : { size: e };
}

/** Lowers, runs every step on emulated ranks, twice, and compares all results with float64. */
export function expectLowered(fx: FxGraph, options: LowerOptions): Lowered {
  const lowered = lower(fx, options);
  expectRuns(fx, lowered, {});
  return lowered;
}

/**
 * Runs what a graph was lowered to, as above, at sizes that only a launch knows; a program whose guards they break by what stays
 * instead of it. Returns the programs that were launched.
 */
export function expectRuns(symbolic: FxGraph, lowered: Lowered, sizes: DimValues): number {
  const fx = atSizes(symbolic, sizes);
  let launched = 0;
  const reference = new FxReference(fx);
  const all = Array.from({ length: reference.world }, (_, rank) => rank);
  /** By program, each group of ranks that runs it. */
  const groups = new Map(
    lowered.parts.flatMap((p) => {
      if (p.kind !== "program") return [];
      const teams = [...new Set(all.map((rank) => reference.members(p.group, rank).join(" ")))];
      const { kernel, manifest, source } = p.compiled;
      const run = teams.map((team) => ({
        members: team.split(" ").map(Number),
        group: new CpuGroup(kernel!, manifest!, { source, detectUnwritten: true }),
      }));
      return [[p, run] as const];
    }),
  );
  for (const launch of [1, 2]) {
    const inputs = Object.fromEntries(
      fx.nodes
        .filter((n) => n.op === "placeholder")
        .map((n, i) => [
          n.name,
          all.map((rank) =>
            rounded(
              eighths(launch * 31 + i * 101 + (n.replicated === true ? 0 : rank) * 1009, sizeOf(n.shape!)),
              n.dtype!,
            ),
          ),
        ]),
    );
    const whole = new FxReference(fx);
    whole.run(inputs);
    const run = new FxReference(fx, (v, n) => (n.dtype === undefined ? v : dense(v.shape, rounded(v.data, n.dtype))));
    const external = new Set(lowered.parts.flatMap((p) => (p.kind === "external" ? p.nodes : [])));
    // Waits and views are the caller's: whatever can be said by now.
    const sweep = (): void => {
      for (const n of fx.nodes) {
        if (n.op !== "call_function" || run.values.has(n.name)) continue;
        // What lies behind a change sees it.
        if (external.has(n.name) && /(_|_out)(\.\w+)?$/.test(n.target!)) return;
        if (external.has(n.name) || !isTransparent(n)) continue;
        try {
          run.step(n);
        } catch {
          /* what it is made of comes later */
        }
      }
    };
    for (const part of ["start", ...lowered.parts] as const) {
      if (part === "start") {
        for (const n of fx.nodes)
          if (n.op === "placeholder")
            run.give(
              n.name,
              inputs[n.name]!.map((data) => dense(n.shape!, data)),
            );
      } else if (part.kind === "external" || part.guards.some((g) => !requirementHolds(g, sizes)))
        for (const name of part.nodes) {
          sweep();
          run.step(fx.nodes.find((n) => n.name === name)!);
        }
      else {
        if (launch === 1) launched++;
        const dims = Object.fromEntries(Object.entries(part.dims).map(([dim, e]) => [dim, evaluateExtent(e, sizes)]));
        const held = all.map(() => ({
          inputs: {} as Record<string, TypedArray>,
          outputs: {} as Record<string, TypedArray>,
        }));
        part.inputs.forEach((b) => {
          for (const rank of all) {
            let value = run.tensor(b.tensor, rank);
            // Memory as it lies, the slowest dimension first.
            if (b.order !== undefined) value = permuted(value, b.order);
            held[rank]!.inputs[b.name] = encodeArray(b.dtype as DType, value.data);
          }
        });
        part.outputs.forEach((b) => {
          for (const h of held)
            h.outputs[b.name] = fillPoison(allocate(b.dtype as DType, sizeOf(shapeAt(b.shape, dims))));
        });
        for (const { members, group } of groups.get(part)!) group.run(members.map((rank) => held[rank]!), dims); // prettier-ignore
        part.outputs.forEach((b) => {
          run.give(
            b.tensor,
            held.map(
              (h) =>
              dense(fx.nodes.find((n) => n.name === b.tensor)!.shape!, decodeInto(b.dtype as DType, h.outputs[b.name]!, new Float64Array(h.outputs[b.name]!.length))), // prettier-ignore
            ),
          );
        });
      }
      sweep();
    }
    // What the caller has given is as it is left, too.
    const left = fx.nodes.filter((n) => n.op === "placeholder").map((n) => n.name);
    [...outputsOf(fx), ...left].forEach((name) => {
      const dtype = dtypeOf(fx.nodes.find((n) => n.name === name)!.dtype) as DType;
      for (const rank of all)
        expectClose(
          dtype,
          run.tensor(name, rank).data,
          whole.tensor(name, rank),
          `${fx.name}, ${all.length} ranks, sizes ${JSON.stringify(sizes)}, launch ${launch}, ${name}, rank ${rank}`,
          16,
        );
    });
  }
  return launched;
}

function isTransparent({ target = "" }: FxNode): boolean {
  return /wait_tensor|getitem|aten\.(view|reshape|t|transpose|permute|split|slice|select|unsqueeze|squeeze|_unsafe_view|clone|expand|unbind|repeat|repeat_interleave|alias|detach)\b/.test(
    target,
  );
}

function rounded(numbers: Float64Array, dtype: string): Float64Array {
  const name = dtypeOf(dtype);
  return decodeInto(name as DType, encodeArray(name as DType, numbers), new Float64Array(numbers.length));
}

/** What fused with what, by name: the parts of more than one node, and of one that is a program. */
export function fused(lowered: Lowered): string[] {
  return lowered.parts.flatMap((p) => (p.kind === "program" ? [p.nodes.join(" + ")] : []));
}

export function expectFused(lowered: Lowered, ...programs: readonly string[]): void {
  expect(fused(lowered)).toEqual(programs);
}
