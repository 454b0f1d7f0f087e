/**
 * Specifications as text has them. In memory a value that is used twice is one object; printed as a tree it would be
 * written once for each way that leads to it, which doubles with every such use. So the manifest holds a table of nodes
 * that refer to each other by number, and whoever evaluates a specification makes objects of it again.
 */
import type {
  ElementExpression,
  OutputSpecification,
  Specification,
  SpecificationNode,
  SpecificationTable,
} from "./manifest.js";

type Graph = OutputSpecification | ElementExpression;

/** The fields of a node that hold other nodes, by its kind. */
const OPERANDS = {
  elements: ["value"],
  input: [],
  constant: [],
  scalar: [],
  iota: [],
  variable: [],
  dim: [],
  rank: [],
  matmul: ["a", "b"],
  unary: ["a"],
  binary: ["a", "b"],
  compare: ["a", "b"],
  select: ["condition", "a", "b"],
  cast: ["a"],
  index: ["a"],
  rounded: ["a"],
  fold: ["a"],
  permute: ["a"],
  repeat: ["a"],
  reshape: ["a"],
  slice: ["a"],
  concat: ["parts"],
  load: ["peer", "indices"],
  reduce: ["from", "to", "body"],
} as const satisfies Record<Graph["kind"], readonly string[]>;

/** What a field of operands holds: one, a list, or null where there is none. */
type Field<X> = X | readonly X[] | null;

function mapOperands<X, Y>(node: { readonly kind: Graph["kind"] }, map: (x: X) => Y): Record<string, unknown> {
  const mapped: Record<string, unknown> = { ...node };
  for (const field of OPERANDS[node.kind]) {
    const held = mapped[field] as Field<X>;
    mapped[field] = Array.isArray(held) ? held.map(map) : held === null ? null : map(held as X);
  }
  return mapped;
}

/** Numbers of the nodes that a node of a table refers to, with repetitions. */
export function operandsOf(node: SpecificationNode): readonly number[] {
  const found: number[] = [];
  mapOperands(node, (x: number) => found.push(x));
  return found;
}

/** Specifications of outputs as a table. Equal nodes become one, so equal specifications have equal tables. */
export function tableOf(outputs: readonly (OutputSpecification | null)[]): SpecificationTable {
  const nodes: SpecificationNode[] = [];
  const places = new Map<Graph, number>();
  const placesByText = new Map<string, number>();
  const placeOf = (s: Graph): number => {
    const known = places.get(s);
    if (known !== undefined) return known;
    const node = mapOperands(s, placeOf) as unknown as SpecificationNode;
    // JSON has no infinities, and but one zero.
    const text = JSON.stringify(node, (_key, x: unknown) => (Object.is(x, -0) ? "-0" : isInfinite(x) ? String(x) : x));
    let place = placesByText.get(text);
    if (place === undefined) placesByText.set(text, (place = nodes.push(node) - 1));
    places.set(s, place);
    return place;
  };
  return { nodes, outputs: outputs.map((s) => (s === null ? null : placeOf(s))) };
}

/**
 * The specifications of a table, one for each output: objects that share what the table shares.
 * @throws RangeError for a node that refers to one that does not stand before it.
 */
export function specificationsOf({ nodes, outputs }: SpecificationTable): (OutputSpecification | null)[] {
  const made: Graph[] = [];
  const at = (place: number): Graph =>
    made[place] ?? raise(`node ${made.length} of a specification refers to ${place}, which does not stand before it`);
  for (const node of nodes) made.push(mapOperands(node, at) as unknown as Graph);
  return outputs.map((place) => (place === null ? null : (at(place) as OutputSpecification)));
}

function isInfinite(x: unknown): boolean {
  return typeof x === "number" && !Number.isFinite(x);
}

function raise(message: string): never {
  throw new RangeError(message);
}

/** Whether some output is a matrix product, or is computed with one. */
export function hasProduct({ nodes }: SpecificationTable): boolean {
  return nodes.some(({ kind }) => kind === ("matmul" satisfies Specification["kind"]));
}
