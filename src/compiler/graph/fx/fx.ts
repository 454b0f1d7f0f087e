/** An FX graph as JSON: what a PyTorch pass dumps of a region, one process' view of it, with shapes of that process. */
import { UsageError } from "../../../errors.js";
import { type DType, DTYPE_NAMES } from "../../types/dtype.js";
import { checkOf, inWords } from "../schema.js";

/** Another node's value, as an argument. */
export interface FxRef {
  readonly node: string;
}

export type FxArgument = null | boolean | number | string | FxRef | readonly FxArgument[];

export interface FxNode {
  readonly name: string;
  readonly op: "placeholder" | "call_function" | "output";
  /** `aten.mm.default`, `_c10d_functional.all_reduce.default`, `getitem`. */
  readonly target?: string;
  readonly args?: readonly FxArgument[];
  readonly kwargs?: Readonly<Record<string, FxArgument>>;
  /** Of the result on this rank; none for what is no tensor, such as `split`. */
  readonly shape?: readonly number[];
  /** As torch writes it, `torch.bfloat16` or `bfloat16`, or as collc does. */
  readonly dtype?: string;
  /** In elements; row-major where left out. */
  readonly strides?: readonly number[];
  /** Of a placeholder: the caller says that every rank holds the same, as of the weight of a norm. */
  readonly replicated?: boolean;
}

export interface FxGraph {
  readonly format: typeof FX_FORMAT;
  readonly name?: string;
  /** Process groups by name, and how many ranks each has. */
  readonly groups: Readonly<Record<string, number>>;
  readonly nodes: readonly FxNode[];
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

type Schema = Readonly<Record<string, unknown>>;

/** The schema of {@link FxGraph}, as JSON Schema 2020-12. */
export function fxSchema(): Schema {
  const size = { type: "array", items: { type: "integer", minimum: 0 } };
  const object = (properties: Schema, required: readonly string[]): Schema => ({ type: "object", properties, required, additionalProperties: false }); // prettier-ignore
  const argument = { $ref: "#/$defs/argument" };
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
        groups: { type: "object", additionalProperties: { type: "integer", minimum: 1 } },
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
          { type: "array", items: argument },
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
    const node = index === undefined ? undefined : given.nodes[Number(index)];
    throw new UsageError(`${node === undefined ? "the FX graph" : `node '${node.name}'`}: ${inWords(error, null)}`, "the schema is schemas/fx.schema.json"); // prettier-ignore
  }
  const known = new Set<string>();
  for (const node of given.nodes) {
    if (known.has(node.name))
      throw new UsageError(`two nodes are called '${node.name}'`, "names of FX nodes are unique");
    const bad = refsOf(node).find((r) => !known.has(r));
    if (bad !== undefined) throw new UsageError(`node '${node.name}' is made of '${bad}', which does not stand before it`, "list nodes in the order of FX"); // prettier-ignore
    known.add(node.name);
  }
  if (given.nodes.filter((n) => n.op === "output").length !== 1)
    throw new UsageError("an FX graph has one output node");
  return given;
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
