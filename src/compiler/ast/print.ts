/** Abstract syntax → canonical Coll text, which parses back to the same tree. */
import type {
  DTypeReference,
  Collective,
  Domain,
  Expression,
  LayoutReference,
  Program,
  RangeExpression,
  Statement,
  TensorDeclaration,
} from "./nodes.js";
import { COMPARISON, INDEX_PRECEDENCE, MINUS_PRECEDENCE, NOT_PRECEDENCE, precedenceOf, PRODUCT } from "./precedence.js";

export function printProgram(program: Program): string {
  const { imports, constants, functions, collectives } = program;
  const heads = [
    imports.map((i) => `import ${i.names.map((n) => n.text).join(", ")} from "${i.path}"\n`),
    constants.map((c) => `${documented(c.doc)}const ${c.name.text} = ${printExpression(c.value)}\n`),
    functions.map(
      (f) =>
        `${documented(f.doc)}fn ${f.name.text}(${f.parameters.map((p) => p.text).join(", ")}) = ${printExpression(f.value)}\n`,
    ),
  ];
  return [...heads.map((h) => h.join("")).filter((h) => h !== ""), ...collectives.map(printCollective)].join("\n");
}

function documented(doc: string): string {
  if (doc === "") return "";
  return doc
    .split("\n")
    .map((line) => `///${line === "" ? "" : ` ${line}`}\n`)
    .join("");
}

export function printCollective(c: Collective): string {
  const outputs = c.outputs.map(tensor).join(", ");
  const inputs = [...c.inputs.map(tensor), ...c.scalars.map((s) => `${s.name.text}: ${s.dtype.name}`)];
  const head = `collective ${c.name.text}(${inputs.join(", ")}) -> ${c.outputs.length === 1 ? outputs : `(${outputs})`}`;
  const clauses = [
    ...(c.mesh.length === 0 ? [] : [`  mesh(${c.mesh.map((a) => a.text).join(", ")})`]),
    ...c.where.map((w) => `  where ${w.variable.text} in (${w.dtypes.map((d) => d.dtype).join(", ")})`),
    ...c.requires.map(
      (r) => `  where ${r.condition === null ? `world in (${r.choices!.join(", ")})` : printExpression(r.condition)}`,
    ),
    ...c.limits.map((l) => `  where ${l.input.text} in ${printExpression(l.from)}..${printExpression(l.to)}`),
    ...c.ensures.map((e) => {
      const indices = e.variables === null ? "" : `[${e.variables.map((v) => v.text).join(", ")}]`;
      return `  ensures ${e.output.text}${indices} == ${printExpression(e.value)}`;
    }),
  ];
  const opening = clauses.length === 0 ? [`${head} {`] : [head, ...clauses, "{"];
  return `${documented(c.doc)}${[...opening, `${statements(c.body, "  ")}}`].join("\n")}\n`;
}

function tensor(t: TensorDeclaration): string {
  return `${t.name.text}: ${dtypeText(t.dtype)}[${list(t.shape)}] ${layout(t.layout)}`;
}

function layout(l: LayoutReference): string {
  const own = l.arguments.length === 0 ? l.name : `${l.name}(${l.arguments.join(", ")})`;
  return [own, ...(l.further ?? []).map(layout)].join(" ");
}

function list(es: readonly Expression[]): string {
  return es.map((e) => printExpression(e)).join(", ");
}

function statements(body: readonly Statement[], indent: string): string {
  return body.map((s) => `${indent}${statement(s, indent)}\n`).join("");
}

function block(body: readonly Statement[], indent: string): string {
  return `{\n${statements(body, indent + "  ")}${indent}}`;
}

function statement(s: Statement, indent: string): string {
  switch (s.kind) {
    case "let":
      return `let ${s.name.text} = ${printExpression(s.value)}`;
    case "scratch":
      return `scratch ${s.name.text}: ${dtypeText(s.dtype)}[${list(s.shape)}]${s.layout === null ? "" : ` ${layout(s.layout)}`}`;
    case "barrier":
      return "barrier";
    case "signal":
    case "wait":
      return `${s.kind} ${printExpression(s.peer)}`;
    case "assign":
      return `${s.target.text}${printPeer(s.peer)}${s.indices === null ? "" : `[${list(s.indices)}]`} = ${printExpression(s.value)}`;
    case "for":
      return `for ${s.variables.map((v) => v.text).join(", ")} in ${domain(s.over)} ${block(s.body, indent)}`;
    case "if": {
      const [only] = s.otherwise;
      const isChain = s.otherwise.length === 1 && only!.kind === "if";
      const rest = isChain ? statement(only!, indent) : block(s.otherwise, indent);
      return `if ${printExpression(s.condition)} ${block(s.then, indent)}${s.otherwise.length === 0 ? "" : ` else ${rest}`}`;
    }
  }
}

function domain(d: Domain): string {
  switch (d.kind) {
    case "tiles":
      return `tiles(${d.ranges.map(range).join(", ")})`;
    case "ranks":
      return `${d.includeSelf ? "ranks" : "peers"}${d.axis === null ? "" : `(${d.axis.text})`}`;
    case "serial":
      return range(d.range);
  }
}

function range(r: RangeExpression): string {
  if (r.kind !== "bounds") {
    const parts = r.parts === null ? "" : `, ${printExpression(r.parts)}`;
    return `${r.kind}(${printExpression(r.length)}, ${printExpression(r.rank)}${parts})`;
  }
  return r.from === null ? printExpression(r.to) : `${printExpression(r.from)}..${printExpression(r.to)}`;
}

/** `@p`, or nothing for this rank. */
export function printPeer(p: Expression | null): string {
  if (p === null) return "";
  const isPlain = p.kind === "name" || p.kind === "call" || (p.kind === "number" && p.isInteger);
  return isPlain ? `@${printExpression(p)}` : `@(${printExpression(p)})`;
}

/** @param outer how tightly what the text stands in binds; parentheses are added where that is tighter. */
export function printExpression(e: Expression, outer = 0): string {
  const inside = (precedence: number, text: string): string => (precedence < outer ? `(${text})` : text);
  switch (e.kind) {
    case "number":
      return e.isInteger || !Number.isInteger(e.value) ? String(e.value) : e.value.toFixed(1);
    case "name":
      return e.name;
    case "element":
      return `${e.tensor.text}${printPeer(e.peer)}${e.indices.length === 0 ? "" : `[${list(e.indices)}]`}`;
    case "slice": {
      const side = (x: Expression | null): string => (x === null ? "" : printExpression(x));
      const ranges = e.ranges.map((r) => (r.isIndex ? side(r.from) : `${side(r.from)}..${side(r.to)}`));
      const isPlain = e.operand.kind !== "number" && e.operand.kind !== "axis" && e.operand.kind !== "member";
      const operand = printExpression(e.operand, INDEX_PRECEDENCE);
      return `${isPlain ? operand : `(${operand})`}[${ranges.join(", ")}]`;
    }
    case "axis":
      return `${e.base.text}.${e.axis.text}`;
    case "member":
      return `${range(e.range)}.${e.member.text}`;
    case "unary":
      return e.operator === "-"
        ? inside(MINUS_PRECEDENCE, `-${printExpression(e.operand, MINUS_PRECEDENCE)}`)
        : inside(NOT_PRECEDENCE, `not ${printExpression(e.operand, COMPARISON)}`);
    case "binary":
    case "matmul": {
      const operator = e.kind === "matmul" ? "@" : e.operator;
      const own = precedenceOf(operator);
      // Operators group from the left: on the right, even an equal one needs parentheses.
      const left = own === COMPARISON ? own + 0.5 : own; // `(a < b) == c` may do without, but not for a reader
      return inside(own, `${printExpression(e.left, left)} ${operator} ${printExpression(e.right, own + 0.5)}`);
    }
    case "call": {
      const named = e.named.map((n) => `${n.name.text}: ${printExpression(n.value)}`);
      return `${e.callee.text}(${[...e.arguments.map((a) => printExpression(a)), ...named].join(", ")})`;
    }
    case "inlined":
      return `${e.callee.text}(${e.bindings.map((b) => printExpression(b.value)).join(", ")})`;
    case "reduce": {
      // A reduction would swallow the product it stands in, so there it is put in parentheses; not so right after another.
      const body = printExpression(e.body, e.body.kind === "reduce" ? PRODUCT - 0.5 : PRODUCT);
      return inside(PRODUCT - 0.5, `${e.op}(${e.variable.text} in ${domain(e.over)}) ${body}`);
    }
  }
}

function dtypeText({ name, wrapper }: DTypeReference): string {
  return wrapper === undefined ? name : `${wrapper.text}(${name})`;
}
