/** Says in words how a value differs from what it should be: which contributions lack, or count twice. */
import type { Number_, Term } from "./algebra.js";
import { Applied, Leaf, Poison, Product, Sum } from "./terms.js";

const SHOWN = 4;

/** A sentence, then further lines. */
export function describeDifference(got: Number_, wanted: Number_, launch: number): string[] {
  const a = new Map(parts(got));
  const b = new Map(parts(wanted));
  const lacks: string[] = [];
  const extra: string[] = [];
  for (const [t, n] of b) {
    const has = a.get(t) ?? 0;
    if (has === n) continue;
    const name = printTerm(t, launch);
    if (has === 0) lacks.push(`lacks ${name}`);
    else extra.push(has === 2 * n ? `counts ${name} twice` : `has ${round(has)} times ${name}, not ${round(n)} times`);
  }
  for (const [t, n] of a)
    if (!b.has(t))
      extra.push(
        `${t instanceof Poison ? "holds" : "has"} ${n === 1 ? "" : `${round(n)} times `}${printTerm(t, launch)}`,
      );
  const all = [...lacks, ...extra];
  if (all.length === 0) all.push(`is ${print(got, launch)}`);
  const more = all.length > SHOWN ? [`and ${all.length - SHOWN} more`] : [];
  return [
    [...all.slice(0, SHOWN), ...more].join(", "),
    `is        ${print(got, launch)}`,
    `should be ${print(wanted, launch)}`,
  ];
}

/** What is small is no 0: 1e-12 beside a maximum is a choice. */
function round(x: number): string {
  return String(Math.abs(x) < 1e-3 ? Number(x.toPrecision(4)) : Math.round(x * 1e6) / 1e6);
}

function parts(x: Number_): (readonly [Term | "constant", number])[] {
  if (typeof x === "number") return x === 0 ? [] : [["constant", x]];
  if (!(x instanceof Sum)) return [[x, 1]];
  const all: (readonly [Term | "constant", number])[] = x.terms.map((t, i) => [t, x.coefficients[i]!] as const);
  if (x.constant !== 0) all.push(["constant", x.constant]);
  return all;
}

function printTerm(t: Term | "constant", launch: number): string {
  return t === "constant" ? "a constant" : print(t, launch);
}

/** Short text of a value. */
export function print(x: Number_, launch: number, depth = 0): string {
  if (typeof x === "number") return round(x);
  if (x instanceof Leaf) {
    const whose = x.rank < 0 ? "" : `rank ${x.rank}'s `;
    const when = x.launch === launch ? "" : ` of launch ${x.launch}`;
    return `${whose}${x.buffer}[${x.index}]${when}`;
  }
  if (x instanceof Poison) return `what nobody has written to ${x.buffer}[${x.index}] of rank ${x.rank}`;
  if (depth > 3) return "…";
  const list = (items: readonly string[], by: string): string =>
    items.length > 8 ? `${items.slice(0, 8).join(by)}${by}… (${items.length})` : items.join(by);
  const deeper = (y: Number_): string => print(y, launch, depth + 1);
  if (x instanceof Product) return list(x.factors.map(deeper), " · ");
  if (x instanceof Applied) return `${x.fn}(${list(x.args.map(deeper), ", ")})`;
  if (x instanceof Sum) {
    const items = x.terms
      .slice(0, 9)
      .map((t, i) => (x.coefficients[i] === 1 ? deeper(t) : `${round(x.coefficients[i]!)}·${deeper(t)}`));
    if (x.constant !== 0) items.push(round(x.constant));
    return x.terms.length > 8 ? `${items.slice(0, 8).join(" + ")} + … (${x.terms.length})` : items.join(" + ");
  }
  return "?";
}
