/** Reads the IR's text form back; the inverse of `print.ts`. Throws IrParseError with the line. */
import type { MeshAxis, Requirement, ScalarParameter, SignatureTensor } from "../manifest.js";
import { type Span, NO_SPAN } from "../source.js";
import type { DType, ScalarKind } from "../types/dtype.js";
import type { Extent } from "../types/extent.js";
import type { AxisPlacement, Layout, Placement, ReductionOp } from "../types/layout.js";
import type { Relation } from "../types/requirement.js";
import { type Attribute, type Buffer, type Kernel, type Op, type Region, Value } from "./module.js";
import { type AttributeKind, definitionOf, isOpName, type Level, LEVELS } from "./ops.js";
import { SpecificationReader } from "./parse-specification.js";
import { dtype, parseExtent, Reader, shape } from "./reader.js";
import { INDEX, scalar, type Type, vector } from "./types.js";

export function parseKernel(textForm: string): Kernel {
  const r = new Reader(textForm);
  r.expect("kernel");
  const name = r.next();
  const level = property(r, "level") as Level;
  if (!LEVELS.includes(level)) r.fail(`no level '${level}'`);
  const world = Number(property(r, "world"));
  const blockThreads = Number(property(r, "threads"));
  const maxBlocks = Number(property(r, "blocks"));
  const each = r.peek() === "each" ? Number(property(r, "each")) : null;
  const early = r.accept("early");
  r.expect("{");
  const dims: string[] = [];
  const scalars: ScalarParameter[] = [];
  const dtypes: Record<string, DType> = {};
  const inputs: SignatureTensor[] = [];
  const outputs: SignatureTensor[] = [];
  const specification = new SpecificationReader(r);
  const mesh: MeshAxis[] = [];
  const requirements: Requirement[] = [];
  let ranksPerDomain: number | null = null;
  const buffers: Buffer[] = [];
  const work: Extent[] = [];
  for (;;) {
    const row = r.next();
    if (row === "dim") dims.push(r.next());
    else if (row === "scalar") {
      const scalarName = r.next();
      r.expect(":");
      scalars.push({ name: scalarName, dtype: dtype(r) as ScalarParameter["dtype"] });
    } else if (row === "dtype") {
      const variable = r.next();
      r.expect("=");
      dtypes[variable] = dtype(r);
    } else if (row === "in" || row === "out") (row === "in" ? inputs : outputs).push(signature(r));
    else if (row === "part") specification.part();
    else if (row === "specify") specification.specify();
    else if (row === "mesh") mesh.push({ name: r.next(), size: r.integer() });
    else if (row === "require") {
      const left = parseExtent(r);
      const relation = r.next() as Relation;
      requirements.push({ left, relation, right: parseExtent(r), reason: JSON.parse(r.next()) as string });
    } else if (row === "reach") ranksPerDomain = r.integer();
    else if (row === "buffer") buffers.push(buffer(r));
    else if (row === "work") work.push(parseExtent(r));
    else if (row === "body") break;
    else r.fail(`unknown row '${row}'`);
  }
  const body = region(r, [], new Map());
  r.expect("}");
  return {
    name,
    level,
    world,
    dtypes,
    dims,
    scalars,
    inputs,
    outputs,
    specification: specification.specifications(),
    mesh,
    requirements,
    ...(ranksPerDomain === null ? {} : { ranksPerDomain }),
    buffers,
    blockThreads,
    maxBlocks,
    ...(each === null ? {} : { blocksEach: each }),
    ...(early ? { early } : {}),
    work,
    body,
  };
}

function property(r: Reader, key: string): string {
  r.expect(key);
  r.expect("=");
  return r.next();
}

function layout(r: Reader, kind = r.next()): Layout {
  const first = onePlacement(r, kind);
  if (first.axis === undefined) return first;
  const parts = [first];
  while (["replicated", "sharded", "partial", "on"].includes(r.peek())) parts.push(onePlacement(r, r.next()));
  return parts.length === 1 ? first : { kind: "grid", parts: parts as AxisPlacement[] };
}

function onePlacement(r: Reader, kind: string): Placement & { readonly axis?: string } {
  const written = r.accept("(") ? r.list(")", () => r.next()) : [];
  const hasOwn = kind === "sharded" || kind === "partial" || kind === "on";
  const own = hasOwn ? written[0]! : "";
  const axis = written[hasOwn ? 1 : 0];
  const along = axis === undefined ? {} : { axis };
  switch (kind) {
    case "replicated":
    case "local":
      return { kind, ...along };
    case "sharded":
      return { kind, dim: Number(own), ...along };
    case "partial":
      return { kind, op: own as ReductionOp, ...along };
    case "on":
      return { kind, rank: Number(own), ...along };
    default:
      return r.fail(`no layout '${kind}'`);
  }
}

function signature(r: Reader): SignatureTensor {
  const name = r.next();
  r.expect(":");
  const kind = dtype(r);
  const logical = shape(r);
  const where = layout(r);
  r.expect("local");
  const localShape = shape(r);
  const base = { name, dtype: kind, layout: where, shape: logical, localShape };
  if (!r.accept("values")) return base;
  return { ...base, values: { from: parseExtent(r), to: parseExtent(r) } };
}

function buffer(r: Reader): Buffer {
  const name = r.next();
  r.expect(":");
  const role = r.next() as Buffer["role"];
  const kind = dtype(r);
  const dims = shape(r);
  const made = { name, role, dtype: kind, shape: dims, symmetric: r.accept("symmetric") };
  return r.accept("memory") ? { ...made, memory: JSON.parse(r.next()) as string } : made;
}

function type(r: Reader): Type {
  const kind = r.next();
  if (kind === "vec") {
    r.expect("<");
    const lanes = r.integer();
    r.expect("x");
    const element = r.next() as ScalarKind;
    r.expect(">");
    return vector(element, lanes);
  }
  if (kind === "tensor") {
    r.expect("<");
    const element = dtype(r);
    const dims = shape(r);
    const where = layout(r);
    r.expect(">");
    return { kind: "tensor", dtype: element, shape: dims, layout: where };
  }
  return scalar(kind as ScalarKind);
}

type Names = Map<string, Value>;

function region(r: Reader, argumentNames: readonly string[], outer: Names): Region {
  const names = new Map(outer);
  const args = argumentNames.map((n) => {
    const v = new Value(INDEX);
    names.set(n, v);
    return v;
  });
  r.expect("{");
  const ops: Op[] = [];
  while (!r.accept("}")) ops.push(op(r, names));
  return { arguments: args, ops };
}

function op(r: Reader, names: Names): Op {
  let head = r.next();
  let resultName: string | null = null;
  if (head.startsWith("%")) {
    resultName = head;
    r.expect("=");
    head = r.next();
  }
  if (!isOpName(head)) r.fail(`no op '${head}'`);
  const name = head;
  const operands: Value[] = [];
  // Operands stand on the op's own line: a `%` on the next one begins another op.
  while (!r.isAtLineEnd() && r.peek().startsWith("%")) {
    const v = names.get(r.next());
    operands.push(v ?? r.fail("use of a value that is not defined"));
    if (!r.accept(",")) break;
  }
  const attributes: Record<string, Attribute> = {};
  const definition = definitionOf(name);
  const known = { ...definition.attributes, ...definition.optional };
  if (Object.keys(known).length > 0 && r.accept("{"))
    r.list("}", () => {
      const key = r.next();
      if (!Object.hasOwn(known, key)) r.fail(`'${name}' has no attribute '${key}'`);
      r.expect("=");
      const token = r.next();
      attributes[key] = attribute(r, known[key]!, token);
    });
  const results: Value[] = [];
  if (r.accept(":")) results.push(new Value(type(r)));
  const span = location(r);
  const regions: Region[] = [];
  if (definition.regions !== undefined)
    for (let i = 0; i < definition.regions.count; i++) {
      r.expect("(");
      const args = r.list(")", () => r.next());
      regions.push(region(r, args, names));
    }
  if (resultName !== null) {
    if (results.length !== 1) r.fail(`'${name}' needs a result type`);
    names.set(resultName, results[0]!);
  }
  return { name, operands, results, attributes, regions, span };
}

function attribute(r: Reader, kind: AttributeKind, token: string): Attribute {
  if (kind === "layout") return layout(r, token);
  if (kind === "int" || kind === "number") return Number(token);
  return JSON.parse(token) as Attribute;
}

function location(r: Reader): Span {
  if (!r.accept("loc")) return NO_SPAN;
  r.expect("(");
  const start = r.integer();
  r.expect(":");
  const end = r.integer();
  r.expect(")");
  return { start, end };
}
