/** Which name means what, where. Works on whatever the parser could make out of a broken program. */
import { tokenMatcher } from "../../grammar/chevrotain.js";
import { collLexer, TOKENS as T } from "../../grammar/tokens.js";
import { type Ast, isDType, type Span } from "../compiler/index.js";

export type SymbolKind =
  | "collective"
  | "constant"
  | "function"
  | "parameter"
  /** A name that an import makes known; what it means is in another file. */
  | "import"
  /** Of a mesh. */
  | "axis"
  /** Of an output in an `ensures` clause. */
  | "output index"
  | "input"
  | "output"
  | "scratch array"
  /** A number that launches are given. */
  | "number"
  | "dimension"
  | "dtype variable"
  | "loop variable"
  | "reduction variable"
  | "let";

/** Something that the author has given a name. */
export interface NamedSymbol {
  readonly name: string;
  readonly kind: SymbolKind;
  /** Where it is defined: the name alone. */
  readonly span: Span;
  /** Where it can be named. */
  readonly scope: Span;
  /** All places that name it, the definition among them, in order. */
  readonly occurrences: Span[];
  /** The declaration, statement or reduction that defines it. */
  readonly node: object;
  /** The collective or function it stands in; null for what the whole file knows. */
  readonly owner: Ast.Collective | Ast.Func | null;
}

export interface SymbolTable {
  readonly symbols: readonly NamedSymbol[];
  /** The symbol that is named at an offset, and where exactly. */
  at(offset: number): { readonly symbol: NamedSymbol; readonly span: Span } | null;
  /** What can be named at an offset. */
  visibleAt(offset: number): NamedSymbol[];
}

export function resolveSymbols(program: Ast.Program, text: string): SymbolTable {
  const names = collLexer.tokenize(text).tokens.filter((t) => tokenMatcher(t, T.Name));
  const exact = (span: Span, name: string): Span => exactPlace(names, span, name);
  const whole = { start: 0, end: text.length + 1 };
  const file = new Map<string, NamedSymbol>();
  const symbols: NamedSymbol[] = [];
  const define = (name: Ast.Name, kind: SymbolKind, node: object): void => {
    const made = { name: name.text, kind, span: name.span, scope: whole, occurrences: [name.span], node, owner: null };
    symbols.push(made);
    // Collectives are called by nobody.
    if (kind !== "collective" && !file.has(name.text)) file.set(name.text, made);
  };
  for (const clause of program.imports) for (const name of clause.names) define(name, "import", clause);
  for (const c of program.constants) define(c.name, "constant", c);
  for (const f of program.functions) define(f.name, "function", f);
  for (const c of program.collectives) define(c.name, "collective", c);
  for (const c of program.constants) new Resolver(null, c.span.end, exact, file).constant(c);
  for (const f of program.functions) symbols.push(...new Resolver(f, f.span.end, exact, file).function(f));
  program.collectives.forEach((c, i) => {
    // To the next one, so that what is being written at the end of a broken body belongs to it.
    const end = program.collectives[i + 1]?.span.start ?? text.length + 1;
    symbols.push(...new Resolver(c, end, exact, file).collective(c));
  });
  for (const s of symbols) s.occurrences.sort((a, b) => a.start - b.start);
  return {
    symbols,
    at(offset) {
      for (const symbol of symbols)
        for (const span of symbol.occurrences) if (span.start <= offset && offset <= span.end) return { symbol, span };
      return null;
    },
    visibleAt: (offset) => symbols.filter((s) => s.scope.start <= offset && offset <= s.scope.end),
  };
}

/** The name itself in a span that may hold the parentheses around it, too. */
function exactPlace(names: readonly { image: string; startOffset: number }[], span: Span, name: string): Span {
  let [low, high] = [0, names.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (names[middle]!.startOffset < span.start) low = middle + 1;
    else high = middle;
  }
  for (let i = low; i < names.length && names[i]!.startOffset < span.end; i++)
    if (names[i]!.image === name) return { start: names[i]!.startOffset, end: names[i]!.startOffset + name.length };
  return span;
}

class Resolver {
  private readonly all: NamedSymbol[] = [];
  private scopes: Map<string, NamedSymbol>[];

  constructor(
    private readonly owner: Ast.Collective | Ast.Func | null,
    private readonly end: number,
    private readonly exact: (span: Span, name: string) => Span,
    /** What the whole file knows. */
    file: Map<string, NamedSymbol>,
  ) {
    this.scopes = [file, new Map()];
  }

  constant(c: Ast.Constant): void {
    this.visit(c.value);
  }

  function(f: Ast.Func): NamedSymbol[] {
    for (const p of f.parameters) this.define(p, "parameter", f.span, f);
    this.visit(f.value);
    return this.all;
  }

  collective(c: Ast.Collective): NamedSymbol[] {
    const { inputs, outputs, scalars, mesh, where, requires, limits, ensures, body } = c;
    const whole = { start: c.span.start, end: this.end };
    for (const axis of mesh) this.define(axis, "axis", whole, c);
    for (const d of inputs) this.define(d.name, "input", whole, d);
    // An output of an input's name is that input, changed in place.
    for (const d of outputs) if (!this.use(d.name.text, d.name.span)) this.define(d.name, "output", whole, d);
    for (const d of scalars) this.define(d.name, "number", whole, d);
    for (const d of [...inputs, ...outputs]) this.dimensions(d.shape, whole, d);
    const scratch = scratchIn(body);
    for (const { layout } of [...inputs, ...outputs, ...scratch])
      for (const one of layout == null ? [] : [layout, ...(layout.further ?? [])])
        for (const argument of one.arguments) if (/^[A-Za-z_]/.test(argument)) this.use(argument, one.span);
    for (const s of scratch) this.define(s.name, "scratch array", whole, s);
    for (const { dtype } of [...inputs, ...outputs, ...scalars, ...scratch]) this.dtype(dtype, whole, c);
    for (const w of where) this.use(w.variable.text, w.variable.span);
    for (const r of requires) this.visit(r.condition);
    for (const l of limits) {
      this.use(l.input.text, l.input.span);
      this.visit([l.from, l.to]);
    }
    for (const e of ensures) {
      this.use(e.output.text, e.output.span);
      this.inside(() => {
        for (const v of e.variables ?? []) this.define(v, "output index", e.span, e);
        this.visit(e.value);
      });
    }
    this.block(body, this.end);
    return this.all;
  }

  // -- defining ------------------------------------------------------------------------------------

  private define(name: Ast.Name, kind: SymbolKind, scope: Span, node: object): void {
    const span = this.exact(name.span, name.text);
    const made: NamedSymbol = { name: name.text, kind, span, scope, occurrences: [span], node, owner: this.owner };
    this.all.push(made);
    this.scopes.at(-1)!.set(name.text, made);
  }

  /** The first mention of a name in the shape of a parameter defines it; all others name it. */
  private dimensions(shape: readonly unknown[], scope: Span, node: object): void {
    for (const e of shape)
      this.each(e, (found) => {
        if (found.kind !== "name" || found.name === "world" || found.name === "rank") return;
        const span = this.exact(found.span as Span, found.name as string);
        if (!this.use(found.name as string, span)) this.define({ text: found.name as string, span }, "dimension", scope, node); // prettier-ignore
      });
  }

  private dtype({ name, span }: Ast.DTypeReference, scope: Span, c: Ast.Collective): void {
    if (isDType(name) || this.use(name, span) || !/^[A-Z]/.test(name)) return;
    this.define({ text: name, span }, "dtype variable", scope, c);
  }

  // -- naming --------------------------------------------------------------------------------------

  private use(name: string, span: Span): boolean {
    for (let i = this.scopes.length - 1; i >= 0; i--) {
      const found = this.scopes[i]!.get(name);
      if (found === undefined) continue;
      const place = this.exact(span, name);
      // An index that stands for a range of one is in the tree twice.
      if (!found.occurrences.some((o) => o.start === place.start)) found.occurrences.push(place);
      return true;
    }
    return false;
  }

  private inside(run: () => void): void {
    this.scopes.push(new Map());
    run();
    this.scopes.pop();
  }

  private block(body: readonly Ast.Statement[], end: number): void {
    this.inside(() => {
      for (const s of body) this.statement(s, end);
    });
  }

  private statement(s: Ast.Statement, end: number): void {
    if (s.kind === "let") {
      this.visit(s.value);
      this.define(s.name, "let", { start: s.span.end, end }, s);
    } else if (s.kind === "scratch") s.shape.forEach((e) => this.visit(e));
    else if (s.kind === "for") {
      this.visit(s.over);
      this.inside(() => {
        for (const v of s.variables) this.define(v, "loop variable", { start: s.over.span.end, end: s.span.end }, s);
        this.block(s.body, s.span.end);
      });
    } else if (s.kind === "if") {
      this.visit(s.condition);
      this.block(s.then, s.otherwise[0]?.span.start ?? s.span.end);
      this.block(s.otherwise, s.span.end);
    } else this.visit(s);
  }

  /** Any part of an expression, or a statement that defines nothing; kinds to come are gone through all the same. */
  private visit(part: unknown): void {
    this.each(part, (found) => {
      const n = found as { kind?: string; name?: string; span?: Span } & Record<string, Ast.Name>;
      if (n.kind === "name") this.use(n.name!, n.span!);
      for (const key of ["tensor", "target", "callee", "axis"])
        if (n[key]?.text !== undefined) this.use(n[key].text, n[key].span);
      if (n.kind !== "reduce") return;
      const r = found as unknown as Extract<Ast.Expression, { kind: "reduce" }>;
      this.visit(r.over);
      this.inside(() => {
        this.define(r.variable, "reduction variable", { start: r.over.span.end, end: r.span.end }, r);
        this.visit(r.body);
      });
      return "seen";
    });
  }

  /** Every object of a tree, outer ones first; those that are `seen` are not looked into. */
  private each(part: unknown, see: (found: Record<string, unknown>) => "seen" | void): void {
    if (typeof part !== "object" || part === null) return;
    if (Array.isArray(part)) part.forEach((p) => this.each(p, see));
    else if (see(part as Record<string, unknown>) !== "seen")
      for (const [key, value] of Object.entries(part)) if (key !== "span") this.each(value, see);
  }
}

function scratchIn(body: readonly Ast.Statement[]): Extract<Ast.Statement, { kind: "scratch" }>[] {
  return body.flatMap((s) => {
    if (s.kind === "scratch") return [s];
    if (s.kind === "for") return scratchIn(s.body);
    return s.kind === "if" ? scratchIn([...s.then, ...s.otherwise]) : [];
  });
}
