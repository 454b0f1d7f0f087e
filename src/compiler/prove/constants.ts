/**
 * The constants of a program, and from which lengths on they matter. A program is piecewise affine between them: lengths on
 * both sides of each one are what tells a proof at some shapes from one at shapes that nothing in the program sees.
 */
import { bufferOf, type Kernel, memoryOperands, type Op, type Region, text, type Value } from "../ir/module.js";
import type { Span } from "../source.js";
import { type DimValues, type Extent } from "../types/extent.js";

/** A loop's variable, whose bounds go with dimensions, or the name of a dimension. */
export type Root = Value | string;

/** Where a constant is held against an index or a length. */
export interface Threshold {
  readonly root: Root;
  /** Value of the root up to which one side of the constant is all there is. */
  readonly at: number;
  /** As the program writes it. */
  readonly constant: number;
  readonly span: Span;
  /** Whether lengths next to it differ by it: it is compared, a divisor or a modulus, and not only added. */
  readonly isEdge: boolean;
  /** Whether it is a modulus, so that lengths differ by what they leave. */
  readonly isModulus: boolean;
  /** Whether roots are multiplied: shapes around it go other ways, and how long one root has to be follows from the others. */
  readonly isOfProduct: boolean;
}

/** What an index is made of. */
interface Form {
  /** For each root: how much of it one unit of the value is, at most. */
  readonly scales: ReadonlyMap<Root, number>;
  /** What is added on the way, in units of the value; of a value without roots, the most that it can be. */
  readonly offset: number;
  /** The constant that has most part in the offset. */
  readonly constant: number;
  /** Whether the value is that constant. */
  readonly isConstant: boolean;
  /** Whether roots are multiplied: no root by itself says how large the value is. What it decides is searched for; see `outcomes.ts`. */
  readonly isProduct: boolean;
  /** Whether it is the least or the greatest of something and a constant: divided, it shows that only where the quotient is another. */
  readonly isCapped: boolean;
}

const NOTHING: Form = { scales: new Map(), offset: 0, constant: 0, isConstant: false, isProduct: false, isCapped: false }; // prettier-ignore

/** Past this, a length is out of reach of any proof. */
const OUT_OF_REACH = 2 ** 50;

const isRooted = (f: Form): boolean => f.scales.size > 0;

const constantForm = (value: number): Form => ({ ...atMost(Math.abs(value)), constant: value, isConstant: true });

/** Something that is known to be no larger, such as a rank. */
const atMost = (value: number): Form => ({ ...NOTHING, offset: value, constant: value });

const rooted = (root: Root): Form => ({ ...NOTHING, scales: new Map([[root, 1]]) });

/** Constants add up; two values that both go with lengths share theirs, as the ends of one range do. */
function offsetOf(a: Form, b: Form): number {
  return isRooted(a) && isRooted(b) ? Math.max(a.offset, b.offset) : a.offset + b.offset;
}

function merged(a: Form, b: Form, offset = offsetOf(a, b)): Form {
  const scales = new Map(a.scales);
  for (const [root, s] of b.scales) scales.set(root, Math.max(s, scales.get(root) ?? 0));
  return {
    scales,
    offset: Math.min(offset, OUT_OF_REACH),
    constant: a.offset >= b.offset ? a.constant : b.constant,
    isConstant: false,
    isProduct: a.isProduct || b.isProduct,
    isCapped: a.isCapped || b.isCapped,
  };
}

/** A value divided by a constant. */
const divided = (f: Form, by: number): Form => ({
  ...f,
  scales: new Map([...f.scales].map(([root, s]) => [root, Math.min(s * by, OUT_OF_REACH)])),
  offset: Math.min(f.offset / by, OUT_OF_REACH),
  isConstant: false,
});

/** The most that a function of two values gives, of which each is known to be no larger than a number. */
function bounded(fn: string, a: number, b: number): number {
  switch (fn) {
    case "mul":
      return a * b;
    case "rem":
      return Math.min(a, Math.max(0, b - 1));
    case "and":
    case "min":
      return Math.min(a, b);
    case "max":
    case "div":
    case "shr":
      return Math.max(a, fn === "max" ? b : 0);
    case "shl":
      return a * 2 ** b;
    default:
      return a + b;
  }
}

class Finder {
  private readonly forms = new Map<Value, Form>();
  readonly found: Threshold[] = [];

  constructor(private readonly kernel: Kernel) {}

  region(region: Region): void {
    for (const op of region.ops) this.op(op);
  }

  private form(v: Value): Form {
    return this.forms.get(v) ?? NOTHING;
  }

  private op(op: Op): void {
    const [a = NOTHING, b = NOTHING] = op.operands.map((v) => this.form(v));
    const bind = (f: Form): void => op.results.forEach((r) => this.forms.set(r, f));
    switch (op.name) {
      case "const":
        return bind(constantForm(op.attributes["value"] as number));
      case "dim":
        return bind(rooted(text(op, "name")));
      case "rank":
        return bind(atMost(this.kernel.world - 1));
      case "cast":
        return bind(a);
      case "unary":
        // Where a function of an index crosses a constant is not looked into.
        return bind(
          isRooted(a) && op.attributes["fn"] !== "neg" ? { ...divided(a, OUT_OF_REACH), offset: 1, constant: 1 } : a,
        );
      case "binary":
        return bind(this.binary(op, op.attributes["fn"] as string, a, b));
      case "compare":
        this.held(op, a, b, true);
        return bind(merged(a, b));
      case "select": {
        const [, x, y] = op.operands.map((v) => this.form(v)) as [Form, Form, Form];
        return bind(merged(x, y));
      }
      case "for":
      case "reduce":
        return this.loop(op);
      case "load":
      case "store":
        this.access(op);
        return;
      default:
        op.regions.forEach((r) => this.region(r));
    }
  }

  private binary(op: Op, fn: string, a: Form, b: Form): Form {
    const sum = merged(a, b);
    if (!isRooted(a) && !isRooted(b)) return atMost(Math.min(bounded(fn, a.offset, b.offset), OUT_OF_REACH));
    const by = !isRooted(b) && b.offset > 0 ? b.offset : null;
    switch (fn) {
      case "mul": {
        const [form, factor] = isRooted(a) ? [a, b] : [b, a];
        // How far a rank's or an iteration's multiple is from the next goes with the value itself.
        if (isRooted(factor)) return { ...sum, isProduct: true };
        if (factor.isConstant && factor.offset > 0) return divided(form, 1 / factor.offset);
        return form;
      }
      case "shl":
        return by === null || !isRooted(a) ? sum : divided(a, 2 ** -by);
      case "div":
      case "shr": {
        if (by === null || !isRooted(a)) return sum;
        const divisor = fn === "div" ? by : 2 ** by;
        this.note(op, a, divisor, b.constant, true);
        if (a.isCapped) this.note(op, a, a.offset + divisor, a.constant, false);
        return divided(a, divisor);
      }
      case "rem":
      case "and":
      case "or":
      case "xor":
        if (by !== null && isRooted(a)) this.note(op, a, fn === "rem" ? by : by + 1, b.constant, true, true);
        if (fn === "rem" && isRooted(b)) this.multiples(op, a, b);
        return sum;
      case "min":
      case "max":
        this.held(op, a, b, true);
        return { ...sum, isCapped: sum.isCapped || !isRooted(a) || !isRooted(b) };
      case "sub":
        if (by !== null) this.held(op, a, b, true);
        return sum;
      default:
        return sum;
    }
  }

  /** What leaves a multiple of an index modulo a length: from the multiplier on, a length may share a factor with it. */
  private multiples(op: Op, a: Form, b: Form): void {
    for (const scale of a.scales.values()) {
      const factor = Math.round(1 / scale);
      if (factor < 2 || Math.abs(factor * scale - 1) > 1e-9) continue;
      for (const root of b.scales.keys())
        this.found.push({ root, at: factor, constant: factor, span: op.span, isEdge: true, isModulus: false, isOfProduct: false }); // prettier-ignore
    }
  }

  private loop(op: Op): void {
    const region = op.regions[0]!;
    region.arguments.forEach((v, d) => {
      const [low, high] = [this.form(op.operands[2 * d]!), this.form(op.operands[2 * d + 1]!)];
      const isBound = isRooted(low) || isRooted(high);
      if (isBound && low.offset + high.offset > 0) this.held(op, high, low, false);
      // Iterations whose number is known when the program is compiled are all taken at any shape.
      this.forms.set(v, isBound ? rooted(v) : atMost(Math.max(0, high.offset - 1)));
    });
    this.region(region);
  }

  private access(op: Op): void {
    const { shape } = bufferOf(this.kernel, text(op, "buffer"));
    const { indices } = memoryOperands(op);
    if (indices.length !== shape.length) return;
    for (const e of shape) this.extent(op, e);
    indices.forEach((v, d) => {
      const [index, length] = [this.form(v), extentForm(shape[d]!)];
      // The length of a dimension is no constant, and an index of constants is looked at wherever it is.
      if (isRooted(index) && (length.offset > 0 || index.offset > 0)) this.held(op, index, length, false);
    });
  }

  /** Where the length of a dimension comes past what it is divided by: from there on it is shorter, or one longer. */
  private extent(op: Op, e: Extent): void {
    if (typeof e !== "object") return;
    this.extent(op, e.a);
    this.extent(op, e.b);
    if ((e.op !== "div" && e.op !== "ceildiv" && e.op !== "mod") || typeof e.b !== "number") return;
    for (const [root, scale] of extentForm(e.a).scales) {
      const at = e.b * scale;
      // Of a multiple of the divisor nothing is cut off; of other multiples, the fractions add up to one at the divisor.
      if (Number.isInteger(1 / at)) continue;
      const length = Math.min(Math.ceil(scale < 1 ? e.b : at), OUT_OF_REACH);
      this.found.push({ root, at: length, constant: e.b, span: op.span, isEdge: false, isModulus: false, isOfProduct: false }); // prettier-ignore
    }
  }

  /** Two values are held against each other. */
  private held(op: Op, a: Form, b: Form, isEdge: boolean): void {
    const all = merged(a, b);
    if (all.offset > 0) this.note(op, all, all.offset, all.constant, isEdge);
  }

  private note(op: Op, form: Form, at: number, constant: number, isEdge: boolean, isModulus = false): void {
    for (const [root, scale] of form.scales) {
      const length = Math.min(Math.ceil(at * scale), OUT_OF_REACH);
      this.found.push({ root, at: length, constant, span: op.span, isEdge, isModulus, isOfProduct: form.isProduct }); // prettier-ignore
    }
  }
}

function extentForm(e: Extent): Form {
  if (typeof e === "number") return constantForm(e);
  if (typeof e === "string") return rooted(e);
  const [a, b] = [extentForm(e.a), extentForm(e.b)];
  if ((e.op === "div" || e.op === "ceildiv") && !isRooted(b)) return divided(a, Math.max(1, b.offset));
  const [form, factor] = isRooted(a) ? [a, b] : [b, a];
  if (e.op === "mul" && factor.isConstant && factor.offset > 0) return divided(form, 1 / factor.offset);
  return merged(a, b);
}

/** Found once for each program: both proofs ask. */
const known = new WeakMap<Kernel, readonly Threshold[]>();

/** Where constants of a rank-level program matter; of each root and place the farthest. */
export function thresholdsOf(program: Kernel): readonly Threshold[] {
  let all = known.get(program);
  if (all === undefined) {
    const finder = new Finder(program);
    finder.region(program.body);
    all = finder.found.filter((t) => t.at > 1);
    known.set(program, all);
  }
  return all;
}

/** A range of whole numbers, both ends in it. */
type Range = readonly [number, number];

/** What is seen of a program at some lengths, without executing it. */
export interface Reach {
  /** The most that each root gets to on some rank. */
  readonly most: ReadonlyMap<Root, number>;
  /** Loads and stores of all ranks, about. */
  readonly accesses: number;
}

/** How far the loops of a rank-level program go at some lengths. */
export function reachOf(program: Kernel, dims: DimValues): Reach {
  const most = new Map<Root, number>(Object.entries(dims));
  let accesses = 0;
  for (let rank = 0; rank < program.world; rank++) {
    const ranges = new Map<Value, Range>();
    /** Gives how many loads and stores its iterations have. */
    const region = (r: Region, iterations: number): number => {
      let accesses = 0;
      for (const op of r.ops) {
        const of = op.operands.map((v): Range => ranges.get(v) ?? [0, 0]);
        if (op.name === "load" || op.name === "store") accesses += iterations;
        if (op.name !== "for" && op.name !== "reduce") {
          for (const v of op.results) ranges.set(v, rangeOf(op, of, rank, dims));
          accesses += Math.max(0, ...op.regions.map((inner) => region(inner, iterations)));
          continue;
        }
        const inner = op.regions[0]!;
        let all = iterations;
        inner.arguments.forEach((v, d) => {
          const [low, high] = [of[2 * d]![0], of[2 * d + 1]![1]];
          ranges.set(v, [low, Math.max(low, high - 1)]);
          most.set(v, Math.max(most.get(v) ?? 0, high - 1));
          all *= Math.max(0, high - low);
        });
        for (const v of op.results) ranges.set(v, [0, 0]);
        accesses += region(inner, all);
      }
      return accesses;
    };
    accesses += region(program.body, 1);
  }
  return { most, accesses };
}

function rangeOf(op: Op, [a = [0, 0], b = [0, 0], c = [0, 0]]: readonly Range[], rank: number, dims: DimValues): Range {
  const ends = (f: (x: number, y: number) => number): Range => {
    const all = [f(a[0], b[0]), f(a[0], b[1]), f(a[1], b[0]), f(a[1], b[1])].map((x) => (Number.isFinite(x) ? x : 0));
    return [Math.min(...all), Math.max(...all)];
  };
  switch (op.name) {
    case "const": {
      const value = op.attributes["value"] as number;
      return [value, value];
    }
    case "dim": {
      const value = dims[text(op, "name")] ?? 0;
      return [value, value];
    }
    case "rank":
      return [rank, rank];
    case "cast":
      return a;
    case "compare":
      return [0, 1];
    case "select":
      return [Math.min(b[0], c[0]), Math.max(b[1], c[1])];
    case "binary":
      break;
    default:
      return [0, 0];
  }
  switch (op.attributes["fn"]) {
    case "add":
      return [a[0] + b[0], a[1] + b[1]];
    case "sub":
      return [a[0] - b[1], a[1] - b[0]];
    case "mul":
      return ends((x, y) => x * y);
    case "div":
      return ends((x, y) => Math.floor(x / y));
    case "shr":
      return ends((x, y) => Math.floor(x / 2 ** y));
    case "shl":
      return ends((x, y) => x * 2 ** y);
    case "min":
      return [Math.min(a[0], b[0]), Math.min(a[1], b[1])];
    case "max":
      return [Math.max(a[0], b[0]), Math.max(a[1], b[1])];
    case "rem":
      return a[0] === a[1] && b[0] === b[1] && b[0] > 0 ? [a[0] % b[0], a[0] % b[0]] : [0, Math.max(0, b[1] - 1)];
    default:
      return [0, Math.max(a[1], b[1])];
  }
}

/** The dimensions that a root goes with. */
export function dimsBehind(program: Kernel, root: Root): ReadonlySet<string> {
  if (typeof root === "string") return new Set([root]);
  const makers = new Map<Value, Op>();
  const look = (region: Region): void => {
    for (const op of region.ops) {
      for (const v of op.results) makers.set(v, op);
      for (const r of op.regions) {
        for (const v of r.arguments) makers.set(v, op);
        look(r);
      }
    }
  };
  look(program.body);
  const names = new Set<string>();
  const seen = new Set<Value>();
  const work: Value[] = [root];
  for (let v = work.pop(); v !== undefined; v = work.pop()) {
    const op = makers.get(v);
    if (op === undefined || seen.has(v)) continue;
    seen.add(v);
    if (op.name === "dim") names.add(text(op, "name"));
    // Of a loop over several indices, only the bounds of this one.
    const d = op.regions[0]?.arguments.indexOf(v) ?? -1;
    work.push(...(d < 0 ? op.operands : op.operands.slice(2 * d, 2 * d + 2)));
  }
  return names;
}
