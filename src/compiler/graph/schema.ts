/** The JSON Schema of graphs, made of the table of operations; and whether a value is a graph, with what is wrong in words. */
import { UsageError } from "../../errors.js";
import { checkOf, type ErrorObject } from "../../json-schema.js";
import { suggestion } from "../diagnostics/suggest.js";
import { shown } from "../rules.js";
import { DTYPE_NAMES } from "../types/dtype.js";
import { RELATION_SIGNS } from "../types/requirement.js";
import { type Graph, GRAPH_FORMAT, GRAPH_OPS, type GraphAttribute, type GraphNode } from "./graph.js";

type Schema = Readonly<Record<string, unknown>>;

const object = (properties: Readonly<Record<string, Schema>>, required: readonly string[]): Schema => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});
const ref = (name: string): Schema => ({ $ref: `#/$defs/${name}` });
const listOf = (items: Schema, most?: number): Schema => ({ type: "array", items, ...(most === undefined ? {} : { maxItems: most }) }); // prettier-ignore
const dim = { type: "integer", minimum: 0 };

const ATTRIBUTES: Readonly<Record<GraphAttribute, Schema>> = {
  dim: { ...dim, description: "Dimension of a reduction, a concatenation or a conversion, from 0." },
  to: { ...dim, description: "Rank that a conversion gives the tensor to." },
  over: { ...ref("name"), description: "Axis of the mesh that a conversion is over." },
  shape: { ...listOf(ref("extent")), minItems: 1, description: "Shape of a reshape's result." },
  order: { ...listOf(dim), minItems: 1, description: "Dimension d of the result is the operand's dimension order[d]." },
  ranges: {
    ...listOf(object({ from: ref("extent"), to: ref("extent") }, [])),
    minItems: 1,
    description: "What a slice takes of each dimension; a side that is left out is the tensor's.",
  },
  times: { type: "integer", minimum: 1, description: "How often a repeat has each index of its dimension." },
  dtype: ref("dtype"),
};

/** The schema of {@link Graph}, as JSON Schema 2020-12. */
export function graphSchema(): Schema {
  const shape = { ...listOf(ref("extent")), minItems: 1 };
  const tensor = { id: ref("id"), dtype: ref("dtype"), shape, layout: ref("layout") };
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "https://collc.dev/schema/graph-1.json",
    title: "A collc graph",
    description: "One collective of tensor expressions over the ranks of a group, as data. grammar/LANGUAGE.md describes the operations.", // prettier-ignore
    ...object(
      {
        $schema: { type: "string" },
        format: { const: GRAPH_FORMAT },
        name: ref("name"),
        doc: { type: "string" },
        mesh: listOf(ref("name")),
        dtypes: { type: "object", propertyNames: { pattern: "^[A-Z]\\w*$" }, additionalProperties: { type: "array", items: { enum: DTYPE_NAMES }, minItems: 1 } }, // prettier-ignore
        requires: listOf(
          object({ left: ref("extent"), relation: { enum: Object.keys(RELATION_SIGNS) }, right: ref("extent") }, ["left", "relation", "right"]), // prettier-ignore
        ),
        ranks: { type: "array", items: { type: "integer", minimum: 1 }, minItems: 1 },
        inputs: listOf(
          object({ ...tensor, values: object({ from: ref("extent"), to: ref("extent") }, ["from", "to"]) }, ["id", "dtype", "shape", "layout"]), // prettier-ignore
        ),
        scalars: listOf(object({ id: ref("id"), dtype: { type: "string" } }, ["id", "dtype"])),
        nodes: listOf(ref("node")),
        outputs: { ...listOf(object({ ...tensor, value: ref("operand") }, ["id", "value"])), minItems: 1 },
      },
      ["format", "name", "inputs", "nodes", "outputs"],
    ),
    $defs: {
      id: { type: "string", minLength: 1, maxLength: 256 },
      name: { type: "string", pattern: "^[A-Za-z_]\\w*$" },
      dtype: { anyOf: [{ enum: DTYPE_NAMES }, { type: "string", pattern: "^([A-Z]\\w*|accumulator\\([A-Za-z]\\w*\\))$" }] }, // prettier-ignore
      layout: { type: "string", pattern: "^[a-z]+(\\(\\w+(, *\\w+)?\\))?( [a-z]+\\(\\w+(, *\\w+)?\\))*$" }, // prettier-ignore
      operand: { anyOf: [{ type: "string" }, { type: "number" }] },
      extent: {
        anyOf: [
          { type: "integer" },
          ref("name"),
          object({ op: { enum: ["add", "sub", "mul", "div", "ceildiv", "mod"] }, a: ref("extent"), b: ref("extent") }, ["op", "a", "b"]), // prettier-ignore
        ],
      },
      node: {
        ...object({ id: ref("id"), op: { enum: Object.keys(GRAPH_OPS) }, inputs: listOf(ref("operand")), ...ATTRIBUTES }, ["id", "op", "inputs"]), // prettier-ignore
        allOf: Object.entries(GRAPH_OPS).map(([op, { operands, needs, mayHave }]) => ({
          if: { properties: { op: { const: op } } },
          then: {
            properties: {
              inputs: { minItems: operands[0], maxItems: operands[1] },
              ...Object.fromEntries(
                Object.keys(ATTRIBUTES)
                  .filter((a) => ![...needs, ...mayHave].includes(a as GraphAttribute))
                  .map((a) => [a, false]),
              ),
            },
            ...(needs.length === 0 ? {} : { required: needs }),
          },
        })),
      },
    },
  };
}

const check = checkOf(graphSchema);

/**
 * The value, if it is a graph: by the schema, and with nodes that name what stands before them.
 * @throws UsageError that names the node and says what to do
 */
export function asGraph(value: unknown): Graph {
  const given = value as Graph;
  const [error] = check(value);
  if (error !== undefined) {
    const node = nodeAt(given, error.instancePath);
    if (node !== null && typeof node.op === "string" && !Object.hasOwn(GRAPH_OPS, node.op))
      throw new UsageError(`node '${node.id}': there is no operation '${node.op}'`, suggestion(node.op, Object.keys(GRAPH_OPS)) ?? `there are ${Object.keys(GRAPH_OPS).join(", ")}`); // prettier-ignore
    throw new UsageError(`${node === null ? "the graph" : `node '${node.id}'`}: ${inWords(error, node)}`, "the schema is schemas/graph.schema.json"); // prettier-ignore
  }
  const known = new Set([...given.inputs, ...(given.scalars ?? [])].map((t) => t.id));
  const outputs = new Map(given.outputs.map((o) => [o.id, o.value]));
  const isKnown = (operand: string | number, depth = 0): boolean =>
    typeof operand === "number" || known.has(operand) || (outputs.has(operand) && depth < outputs.size && isKnown(outputs.get(operand)!, depth + 1)); // prettier-ignore
  const ids = new Set([...known, ...given.nodes.map((n) => n.id), ...outputs.keys()]);
  const refuse = (who: string, operand: string | number): never => {
    const isLater = ids.has(String(operand));
    throw new UsageError(
      `${who} is made of '${operand}', which ${isLater ? "stands behind it" : "is no input, node or output"}`,
      isLater ? "list nodes in the order of their computation" : (suggestion(String(operand), [...ids]) ?? undefined),
    );
  };
  for (const node of given.nodes) {
    const bad = node.inputs.find((x) => !isKnown(x));
    if (bad !== undefined) refuse(`node '${node.id}'`, bad);
    const isPair = (node.op === "min" || node.op === "max") && node.inputs.length === 2;
    if ((node.op === "min" || node.op === "max") && isPair === (node.dim !== undefined))
      throw new UsageError(`node '${node.id}': '${node.op}' of two tensors has no dim, of one it must have it`);
    known.add(node.id);
  }
  for (const o of given.outputs) if (!isKnown(o.value)) refuse(`output '${o.id}'`, o.value);
  return given;
}

function nodeAt(value: Graph, path: string): GraphNode | null {
  const [, index] = /^\/nodes\/(\d+)/.exec(path) ?? [];
  return index === undefined ? null : (value.nodes[Number(index)] ?? null);
}

/** A finding of the schema for a person. */
export function inWords({ instancePath, keyword, params, message }: ErrorObject, node: GraphNode | null): string {
  const place = instancePath.replace(/^\/nodes\/\d+/, "").replace(/^\//, "");
  const where = place === "" ? "" : `${place.replaceAll("/", ".")}: `;
  const p = params as Readonly<Record<string, unknown>>;
  switch (keyword) {
    case "required":
      return `${where}'${String(p["missingProperty"])}' is missing${node === null ? "" : ` for '${node.op}'`}`;
    case "additionalProperties":
      return `${where}there is no '${String(p["additionalProperty"])}'`;
    case "false schema":
      return `'${node?.op}' has no '${place}'`;
    case "minItems":
    case "maxItems":
      return `${where}${node === null ? "it must have" : `'${node.op}' takes`} ${keyword === "minItems" ? "at least" : "at most"} ${String(p["limit"])}`; // prettier-ignore
    case "const":
      return `${where}it must be ${shown(p["allowedValue"])}`;
    case "enum":
      return `${where}it must be one of ${(p["allowedValues"] as unknown[]).join(", ")}`;
    case "type": {
      const kinds = [p["type"]].flat().map(String);
      return `${where}it must be ${kinds.map((kind) => `${/^[aeiou]/.test(kind) ? "an" : "a"} ${kind}`).join(" or ")}`;
    }
    default:
      return `${where}it ${message ?? "is not as it should be"}`;
  }
}
