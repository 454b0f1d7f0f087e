/** Names and what they mean while a collective is checked, and where problems are collected. */
import type { Expression, Name } from "../ast/nodes.js";
import { someParts, type Part } from "../ast/visit.js";
import { diagnostic, type Diagnostic } from "../diagnostics/create.js";
import { suggestion } from "../diagnostics/suggest.js";
import type { MeshAxis } from "../manifest.js";
import type { Span } from "../source.js";
import { DTYPE_NAMES, type DType } from "../types/dtype.js";
import { type Extent, sameExtent } from "../types/extent.js";
import { REDUCTION_OPS } from "../types/layout.js";
import { isMultipleOf } from "../types/normal-form.js";
import { divides, type Requirement } from "../types/requirement.js";
import type { CheckedScalar, CheckedTensor, ExpressionType } from "./checked.js";
import { extentOf } from "./extents.js";
import { CONVERSION_NAMES, UNARY_NAMES } from "./functions.js";

/** Type of an expression, or null after an error that has been reported: then nothing more is said about it. */
export type MaybeType = ExpressionType | null;

/** What a name that is no tensor stands for. */
export interface Binding {
  readonly kind: "loop variable" | "let" | "dimension" | "parameter" | "number of the launch";
  readonly type: MaybeType;
  /** The value differs from rank to rank. */
  readonly varies: boolean;
  /** The value is made from what memory holds. */
  readonly isData: boolean;
  /** Variables of tiles loops that the value depends on. */
  readonly tiles: ReadonlySet<string>;
  /** The value, where it is known before a launch. */
  readonly extent: Extent | null;
  /** The number of the launch that the value depends on, if one. */
  readonly scalar: string | null;
  /** A literal number, which becomes an element wherever it stands. */
  readonly isLiteral: boolean;
  readonly span: Span;
}

const NO_TILES: ReadonlySet<string> = new Set();

/** Names that keep their meaning, and what that is. */
export const RESERVED: ReadonlyMap<string, string> = new Map([
  ["rank", "this rank's number"],
  ["world", "the number of ranks"],
  ["index", "a function"],
  ["log2", "a function"],
  ["where", "a function"],
  ...["mean", "transpose", "permute", "reshape", "repeat", "concat", "iota", "pow"].map(
    (n) => [n, "a function"] as const,
  ),
  ...REDUCTION_OPS.map((n) => [n, "a reduction"] as const),
  ...UNARY_NAMES.map((n) => [n, "a function"] as const),
  ...CONVERSION_NAMES.map((n) => [n, "a conversion"] as const),
  ...DTYPE_NAMES.map((n) => [n, "a dtype"] as const),
]);

export class Checking {
  readonly diagnostics: Diagnostic[] = [];
  readonly tensors = new Map<string, CheckedTensor>();
  /** Tensor values named at the top of the body, as arrays of what a rank has of them. */
  readonly tensorLets = new Map<string, CheckedTensor>();
  /** By name, how many operations such a value is away from memory. */
  readonly tensorDepths = new Map<string, number>();
  /** Those of them that loops index. */
  readonly stored = new Map<string, CheckedTensor>();
  readonly types = new Map<Expression, ExpressionType>();
  readonly requirements: Requirement[] = [];
  readonly dims: string[] = [];
  readonly scalars: CheckedScalar[] = [];
  /** Dtype variables and what they stand for. */
  readonly dtypes: Record<string, DType> = {};
  /** Tensors whose declaration is at fault: nothing is said of what follows from it. */
  readonly faulty = new Set<string>();
  /** Tensors that are read. */
  readonly read = new Set<string>();
  /** Tensors that are stored to. */
  readonly assigned = new Set<string>();
  /** Tensors whose declaration has been met. */
  private readonly places = new Map<string, Span>();
  private readonly scopes: Map<string, { binding: Binding; used: boolean }>[] = [new Map()];
  private readonly unknown = new Set<string>();
  /** Variables of the reductions that have been looked at. */
  readonly reduced = new Set<string>();

  /** Calls of functions around what is being checked, the innermost last. */
  private readonly calls: Span[] = [];

  constructor(
    readonly world: number,
    readonly mesh: readonly MeshAxis[] = [],
    /** Whether memory of `accumulator(T)` is of T where that is a float. */
    readonly roundPartialSums = false,
  ) {}

  report(d: Diagnostic): null {
    // What is wrong inside a function may be the caller's fault: both are shown.
    const labels = this.calls.map((span) => ({ span, text: "called here" }));
    this.diagnostics.push(labels.length === 0 ? d : { ...d, labels: [...d.labels, ...labels] });
    return null;
  }

  /** Runs `body` for what a call of a function stands for. */
  inCall(span: Span, body: () => void): void {
    this.calls.push(span);
    body();
    this.calls.pop();
  }

  /** The axis of the mesh of that name, with its number of ranks; null after a reported error. */
  axis(name: Name): MeshAxis | null {
    const found = this.mesh.find((a) => a.name === name.text);
    if (found !== undefined) return found;
    const names = this.mesh.map((a) => a.name).join(", ");
    const known = names === "" ? "name the axes in the signature: mesh(node, gpu)" : `the mesh has ${names}`;
    return this.report(diagnostic("unknown-axis", name.span, { name: name.text, known }));
  }

  // -- entering names ------------------------------------------------------------------------------

  /** Enters a tensor; a name that cannot be one is reported, and entered if it is free. */
  defineTensor(name: Name, tensor: CheckedTensor): void {
    const isFree = this.mayDefine(name);
    if (!isFree && this.tensors.has(name.text)) return;
    this.places.set(name.text, name.span);
    this.tensors.set(name.text, tensor);
  }

  /** Enters a dimension at its first mention. */
  defineDimension(name: Name): void {
    if (this.dims.includes(name.text)) return;
    this.dims.push(name.text);
    if (this.mayDefine(name)) this.enter(name, { kind: "dimension", type: { kind: "index" }, extent: name.text });
  }

  /** Enters a name that no program can write. */
  defineHidden(name: Name, binding: Pick<Binding, "kind" | "type"> & Partial<Binding>): void {
    this.enter(name, binding);
  }

  define(name: Name, binding: Pick<Binding, "kind" | "type"> & Partial<Binding>): void {
    this.mayDefine(name);
    this.enter(name, binding);
  }

  private enter(name: Name, b: Pick<Binding, "kind" | "type"> & Partial<Binding>): void {
    const plain = { varies: false, isData: false, tiles: NO_TILES, extent: null, isLiteral: false, scalar: null };
    const binding = { ...plain, ...b, span: name.span };
    this.scopes.at(-1)!.set(name.text, { binding, used: false });
  }

  private mayDefine(name: Name): boolean {
    const isVariable = Object.hasOwn(this.dtypes, name.text);
    const meaning = RESERVED.get(name.text) ?? (isVariable ? "a dtype variable" : undefined);
    if (meaning !== undefined) this.report(diagnostic("reserved-name", name.span, { name: name.text, meaning }));
    const before = this.places.get(name.text) ?? this.entry(name.text)?.binding.span;
    if (meaning !== undefined || before === undefined) return meaning === undefined;
    const labels = [{ span: before, text: "first defined here" }];
    this.report(diagnostic("duplicate-name", name.span, { name: name.text }, { labels }));
    return false;
  }

  // -- looking names up ----------------------------------------------------------------------------

  private entry(name: string): { binding: Binding; used: boolean } | undefined {
    for (let i = this.scopes.length - 1; i >= 0; i--) {
      const found = this.scopes[i]!.get(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  find(name: string): Binding | undefined {
    return this.entry(name)?.binding;
  }

  isUsed(name: string): boolean {
    return this.entry(name)?.used ?? false;
  }

  /** Like `find`, and notes that the name is used. */
  use(name: string): Binding | undefined {
    const entry = this.entry(name);
    if (entry !== undefined) entry.used = true;
    return entry?.binding;
  }

  /** The tensor, or the named tensor value, whose elements a loop reads. */
  readArray(name: string): CheckedTensor | undefined {
    const tensor = this.tensors.get(name);
    if (tensor !== undefined) this.read.add(name);
    const binding = this.find(name);
    if (tensor !== undefined || binding?.kind !== "let" || binding.type?.kind !== "tensor") return tensor;
    this.use(name);
    const array = this.tensorLets.get(name)!;
    this.stored.set(name, array);
    return array;
  }

  /** Runs `body` with names of its own; unused lets among them are warned about. */
  inScope(body: () => void): void {
    this.scopes.push(new Map());
    body();
    for (const [name, { binding, used }] of this.scopes.pop()!)
      if (binding.kind === "let" && !used) this.reportUnused("the let", name, binding.span);
  }

  /** @param isWritten something is stored to it, which nobody reads. */
  reportUnused(kind: string, name: string, span: Span, isWritten = false): void {
    const words = isWritten
      ? { fate: "written and never read", fix: "read it, or remove it and what is stored to it" }
      : { fate: "never used", fix: "remove it, or use it" };
    this.report(diagnostic("unused", span, { kind, name, ...words }));
  }

  isKnown(name: string): boolean {
    return name === "rank" || name === "world" || this.tensors.has(name) || this.find(name) !== undefined;
  }

  /** Reports a name that means nothing, once. */
  unknownName(name: string, span: Span): null {
    if (this.unknown.has(name)) return null;
    this.unknown.add(name);
    // In a file with very many of them, looking for the nearest name of each would take minutes.
    if (this.unknown.size > 100) return this.report(diagnostic("unknown-name", span, { name }));
    const known = [...this.tensors.keys(), "rank", "world", ...this.scopes.flatMap((s) => [...s.keys()])];
    const help = this.reduced.has(name)
      ? `'${name}' is known in what its reduction takes in, which is one product: put more of it in parentheses`
      : suggestion(name, known);
    return this.report(diagnostic("unknown-name", span, { name }, { help }));
  }

  // -- what is known of an expression --------------------------------------------------------------

  /** Its value, where that is known before a launch. */
  extentOf(e: Expression): Extent | null {
    return extentOf(e, this.world, (name) => this.use(name)?.extent ?? null);
  }

  /** Whether it may differ from rank to rank. */
  varies(p: Part): boolean {
    return someParts(
      p,
      (x) =>
        x.kind === "element" ||
        (x.kind === "axis" && x.base.text === "rank") ||
        (x.kind === "name" && this.nameVaries(x.name)),
    );
  }

  /** Whether it is made from what memory holds. */
  readsData(p: Part): boolean {
    return someParts(p, (x) => x.kind === "element" || (x.kind === "name" && (this.find(x.name)?.isData ?? false)));
  }

  private nameVaries(name: string): boolean {
    return name === "rank" || (this.find(name)?.varies ?? false);
  }

  /** A number of the launch that it depends on; null for none. What memory holds is not followed: proofs see to that. */
  scalarIn(p: Part): string | null {
    let found: string | null = null;
    return someParts(p, (x) => x.kind === "name" && (found = this.find(x.name)?.scalar ?? null) !== null)
      ? found
      : null;
  }

  /** Reports where such a number would decide what is accessed. */
  refuseScalar(p: Part, fix: string): void {
    const name = this.scalarIn(p);
    if (name !== null) this.report(diagnostic("scalar-steers", p.span, { name, fix }));
  }

  /** Adds the tile variables it depends on. */
  tilesIn(p: Part, into: Set<string> = new Set()): Set<string> {
    someParts(p, (x) => {
      if (x.kind === "name") for (const t of this.find(x.name)?.tiles ?? NO_TILES) into.add(t);
      return false;
    });
    return into;
  }

  /** Notes that `length` must divide by a number of pieces, or reports that it does not. */
  requireDivisible(length: Extent, pieces: number, reason: string, span: Span): void {
    if (typeof length === "number") {
      if (length % pieces !== 0) this.report(diagnostic("does-not-divide", span, { length, world: pieces }));
      return;
    }
    if (!isMultipleOf(length, pieces)) this.require(divides(length, pieces, reason));
  }

  /** Notes a condition for launches, once. */
  require(requirement: Requirement): void {
    const same = (r: Requirement): boolean =>
      r.relation === requirement.relation &&
      sameExtent(r.left, requirement.left) &&
      sameExtent(r.right, requirement.right);
    if (!this.requirements.some(same)) this.requirements.push(requirement);
  }
}
