/** Names and what they mean while a collective is checked, and where problems are collected. */
import type { Name } from "../ast/nodes.js";
import { diagnostic, type Diagnostic } from "../diagnostics/create.js";
import type { Span } from "../source.js";
import { DTYPE_NAMES, type DType, isDType } from "../types/dtype.js";
import type { CheckedTensor, ExpressionType } from "./checked.js";
import type { Expression } from "../ast/nodes.js";
import { UNARY_NAMES, CONVERSION_NAMES } from "./functions.js";

/** Type of an expression, or null after an error that has been reported: then nothing more is said about it. */
export type MaybeType = ExpressionType | null;

export interface Binding {
  readonly kind: "loop variable" | "let" | "dimension";
  readonly type: MaybeType;
  /** The value differs from rank to rank. */
  readonly varies: boolean;
  readonly span: Span;
}

const RESERVED = new Map<string, string>([
  ["rank", "this rank's number"],
  ["world", "the number of ranks"],
  ...["sum", "avg", "min", "max", "prod"].map((n) => [n, "a reduction"] as const),
  ...["where", ...UNARY_NAMES].map((n) => [n, "a function"] as const),
  ...CONVERSION_NAMES.map((n) => [n, "a conversion"] as const),
  ...DTYPE_NAMES.map((n) => [n, "a dtype"] as const),
]);

export class Checking {
  readonly diagnostics: Diagnostic[] = [];
  readonly tensors = new Map<string, CheckedTensor>();
  readonly types = new Map<Expression, ExpressionType>();
  readonly divisibility: { dividend: import("../types/extent.js").Extent; divisor: number; reason: string }[] = [];
  readonly dims: string[] = [];
  readonly dtypes: Record<string, DType> = {};
  readonly used = new Set<string>();
  private readonly bindings: Map<string, Binding>[] = [new Map()];
  private readonly taken = new Map<string, Span>();

  constructor(
    readonly world: number,
    private readonly given: Readonly<Record<string, DType>>,
  ) {}

  report(d: Diagnostic): null {
    this.diagnostics.push(d);
    return null;
  }

  /** Enters a name, or says why it cannot be. */
  define(name: Name, binding: Omit<Binding, "span"> | null): void {
    const meaning = RESERVED.get(name.text);
    const before = this.taken.get(name.text) ?? this.find(name.text)?.span;
    if (meaning !== undefined) this.report(diagnostic("reserved-name", name.span, { name: name.text, meaning }));
    else if (before !== undefined)
      this.report(
        diagnostic(
          "duplicate-name",
          name.span,
          { name: name.text },
          { labels: [{ span: before, text: "first defined here" }] },
        ),
      );
    if (binding === null) this.taken.set(name.text, name.span);
    else this.bindings.at(-1)!.set(name.text, { ...binding, span: name.span });
  }

  find(name: string): Binding | undefined {
    for (let i = this.bindings.length - 1; i >= 0; i--) {
      const found = this.bindings[i]!.get(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Runs `body` with names of its own; unused lets among them are warned about. */
  inScope(body: () => void): void {
    this.bindings.push(new Map());
    body();
    for (const [name, b] of this.bindings.pop()!)
      if (b.kind === "let" && !this.used.has(name)) this.report(diagnostic("unused", b.span, { name }));
  }

  unknownName(name: string, span: Span): null {
    const known = [
      ...this.tensors.keys(),
      ...this.dims,
      "rank",
      "world",
      ...this.bindings.flatMap((b) => [...b.keys()]),
    ];
    return this.report(diagnostic("unknown-name", span, { name }, { help: suggestion(name, known) }));
  }

  /** What a dtype reference stands for; a variable that nothing binds takes the first allowed dtype, or f32. */
  dtype(name: string, span: Span, allowed: readonly DType[] | undefined): DType | null {
    if (isDType(name)) return name;
    if (!/^[A-Z]/.test(name))
      return this.report(diagnostic("unknown-dtype", span, { name, known: DTYPE_NAMES.join(", ") }));
    const bound = this.dtypes[name] ?? this.given[name] ?? allowed?.[0] ?? "f32";
    if (allowed !== undefined && !allowed.includes(bound) && this.dtypes[name] === undefined)
      this.report(diagnostic("dtype-not-allowed", span, { variable: name, dtype: bound, allowed: allowed.join(", ") }));
    return (this.dtypes[name] = bound);
  }
}

/** "did you mean 'x'?" for the nearest known name; null when none is near. */
export function suggestion(name: string, known: readonly string[]): string | null {
  const ranked = known.map((k) => ({ k, d: editDistance(name, k) })).sort((a, b) => a.d - b.d);
  const best = ranked[0];
  return best !== undefined && best.d <= Math.max(1, Math.floor(name.length / 3)) ? `did you mean '${best.k}'?` : null;
}

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length]!;
}
