/**
 * Programs that are wrong at some lengths alone. `k` says how far away: with a small one a proof at `at` finds what is wrong;
 * with a large one no shape of a proof comes near.
 */
import type { DimValues } from "../../src/compiler/types/extent.js";

export interface FarWrong {
  readonly name: string;
  readonly text: (k: number) => string;
  readonly at: (k: number) => DimValues;
  readonly small: number;
  readonly large: number;
}

const local = (body: string, where = ""): string =>
  `collective f(x: T[n] local) -> y: T[n] local${where} ensures y[i] == x[i] {\n${body}\n}`;
const square = (body: string, where = ""): string =>
  `collective f(x: T[m, n] local) -> y: T[m, n] local${where} ensures y[i, j] == x[i, j] {\n${body}\n}`;
const gatheredRows = (row: string, where = ""): string =>
  `collective f(x: T[m, n] sharded(0)) -> y: T[m, n] replicated${where} {
  let c = m / world
  for p in ranks { for i, j in tiles(c, n) { y[p * c + i, j] = x@p[${row}, j] } }
}`;
const gatheredColumns = (place: string, row: string, column: string, rows = "m"): string =>
  `collective f(x: T[m, n] sharded(1)) -> y: T[m, n] replicated {
  let c = n / world
  for i, j in tiles(${rows}, c) { for p in ranks { y@p[${place}] = x[${row}, ${column}] } }
}`;
const cube = (body: string): string =>
  `collective f(x: T[b, m, n] local) -> y: T[b, m, n] local ensures y[h, i, j] == x[h, i, j] {\n${body}\n}`;
const reduced = (body: string): string => `collective f(x: T[n] partial(sum)) -> y: T[n] replicated {\n${body}\n}`;
const gathered = (body: string): string => `collective f(x: T[n] sharded(0)) -> y: T[n] replicated {\n${body}\n}`;

function far(
  name: string,
  text: (k: number) => string,
  at: number | ((k: number) => DimValues) = 1,
  small = 50,
  large = 500_000,
): FarWrong {
  return { name, text, at: typeof at === "number" ? (k) => ({ n: k + at }) : at, small, large };
}

export const FAR_WRONG: readonly FarWrong[] = [
  // -- numbers of the launch
  far(
    "another number of the launch",
    (k) => `collective f(x: T[n] local, a: f32, b: f32) -> y: T[n] local ensures y[i] == x[i] * T(a) {
  for i in tiles(min(n, ${k})) { y[i] = x[i] * T(a) }
  for i in tiles(min(n, ${k}) .. n) { y[i] = x[i] * T(b) }
}`,
  ),
  // -- products of dimensions
  far("the last rows of a gather are one row", (k) => gatheredRows(`min(i, ${k})`), (k) => ({ m: 2 * k + 4, n: 3 })), // prettier-ignore
  far(
    "rows of a gather fall behind",
    (k) => gatheredRows(`i - i / ${k}`),
    (k) => ({ m: 2 * k + 2, n: 3 }),
  ),
  far("rows of a literal length fall behind", (k) => gatheredRows(`i - i / ${k}`).replaceAll(" n]", " 16]").replace("(c, n)", "(c, 16)"), (k) => ({ m: 2 * k + 2 })), // prettier-ignore
  far("one plane of a cube is another", (k) => cube(`for h, i, j in tiles(b, m, n) { y[h, i, j] = x[min(h, ${k}), i, j] }`), (k) => ({ b: k + 2, m: 2, n: 3 })), // prettier-ignore
  far("elements of a cube are left out", (k) => cube(`for h, i, j in tiles(b, m, min(n, ${k})) { y[h, i, j] = x[h, i, j] }`), (k) => ({ b: 2, m: 3, n: k + 1 })), // prettier-ignore
  // -- what ranks hold of a sum
  far(
    "parts of a sum leave a gap",
    (k) => `collective f(x: T[n] partial(sum)) -> y: T[n] partial(sum) {
  let half = n / 2
  let rest = max(n / 2, n - ${k})
  if rank == 0 {
    for i in tiles(half) { y[i] = sum(p in ranks) x@p[i] }
    for i in tiles(n - half) { y[half + i] = 0 }
  } else {
    for i in tiles(rest) { y[i] = 0 }
    for i in tiles(n - rest) { y[rest + i] = sum(p in ranks) x@p[rest + i] }
  }
}`,
    (k) => ({ n: 2 * k + 4 }),
  ),
  // -- one constant
  far("an index stops growing", (k) => local(`for i in tiles(n) { y[i] = x[min(i, ${k})] }`), 2),
  far("one element is another", (k) => local(`for i in tiles(n) { y[i] = x[i + i / ${k} - i / ${k + 1}] }`), 2),
  far("one element is left out", (k) => local(`for i in tiles(n) { if i != ${k} { y[i] = x[i] } }`)),
  far("an index falls behind", (k) => local(`for i in tiles(n) { y[i] = x[i - i / ${k}] }`)),
  far("a loop ends early", (k) => local(`for i in tiles(min(n, ${k})) { y[i] = x[i] }`)),
  far("the length itself", (k) => local(`if n != ${k} { for i in tiles(n) { y[i] = x[i] } }`), 0),
  far("scratch is too short", (k) =>
    local(`scratch box: T[${k}]
  for i in tiles(n) { box[i] = x[i] }
  for i in tiles(n) { y[i] = box[i] }`),
  ),
  far("a window wraps before it is read", (k) =>
    local(`scratch box: T[${k}]
  for i in tiles(n) { box[i % ${k}] = x[i] }
  for i in tiles(n) { y[i] = box[i % ${k}] }`),
  ),
  far(
    "an element is overwritten",
    (k) =>
      local(`for i in tiles(n) { y[i] = x[i] }
  for i in tiles(n / ${k}) { y[i] = x[i + 1] }`),
    5,
  ),
  far(
    "the tail begins late",
    (k) =>
      local(`for i in tiles(n / 64 * 64) { y[i] = x[i] }
  for i in tiles(n / 64 * 64 + n / ${k} .. n) { y[i] = x[i] }`),
    3,
  ),
  far(
    "a part of the end is of the beginning",
    (k) =>
      local(`for i in tiles(n - n / ${k}) { y[i] = x[i] }
  for i in tiles(n / ${k}) { y[n - 1 - i] = x[0] }`),
    5,
  ),
  // -- two constants together
  far(
    "two moduli",
    (k) =>
      local(
        `if n % 70 == 3 and n % ${k} == 13 { for i in tiles(n - 1) { y[i] = x[i] } } else { for i in tiles(n) { y[i] = x[i] } }`,
      ),
    () => ({ n: 563 }),
    110,
    110,
  ),
  far(
    "a modulus",
    (k) =>
      local(
        `if n % ${k} == ${k - 1} { for i in tiles(n - 1) { y[i] = x[i] } } else { for i in tiles(n) { y[i] = x[i] } }`,
      ),
    -1,
    60,
    65_536,
  ),
  far(
    "a large length that is even",
    (k) =>
      local(
        `if n > ${k} and n % 2 == 0 { for i in tiles(n - 1) { y[i] = x[i] } } else { for i in tiles(n) { y[i] = x[i] } }`,
      ),
    2,
  ),
  // -- control by data
  far(
    "data decides beyond a place",
    (k) => `collective f(x: i32[n] local) -> y: i32[n] local ensures y[i] == x[i] {
  for i in tiles(n) { if x[i] > 0 or i < ${k} { y[i] = x[i] } }
}`,
    (k) => ({ n: k + 40 }),
  ),
  // -- sums that go with the length
  far("a sum of a prefix", (k) => local(`for i in tiles(n) { y[i] = x[i] + sum(j in 0..n / ${k}) x[j] }`), 2),
  // -- ranks and chunks
  far(
    "a chunk is not given to a rank",
    (k) =>
      reduced(`for i in tiles(chunk(n, rank)) {
    let s = sum(p in ranks) x@p[i]
    for p in ranks { if n < ${k} or p != 1 { y@p[i] = s } }
  }`),
    2,
  ),
  far(
    "a piece too few",
    (k) =>
      reduced(`for i in tiles(chunk(n - n / ${k}, rank)) {
    let s = sum(p in ranks) x@p[i]
    for p in ranks { y@p[i] = s }
  }`),
    2,
  ),
  far(
    "a rank is not added",
    (k) => reduced(`for i in tiles(n) { y[i] = sum(p in 0..max(world - n / ${k}, 1)) x@p[i] }`),
    2,
  ),
  far(
    "a shard lands beside its place",
    (k) =>
      gathered(`for i in tiles(n / world) {
    for p in ranks { y@p[rank * (n / world) + max(i - n / ${k}, 0)] = x[i] }
  }`),
    (k) => ({ n: 2 * k + 2 }),
  ),
  far(
    "a shard lands in another's",
    (k) =>
      gathered(`for i in tiles(n / world) {
    for p in ranks { y@p[(rank + n / ${k}) % world * (n / world) + i] = x[i] }
  }`),
    (k) => ({ n: k + 2 }),
  ),
  far(
    "pieces are as long as one constant",
    (k) =>
      reduced(`for i in tiles(rank * ${k} .. min((rank + 1) * ${k}, n)) {
    let s = sum(p in ranks) x@p[i]
    for p in ranks { y@p[i] = s }
  }`),
    (k) => ({ n: 2 * k + 1 }),
  ),
  far(
    "short tensors alone",
    (k) =>
      reduced(`for i in tiles(n) { if n > ${k} - ${k} + world - 1 or rank == 0 { y[i] = sum(p in ranks) x@p[i] } }`),
    () => ({ n: 1 }),
    50,
    50,
  ),
  far(
    "without elements to divide",
    (k) => local(`for i in tiles(n / ${k} * ${k}) { y[i] = x[i] }`),
    () => ({ n: 3 }),
  ),
  // -- two dimensions
  far(
    "a corner",
    (k) => square(`for i, j in tiles(m, n) { if i * j != ${k} { y[i, j] = x[i, j] } }`),
    (k) => ({ m: k + 1, n: 2 }),
    30,
    360_007,
  ),
  far(
    "beside the diagonal",
    (k) => square(`for i, j in tiles(m, n) { y[i, j] = x[min(i, j + ${k}), j] }`),
    (k) => ({ m: k + 2, n: 2 }),
    30,
    500_000,
  ),
  far(
    "the last row of large ones",
    (k) => square(`for i, j in tiles(m, n) { if m * n < ${k} or i + 1 < m { y[i, j] = x[i, j] } }`),
    (k) => ({ m: k, n: 1 }),
  ),
  far(
    "two lengths together",
    (k) =>
      square(
        `if m == ${k} and n == ${k + 7} { for i, j in tiles(m, n - 1) { y[i, j] = x[i, j] } } else { for i, j in tiles(m, n) { y[i, j] = x[i, j] } }`,
      ),
    (k) => ({ m: k, n: k + 7 }),
    12,
    3001,
  ),
  far(
    "columns by one constant",
    (k) => square(`for i, j in tiles(m, n) { y[i, j] = x[i, j - j / ${k}] }`),
    (k) => ({ m: 2, n: k + 1 }),
  ),
  far(
    "what is added to a column stops",
    (k) => `collective f(x: T[m, n] local, b: T[n] local) -> y: T[m, n] local ensures y[i, j] == x[i, j] + b[j] {
  for i, j in tiles(m, n) { y[i, j] = x[i, j] + b[min(j, ${k})] }
}`,
    (k) => ({ m: 2, n: k + 2 }),
  ),
  far(
    "a rank is read of twice",
    (k) => `collective f(x: T[m, n] sharded(0)) -> y: T[m, n] sharded(1)
  ensures y[i, j] == x@(i / (m / world))[i % (m / world), j + shard(n, rank).start] {
  for i, j in tiles(m, n / world) {
    y[i, j] = x@(i / (m / world + m / ${k}))[i % (m / world), j + shard(n, rank).start]
  }
}`,
    (k) => ({ m: 2 * k, n: 2 }),
    30,
  ),
  far(
    "rows by one constant",
    (k) => square(`for i, j in tiles(m, n) { y[i, j] = x[i - i / ${k}, j] }`),
    (k) => ({ m: k + 1, n: 2 }),
  ),
  // -- columns
  far(
    "rows of columns fall together",
    (k) => gatheredColumns(`min(i, ${k}), rank * c + j`, "i", "j"),
    (k) => ({ m: k + 2, n: 4 }),
  ),
  far(
    "columns fall together",
    (k) => gatheredColumns(`i, rank * c + min(j, ${k})`, "i", "j"),
    (k) => ({ m: 2, n: 2 * k + 4 }),
  ),
  far("rows of columns end early", (k) => gatheredColumns("i, rank * c + j", "i", "j", `min(m, ${k})`), (k) => ({ m: k + 1, n: 4 })), // prettier-ignore
  far(
    "columns are of one row",
    (k) => gatheredColumns("i, rank * c + j", `min(i, ${k})`, "j"),
    (k) => ({ m: k + 2, n: 4 }),
  ),
  far(
    "columns are one column",
    (k) => gatheredColumns("i, rank * c + j", "i", `min(j, ${k})`),
    (k) => ({ m: 2, n: 2 * k + 4 }),
  ),
  far(
    "columns of many rows lie one farther on",
    (k) => gatheredColumns(`i, (rank * c + j + m / ${k}) % n`, "i", "j"),
    (k) => ({ m: k, n: 4 }),
  ),
  far(
    "columns of many rows are another rank's",
    (k) => gatheredColumns(`i, (rank + m / ${k}) % world * c + j`, "i", "j"),
    (k) => ({ m: k, n: 4 }),
  ),
  // -- ranks
  far(
    "of one rank, far away, for all",
    (k) =>
      local(`if rank == 0 {
    for p in ranks {
      for i in tiles(min(n, ${k})) { y@p[i] = x@p[i] }
      for i in tiles(min(n, ${k}) .. n) { y@p[i] = x@0[i] }
    }
  }`),
    2,
  ),
];
