/** An FX graph as JSON: what a PyTorch pass dumps of a region, one process' view of it, with shapes of that process. */
import { UsageError } from "../../../errors.js";
import { checkOf } from "../../../json-schema.js";
import { type DType, DTYPE_NAMES } from "../../types/dtype.js";
import { type DimValues, evaluateExtent, type Extent, extentNames } from "../../types/extent.js";
import { RELATION_SIGNS } from "../../types/requirement.js";
import type { GraphRequirement } from "../graph.js";
import { inWords } from "../schema.js";
import { isFree } from "../syntax.js";

/** Another node's value, as an argument. */
export interface FxRef {
  readonly node: string;
}

/** A size that only a launch knows, as an argument: torch's SymInt. */
export interface FxSize {
  readonly size: Extent;
}

export type FxArgument = null | boolean | number | string | FxRef | FxSize | readonly FxArgument[];

/** What is known of a size before a launch: its limits, both included, and what it was when the graph was made. */
export interface FxSizeRange {
  readonly min?: number;
  readonly max?: number;
  readonly hint?: number;
}

/** `Length`: of what shapes are made; numbers alone where all sizes are known. */
export interface FxNode<Length extends Extent = Extent> {
  readonly name: string;
  readonly op: "placeholder" | "call_function" | "output";
  /** `aten.mm.default`, `_c10d_functional.all_reduce.default`, `getitem`. */
  readonly target?: string;
  readonly args?: readonly FxArgument[];
  readonly kwargs?: Readonly<Record<string, FxArgument>>;
  /** Of the result on this rank; none for what is no tensor, such as `split`. */
  readonly shape?: readonly Length[];
  /** As torch writes it, `torch.bfloat16` or `bfloat16`, or as collc does. */
  readonly dtype?: string;
  /** In elements; row-major where left out. */
  readonly strides?: readonly Length[];
  /** Of a placeholder: the caller says that every rank holds the same, as of the weight of a norm. */
  readonly replicated?: boolean;
  /** Of a call: nodes among its arguments whose memory it changes, where its target does not say so, as `copy_` and `out=` do. */
  readonly mutates?: readonly string[];
}

export interface FxGraph<Length extends Extent = Extent> {
  readonly format: typeof FX_FORMAT;
  readonly name?: string;
  /** Process groups by name, and how many ranks each has. */
  readonly groups: Readonly<Record<string, number>>;
  /** Sizes that only a launch knows, by the names that shapes and arguments have for them. */
  readonly sizes?: Readonly<Record<string, FxSizeRange>>;
  /** What the caller has made sure of, of these sizes: what its own guards check. */
  readonly holds?: readonly GraphRequirement[];
  readonly nodes: readonly FxNode<Length>[];
}

export const FX_FORMAT = "collc-fx-1";

const TORCH_DTYPES: Readonly<Record<string, string>> = {
  float32: "f32",
  float16: "f16",
  bfloat16: "bf16",
  float8_e4m3fn: "f8e4m3",
  float8_e5m2: "f8e5m2",
  int32: "i32",
  uint32: "u32",
  int64: "i64",
  int8: "i8",
  uint8: "u8",
  bool: "bool",
};

/** collc's name of a dtype; the name itself where it has none. */
export function dtypeOf(name: string | undefined): DType | string {
  const plain = (name ?? "").replace(/^torch\./, "");
  return TORCH_DTYPES[plain] ?? plain;
}

/** Conversions of `_c10d_functional`; those that are `coalesced` are of each tensor of a list. */
export const COLLECTIVES: Readonly<Record<string, string>> = {
  all_reduce: "all_reduce",
  all_reduce_: "all_reduce",
  all_reduce_coalesced: "all_reduce",
  all_reduce_coalesced_: "all_reduce",
  all_gather_into_tensor: "all_gather",
  all_gather_into_tensor_out: "all_gather",
  all_gather_into_tensor_coalesced: "all_gather",
  reduce_scatter_tensor: "reduce_scatter",
  reduce_scatter_tensor_out: "reduce_scatter",
  reduce_scatter_tensor_coalesced: "reduce_scatter",
  all_to_all_single: "all_to_all",
  broadcast: "broadcast",
  broadcast_: "broadcast",
};
export const CONVERTS: ReadonlySet<string> = new Set(Object.values(COLLECTIVES));

/** Whether a call exchanges something between ranks, known to collc or not; what waits for that does not. */
export function isExchange(target: string): boolean {
  return /^(?:torch\.ops\.)?_?c10d_functional\.(?!wait_tensor)/.test(target);
}

/** The conversion that an FX node carries out; null for other nodes. */
export function conversionOf(target: string): string | null {
  const [, name = ""] = /^(?:torch\.ops\.)?_?c10d_functional\.(\w+)/.exec(target) ?? [];
  return COLLECTIVES[name] ?? null;
}

type Schema = Readonly<Record<string, unknown>>;

/** The schema of {@link FxGraph}, as JSON Schema 2020-12. */
export function fxSchema(): Schema {
  const extent = { $ref: "#/$defs/extent" };
  const object = (properties: Schema, required: readonly string[]): Schema => ({ type: "object", properties, required, additionalProperties: false }); // prettier-ignore
  const argument = { $ref: "#/$defs/argument" };
  const [most, whole] = [Number.MAX_SAFE_INTEGER, { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER }];
  const size = { type: "array", items: { anyOf: [whole, { $ref: "#/$defs/symbolic" }] } };
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "https://collc.dev/schema/fx-1.json",
    title: "An FX graph for collc",
    description: "A region of a PyTorch program on one rank of process groups, for `collc lower` and `lower()`.",
    ...object(
      {
        $schema: { type: "string" },
        format: { const: FX_FORMAT },
        name: { type: "string", pattern: "^[A-Za-z_]\\w*$" },
        groups: { type: "object", additionalProperties: { ...whole, minimum: 1 } },
        sizes: {
          type: "object",
          description:
            "Sizes that only a launch knows: limits, both included, and the one that times are predicted for.",
          propertyNames: { pattern: "^[A-Za-z_]\\w*$" },
          additionalProperties: object({ min: whole, max: whole, hint: whole }, []),
        },
        holds: {
          type: "array",
          description: "What the caller has made sure of, of these sizes.",
          items: object({ left: extent, relation: { enum: Object.keys(RELATION_SIGNS) }, right: extent }, ["left", "relation", "right"]), // prettier-ignore
        },
        nodes: {
          type: "array",
          minItems: 1,
          items: {
            ...object(
              {
                name: { type: "string", pattern: "^[A-Za-z_]\\w*$" },
                op: { enum: ["placeholder", "call_function", "output"] },
                target: {
                  type: "string",
                  description: "aten.mm.default, _c10d_functional.all_reduce.default, getitem",
                },
                args: { type: "array", items: argument },
                kwargs: { type: "object", additionalProperties: argument },
                shape: { ...size, description: "Of the result, on this rank." },
                dtype: { type: "string", description: `torch's name, or one of ${DTYPE_NAMES.join(", ")}` },
                strides: { ...size, description: "In elements; row-major where left out." },
                replicated: { type: "boolean", description: "Every rank holds the same, as of the weight of a norm." },
                mutates: {
                  type: "array",
                  items: { type: "string" },
                  description: "Nodes among its arguments that it changes, where its target does not say so.",
                },
              },
              ["name", "op"],
            ),
            allOf: [
              { if: { properties: { op: { const: "call_function" } } }, then: { required: ["target", "args"] } },
              { if: { properties: { op: { const: "placeholder" } } }, then: { required: ["shape", "dtype"] } },
              { if: { properties: { op: { const: "output" } } }, then: { required: ["args"] } },
            ],
          },
        },
      },
      ["format", "groups", "nodes"],
    ),
    $defs: {
      argument: {
        anyOf: [
          { type: ["null", "boolean", "number", "string"] },
          object({ node: { type: "string" } }, ["node"]),
          object({ size: extent }, ["size"]),
          { type: "array", items: argument },
        ],
      },
      extent: { anyOf: [{ type: "integer", minimum: -most, maximum: most }, { $ref: "#/$defs/symbolic" }] },
      symbolic: {
        anyOf: [
          { type: "string", pattern: "^[A-Za-z_]\\w*$" },
          object(
            {
              op: { enum: ["add", "sub", "mul", "div", "ceildiv", "mod", "min", "max"] },
              a: extent,
              b: extent,
            },
            ["op", "a", "b"],
          ),
        ],
      },
    },
  };
}

const check = checkOf(fxSchema);

/** The value, if it is an FX graph by the schema, with nodes that name what stands before them. @throws UsageError */
export function asFx(value: unknown): FxGraph {
  const given = value as FxGraph;
  const [error] = check(value);
  if (error !== undefined) {
    const [, index] = /^\/nodes\/(\d+)/.exec(error.instancePath) ?? [];
    const node = index === undefined ? undefined : (given.nodes[Number(index)] as Partial<FxNode> | null);
    throw new UsageError(`${typeof node?.name === "string" ? `node '${node.name}'` : index === undefined ? "the FX graph" : `entry ${index} of the FX graph's nodes`}: ${inWords(error, null)}`, "the schema is schemas/fx.schema.json"); // prettier-ignore
  }
  const known = new Set<string>();
  for (const node of given.nodes) {
    if (known.has(node.name))
      throw new UsageError(`two nodes are called '${node.name}'`, "names of FX nodes are unique");
    const bad = refsOf(node).find((r) => !known.has(r));
    if (bad !== undefined) throw new UsageError(`node '${node.name}' is made of '${bad}', which does not stand before it`, "list nodes in the order of FX"); // prettier-ignore
    const { shape = [], strides = shape } = node;
    if (strides.length !== shape.length) throw new UsageError(`node '${node.name}' has ${shape.length} dimensions and ${strides.length} strides`, "give each dimension its stride, or leave strides out where it is row-major"); // prettier-ignore
    const [other] = (node.mutates ?? []).filter((name) => !refsOf(node).includes(name));
    if (other !== undefined) throw new UsageError(`node '${node.name}' changes '${other}', which is none of its arguments`, "list under mutates the nodes among its arguments that it changes"); // prettier-ignore
    known.add(node.name);
  }
  if (given.nodes.filter((n) => n.op === "output").length !== 1)
    throw new UsageError("an FX graph has one output node", "end it with {\"op\": \"output\"}, whose args are what it returns"); // prettier-ignore
  checkSizes(given, known);
  return given;
}

/** @throws UsageError for sizes that are not listed, and for names that cannot be those of dimensions */
function checkSizes({ nodes, sizes = {}, holds = [] }: FxGraph, names: ReadonlySet<string>): void {
  for (const [name, { min = 0, max = Infinity, hint = min }] of Object.entries(sizes)) {
    if (!isFree(name) || names.has(name)) throw new UsageError(`a size cannot be called '${name}'`, names.has(name) ? "a node is called so" : "the language means something else by it"); // prettier-ignore
    if (hint < min || hint > max) throw new UsageError(`of the size '${name}', ${hint} is the hint, and ${min} to ${max} the range`, "give a hint from min to max"); // prettier-ignore
  }
  const require = (who: string, e: Extent): void => {
    const bad = [...extentNames(e)].find((name) => !Object.hasOwn(sizes, name));
    if (bad !== undefined) throw new UsageError(`${who} has the size '${bad}', which the graph does not list`, "list it under sizes: {} says that nothing is known of it"); // prettier-ignore
  };
  for (const node of nodes)
    for (const e of [...(node.shape ?? []), ...(node.strides ?? []), ...sizesIn(node)])
      require(`node '${node.name}'`, e);
  for (const { left, right } of holds) [left, right].forEach((e) => require("what holds", e)); // prettier-ignore
}

/** The sizes among a node's arguments. */
function sizesIn({ args = [], kwargs = {} }: FxNode): Extent[] {
  const visit = (a: FxArgument): Extent[] => (Array.isArray(a) ? a.flatMap(visit) : isSize(a) ? [a.size] : []);
  return [...args, ...Object.values(kwargs)].flatMap(visit);
}

/** Names of the nodes that a node is made of. */
export function refsOf({ args = [], kwargs = {} }: FxNode): string[] {
  const names: string[] = [];
  const visit = (a: FxArgument): void => {
    if (Array.isArray(a)) a.forEach(visit);
    else if (isRef(a)) names.push(a.node);
  };
  [...args, ...Object.values(kwargs)].forEach(visit);
  return names;
}

export function isRef(a: FxArgument | undefined): a is FxRef {
  return typeof a === "object" && a !== null && "node" in a;
}

export function isSize(a: FxArgument | undefined): a is FxSize {
  return typeof a === "object" && a !== null && "size" in a;
}

/** The graph with other lengths in the place of its own; sizes that become numbers become arguments like any others. */
export function withLengths<Length extends Extent>(fx: FxGraph, of: (e: Extent) => Length): FxGraph<Length> {
  const argument = (a: FxArgument): FxArgument => {
    if (Array.isArray(a)) return a.map(argument);
    if (!isSize(a)) return a;
    const size = of(a.size);
    return typeof size === "number" ? size : { size };
  };
  const nodes = fx.nodes.map(({ shape, strides, args, kwargs, ...rest }): FxNode<Length> => ({
    ...rest,
    ...(args === undefined ? {} : { args: args.map(argument) }),
    ...(kwargs === undefined ? {} : { kwargs: Object.fromEntries(Object.entries(kwargs).map(([k, a]) => [k, argument(a)])) }), // prettier-ignore
    ...(shape === undefined ? {} : { shape: shape.map(of) }),
    ...(strides === undefined ? {} : { strides: strides.map(of) }),
  }));
  return { ...fx, nodes };
}

/** The graph as it is at a launch. @param sizes all of its sizes, by name; RangeError where one is not there */
export function atSizes(fx: FxGraph, sizes: DimValues): FxGraph<number> {
  const { sizes: _, holds: __, ...fixed } = withLengths(fx, (e) => evaluateExtent(e, sizes));
  return fixed;
}
