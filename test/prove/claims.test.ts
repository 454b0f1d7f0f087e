/** Claims about elements, layouts along an axis of a mesh, and inputs that steer: proved where right, refuted where wrong. */
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import { type Claims, findings, prove, PROOF_MAPPING, summaryLine } from "../../src/compiler/prove/index.js";
import { isAll } from "../scope.js";

function proved(text: string, ranks: number, mesh?: Readonly<Record<string, number>>): Claims {
  const { kernel, diagnostics } = compile(text, { file: "t.coll", ranks, dtype: "f32", mapping: PROOF_MAPPING, mesh });
  expect(diagnostics.filter((d) => d.severity === "error")).toEqual([]);
  return prove({ kernel });
}

const statuses = ({ answer, ordering }: Claims): string[] => [answer.status, ordering.status];
const messages = (claims: Claims): string =>
  findings(claims)
    .map((f) => f.message)
    .join("\n");

const shift = (from: string, claim: string): string => `
collective shift(x: T[n] local) -> y: T[n] local
  ensures y[i] == ${claim} {
  for i in tiles(n) {
    y[i] = x@(${from})[i] * 2
  }
}`;

describe("claims about elements", () => {
  const next = "(rank + 1) % world";
  it("are proved for every element of every rank", () => {
    const claims = proved(shift(next, `x@(${next})[i] + x@(${next})[i]`), 3);
    expect(statuses(claims)).toEqual(["proved", "proved"]);
  });

  it("are refuted with the element and what it holds instead", () => {
    const claims = proved(shift("(rank + 2) % world", `x@(${next})[i] * 2`), 3);
    expect(statuses(claims)).toEqual(["wrong", "proved"]);
    expect(messages(claims)).toContain("output 'y'[0] on rank 0: lacks rank 1's x[0], has 2 times rank 2's x[0]");
  });

  it("are refuted with what differs where it is too deep inside to be shown with the whole", () => {
    const clipped = `
collective clipped(g: f32[2] local, limit: f32) -> y: f32[2] local
  ensures y[i] == g[i] * min(1.0, limit / (sqrt(g[0] * g[0] + g[1] * g[1]) + 0.5)) {
  for i in tiles(2) {
    y[i] = g[i] * min(1.0, limit / (sqrt(g[0] * g[0]) + 0.5))
  }
}`;
    const [message, ...lines] = [
      "output 'y'[0] on rank 0: differs inside of rank 0's g[0] · min(1, limit · reciprocal(…)): ",
      "is        sqrt(rank 0's g[0] · rank 0's g[0]) + 0.5",
      "should be sqrt(rank 0's g[0] · rank 0's g[0] + rank 0's g[1] · rank 0's g[1]) + 0.5",
    ];
    const [finding] = findings(proved(clipped, 2));
    expect(finding!.message).toContain(message);
    expect(finding!.notes).toEqual(expect.arrayContaining(lines));
  });

  it("are refuted where elements before the wrong one are equal in another form", () => {
    const wire = (scale: string): string => `
collective wire(x: f32[4 * n] local) -> y: f32[4 * n] local
  ensures y[i] == x[i] {
  scratch scales: f32[n]
  for b in tiles(n) {
    scales[b] = max(max(k in 0..4) abs(x[4 * b + k]), 1e-12)
  }
  for i in tiles(4 * n) {
    y[i] = x[i] / scales[i / 4] * scales[${scale}]
  }
}`;
    expect(statuses(proved(wire("i / 4"), 1))).toEqual(["proved", "proved"]);
    const claims = proved(wire("i / 5"), 1);
    expect(statuses(claims)).toEqual(["wrong", "proved"]);
    expect(messages(claims)).toContain("output 'y'[4] on rank 0");
    expect(messages(claims)).toContain("max(1e-12, ");
  });

  it("may fold whole numbers from the smallest or the largest of them", () => {
    for (const [dtype, fn] of [
      ["i32", "max"],
      ["i32", "min"],
      ["u32", "max"],
      ["u32", "min"],
      ["f32", "max"],
    ] as const) {
      const text = `
collective extreme(x: ${dtype}[n] local) -> y: ${dtype}[n] local
  ensures y[i] == ${fn}(p in ranks) x@p[i] {
  for i in tiles(n) {
    y[i] = ${fn}(p in ranks) x@p[i]
  }
}`;
      expect(statuses(proved(text, 2)), `${fn} of ${dtype}`).toEqual(["proved", "proved"]);
    }
  });

  it("do not hold for 0 where they divide by zero", () => {
    const text = (value: string): string => `
collective w(x: T[n] local) -> y: T[n] local
  ensures y[i] == x[i] / (x[i] - x[i]) {
  for i in tiles(n) { y[i] = ${value} }
}`;
    expect(statuses(proved(text("0 * x[i]"), 2))).toEqual(["unknown", "proved"]);
    expect(statuses(proved(text("x[i] / (x[i] - x[i])"), 2))).toEqual(["proved", "proved"]);
  });

  it.runIf(isAll)("fold whole numbers beside sums of products", () => {
    const text = `
collective beside(x: i32[m, n] local, w: i32[n, n] replicated) -> y: i32[m, n] local {
  y = (x @ w) + min(x, dim: 1)
}`;
    expect(statuses(proved(text, 2))).toEqual(["proved", "proved"]);
  });

  it.runIf(isAll)("fold once what some indices decide, for each value of those", () => {
    const norm = (fold: string): string => `
collective norm(x: T[m, n] local) -> y: T[m, n] local
  ensures y[i, j] == x[i, j] - (sum(p in ranks) (max(k in 0..n) ${fold})) {
  for i, j in tiles(m, n) {
    y[i, j] = x[i, j] - (sum(p in ranks) (max(k in 0..n) x@p[i, k]))
  }
}`;
    expect(statuses(proved(norm("x@p[i, k]"), 2))).toEqual(["proved", "proved"]);
    for (const wrong of ["x@p[0, k]", "x[i, k]", "x@p[i, j]"])
      expect(statuses(proved(norm(wrong), 2)), wrong).toEqual(["wrong", "proved"]);
  });

  it("may choose, and read only what they choose", () => {
    const halo = (edge: string): string => `
collective halo(x: T[n] local) -> y: T[n + 1] local
  where n >= 1
  ensures y[i] == where(i < n, x[i], x@(${next})[${edge}]) {
  for i in tiles(n) {
    y[i] = x[i]
  }
  for i in tiles(1) {
    y[n] = x@(${next})[0]
  }
}`;
    expect(statuses(proved(halo("0"), 3))).toEqual(["proved", "proved"]);
    expect(statuses(proved(halo("i - 1"), 3))).toEqual(["wrong", "proved"]);
  });

  it("fold over ranks and ranges", () => {
    const fold = (by: string): string => `
collective fold(x: T[n] local) -> y: T[n] local
  ensures y[i] == ${by} {
  for i in tiles(n) {
    y[i] = sum(p in ranks) x@p[i]
  }
}`;
    expect(statuses(proved(fold("sum(p in ranks) x@p[i]"), 4))).toEqual(["proved", "proved"]);
    expect(statuses(proved(fold("sum(p in 0..world) x@p[i]"), 4))).toEqual(["proved", "proved"]);
    expect(statuses(proved(fold("sum(p in peers) x@p[i]"), 4))).toEqual(["wrong", "proved"]);
    expect(statuses(proved(fold("max(p in ranks) x@p[i]"), 4))).toEqual(["wrong", "proved"]);
  });
});

describe("outputs of which nothing is said", () => {
  it("are checked for ordering alone, and the summary says so", () => {
    const claims = proved(
      "collective free(x: T[n] local) -> (y: T[n] local, z: T[n] replicated) { for i in tiles(n) { y[i] = x[i] z[i] = x@0[i] } }",
      2,
    );
    expect(statuses(claims)).toEqual(["proved", "proved"]);
    expect(claims.answer).toMatchObject({ unspecified: ["y", "z"] });
    expect(summaryLine(claims)).toContain("answer not specified, ordering proved");
  });
});

describe("layouts along an axis", () => {
  const rows = (axis: string): string => `
collective rows(x: T[n] partial(sum, gpu)) -> y: T[n] replicated(gpu)
  mesh(node, gpu) {
  for i in tiles(n) {
    y[i] = sum(p in ranks(${axis})) x@p[i]
  }
}`;
  it("are about the ranks of one row", () => {
    expect(statuses(proved(rows("gpu"), 6, { node: 2 }))).toEqual(["proved", "proved"]);
    expect(statuses(proved(rows("gpu"), 6, { node: 3 }))).toEqual(["proved", "proved"]);
    const wrong = proved(rows("node"), 4);
    expect(statuses(wrong)).toEqual(["wrong", "proved"]);
    expect(messages(wrong)).toContain("lacks rank 1's x[0], has rank 2's x[0]");
  });

  it("are cut and put together by place in the row", () => {
    const gathered = (place: string): string => `
collective gathered(x: T[n] sharded(0, gpu)) -> y: T[n] replicated(gpu)
  mesh(node, gpu) {
  for p in ranks(gpu) {
    for i in tiles(n / world.gpu) {
      y[${place} * (n / world.gpu) + i] = x@p[i]
    }
  }
}`;
    expect(statuses(proved(gathered("p % world.gpu"), 6, { node: 2 }))).toEqual(["proved", "proved"]);
    expect(statuses(proved(gathered("(world.gpu - 1 - p % world.gpu)"), 6, { node: 2 }))[0]).toBe("wrong");
  });
});

describe("inputs that steer", () => {
  const table = (claim: string): string => `
collective table(x: T[n] local, source: i32[world] replicated) -> y: T[n] local
  where source in 0..world
  ensures y[i] == ${claim} {
  for i in tiles(n) {
    y[i] = x@(index(source[rank]))[i]
  }
}`;
  it("have sampled values, and the claim says so", () => {
    const claims = proved(table("x@(index(source[rank]))[i]"), 3);
    expect(statuses(claims)).toEqual(["proved", "proved"]);
    expect(summaryLine(claims)).toContain("at 6 shapes with n ≤ 215 and 6 samples of source, ordering proved");
  });

  it("refute what holds for some of them only", () => {
    expect(statuses(proved(table("x@(index(source[0]))[i]"), 3))).toEqual(["wrong", "proved"]);
    expect(statuses(proved(table("x@rank[i]"), 3))).toEqual(["wrong", "proved"]);
  });
});

describe("proofs of tensor expressions", () => {
  it("take the paths of long rows whichever dimension is named last", () => {
    const text = `
collective u(x: T[n] replicated, z: T[m, n] on(1)) -> y: T[m, n] on(1) where T in (f32) {
  y = z * x - 1
}`;
    const claims = proved(text, 2);
    expect(statuses(claims)).toEqual(["proved", "proved"]);
    expect(claims.coverage.ran).toBeGreaterThan(0.8 * claims.coverage.total);
  });

  it("say what the signature means where a body computes something else of one layout", () => {
    const help = (text: string): string | null => {
      const { answer } = proved(text, 2);
      return answer.status === "wrong" ? answer.help : answer.status;
    };
    const twice = (ensures: string): string =>
      `collective f(x: f32[m, n] sharded(0)) -> y: f32[m, n] sharded(0) ${ensures} {
        for i, j in tiles(m / world, n) { y[i, j] = x[i, j] * 2 }
      }`;
    expect(help(twice(""))).toMatch(/both sharded\(0\), .*they are equal; .* ensures y\[i0, i1\] == …$/);
    expect(help(twice("ensures y == x * 3"))).toBeNull();
    expect(help(twice("ensures y == x * 2"))).toBe("proved");
  });

  it("take no longer for values that are used twice", () => {
    const uses = Array.from({ length: 40 }, (_, i) => `  let a${i + 1} = a${i} * 0.5 + a${i} * 0.25`);
    const text = `
collective chain(x: T[n] partial(sum)) -> y: T[n] replicated where T in (f32) {
  let a0 = all_reduce(x)
${uses.join("\n")}
  y = a40
}`;
    expect(statuses(proved(text, 2))).toEqual(["proved", "proved"]);
  });
});
