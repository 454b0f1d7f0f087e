/** Shapes of specifications, for all who evaluate them: the prover, the float64 reference, the count of traffic. */
import type { ElementExpression, Specification } from "./manifest.js";
import type { Extent } from "./types/extent.js";

export interface ShapeContext {
  /** Logical shape of an input. */
  readonly input: (name: string) => readonly number[];
  readonly extent: (e: Extent) => number;
}

/** The specifications that one is made of. */
export function partsOfSpecification(s: Specification): readonly Specification[] {
  switch (s.kind) {
    case "input":
    case "constant":
    case "scalar":
    case "iota":
      return [];
    case "matmul":
    case "binary":
    case "compare":
      return [s.a, s.b];
    case "select":
      return [s.condition, s.a, s.b];
    case "concat":
      return s.parts;
    default:
      return [s.a];
  }
}

/** The expressions that one is made of. */
export function partsOfExpression(e: ElementExpression): readonly ElementExpression[] {
  switch (e.kind) {
    case "unary":
    case "cast":
    case "index":
      return [e.a];
    case "binary":
    case "compare":
      return [e.a, e.b];
    case "select":
      return [e.condition, e.a, e.b];
    case "load":
      return e.peer === null ? e.indices : [e.peer, ...e.indices];
    case "reduce":
      return [e.from, e.to, e.body];
    default:
      return [];
  }
}

/**
 * Variables that a claim or a reduction around an expression binds. A part that is used twice is looked at once.
 * @param known filled with what is found of each part
 */
export function freeVariables(
  e: ElementExpression,
  known = new Map<ElementExpression, ReadonlySet<string>>(),
): ReadonlySet<string> {
  let free = known.get(e);
  if (free === undefined) {
    const found = new Set(partsOfExpression(e).flatMap((part) => [...freeVariables(part, known)]));
    if (e.kind === "variable") found.add(e.name);
    // The bounds of a reduction do not know its variable: names mean one thing.
    if (e.kind === "reduce") found.delete(e.variable);
    known.set(e, (free = found));
  }
  return free;
}

/** Whether a specification, or one that it is made of, is such. A part that is used twice is looked at once. */
export function someSpecification(s: Specification, is: (part: Specification) => boolean): boolean {
  const seen = new Set<Specification>();
  const look = (part: Specification): boolean => {
    if (seen.has(part)) return false;
    seen.add(part);
    return is(part) || partsOfSpecification(part).some(look);
  };
  return look(s);
}

/**
 * The parts, leaves aside, that are used more than once: what computes them should remember them.
 * @param partsOf `partsOfSpecification` or `partsOfExpression`.
 */
export function sharedParts<Node>(
  wholes: readonly Node[],
  partsOf: (node: Node) => readonly Node[],
): ReadonlySet<Node> {
  const seen = new Set<Node>();
  const shared = new Set<Node>();
  const look = (part: Node): void => {
    const parts = partsOf(part);
    if (seen.has(part)) {
      if (parts.length > 0) shared.add(part);
      return;
    }
    seen.add(part);
    parts.forEach(look);
  };
  wholes.forEach(look);
  return shared;
}

/**
 * Logical shape of a specification's value; [] for numbers.
 * @param known shapes found before in the same context. A value that is used twice is one specification, so that without
 * them the time doubles with every such use.
 * @throws RangeError where operands do not fit.
 */
export function shapeOfSpecification(
  s: Specification,
  c: ShapeContext,
  known = new Map<Specification, readonly number[]>(),
): readonly number[] {
  let shape = known.get(s);
  if (shape === undefined) known.set(s, (shape = shapeMadeOf(s, c, known)));
  return shape;
}

function shapeMadeOf(
  s: Specification,
  c: ShapeContext,
  known: Map<Specification, readonly number[]>,
): readonly number[] {
  const [a, ...others] = partsOfSpecification(s).map((p) => shapeOfSpecification(p, c, known));
  switch (s.kind) {
    case "input":
      return c.input(s.name);
    case "constant":
    case "scalar":
      return [];
    case "matmul": {
      const [b] = others as [readonly number[]];
      if (a!.at(-1) !== b.at(-2)) throw new RangeError(`a product of ${a!.at(-1)} columns with ${b.at(-2)} rows`);
      return [...broadcast([a!.slice(0, -2), b.slice(0, -2)], "a product"), a!.at(-2)!, b.at(-1)!];
    }
    case "unary":
    case "cast":
    case "rounded":
      return a!;
    case "binary":
    case "compare":
      return broadcast([a!, ...others], `'${s.fn}'`);
    case "select":
      return broadcast([a!, ...others], "a choice");
    case "fold":
      return a!.map((n, d) => (d === s.dim ? 1 : n));
    case "permute":
      return s.order.map((d) => a![d]!);
    case "repeat":
      return a!.map((n, d) => (d === s.dim ? n * s.times : n));
    case "reshape":
    case "slice":
    case "iota":
      return s.shape.map(c.extent);
    case "concat":
      return a!.map((n, d) => (d === s.dim ? others.reduce((sum, o) => sum + o[d]!, n) : n));
  }
}

/** The shape that all broadcast to. */
function broadcast(shapes: readonly (readonly number[])[], what: string): number[] {
  const rank = Math.max(...shapes.map((s) => s.length));
  return Array.from({ length: rank }, (_, d) => {
    const lengths = shapes.flatMap((s) => s[d - rank + s.length] ?? []);
    const length = lengths.find((n) => n !== 1) ?? 1;
    if (lengths.some((n) => n !== 1 && n !== length))
      throw new RangeError(`${shapes.map((s) => `[${s.join(", ")}]`).join(" and ")} do not fit in ${what}`);
    return length;
  });
}
