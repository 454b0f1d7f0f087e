/** Reads the IR's text form back; the inverse of `print.ts`. Throws IrParseError with the line. */
import type {
  ElementExpression,
  FoldFunction,
  MeshAxis,
  OutputSpecification,
  Requirement,
  SignatureTensor,
  Specification,
} from "../manifest.js";
import { type Span, NO_SPAN } from "../source.js";
import { type DType, isDType, type ScalarKind } from "../types/dtype.js";
import { extent, type Extent, type ExtentOp } from "../types/extent.js";
import type { Layout, ReductionOp } from "../types/layout.js";
import type { Relation } from "../types/requirement.js";
import { type Attribute, type Buffer, type Kernel, type Op, type Region, Value } from "./module.js";
import { type AttributeKind, definitionOf, isOpName, type Level, LEVELS } from "./ops.js";
import { INDEX, scalar, type Type, vector } from "./types.js";

export class IrParseError extends Error {
  constructor(
    message: string,
    readonly line: number,
  ) {
    super(`IR text, line ${line}: ${message}`);
  }
}

const TOKEN = /\s*(?:(%?[A-Za-z_0-9.+-]+)|("(?:[^"\\]|\\.)*")|([{}()[\]<>,:=]))/y;

class Reader {
  private at = 0;
  constructor(private readonly source: string) {}

  fail(message: string): never {
    throw new IrParseError(message, this.source.slice(0, this.at).split("\n").length);
  }

  peek(): string {
    TOKEN.lastIndex = this.at;
    const m = TOKEN.exec(this.source);
    return m === null ? "" : (m[1] ?? m[2] ?? m[3])!;
  }

  /** Whether nothing but space is left on this line. */
  isAtLineEnd(): boolean {
    return /^[ \t]*(\n|$)/.test(this.source.slice(this.at, this.source.indexOf("\n", this.at) + 1 || undefined));
  }

  next(): string {
    TOKEN.lastIndex = this.at;
    const m = TOKEN.exec(this.source);
    if (m === null) this.fail(this.source.slice(this.at).trim() === "" ? "the text ends too early" : "unreadable text");
    this.at = TOKEN.lastIndex;
    return (m[1] ?? m[2] ?? m[3])!;
  }

  accept(token: string): boolean {
    if (this.peek() !== token) return false;
    this.next();
    return true;
  }

  expect(token: string): void {
    const got = this.next();
    if (got !== token) this.fail(`expected '${token}', found '${got}'`);
  }

  integer(): number {
    const n = Number(this.next());
    return Number.isInteger(n) ? n : this.fail("expected an integer");
  }

  list<X>(close: string, item: () => X): X[] {
    const items: X[] = [];
    while (!this.accept(close)) {
      if (items.length > 0) this.expect(",");
      items.push(item());
    }
    return items;
  }
}

export function parseKernel(textForm: string): Kernel {
  const r = new Reader(textForm);
  r.expect("kernel");
  const name = r.next();
  const level = property(r, "level") as Level;
  if (!LEVELS.includes(level)) r.fail(`no level '${level}'`);
  const world = Number(property(r, "world"));
  const blockThreads = Number(property(r, "threads"));
  const maxBlocks = Number(property(r, "blocks"));
  r.expect("{");
  const dims: string[] = [];
  const dtypes: Record<string, DType> = {};
  const inputs: SignatureTensor[] = [];
  const outputs: SignatureTensor[] = [];
  const specification: (OutputSpecification | null)[] = [];
  const mesh: MeshAxis[] = [];
  const requirements: Requirement[] = [];
  const buffers: Buffer[] = [];
  const work: Extent[] = [];
  for (;;) {
    const row = r.next();
    if (row === "dim") dims.push(r.next());
    else if (row === "dtype") {
      const variable = r.next();
      r.expect("=");
      dtypes[variable] = dtype(r);
    } else if (row === "in" || row === "out") (row === "in" ? inputs : outputs).push(signature(r));
    else if (row === "specify") specification.push(r.peek() === "nothing" ? (r.next(), null) : outputSpec(r));
    else if (row === "mesh") mesh.push({ name: r.next(), size: r.integer() });
    else if (row === "require") {
      const left = parseExtent(r);
      const relation = r.next() as Relation;
      requirements.push({ left, relation, right: parseExtent(r), reason: JSON.parse(r.next()) as string });
    } else if (row === "buffer") buffers.push(buffer(r));
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
    inputs,
    outputs,
    specification,
    mesh,
    requirements,
    buffers,
    blockThreads,
    maxBlocks,
    work,
    body,
  };
}

function property(r: Reader, key: string): string {
  r.expect(key);
  r.expect("=");
  return r.next();
}

function dtype(r: Reader): DType {
  const name = r.next();
  return isDType(name) ? name : r.fail(`no dtype '${name}'`);
}

function parseExtent(r: Reader): Extent {
  const head = r.next();
  if (/^\d+$/.test(head)) return Number(head);
  if (!r.accept("(")) return head;
  const [a, b] = r.list(")", () => parseExtent(r));
  return extent(head as ExtentOp, a!, b!);
}

function shape(r: Reader): Extent[] {
  r.expect("[");
  return r.list("]", () => parseExtent(r));
}

function layout(r: Reader, kind = r.next()): Layout {
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

function outputSpec(r: Reader): OutputSpecification {
  if (r.peek() !== "elements") return spec(r);
  r.next();
  r.expect("(");
  const variables = r.list(")", () => r.next());
  return { kind: "elements", variables, value: JSON.parse(JSON.parse(r.next()) as string) as ElementExpression };
}

function spec(r: Reader): Specification {
  const kind = r.next();
  r.expect("(");
  const close = <X>(x: X): X => (r.expect(")"), x);
  const comma = <X>(x: X): X => (r.expect(","), x);
  switch (kind) {
    case "input":
      return close({ kind, name: r.next() });
    case "constant":
      return close({ kind, value: Number(r.next()) });
    case "matmul":
      return close({ kind, a: comma(spec(r)), b: spec(r) });
    case "unary":
      return close({ kind, fn: comma(r.next()), a: spec(r) });
    case "binary":
    case "compare":
      return close({ kind, fn: comma(r.next()), a: comma(spec(r)), b: spec(r) });
    case "select":
      return close({ kind, condition: comma(spec(r)), a: comma(spec(r)), b: spec(r) });
    case "cast":
    case "rounded":
      return close({ kind, dtype: comma(dtype(r)), a: spec(r) });
    case "fold":
      return close({ kind, fn: comma(r.next()) as FoldFunction, dim: comma(r.integer()), a: spec(r) });
    case "permute":
      r.expect("[");
      return close({ kind, order: comma(r.list("]", () => r.integer())), a: spec(r) });
    case "reshape":
      return close({ kind, shape: comma(shape(r)), a: spec(r) });
    case "slice":
      return close({ kind, from: comma(shape(r)), shape: comma(shape(r)), a: spec(r) });
    case "concat": {
      const dim = comma(r.integer());
      r.expect("[");
      return close({ kind, dim, parts: r.list("]", () => spec(r)) });
    }
    default:
      return r.fail(`no specification '${kind}'`);
  }
}

function buffer(r: Reader): Buffer {
  const name = r.next();
  r.expect(":");
  const role = r.next() as Buffer["role"];
  const kind = dtype(r);
  const dims = shape(r);
  return { name, role, dtype: kind, shape: dims, symmetric: r.accept("symmetric") };
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
    const element = r.accept("bool") ? "bool" : dtype(r);
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
