/** What of a kernel took part in its proofs: ops that ran at no shape, and statements that would at some. */
import type { Kernel, Op } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import type { Span } from "../source.js";
import type { DimValues } from "../types/extent.js";
import { countedOps } from "./counted-ops.js";
import { type Outcome, outcomesOf } from "./outcomes.js";

/** Ops that touch memory or flags: how many there are, how many ran in some proof, and where the others come from. */
export interface Coverage {
  readonly total: number;
  readonly ran: number;
  readonly idle: readonly IdleOps[];
}

/** Ops of one place in the source that ran at no shape. */
interface IdleOps {
  readonly span: Span;
  /** "load of 'x'". */
  readonly what: string;
  /** The buffer that they touch; null where they touch none. */
  readonly buffer: string | null;
  readonly count: number;
  /** Whether other ops of that place ran: the same for other lengths or addresses. */
  readonly isVariant: boolean;
}

/** Something of which nothing was proved. */
export interface Unreached {
  readonly span: Span;
  /** "this store of 'y'", "what is done where this condition holds". */
  readonly what: string;
  /** Lengths that lead there; null where none were found, though there may be some, and where data decides besides. */
  readonly at: DimValues | null;
  /** Whether data decides about it, so that at lengths that lead there it may still not run. */
  readonly isByData: boolean;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

export function coverageOf(kernel: Kernel, ran: ReadonlySet<number>): Coverage {
  const counted = countedOps(kernel);
  const idle = new Map<string, Writable<IdleOps>>();
  const active = new Set<string>();
  const keyOf = (op: Op): string => `${op.span.start}-${op.span.end} ${op.name}`;
  for (const [op, number] of counted) if (ran.has(number)) active.add(keyOf(op));
  for (const [op, number] of counted) {
    if (ran.has(number)) continue;
    const named = op.attributes["buffer"];
    const buffer = typeof named === "string" ? named : null;
    const what = buffer !== null ? `${op.name} of '${buffer}'` : op.name;
    const key = `${keyOf(op)} ${what}`;
    const known = idle.get(key);
    if (known === undefined) idle.set(key, { span: op.span, what, buffer, count: 1, isVariant: active.has(keyOf(op)) });
    else known.count++;
  }
  // Numbers of other ops than these would be of another kernel: they count for nothing.
  const took = [...counted.values()].filter((number) => ran.has(number)).length;
  return { total: counted.size, ran: took, idle: [...idle.values()] };
}

/**
 * Of what ran at no shape: what would at some lengths. The same place in another form is the mapping's, and not asked for here.
 * @param program the kernel on rank level, as its author wrote it
 */
export function unreachedOf(kernel: Kernel, program: Kernel, idle: readonly IdleOps[]): Unreached[] {
  const isWritten = new Set<string>();
  walkKernel(program, (op) => {
    if (op.name === "load" || op.name === "store") isWritten.add(`${op.span.start}-${op.span.end}`);
  });
  const kept = new Set(kernel.buffers.filter((b) => b.role === "state").map((b) => b.name));
  // What blocks count their launches by is nobody's statement, though it has the place of one.
  const isCount = ({ buffer }: IdleOps): boolean => buffer !== null && kept.has(buffer);
  const all = idle.filter(
    (i) =>
      !i.isVariant && !isCount(i) && /^(load|store) /.test(i.what) && isWritten.has(`${i.span.start}-${i.span.end}`),
  );
  // A store says all of the loads in it.
  const isPart = (a: Span, b: Span): boolean =>
    b.start <= a.start && a.end <= b.end && b.end - b.start > a.end - a.start;
  const left = all.filter((a) => !all.some((b) => isPart(a.span, b.span)));
  const outcomes = outcomesOf(program);
  return left.flatMap(({ span, what }): Unreached[] => {
    const isIt = (op: Op): boolean => op.span.start === span.start && op.span.end === span.end;
    const found = outcomes.lengthsOf((op) => isIt(op) && (op.name === "load" || op.name === "store"));
    if (found === "never") return [];
    const isByData = outcomes.isByData(isIt);
    return [{ span, what: `this ${what}`, at: typeof found === "object" && !isByData ? found.dims : null, isByData }];
  });
}

/**
 * Ways that decisions by lengths are not known to have gone at any of the shapes, unless there are no lengths at which they do.
 */
export function untaken(program: Kernel, proved: readonly DimValues[]): Unreached[] {
  const outcomes = outcomesOf(program);
  const isOpen = (outcome: Outcome): boolean => proved.every((dims) => typeof outcomes.at(outcome, dims) !== "object");
  return outcomes.all.filter(isOpen).flatMap((outcome): Unreached[] => {
    const found = outcomes.lengthsFor(outcome);
    const { span, where } = outcome;
    if (found === "never") return [];
    return [
      { span, what: `what is done ${where}`, at: typeof found === "object" ? found.dims : null, isByData: false },
    ];
  });
}
