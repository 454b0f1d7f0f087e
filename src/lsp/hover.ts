/** What a person sees who points at a name. */
import type { Hover } from "vscode-languageserver/node";
import {
  type Ast,
  type CheckedCollective,
  constantOf,
  type ExpressionType,
  hasAxes,
  isCut,
  isDType,
  printLayout,
} from "../compiler/index.js";
import { type Analysis, checkedOf, expressionAt, typeAt, WORLDS } from "./analysis.js";
import { neighbourhood, rangeOf } from "./places.js";
import type { NamedSymbol } from "./symbols.js";
import { WORDS } from "./words.js";
import { definitionOf, type Workspace } from "./workspace.js";

export function hoverAt(w: Workspace, a: Analysis, offset: number): Hover | null {
  const found = a.symbols.at(offset);
  if (found !== null) {
    // What a call gives depends on what it is given.
    const call = found.symbol.kind === "function" || found.symbol.kind === "import" ? expressionAt(a, offset) : null;
    const here = call === null || call.span.start !== found.span.start ? "" : `\n\nhere: ${describeType(call.type)}`;
    return hover(describeSymbol(w, a, found.symbol) + here, rangeOf(a.source, found.span));
  }
  const { token, before, isComment } = neighbourhood(a.source.text, offset);
  const isSign = token === null ? /[-+*/@()]/.test(a.source.text[offset] ?? "") : !token.isWord;
  if (isComment || (token === null && !isSign)) return null;
  const here = expressionAt(a, offset);
  const isTensor = here?.type.kind === "tensor";
  if (isSign || token === null) {
    // An operator between whole tensors, or a bracket around them.
    if (!isTensor) return null;
    const text = oneLine(a.source.text.slice(here.span.start, here.span.end));
    return hover(`${code(text)}${describeType(here.type)}`, rangeOf(a.source, here.span));
  }
  const next = a.source.text.slice(token.span.end).trimStart()[0];
  const all = WORDS.filter((w) => w.name === token.image);
  // A layout stands behind a shape, a function before its arguments: `reduce` and `on` might be either.
  const isLayout = before[0] === "]";
  const [word] = all.filter((w) => (isLayout ? w.kind === "layout" : next === "(" ? w.kind !== "keyword" : true));
  const shown = word ?? all[0];
  if (shown === undefined) return null;
  const isCall = isTensor && here.span.start === token.span.start;
  const type = isCall ? `\n\nhere: ${describeType(here.type)}` : "";
  return hover(`${code(shown.usage)}\n${shown.kind}: ${shown.doc}${type}`, rangeOf(a.source, token.span));
}

const code = (text: string): string => `\`\`\`coll\n${text}\n\`\`\`\n`;
const hover = (value: string, range: Hover["range"]): Hover => ({ contents: { kind: "markdown", value }, range });

/** The name with its type, as markdown. */
export function describeSymbol(w: Workspace, a: Analysis, s: NamedSymbol): string {
  const text = ({ start, end }: { start: number; end: number }): string => a.source.text.slice(start, end);
  const owner = s.owner !== null && "body" in s.owner ? s.owner : null;
  const checked = owner === null ? null : checkedOf(a, owner);
  switch (s.kind) {
    case "import": {
      const { path } = s.node as Ast.Import;
      const found = definitionOf(w, { analysis: a, symbol: s });
      if (found === null)
        return `${code(`import ${s.name} from "${path}"`)}there is no such file, or no such name in it`;
      return `${describeSymbol(w, found.analysis, found.symbol)}\n\nfrom \`${path}\``;
    }
    case "constant": {
      const { value, doc } = s.node as Ast.Constant;
      const known = constantOf(a.program, s.name, { world: WORLDS[0], file: a.source, resolve: a.resolve });
      const number = known === null || value.kind === "number" ? "" : `: ${known.value}, of ${WORLDS[0]} ranks`;
      return `${code(`const ${s.name} = ${oneLine(text(value.span))}`)}constant${number}${paragraph(doc)}`;
    }
    case "function": {
      const { parameters, value, doc } = s.node as Ast.Func;
      const head = `fn ${s.name}(${parameters.map((p) => p.text).join(", ")})`;
      return `${code(`${head} = ${oneLine(text(value.span))}`)}function${paragraph(doc)}`;
    }
    case "parameter":
      return `${code(s.name)}parameter of the function ${(s.node as Ast.Func).name.text}: whatever a call gives`;
    case "axis": {
      const size = checked?.mesh.find((m) => m.name === s.name)?.size;
      const length = size === undefined ? "" : `; ${size} ranks long, of ${WORLDS[0]}`;
      return `${code(`mesh(${owner?.mesh.map((m) => m.text).join(", ") ?? s.name})`)}axis of the mesh${length}`;
    }
    case "output index": {
      const { output, variables } = s.node as Ast.Ensures;
      const place = `${output.text}[${variables?.map((v) => v.text).join(", ") ?? ""}]`;
      return `${code(`ensures ${place} == …`)}index of the output \`${output.text}\`, of what each rank holds`;
    }
    case "collective": {
      const c = s.node as Ast.Collective;
      const tensors = (all: readonly Ast.TensorDeclaration[]): string =>
        all.map((t) => oneLine(text(t.span))).join(", ");
      const numbers = c.scalars.map((d) => oneLine(text(d.span)));
      const inputs = [tensors(c.inputs), ...numbers].filter((d) => d !== "").join(", ");
      const outputs = c.outputs.length === 1 ? tensors(c.outputs) : `(${tensors(c.outputs)})`;
      return `${code(`collective ${c.name.text}(${inputs}) -> ${outputs}`)}${c.doc}`;
    }
    case "input":
    case "output":
    case "scratch array":
      return describeTensor(s, checked, text);
    case "dimension":
      return `${code(s.name)}dimension: a length that is given at each launch; an index`;
    case "number": {
      const d = s.node as Ast.ScalarDeclaration;
      return `${code(oneLine(text(d.span)))}number of the launch: the same on every rank, other ones without compiling anew`;
    }
    case "dtype variable": {
      const where = owner?.where.find((w) => w.variable.text === s.name);
      const allowed = where === undefined ? "any dtype" : where.dtypes.map((d) => d.dtype).join(", ");
      const bound = checked?.dtypes[s.name];
      return `${code(s.name)}dtype variable: ${allowed}${bound === undefined ? "" : `; ${bound} where none is chosen`}`;
    }
    case "let": {
      const { value } = s.node as Extract<Ast.Statement, { kind: "let" }>;
      const type = checked === null ? undefined : typeAt(checked, value.span);
      return `${code(`let ${s.name} = ${oneLine(text(value.span))}`)}${type === undefined ? "let" : `let: ${describeType(type)}`}`;
    }
    case "loop variable": {
      const { over } = s.node as Extract<Ast.Statement, { kind: "for" }>;
      return `${code(`for ${s.name} in ${oneLine(text(over.span))}`)}loop variable: an index`;
    }
    case "reduction variable": {
      const { op, over } = s.node as Extract<Ast.Expression, { kind: "reduce" }>;
      return `${code(`${op}(${s.name} in ${oneLine(text(over.span))})`)}reduction variable: an index`;
    }
  }
}

type Declaration = Ast.TensorDeclaration | Extract<Ast.Statement, { kind: "scratch" }>;

/** Logical and local shape, from the declaration alone, so that a fault elsewhere does not hide them. */
function describeTensor(
  s: NamedSymbol,
  checked: CheckedCollective | null,
  text: (span: { start: number; end: number }) => string,
): string {
  const d = s.node as Declaration;
  const shape = d.shape.map((e) => oneLine(text(e.span)));
  const layout = d.layout ?? { name: "local", arguments: [] };
  const all: readonly Ast.LayoutReference[] = "span" in layout ? [layout, ...(layout.further ?? [])] : [];
  const local = shape.map((e, i) => {
    const cuts = all.filter((l) => l.name === "sharded" && Number(l.arguments[0]) === i);
    const parts = cuts.map((l) => (l.arguments.length > 1 ? `world.${l.arguments[1]!}` : "world"));
    return parts.length === 0 ? e : `${/^\w+$/.test(e) ? e : `(${e})`} / ${parts.join(" / ")}`;
  });
  const dtype = checked?.tensors.get(s.name)?.dtype;
  const bound =
    dtype === undefined || isDType(d.dtype.name) ? "" : ` (${d.dtype.name} is ${dtype} where none is chosen)`;
  const lines = [
    `${s.kind}${bound}`,
    `- layout: \`${all.length === 0 ? layout.name : all.map((l) => (l.arguments.length === 0 ? l.name : `${l.name}(${l.arguments.join(", ")})`)).join(" ")}\`: ${layoutDoc(layout.name)}`,
    `- logical shape: \`[${shape.join(", ")}]\``,
    `- local shape, on each rank: \`[${local.join(", ")}]\``,
  ];
  return `${code(oneLine(text(d.span)))}${lines.join("\n")}`;
}

function layoutDoc(name: string): string {
  return WORDS.find((w) => w.kind === "layout" && w.name === name)?.doc ?? "there is no such layout.";
}

export function describeType(t: ExpressionType): string {
  switch (t.kind) {
    case "index":
      return "an index";
    case "bool":
      return "a condition";
    case "value":
      return `an element, ${t.dtype}`;
    case "tensor": {
      const { layout } = t;
      const shape = t.shape.map((e) => showExtent(e));
      const local = t.shape.map((e, i) =>
        isCut(layout, i) ? `${showExtent(e, true)} / ${hasAxes(layout) ? "…" : WORLDS[0]}` : showExtent(e),
      );
      return `a tensor, ${t.dtype}\n- layout: \`${printLayout(t.layout)}\`\n- logical shape: \`[${shape.join(", ")}]\`\n- local shape, of ${WORLDS[0]} ranks: \`[${local.join(", ")}]\``;
    }
  }
}

type Extent = Extract<ExpressionType, { kind: "tensor" }>["shape"][number];
const SIGNS: Readonly<Record<string, string>> = { add: "+", sub: "-", mul: "*", div: "/" };

/** An extent as one would write it. */
function showExtent(e: Extent, isInside = false): string {
  if (typeof e !== "object") return String(e);
  const sign = SIGNS[e.op];
  if (sign === undefined) return `${e.op}(${showExtent(e.a)}, ${showExtent(e.b)})`;
  const shown = `${showExtent(e.a, true)} ${sign} ${showExtent(e.b, true)}`;
  return isInside ? `(${shown})` : shown;
}

const paragraph = (doc: string): string => (doc === "" ? "" : `\n\n${doc}`);

/** Without comments and line breaks. */
const oneLine = (text: string): string => text.replace(/\/\/[^\n]*/g, "").replace(/\s+/g, " ").trim(); // prettier-ignore
