/** How formatted programs look. */
import { describe, expect, test } from "vitest";
import { CollSyntaxError, formatColl } from "../../src/formatter/index.js";

const lines = (...text: string[]): string => text.join("\n") + "\n";

/** Formats, and asserts that formatting again changes nothing. */
async function formatted(text: string, printWidth?: number): Promise<string> {
  const once = await formatColl(text, { printWidth });
  expect(await formatColl(once, { printWidth })).toBe(once);
  return once;
}

describe("the style", () => {
  test("spaces and line breaks are the formatter's", async () => {
    const text =
      "collective  f( x:T [n]local )->y:T[ n ] local{for i in tiles( n ){y [i]=-x@( ( rank+1 )%world )[i]*2}}";
    expect(await formatted(text)).toBe(
      lines(
        "collective f(x: T[n] local) -> y: T[n] local {",
        "  for i in tiles(n) {",
        "    y[i] = -x@((rank + 1) % world)[i] * 2",
        "  }",
        "}",
      ),
    );
  });

  test("indices stand right behind what they are of", async () => {
    const text = "collective f(x:T[n] local)->y:T[n] local{y=( x+x ) [ 0 .. n ][..]+relu( x ) [0..n-1 ,..]}";
    expect(await formatted(text)).toContain("  y = (x + x)[0..n][..] + relu(x)[0..n - 1, ..]\n");
    expect(await formatted(text, 20)).toContain(")[");
  });

  test("clauses stand on lines of their own, else goes on behind its brace", async () => {
    const text = `collective f(x: T[n] local) -> (y: U[n] local) where T in (f16,bf16) where U in (f32)
      { if rank==0 { barrier } else if rank==1 {} else { let a=not rank<2 } }`;
    expect(await formatted(text)).toBe(
      lines(
        "collective f(x: T[n] local) -> (y: U[n] local)",
        "  where T in (f16, bf16)",
        "  where U in (f32) {",
        "  if rank == 0 {",
        "    barrier",
        "  } else if rank == 1 {} else {",
        "    let a = not rank < 2",
        "  }",
        "}",
      ),
    );
  });

  test("a signature is broken at its arrow first, then at its parameters", async () => {
    const text = "collective f(a: T[m, k] sharded(1), b: T[k, n] sharded(0)) -> c: T[m, n] sharded(0) { c = a }";
    expect(await formatted(text, 70)).toBe(
      lines(
        "collective f(a: T[m, k] sharded(1), b: T[k, n] sharded(0))",
        "  -> c: T[m, n] sharded(0) {",
        "  c = a",
        "}",
      ),
    );
    expect(await formatted(text, 50)).toBe(
      lines(
        "collective f(",
        "  a: T[m, k] sharded(1),",
        "  b: T[k, n] sharded(0)",
        ") -> c: T[m, n] sharded(0) {",
        "  c = a",
        "}",
      ),
    );
  });

  test("long expressions are broken behind their loosest operators, calls around their arguments", async () => {
    const text = `collective f(x: T[n] local) -> y: T[n] local { for i in tiles(n) {
      let s = x[i] * first + x[i] * second + x[i] * third
      let t = where(s > 0 and s < 100, exp(first + second), third)
      let u = (first_of_the_numbers + second_of_the_numbers) / 2
      if first_of_the_numbers < 0 or second_of_the_numbers < 0 { y[i] = s }
    } }`;
    expect(await formatted(text, 44)).toBe(
      lines(
        "collective f(x: T[n] local)",
        "  -> y: T[n] local {",
        "  for i in tiles(n) {",
        "    let s = x[i] * first +",
        "      x[i] * second +",
        "      x[i] * third",
        "    let t = where(",
        "      s > 0 and s < 100,",
        "      exp(first + second),",
        "      third",
        "    )",
        "    let u = (",
        "      first_of_the_numbers +",
        "      second_of_the_numbers",
        "    ) /",
        "      2",
        "    if first_of_the_numbers < 0 or",
        "        second_of_the_numbers < 0 {",
        "      y[i] = s",
        "    }",
        "  }",
        "}",
      ),
    );
  });

  test("blank lines are kept, one at most, and none at the ends of a block", async () => {
    const text =
      "\n\ncollective f() -> y: T[n] local {\n\n  barrier\n\n\n  barrier\n  barrier\n\n}\ncollective g() -> y: T[n] local {\n}\n\n\n";
    expect(await formatted(text)).toBe(
      lines(
        "collective f() -> y: T[n] local {",
        "  barrier",
        "",
        "  barrier",
        "  barrier",
        "}",
        "",
        "collective g() -> y: T[n] local {}",
      ),
    );
  });
});

describe("comments", () => {
  test("stay where they are", async () => {
    const text = `// about the file

/// Documents it.

collective f(a: T[n] local, // the first
  b: T[n] local
  // no more
) -> y: T[n] local
  // why f32
  where T in (f32) { // opens

  // about the loop
  for i in tiles(n) { // spreads
    y[i] = a[i] + // left
      b[i] // right

    // at the end
  } // closes
  if n > 1 {
    // nothing to do
  }
  // before else
  else {}
} // over
// the rest
`;
    expect(await formatted(text)).toBe(
      lines(
        "// about the file",
        "",
        "/// Documents it.",
        "collective f(",
        "  a: T[n] local, // the first",
        "  b: T[n] local",
        "  // no more",
        ") -> y: T[n] local",
        "  // why f32",
        "  where T in (f32) { // opens",
        "  // about the loop",
        "  for i in tiles(n) { // spreads",
        "    y[i] = a[i] + // left",
        "      b[i] // right",
        "",
        "    // at the end",
        "  } // closes",
        "  if n > 1 {",
        "    // nothing to do",
        "  }",
        "  // before else",
        "  else {}",
        "} // over",
        "// the rest",
      ),
    );
  });

  test("a file may hold nothing else, or nothing at all", async () => {
    expect(await formatted("\n\n// a\n\n\n/// b")).toBe("// a\n\n/// b\n");
    expect(await formatted("")).toBe("");
    expect(await formatted(" \n\n")).toBe("");
  });

  test("line ends of Windows and spaces at line ends go", async () => {
    expect(await formatted("// a  \r\ncollective f() -> y: T[n] local {\r\n\r\n}\r\n")).toBe(
      "// a\ncollective f() -> y: T[n] local {}\n",
    );
    expect(await formatted("// a\rb\n")).toBe("// a b\n");
  });
});

describe("what is no Coll", () => {
  test("is refused with the compiler's diagnostics and their place", async () => {
    const error = await formatColl("collective f() -> y: T[n] local {\n  let = 3\n}\n", { file: "a.coll" }).catch(
      (e: unknown) => e,
    );
    expect(error).toBeInstanceOf(CollSyntaxError);
    const { diagnostics, loc, source } = error as CollSyntaxError;
    expect(diagnostics.map((d) => d.code)).toEqual(["syntax"]);
    expect(loc.start).toEqual({ line: 2, column: 7 });
    expect(source.name).toBe("a.coll");
  });

  test("characters that mean nothing are not dropped", async () => {
    await expect(formatColl("collective f() -> y: T[n] local { barrier; }")).rejects.toThrow(/no meaning in Coll/);
  });

  test("faults that are not of syntax do not matter", async () => {
    expect(await formatted("collective f(x: U[n] nowhere)->y: T[n] local where Z in (f99) { y=1 }")).toContain(
      "nowhere",
    );
  });
});
