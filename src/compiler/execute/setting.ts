/** What a kernel is executed for: the domain of its values, and who observes its accesses. */
import type { BinaryFunction, Comparison, UnaryFunction } from "../ir/ops.js";
import type { LaunchDType, ScalarKind } from "../types/dtype.js";
import type { Place } from "./semantics/memory.js";
import type { Writer } from "./writer.js";

/** What stands for one lane of a value. */
export interface Form {
  /** A variable, a literal, or an expression that is about to become a variable. */
  readonly text: string;
  /** Whether it is surely a number, and no term. */
  readonly isKnown: boolean;
}

/** How the text computes with values. Each method writes one lane. */
export interface Domain {
  /** Whether values that decide nothing (no address, bound, condition or flag) are computed. */
  readonly hasData: boolean;
  /** Whether values may stand for data, so that what they may not decide is refused instead of followed. */
  readonly isSymbolic: boolean;
  literal(kind: ScalarKind, value: number): Form;
  /** A number that the launch was given, computed as a block starts. */
  scalar(kind: LaunchDType, name: string): Form;
  /** `kind` is of the operands. Divisors of integers and indices have been checked, if `checksDivisors`. */
  binary(fn: BinaryFunction, kind: ScalarKind, a: Form, b: Form): Form;
  unary(fn: UnaryFunction, kind: ScalarKind, a: Form): Form;
  compare(fn: Comparison, kind: ScalarKind, a: Form, b: Form): Form;
  select(condition: Form, a: Form, b: Form): Form;
  cast(from: ScalarKind, to: ScalarKind, a: Form): Form;
  /** A truth value as a condition of JavaScript, and the other way round. */
  condition(known: string): string;
  truth(condition: string): Form;
  readonly checksDivisors: boolean;
  /** One element of memory that the kernel's buffer keeps. */
  load(w: Writer, place: Place, lane: number): Form;
  /** What a text of this domain calls, by name. */
  helpers(text: string): Readonly<Record<string, unknown>>;
  store(w: Writer, place: Place, lane: number, value: string): void;
}

export interface Setting {
  /** Tells settings apart whose texts differ. */
  readonly key: string;
  readonly domain: Domain;
  /** Whether an observer `T` is told of accesses, signals, waits and synchronisations; see `order/trace.ts`. */
  readonly observes: boolean;
  /** Whether stores to global memory go through the observer, which hides them from others for as long as it may. */
  readonly hides: boolean;
  /** Whether it is noted which ops ran. */
  readonly counts: boolean;
  /** Whether loads of what nobody has written are faults. */
  readonly detectsUnwritten: boolean;
  /** Whether blocks let others go on between steps, not only where they wait. */
  readonly preempts: boolean;
  /** Whether loops over threads run from the last index to the first; `asked`: where the machine says so. */
  readonly reversesThreads: boolean | "asked";
}

/** A setting without extras. */
export function plainSetting(key: string, domain: Domain): Setting {
  return {
    key,
    domain,
    observes: false,
    hides: false,
    counts: false,
    detectsUnwritten: false,
    preempts: false,
    reversesThreads: false,
  };
}
