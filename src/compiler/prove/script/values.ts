/** Text of ops that compute: plain arithmetic where numbers are known, calls of the algebra where they stand for data. */
import { type Op, text, type Value } from "../../ir/module.js";
import type { BinaryFunction, Comparison, UnaryFunction } from "../../ir/ops.js";
import { lanesOf, scalarOf } from "../../ir/types.js";
import { DTYPES, isDType, type ScalarKind } from "../../types/dtype.js";
import { type Form, literal, type Writer } from "./writer.js";

const OPERATORS: Partial<Record<BinaryFunction, string>> = { add: "+", sub: "-", mul: "*" };
const COMPARISONS: Record<Comparison, string> = { eq: "===", ne: "!==", lt: "<", le: "<=", gt: ">", ge: ">=" };
const METHODS: Partial<Record<BinaryFunction, (a: string, b: string) => string>> = {
  add: (a, b) => `A.add(${a}, ${b})`,
  sub: (a, b) => `A.sub(${a}, ${b})`,
  mul: (a, b) => `A.mul(${a}, ${b})`,
  div: (a, b) => `A.div(${a}, ${b})`,
  min: (a, b) => `A.extreme("min", ${a}, ${b})`,
  max: (a, b) => `A.extreme("max", ${a}, ${b})`,
};

/** Writes an op that computes; says whether it was one. `hasData`: whether there is an algebra. */
export function writeValue(w: Writer, op: Op, hasData: boolean): boolean {
  const result = op.results[0]!;
  const fn = op.attributes["fn"];
  const kind: ScalarKind = op.operands.length > 0 ? scalarOf(op.operands[0]!.type) : "index";
  const bind = (text: string, isVariable: boolean): void =>
    w.bind(result, { text, isVariable, lanes: "one", isKnown: true });
  const define = (c: Computed): void => w.define(result, c.text, c.lanes, c.isKnown);
  switch (op.name) {
    case "const":
      bind(literal(op.attributes["value"] as number), false);
      return true;
    case "dim": {
      const name = text(op, "name");
      bind(w.constant(`D_${name}`, `M.dims[${JSON.stringify(name)}]`), false);
      return true;
    }
    case "rank":
    case "block":
    case "grid":
      bind(op.name, true);
      return true;
    case "aligned":
      bind(w.constant("ALIGNED", "M.aligned ? 1 : 0"), false);
      return true;
    case "binary":
      define(binaryText(w, fn as BinaryFunction, kind, w.form(op.operands[0]!), w.form(op.operands[1]!), hasData));
      return true;
    case "unary": {
      const a = w.form(op.operands[0]!);
      const one = (x: string): string => `unaryOf(A, ${JSON.stringify(fn as UnaryFunction)}, "${kind}", ${x})`;
      // A known number stays one, but for the functions that only terms have.
      define(eachText(
        w,
        a,
        `${fn as string}_${kind}`,
        one,
        a.isKnown && (fn === "not" || fn === "neg" || fn === "abs"),
      ));
      return true;
    }
    case "compare":
      define(compareText(w, fn as Comparison, w.form(op.operands[0]!), w.form(op.operands[1]!)));
      return true;
    case "select":
      define(selectText(w, op.operands, lanesOf(result.type)));
      return true;
    case "cast":
      define(castText(w, w.form(op.operands[0]!), kind, scalarOf(result.type)));
      return true;
    case "splat":
      // One number goes with every lane.
      w.bind(result, w.form(op.operands[0]!));
      return true;
    default:
      return false;
  }
}

/** An expression, and what it gives. */
interface Computed {
  readonly text: string;
  readonly lanes: Form["lanes"];
  readonly isKnown: boolean;
}

/** `name` is of the function for arrays: one of its own for each, since V8 puts what it calls into its loop. */
function eachText(w: Writer, a: Form, name: string, one: (x: string) => string, isKnown: boolean): Computed {
  if (a.lanes === "one") return { text: one(a.text), lanes: "one", isKnown };
  if (a.lanes === "either") return { text: `each(${a.text}, (x) => ${one("x")})`, lanes: a.lanes, isKnown: false };
  return {
    text: `${w.constant(`${name}_each`, lanewise("a", "a", one("a[i]")))}(${a.text})`,
    lanes: "many",
    isKnown: false,
  };
}

function pairText(w: Writer, a: Form, b: Form, name: string, one: (x: string, y: string) => string): Computed {
  if (a.lanes === "one" && b.lanes === "one") return { text: one(a.text, b.text), lanes: "one", isKnown: false };
  if (a.lanes !== "either" && b.lanes !== "either") {
    const [x, y] = [a, b].map((form, i) => (form.lanes === "many" ? "ab"[i]! + "[i]" : "ab"[i]!)) as [string, string];
    const text = lanewise("a, b", a.lanes === "many" ? "a" : "b", one(x, y));
    return {
      text: `${w.constant(`${name}_${a.lanes}_${b.lanes}`, text)}(${a.text}, ${b.text})`,
      lanes: "many",
      isKnown: false,
    };
  }
  const lanes = a.lanes === "many" || b.lanes === "many" ? "many" : "either";
  const pair = w.constant(name, `(x, y) => ${one("x", "y")}`);
  return { text: `pairwise(${a.text}, ${b.text}, ${pair})`, lanes, isKnown: false };
}

/** Text of a function that computes as many elements as the array `like` has. */
function lanewise(parameters: string, like: string, element: string): string {
  const loop = `for (let i = 0; i < r.length; i++) r[i] = ${element};`;
  return `(${parameters}) => { const r = new Array(${like}.length); ${loop} return r; }`;
}

/** The text of a function of two values; the same for the folds of `reduce`. */
export function binaryText(
  w: Writer,
  fn: BinaryFunction,
  kind: ScalarKind,
  a: Form,
  b: Form,
  hasData: boolean,
): Computed {
  const general = (x: string, y: string): string => `binaryOf(A, "${fn}", "${kind}", ${x}, ${y})`;
  if (a.isKnown && b.isKnown) {
    const text = knownText(fn, kind, a.text, b.text) ?? general(a.text, b.text);
    return { text, lanes: "one", isKnown: true };
  }
  const isFloat = isDType(kind) && DTYPES[kind].kind === "float";
  const method = hasData && isFloat ? METHODS[fn] : undefined;
  return pairText(w, a, b, `${fn}_${kind}`, method ?? general);
}

/** Arithmetic of two known numbers as JavaScript has it; null where it takes more. See `known` in `values.ts`. */
function knownText(fn: BinaryFunction, kind: ScalarKind, a: string, b: string): string | null {
  const operator = OPERATORS[fn];
  const isLiteral = /^[1-9]\d*$/.test(b);
  if (kind === "i8" || kind === "u8") return null;
  if (kind === "u32" || kind === "i32") {
    const wrap = kind === "u32" ? ">>> 0" : "| 0";
    if (fn === "mul") return `(Math.imul(${a}, ${b}) ${wrap})`;
    return operator === undefined ? null : `((${a} ${operator} ${b}) ${wrap})`;
  }
  if (operator !== undefined) return `(${a} ${operator} ${b})`;
  if (fn === "min" || fn === "max") return `Math.${fn}(${a}, ${b})`;
  if (kind === "bool") return fn === "and" ? `(${a} & ${b})` : fn === "or" ? `(${a} | ${b})` : null;
  if (kind !== "index" || !isLiteral) return null;
  return fn === "div" ? `Math.trunc(${a} / ${b})` : fn === "rem" ? `(${a} % ${b})` : null;
}

function compareText(w: Writer, fn: Comparison, a: Form, b: Form): Computed {
  if (a.isKnown && b.isKnown)
    return { text: `(${a.text} ${COMPARISONS[fn]} ${b.text} ? 1 : 0)`, lanes: "one", isKnown: true };
  return pairText(w, a, b, `compare_${fn}`, (x, y) => `compareOf(A, "${fn}", ${x}, ${y})`);
}

function selectText(w: Writer, operands: readonly Value[], lanes: number): Computed {
  const [c, a, b] = operands.map((v) => w.form(v)) as [Form, Form, Form];
  if (c.isKnown) {
    const same = a.lanes === b.lanes ? a.lanes : "either";
    return { text: `(${c.text} !== 0 ? ${a.text} : ${b.text})`, lanes: same, isKnown: a.isKnown && b.isKnown };
  }
  if (lanes === 1) return { text: `selectOf(A, ${c.text}, ${a.text}, ${b.text})`, lanes: "one", isKnown: false };
  return { text: `chosen(A, ${lanes}, ${c.text}, ${a.text}, ${b.text})`, lanes: "either", isKnown: false };
}

function castText(w: Writer, a: Form, from: ScalarKind, to: ScalarKind): Computed {
  if (a.isKnown && (from === "index" || from === "bool" || from === "u32" || from === "i32")) {
    const text = to === "u32" ? `(${a.text} >>> 0)` : to === "i32" ? `(${a.text} | 0)` : a.text;
    return { text, lanes: "one", isKnown: true };
  }
  const isFloat = isDType(to) && DTYPES[to].kind === "float";
  // Roundings are the identity; see `castOf`.
  if (isFloat) return { text: a.text, lanes: a.lanes, isKnown: a.isKnown && a.lanes === "one" };
  return eachText(w, a, `cast_${from}_${to}`, (x) => `castOf(A, "${from}", "${to}", ${x})`, a.isKnown);
}
