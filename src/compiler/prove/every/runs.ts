/**
 * Whether places that loops count are an interval, each of them once: for all lengths of a box, by nothing but equal polynomials. What is not
 * seen to be one is none.
 */
import { type Counter, exactQuotient, slopeOf } from "./bounds.js";
import { equal, factors, type Form, minus, ONE, parameter, plus, product, substituted, ZERO } from "./forms.js";

/** The places from `start` to before `end`, in each iteration of some loops. */
export interface Run {
  readonly counters: readonly Counter[];
  readonly start: Form;
  readonly end: Form;
}

/** The run of one place in each iteration. */
export function runOf(place: Form, counters: readonly Counter[], length: Form = ONE): Run {
  return { counters, start: place, end: plus(place, length) };
}

/** Whether a polynomial has a parameter. */
export function has(f: Form, name: string): boolean {
  return [...f.keys()].some((key) => factors(key).includes(name));
}

/** A polynomial without a parameter, which is 0 or stands for another. */
export function replaced(f: Form, name: string, by: Form = ZERO): Form {
  return has(f, name) ? substituted(f, new Map([[name, by]])) : f;
}

/**
 * The interval that runs are together, each place in one of them and once; null where that is not seen.
 * @param isAtLeastZero whether a number that no loop counts is never negative
 */
export function intervalOf(runs: readonly Run[], isAtLeastZero: (f: Form) => boolean): Run | null {
  let left = runs;
  for (;;) {
    const [only] = left;
    if (only === undefined) return null;
    if (left.length === 1 && only.counters.length === 0) return only;
    const fewer = joined(left) ?? widened(left, isAtLeastZero);
    if (fewer === null) return null;
    left = fewer;
  }
}

/** Runs of which two are one: the second begins where the first ends, in the same iteration of loops that count alike. */
function joined(runs: readonly Run[]): readonly Run[] | null {
  for (const a of runs)
    for (const b of runs) {
      const next = a === b ? null : inLoopsOf(b, a.counters);
      if (next === null || !equal(a.end, next.start)) continue;
      return [...runs.filter((r) => r !== a && r !== b), { ...a, end: next.end }];
    }
  return null;
}

/** A run with other counters that count alike, each in place of its own; null where others do not. */
function inLoopsOf(run: Run, counters: readonly Counter[]): Run | null {
  const isAlike = (a: Counter, b: Counter): boolean => equal(a.times, b.times) && equal(a.limit, b.limit);
  const named = (a: Counter): Counter | undefined => counters.find((b) => a.name === b.name && isAlike(a, b));
  if (run.counters.length !== counters.length) return null;
  if (run.counters.every((c) => named(c) !== undefined)) return run;
  // Limits may be over counters before them, which then would have other names.
  if (!run.counters.every((c, i) => isAlike(c, counters[i]!))) return null;
  const by = new Map(run.counters.map((c, i) => [c.name, parameter(counters[i]!.name)]));
  return { counters, start: substituted(run.start, by), end: substituted(run.end, by) };
}

/** Runs of which one is that of all iterations of a loop, or of two. */
function widened(runs: readonly Run[], isAtLeastZero: (f: Form) => boolean): readonly Run[] | null {
  // A loop of one iteration, whatever its stride, would stand in the way of those that have as long a one.
  for (const run of runs)
    for (const counter of run.counters) {
      if (!equal(counter.times, counter.limit) || run.counters.some((c) => has(c.limit, counter.name) || has(c.times, counter.name))) continue; // prettier-ignore
      const [start, end] = [run.start, run.end].map((f) => replaced(f, counter.name)) as [Form, Form];
      const fewer = { counters: run.counters.filter((c) => c !== counter), start, end };
      return runs.map((r) => (r === run ? fewer : r));
    }
  // Inner loops first: where an outer one has as long a stride, what is left would not be followed.
  for (const run of runs)
    for (const counter of run.counters.toReversed()) {
      const wider = overAll(run, counter, isAtLeastZero) ?? overClasses(run, counter, isAtLeastZero);
      if (wider !== null) return runs.map((r) => (r === run ? wider : r));
    }
  return null;
}

/** How far a run moves from one iteration to the next, where it is as long in each; else null. */
function strideOf({ start, end }: Run, { name }: Counter): Form | null {
  const [a, b] = [slopeOf(start, name), slopeOf(end, name)];
  return a !== null && b !== null && equal(a, b) ? a : null;
}

function isCounted(f: Form, counters: readonly Counter[]): boolean {
  return counters.some((c) => has(f, c.name));
}

/** In each iteration the run begins where it ended in the one before. */
function overAll(run: Run, counter: Counter, isAtLeastZero: (f: Form) => boolean): Run | null {
  const { name, times, limit } = counter;
  const others = run.counters.filter((c) => c !== counter);
  if (isCounted(limit, run.counters) || others.some((c) => has(c.limit, name) || has(c.times, name))) return null;
  const stride = strideOf(run, counter);
  if (stride === null || !equal(stride, minus(run.end, run.start))) return null;
  const count = exactQuotient(limit, times);
  if (count === null && counter.isWhole !== true) return null;
  const length = count === null ? exactQuotient(stride, times) : stride;
  if (length === null || !isAtLeastZero(limit)) return null;
  const start = replaced(run.start, name);
  return { counters: others, start, end: plus(start, product(length, count ?? limit)) };
}

/** One loop counts c of these below C, the other all k for which c + k · C is below a length: all numbers below it. */
function overClasses(run: Run, counter: Counter, isAtLeastZero: (f: Form) => boolean): Run | null {
  const { name, times, limit } = counter;
  const length = minus(run.end, run.start);
  for (const of of run.counters) {
    const others = run.counters.filter((c) => c !== counter && c !== of);
    if (of === counter || !equal(of.times, ONE) || !equal(of.limit, times)) continue;
    if (
      isCounted(of.limit, run.counters) ||
      others.some((c) => [c.limit, c.times].some((f) => isCounted(f, [of, counter])))
    )
      continue;
    const [own, others1] = [strideOf(run, counter), strideOf(run, of)];
    if (own === null || others1 === null || !equal(others1, length) || !equal(own, product(times, length))) continue;
    // times · (k + 1) ≤ all - c + (times - 1)
    const all = plus(minus(limit, minus(times, ONE)), new Map([[of.name, 1]]));
    if (isCounted(all, run.counters) || !isAtLeastZero(all)) continue;
    const start = replaced(replaced(run.start, name), of.name);
    return { counters: others, start, end: plus(start, product(length, all)) };
  }
  return null;
}
