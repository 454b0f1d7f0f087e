/** What the prover answers. Each answer is about one concrete world size and shape. */
import { CannotTell, Fails, type Place, TooMuch, type WrongKind } from "../execute/failures.js";
import type { Kernel } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import { NO_SPAN, type Span } from "../source.js";
import type { DType } from "../types/dtype.js";
import type { DimValues } from "../types/extent.js";

export { CannotTell, Fails, type Place, type WrongKind };

/** What to do where a claim reads outside of an input or of the group. */
export const CLAIM_HELP =
  "let the claim choose with `where` what it reads at the edge, or limit the lengths and inputs that it reads by";

export interface Claim {
  readonly ranks: number;
  readonly dims: DimValues;
  /** Blocks of each rank; null where nothing was executed. */
  readonly grid: number | null;
  /** Successive launches of the kernel that were looked at together. */
  readonly launches: number;
  /** Whether buffers start at aligned addresses. */
  readonly aligned: boolean;
}

export interface Proved {
  readonly status: "proved";
  readonly claim: Claim;
  /** Elements compared, or accesses that were found in order. */
  readonly checked: number;
  /** Sets of values that integer inputs were given because they steer what is accessed; 0 where none do. */
  readonly samples: number;
  /** Outputs of which nothing says what they must hold; of the ordering, none. */
  readonly unspecified: readonly string[];
  /** Dtypes that something was rounded to that may lie beyond their largest number. */
  readonly overflows: readonly DType[];
  /** Ops that ran, by number, for the coverage of several shapes together; see `countedOps`. */
  readonly executed: readonly number[];
}

export interface Wrong {
  readonly status: "wrong";
  readonly claim: Claim;
  readonly kind: WrongKind;
  /** One sentence. */
  readonly message: string;
  readonly places: readonly Place[];
  /** Further lines: the interleaving, or who waits for whom. */
  readonly witness: readonly string[];
  /** What to do about this one; null for what helps against all of its kind. */
  readonly help: string | null;
}

export interface Unknown {
  readonly status: "unknown";
  readonly claim: Claim;
  readonly reason: string;
  /** What cannot be followed. */
  readonly span: Span;
  /** Whether it could be followed at shapes with less to do. */
  readonly isTooMuch: boolean;
}

export type Answer = Proved | Wrong | Unknown;

/** Where a kernel begins to do something: the place of what is said of it as a whole. */
export function placeOf(kernel: Kernel): Span {
  let found: Span | null = null;
  walkKernel(kernel, ({ span }) => void (span.end > 0 && (found ??= span)));
  return found ?? NO_SPAN;
}

/** Where the source says which lengths are allowed, or else what `placeOf` gives. */
export function placeOfLengths(kernel: Kernel): Span {
  return kernel.clauses?.where ?? placeOf(kernel);
}

/** "Unknown", because of what was thrown. */
export function unknownBecause(kernel: Kernel, claim: Claim, thrown: CannotTell): Unknown {
  const { message: reason, span } = thrown;
  const place = span === null || span.end === 0 ? placeOf(kernel) : span;
  return { status: "unknown", claim, reason, span: place, isTooMuch: thrown instanceof TooMuch };
}
