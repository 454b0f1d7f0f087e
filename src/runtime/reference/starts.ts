/** What reductions and folds start from, which is their value over nothing: it depends on what they are of. */
import {
  type ElementExpression,
  type Manifest,
  REDUCE,
  type ScalarKind,
  type Specification,
} from "../../compiler/index.js";

type Value = Specification | ElementExpression;
type Start = (fn: keyof typeof REDUCE | "mean") => number;

/**
 * @param of what is reduced
 * @param kind what it is computed in, where it is no condition
 */
export function startsOf(of: Value, kind: ScalarKind, { inputs }: Manifest): Start {
  const reduced = isCondition(of, inputs, new Map()) ? "bool" : kind;
  return (fn) => REDUCE[fn === "mean" ? "sum" : fn].identity(reduced);
}

/** @param known what has been found of parts, which may occur often */
function isCondition(x: Value, inputs: Manifest["inputs"], known: Map<Value, boolean>): boolean {
  const isOne = (part: Value): boolean => {
    let found = known.get(part);
    if (found === undefined) known.set(part, (found = isCondition(part, inputs, known)));
    return found;
  };
  const isOfBool = (name: string): boolean => inputs.find((t) => t.name === name)?.dtype === "bool";
  switch (x.kind) {
    case "compare":
      return true;
    case "cast":
      return x.dtype === "bool";
    case "input":
      return isOfBool(x.name);
    case "load":
      return isOfBool(x.input);
    case "unary":
      return x.fn === "not";
    case "binary":
    case "select":
      return isOne(x.a) && isOne(x.b);
    case "reduce":
      return isOne(x.body);
    case "concat":
      return x.parts.every(isOne);
    case "fold":
    case "permute":
    case "repeat":
    case "reshape":
    case "slice":
      return isOne(x.a);
    default:
      return false;
  }
}
