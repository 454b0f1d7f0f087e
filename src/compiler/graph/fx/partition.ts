/** What a region becomes, as data: steps, bindings, verdicts. */
import type { CompileResult } from "../../compiled.js";
import type { Graph } from "../graph.js";
import { type DimValues, type Extent, extentNames } from "../../types/extent.js";
import type { Requirement } from "../../types/requirement.js";
import type { BufferPlan } from "./buffers.js";
import type { FxSizeRange } from "./fx.js";
import type { SizeTimes } from "./times.js";

/** One input or output of a program and the FX tensor that it is. */
export interface Binding {
  /** Of the graph. */
  readonly id: string;
  /** Of the program's manifest. */
  readonly name: string;
  /** FX node; its value on each rank, row-major and contiguous, but for a placeholder whose memory is taken as it lies. */
  readonly tensor: string;
  /** The program's, of its dimensions: folds leave lengths of 1 in it, which `tensor` may not have; the elements lie as they do there. */
  readonly shape: readonly Extent[];
  /** Of a placeholder whose memory is taken as it lies: the dimensions of `tensor`, the slowest first; `shape` is in this order. */
  readonly order?: readonly number[];
  readonly dtype: string;
  /** Peers reach it, so it must lie in symmetric memory. */
  readonly isSymmetric: boolean;
}

/** A step of the partition. Steps stand in the order in which they are launched, on one stream. */
export type Part = {
  /** FX nodes that it carries out; the caller sees to views. */
  readonly nodes: readonly string[];
  /** Predicted, or measured by the caller. */
  readonly seconds: number;
  /** What the caller's own way takes, node by node. */
  readonly baseline: number;
  /** What to do where the program cannot be used: an NCCL call for a conversion, the caller's own kernel for the rest. */
  readonly fallback: readonly { readonly node: string; readonly by: "nccl" | "caller" }[];
} & (ProgramPart | { readonly kind: "external"; readonly by: "nccl" | "caller"; readonly why: string });

export interface ProgramPart {
  readonly kind: "program";
  /** The process group whose ranks run it. */
  readonly group: string;
  readonly graph: Graph;
  readonly compiled: CompileResult;
  /** By dimension of the program, what it is of the FX graph's sizes; none where all sizes are known. */
  readonly dims: Readonly<Record<string, Extent>>;
  /** What must hold of the FX graph's sizes at a launch; where it does not, `fallback` is what can be done. */
  readonly guards: readonly Requirement[];
  /** By size that the program depends on: what it and the caller's own way take over the range, other sizes as under `at`. */
  readonly times: readonly SizeTimes[];
  readonly inputs: readonly Binding[];
  readonly outputs: readonly Binding[];
}

/** A place where two nodes could have become one program, and what came of it. */
export interface EdgeVerdict {
  readonly from: string;
  readonly to: string;
  readonly isFused: boolean;
  /** Follows "fused: " or "not fused because ". */
  readonly why: string;
  /** Seconds of both in one program, and of the parts that they were in; null where no such program can be. */
  readonly together: number | null;
  readonly apart: number | null;
}

export interface Lowered {
  readonly name: string;
  readonly ranks: number;
  readonly machine: string;
  /** The architecture that programs are for, where `machine` is of another one, so that times are another machine's; else null. */
  readonly standsFor: string | null;
  /** Where conversions by themselves were measured, and when; null where their times are predicted. */
  readonly conversions: string | null;
  /** How the caller runs what stays with it: each node as a kernel, or elementwise operations together. */
  readonly caller: "nodes" | "kernels";
  /** Sizes of the FX graph that only a launch knows, and the values of them that times, verdicts and memory are given for. */
  readonly sizes: Readonly<Record<string, FxSizeRange>>;
  readonly at: DimValues;
  readonly parts: readonly Part[];
  readonly edges: readonly EdgeVerdict[];
  /** FX tensors that must lie in symmetric memory. */
  readonly symmetric: readonly string[];
  readonly buffers: BufferPlan;
  /** Predicted seconds of all steps, and of the caller's own way. */
  readonly seconds: number;
  readonly baseline: number;
}

/** A graph without the names in it. */
export function shapeOf({ inputs, nodes, outputs, ...rest }: Graph): string {
  const numbers = new Map([...inputs, ...nodes, ...outputs].map(({ id }, i) => [id, `#${i}`]));
  const plain = (x: string | number): string | number => (typeof x === "string" ? (numbers.get(x) ?? x) : x);
  return JSON.stringify({
    ...rest,
    name: "",
    inputs: inputs.map((t) => ({ ...t, id: plain(t.id) })),
    nodes: nodes.map((n) => ({ ...n, id: plain(n.id), inputs: n.inputs.map(plain) })),
    outputs: outputs.map((o) => ({ ...o, id: plain(o.id), value: plain(o.value) })),
  });
}

/** The dimensions of a graph. */
export function namesIn({ inputs }: Graph): string[] {
  return [...new Set(inputs.flatMap((t) => t.shape.flatMap((e) => [...extentNames(e)])))];
}

/** Seconds as people read them, of three digits or more: "8.28 µs", "1482 µs", "37.1 ms". */
export function us(seconds: number): string {
  const [unit, factor] = seconds < 0.01 ? ["µs", 1e6] : seconds < 10 ? ["ms", 1e3] : ["s", 1];
  const value = seconds * factor;
  return `${value < 100 ? value.toPrecision(3) : Math.round(value)} ${unit}`;
}
