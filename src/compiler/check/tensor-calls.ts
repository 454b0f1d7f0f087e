/** Calls on whole tensors: functions, casts, and conversions from one layout to another. */
import type { Expression } from "../ast/nodes.js";
import { diagnostic } from "../diagnostics/create.js";
import { suggestion } from "../diagnostics/suggest.js";
import { DTYPE_NAMES, DTYPES } from "../types/dtype.js";
import { printExpression } from "../ast/print.js";
import { type Layout, partialOf, type Placement, printLayout } from "../types/layout.js";
import { cutsOf, hasAxes, layoutOf, placementsOf } from "../types/mesh.js";
import { castDType, refuseNamed, reportArity } from "./calls.js";
import { mayCastParts } from "./layout-rules.js";
import { cutAlong, showExtent } from "./extents.js";
import {
  type Conversion,
  CONVERSION_NAMES,
  CONVERSIONS,
  conversionBetween,
  describeKind,
  isPair,
  isUnary,
  UNARY,
  UNARY_NAMES,
} from "./functions.js";
import { checkDim, literalArgument, reportMissing } from "./tensor-arguments.js";
import { checkPair, checkWhere, misfitOf, reportNotLinear, requireNumbers } from "./tensor-elementwise.js";
import { checkFold, foldOf } from "./tensor-folds.js";
import { checkIota, VIEWS } from "./tensor-views.js";
import { elsewhere, functionsHelp } from "./usage.js";
import type { Checking } from "./scope.js";
import { checkTensor, type Operand, ranksIn, type TensorContext, type TensorType } from "./tensors.js";

type Call = Extract<Expression, { kind: "call" }>;

export function checkTensorCall(e: Call, context: TensorContext): Operand {
  const { c } = context;
  const callee = e.callee.text;
  if (callee === "iota") return checkIota(e, c);
  const view = Object.hasOwn(VIEWS, callee) ? VIEWS[callee] : undefined;
  if (view !== undefined) return view(e, context);
  const fold = foldOf(e);
  if (fold !== null) return checkFold(e, fold, context);
  const conversion = CONVERSIONS.get(callee);
  const dtype = castDType(callee, c);
  const wanted = callee === "where" ? 3 : isPair(callee) ? 2 : 1;
  if (conversion === undefined && dtype === null && wanted === 1 && !isUnary(callee)) return reportUnknown(e, context);
  if (conversion === undefined && refuseNamed(e, [], c)) return null;
  if (e.arguments.length !== wanted) return reportArity(e, wanted, "tensor", c);
  const operands = e.arguments.map((a) => checkTensor(a, context));
  if (operands.includes(null)) return null;
  const [t, second] = operands;
  if (wanted === 3) return checkWhere(e, operands, c);
  if (wanted === 2) return checkPair(e, t!, second!, c);
  const [operand] = e.arguments as [Expression];
  const isNumber = c.scalarIn(operand) !== null || (dtype !== null && ranksIn(operand, c) !== null);
  if (t === "literal" && isNumber && conversion === undefined) return numberCall(e, operand, dtype !== null, c);
  if (t === null || t === undefined || t === "literal")
    return c.report(diagnostic("not-a-whole-tensor", operand.span, { what: "a number" }));
  if (conversion !== undefined) return context.isLogical ? t : convert(e, conversion, t, context);
  const partial = partialOf(t.layout);
  if (dtype !== null && partial !== null && !mayCastParts(partial, t.dtype, dtype))
    return reportNotLinear(`a cast from ${t.dtype} to ${dtype}`, t, operand, e, c);
  if (dtype !== null) return { ...t, dtype };
  if (!requireNumbers(t, operand, c)) return null;
  if (partialOf(t.layout) !== null) return reportNotLinear(`'${callee}'`, t, operand, e, c);
  if (DTYPES[t.dtype].kind === "int" && !UNARY[callee as keyof typeof UNARY].integers)
    return c.report(diagnostic("needs-float", e.span, { name: callee, found: `a ${t.dtype} tensor` }));
  return t;
}

/** A function of a number of the launch, or its cast, or that of the number of ranks. */
function numberCall(e: Call, operand: Expression, isCast: boolean, c: Checking): Operand {
  if (isCast && operand.kind !== "name") {
    const help = `cast the number itself, ${e.callee.text}(${c.scalarIn(operand)!}), and compute with that`;
    return c.report(diagnostic("not-a-whole-tensor", operand.span, { what: "a computed number" }, { help }));
  }
  const isWhole = !isCast && misfitOf(operand, "f32", c) !== null;
  if (isWhole && !UNARY[e.callee.text as keyof typeof UNARY].integers)
    return c.report(diagnostic("needs-float", e.span, { name: e.callee.text, found: "a whole number" }));
  return "literal";
}

function reportUnknown(e: Call, { c }: TensorContext): null {
  const name = e.callee.text;
  const known = [
    ...[...CONVERSION_NAMES, ...UNARY_NAMES, ...DTYPE_NAMES, ...Object.keys(VIEWS)],
    ...["min", "max", "pow", "sum", "mean", "prod", "where"],
  ];
  const help = elsewhere(name) ?? suggestion(name, known) ?? functionsHelp(true);
  return c.report(diagnostic("unknown-function", e.callee.span, { name }, { help }));
}

// -- conversions -----------------------------------------------------------------------------------

function convert(e: Call, conversion: Conversion, t: TensorType, { c }: TensorContext): Operand {
  const callee = e.callee.text;
  const { from, to, argument, mayNameDim } = conversion;
  const known = [
    ...(argument === null ? [] : [argument]),
    ...(mayNameDim && argument !== "dim" ? ["dim"] : []),
    "over",
  ];
  if (refuseNamed(e, known, c)) return null;
  const over = axisOver(e, t.layout, c);
  if (over === null) return null;
  if (over !== "all") return convertAlong(e, conversion, t, over, c);
  const [operand] = e.arguments;
  if (t.layout.kind !== from) {
    const labels = [{ span: operand!.span, text: printLayout(t.layout) }];
    const help = t.layout.kind === "replicated" ? "every rank has all of it already" : helpFrom(t.layout, to);
    const parameters = { callee, wanted: describeKind(from), found: printLayout(t.layout) };
    return c.report(diagnostic("bad-conversion", e.span, parameters, { labels, help }));
  }
  const dim = checkDim(e, t, c);
  if (dim === undefined) return null;
  if (argument === "dim" && dim === null) return reportMissing(callee, "dim", "the dimension it cuts", e, c);
  if (t.layout.kind === "sharded" && dim !== null && (to === "sharded") === (t.layout.dim === dim)) {
    const [wanted, found] = [
      `a tensor that is ${to === "sharded" ? "not " : ""}sharded(${dim})`,
      printLayout(t.layout),
    ];
    const labels = [{ span: operand!.span, text: cutAlong(t) }];
    const help =
      to === "sharded"
        ? `it lies as wanted already: leave '${callee}' out, or name another dimension`
        : `name the dimension that is cut, dim: ${t.layout.dim}, or leave it out`;
    return c.report(diagnostic("bad-conversion", e.span, { callee, wanted, found }, { labels, help }));
  }
  if (to === "replicated") return { ...t, layout: { kind: "replicated" } };
  if (to === "on") {
    const rank = rootOf(e, c.world, c);
    return rank === null ? null : { ...t, layout: { kind: "on", rank } };
  }
  const length = t.shape[dim!]!;
  const reason = `${callee}(…, dim: ${dim}) cuts ${showExtent(length)} into ${c.world} equal parts`;
  c.requireDivisible(length, c.world, reason, e.span);
  return { ...t, layout: { kind: "sharded", dim: dim! } };
}

/** The number of the axis that a conversion acts on, or `all` ranks; null after a reported error. */
function axisOver(e: Call, layout: Layout, c: Checking): number | "all" | null {
  const written = e.named.find((n) => n.name.text === "over")?.value;
  if (written === undefined) {
    if (!hasAxes(layout)) return "all";
    const axis = layout.kind === "grid" ? layout.parts[0]!.axis : layout.axis!;
    const callee = e.callee.text;
    const help = `name the axis: ${callee}(…, over: ${axis})`;
    const parameters = { callee, wanted: "a tensor of all ranks", found: printLayout(layout) };
    return c.report(diagnostic("bad-conversion", e.span, parameters, { help }));
  }
  const axis = c.axis({ text: written.kind === "name" ? written.name : printExpression(written), span: written.span });
  return axis === null ? null : c.mesh.indexOf(axis);
}

/** A conversion among the ranks of each row along an axis: the other axes stay as they are. */
function convertAlong(e: Call, { from, to, argument }: Conversion, t: TensorType, at: number, c: Checking): Operand {
  const callee = e.callee.text;
  const axis = c.mesh[at]!;
  const placements = placementsOf(t.layout, c.mesh);
  const found = placements[at]!;
  const [operand] = e.arguments as [Expression];
  const refuse = (wanted: string, help: string | null): null => {
    const labels = [{ span: operand.span, text: printLayout(t.layout) }];
    const parameters = { callee, wanted, found: printLayout({ ...found, axis: axis.name }) };
    return c.report(diagnostic("bad-conversion", e.span, parameters, { labels, help }));
  };
  if (found.kind !== from) {
    const help = found.kind === "replicated" ? `every rank along '${axis.name}' has it already` : helpFrom(found, to);
    return refuse(describeKind(from), help);
  }
  const dim = checkDim(e, t, c);
  if (dim === undefined) return null;
  if (argument === "dim" && dim === null) return reportMissing(callee, "dim", "the dimension it cuts", e, c);
  if (found.kind === "sharded" && dim !== null && (to === "sharded") === (found.dim === dim))
    return refuse(`a tensor that is ${to === "sharded" ? "not " : ""}sharded(${dim}, ${axis.name})`, null);
  // Of a dimension that several axes cut, the last one's parts are next to each other.
  const inner = placements.findIndex(
    (p, i) => i > at && p.kind === "sharded" && [found.kind === "sharded" ? found.dim : -1, to === "sharded" ? dim : -1].includes(p.dim), // prettier-ignore
  );
  if (inner >= 0)
    return refuse(
      `a dimension that no axis behind '${axis.name}' cuts`,
      `'${c.mesh[inner]!.name}' cuts it into parts of these parts: convert along '${c.mesh[inner]!.name}' first`,
    );
  if (to === "sharded") {
    const length = t.shape[dim!]!;
    const before = cutsOf(t.layout, c.mesh, c.world, t.shape.length)[dim!]!;
    const reason = `${callee}(…, dim: ${dim}, over: ${axis.name}) cuts ${showExtent(length)} into ${before * axis.size} equal parts`;
    c.requireDivisible(length, before * axis.size, reason, e.span);
  }
  const root = to === "on" ? rootOf(e, axis.size, c) : 0;
  if (root === null) return null;
  const placed: Placement =
    to === "sharded" ? { kind: to, dim: dim! } : to === "on" ? { kind: to, rank: root } : { kind: "replicated" };
  return { ...t, layout: layoutOf(placements.with(at, placed), c.mesh) };
}

/** The rank, or the place along an axis, that a conversion gives to; null after a reported error. */
function rootOf(e: Call, size: number, c: Checking): number | null {
  const rank = literalArgument(e, "to");
  if (rank === null) return reportMissing(e.callee.text, "to", "the rank that gets it", e, c);
  return rank < size ? rank : c.report(diagnostic("no-such-rank", e.span, { rank, world: size }));
}

/** What leads from the layout to that kind of layout. */
function helpFrom(from: Layout, to: Placement["kind"]): string | null {
  const target: Layout =
    to === "sharded" ? { kind: to, dim: 0 } : to === "on" ? { kind: to, rank: 0 } : { kind: "replicated" };
  const fix = conversionBetween(from, target);
  return fix === null ? null : `from ${printLayout(from)}, that is ${fix}`;
}
