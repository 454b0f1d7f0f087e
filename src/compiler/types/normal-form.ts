/**
 * Extents in normal form: sums of products of dimensions with whole coefficients, so that `n * 2` and `2 * n`, or
 * `(m + 1) * n` and `m * n + n`, are one. What is no polynomial, such as `n / 3`, is a name of its own, made of its
 * operands' normal forms. Dimensions are taken to be positive.
 */
import type { Extent, ExtentOp } from "./extent.js";

/** Products by their factors, in order and joined with `*` ("" for 1), with how often each occurs. */
type Polynomial = ReadonlyMap<string, number>;

const known = new WeakMap<object, Polynomial>();

export function polynomialOf(e: Extent): Polynomial {
  if (typeof e === "number") return constant(e);
  if (typeof e === "string") return new Map([[e, 1]]);
  let p = known.get(e);
  if (p === undefined) known.set(e, (p = combine(e.op, polynomialOf(e.a), polynomialOf(e.b))));
  return p;
}

/** Equal keys, equal values, whatever the dimensions are. */
export function extentKey(e: Extent): string {
  return keyOf(polynomialOf(e));
}

/** Whether `length` is a multiple of `n` for all dimensions. */
export function isMultipleOf(length: Extent, n: number): boolean {
  return [...polynomialOf(length).values()].every((c) => c % n === 0);
}

/** a - b where it is one number for all dimensions; null otherwise. */
export function constantDifference(a: Extent, b: Extent): number | null {
  return numberIn(add(polynomialOf(a), polynomialOf(b), -1));
}

/** Whether it is made of sums and products of dimensions alone, so that two that differ in form differ in value. */
export function isPolynomial(e: Extent): boolean {
  return ![...polynomialOf(e).keys()].some((product) => product.includes("("));
}

function constant(n: number): Polynomial {
  return new Map(n === 0 ? [] : [["", n]]);
}

function numberIn(p: Polynomial): number | null {
  if (p.size === 0) return 0;
  return p.size === 1 ? (p.get("") ?? null) : null;
}

function keyOf(p: Polynomial): string {
  return [...p]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([product, c]) => (product === "" ? String(c) : `${c}*${product}`))
    .join("+");
}

function combine(op: ExtentOp, a: Polynomial, b: Polynomial): Polynomial {
  switch (op) {
    case "add":
      return add(a, b, 1);
    case "sub":
      return add(a, b, -1);
    case "mul":
      return multiply(a, b);
    case "div":
      return divide(a, b);
    case "mod":
      return remainder(a, b);
    default:
      return opaque(op, a, b);
  }
}

function opaque(op: ExtentOp, a: Polynomial, b: Polynomial): Polynomial {
  const keys = [keyOf(a), keyOf(b)];
  if (keys[0] === keys[1] && (op === "min" || op === "max")) return a;
  if (op === "min" || op === "max") keys.sort();
  // A `*` inside would be taken for a product of factors.
  return new Map([[`${op}(${keys.join(",").replaceAll("*", "·")})`, 1]]);
}

function add(a: Polynomial, b: Polynomial, times: number): Polynomial {
  const sum = new Map(a);
  for (const [product, c] of b) bump(sum, product, c * times);
  return sum;
}

function bump(into: Map<string, number>, product: string, by: number): void {
  const now = (into.get(product) ?? 0) + by;
  if (now === 0) into.delete(product);
  else into.set(product, now);
}

function multiply(a: Polynomial, b: Polynomial): Polynomial {
  const all = new Map<string, number>();
  for (const [p, c] of a)
    for (const [q, d] of b) {
      const factors = [...factorsOf(p), ...factorsOf(q)].sort();
      bump(all, factors.join("*"), c * d);
    }
  return all;
}

function factorsOf(product: string): string[] {
  return product === "" ? [] : product.split("*");
}

/** floor((q·b + r) / b) = q + floor(r / b): what divides without remainder leaves the division. */
function divide(a: Polynomial, b: Polynomial): Polynomial {
  if (b.size !== 1) return keyOf(a) === keyOf(b) ? constant(1) : opaque("div", a, b);
  const [[product, c]] = [...b] as [[string, number]];
  const [quotient, rest] = split(a, product, c);
  const [n, d] = [numberIn(rest), numberIn(b)];
  if (n !== null && d !== null) return add(quotient, constant(Math.floor(n / d)), 1);
  return rest.size === 0 ? quotient : add(quotient, opaque("div", rest, b), 1);
}

function remainder(a: Polynomial, b: Polynomial): Polynomial {
  if (b.size !== 1) return keyOf(a) === keyOf(b) ? constant(0) : opaque("mod", a, b);
  const [[product, c]] = [...b] as [[string, number]];
  const [, rest] = split(a, product, c);
  const [n, d] = [numberIn(rest), numberIn(b)];
  if (n !== null && d !== null) return constant(((n % d) + d) % d);
  return rest.size === 0 ? rest : opaque("mod", rest, b);
}

/** The terms that `c · product` divides, divided by it; and the others. */
function split(a: Polynomial, product: string, c: number): [Polynomial, Polynomial] {
  const quotient = new Map<string, number>();
  const rest = new Map<string, number>();
  for (const [p, n] of a) {
    const left = without(factorsOf(p), factorsOf(product));
    if (left !== null && n % c === 0) bump(quotient, left.join("*"), n / c);
    else bump(rest, p, n);
  }
  return [quotient, rest];
}

function without(factors: string[], taken: readonly string[]): string[] | null {
  const left = [...factors];
  for (const f of taken) {
    const at = left.indexOf(f);
    if (at < 0) return null;
    left.splice(at, 1);
  }
  return left;
}
