/** A real client talks to a real server, as an editor would. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type {
  CompletionItem,
  DocumentSymbol,
  Hover,
  Location,
  MarkupContent,
  Range,
  TextEdit,
  WorkspaceEdit,
} from "vscode-languageserver/node";
import { Editor, textIn, unmark } from "./client.js";

let editor: Editor;
let count = 0;

beforeAll(async () => {
  editor = await Editor.start();
});
afterAll(async () => {
  expect(await editor.stop()).toBe(0);
});

/** Opens a program of its own with `¦` at the places that are asked about. */
async function open(marked: string): Promise<{ uri: string; text: string; at: ReturnType<typeof unmark>["places"] }> {
  const { text, places } = unmark(marked);
  const uri = `untitled:test-${count++}.coll`;
  await editor.open(uri, text);
  return { uri, text, at: places };
}

const markdown = (h: Hover | null): string => (h?.contents as MarkupContent | undefined)?.value ?? "";

async function hovers(marked: string): Promise<string[]> {
  const { uri, at } = await open(marked);
  return Promise.all(at.map(async (p) => markdown(await editor.at<Hover | null>("hover", uri, p))));
}

async function labels(marked: string): Promise<string[]> {
  const { uri, at } = await open(marked);
  return (await editor.at<CompletionItem[]>("completion", uri, at[0]!)).map((i) => i.label);
}

const shift = `collective shift(x: T[m, n] sharded(1)) -> y: T[m, n] sharded(1) {
  let next = (rank + 1) % world
  for i, j in tiles(m, n / world) {
    let v = x@next[i, j]
    y[i, j] = v * 2
  }
}
`;

describe("diagnostics", () => {
  test("come when a file is opened, with place, code, help and the other places", async () => {
    const { uri, text } = await open(
      "collective f(x: T[n] partial(sum), bias: T[n] replicated) -> y: T[n] replicated {\n  y = all_reduce(x + bias)\n}\n",
    );
    const [d, ...rest] = await editor.diagnostics(uri);
    expect(rest).toEqual([]);
    expect(d).toMatchObject({ code: "operand-layouts", severity: 1, source: "collc" });
    expect(d!.message).toMatch(/partial\(sum\) and replicated.*\nhelp: /);
    expect(textIn(text, d!.range)).toBe("x + bias");
    expect(d!.relatedInformation!.map((r) => textIn(text, r.location.range))).toEqual(["x", "bias"]);
  });

  test("follow the typing, and are said once for a burst of it", async () => {
    const { uri } = await open(shift);
    expect(await editor.diagnostics(uri)).toEqual([]);
    const before = editor.published.filter((p) => p.uri === uri).length;
    const line = { line: 1, character: 2 };
    for (const c of "scratch".split("")) await editor.change(uri, c, { start: line, end: line });
    const version = await editor.change(uri, shift.replace("v * 2", "v *"));
    expect((await editor.diagnostics(uri, version)).map((d) => d.code)).toEqual(["syntax"]);
    expect(editor.published.filter((p) => p.uri === uri).length).toBe(before + 1);
    const fixed = await editor.change(uri, shift);
    expect(await editor.diagnostics(uri, fixed)).toEqual([]);
  });

  test("are those of 4 and of 2 ranks, for each collective", async () => {
    const four = "collective a(x: T[n] on(3)) -> y: T[n] replicated {\n  y = broadcast(x)\n}\n";
    const both = four + "collective b(x: T[6] sharded(0)) -> y: T[6] replicated {\n  y = all_gather(x)\n}\n";
    const { uri } = await open(both);
    const found = await editor.diagnostics(uri);
    expect(new Set(found.map((d) => d.code))).toEqual(new Set(["bad-layout-argument", "does-not-divide"]));
  });

  test("are gone when the file is closed", async () => {
    const { uri } = await open("collective");
    expect(await editor.diagnostics(uri)).not.toEqual([]);
    editor.published.length = 0;
    await editor.close(uri);
    expect(await editor.diagnostics(uri, 0)).toEqual([]);
  });
});

describe("hover", () => {
  test("tensors: type, layout, logical and local shape", async () => {
    const [x, use] = await hovers(shift.replace("(x:", "(¦x:").replace("x@", "¦x@"));
    expect(x).toContain("x: T[m, n] sharded(1)");
    expect(x).toContain("layout: `sharded(1)`");
    expect(x).toContain("logical shape: `[m, n]`");
    expect(x).toContain("local shape, on each rank: `[m, n / world]`");
    expect(use).toBe(x);
  });

  test("lets and loop variables: their type", async () => {
    const [next, i, v] = await hovers(
      shift.replace("let next", "let ¦next").replace("y[i", "y[¦i").replace("= v", "= ¦v"),
    );
    expect(next).toContain("an index");
    expect(i).toContain("for i in tiles(m, n / world)");
    expect(i).toContain("an index");
    expect(v).toContain("an element, f32");
  });

  test("lets of whole tensors: the inferred layout", async () => {
    const [p] = await hovers(`collective f(a: T[m, k] sharded(1), b: T[k, n] sharded(0)) -> c: T[m, n] sharded(0) {
  let ¦p = a @ b
  c = reduce_scatter(p, dim: 0)
}
`);
    expect(p).toContain("partial(sum)");
    expect(p).toContain("[m, n]");
  });

  test("functions, conversions, keywords, layouts, dtypes, dimensions, collectives", async () => {
    const [name, dtype, n, layout, on, keyword, fn, cast] = await hovers(`/// Says what it is.
collective ¦f(x: ¦T[¦n] ¦sharded(0)) -> y: f32[n] o¦n(0) {
  ¦for i in tiles(n) {
    y[i] = ¦exp(x[i]) + ¦f32(rank)
  }
}
`);
    expect(name).toContain("Says what it is.");
    expect(dtype).toContain("dtype variable: any dtype");
    expect(n).toContain("dimension");
    expect(layout).toContain("r-th equal slice");
    expect(on).toContain("Rank r holds the whole");
    expect(keyword).toContain("A loop over");
    expect(fn).toContain("e to the power of v");
    expect(cast).toContain("4 bytes");
    const [conversion, nothing] = await hovers(
      "collective g(x: T[n] on(0)) -> y: T[n] replicated {\n  y ¦= ¦broadcast(x)\n}\n",
    );
    expect([conversion, nothing].sort()[1]).toContain("to `replicated`");
  });

  test("works beside a syntax error", async () => {
    const [x] = await hovers(shift.replace("v * 2", "v *").replace("x@", "¦x@"));
    expect(x).toContain("local shape");
  });
});

describe("names", () => {
  test("definition and references", async () => {
    const { uri, text, at } = await open(shift.replace("x@next", "x@¦next"));
    const definition = await editor.at<Location>("definition", uri, at[0]!);
    expect(definition.range.start).toEqual({ line: 1, character: 6 });
    const ask = (includeDeclaration: boolean): Promise<Location[]> =>
      editor.at("references", uri, at[0]!, { context: { includeDeclaration } });
    expect((await ask(true)).map((l) => textIn(text, l.range))).toEqual(["next", "next"]);
    expect((await ask(false)).map((l) => l.range.start.line)).toEqual([3]);
  });

  test("two loops' variables of one name are two", async () => {
    const { uri, at } = await open(`collective f(x: T[n] local) -> y: T[n] local {
  for i in tiles(n) {
    y[i] = 0
  }
  for ¦i in tiles(n) {
    y[(i)] = x[i]
  }
}
`);
    const found = await editor.at<Location[]>("references", uri, at[0]!, { context: { includeDeclaration: true } });
    expect(found.map((l) => l.range.start.line)).toEqual([4, 5, 5]);
  });

  test.each([
    ["x", "input_", 2],
    ["T", "U", 2],
    ["n", "length", 3],
    ["i", "k", 3],
    ["shift", "all_gather", 1],
  ])("renaming %s changes every place", async (name, to, places) => {
    const { uri, text } = await open(shift);
    const offset = text.search(new RegExp(`\\b${name}\\b`));
    const before = text.slice(0, offset).split("\n");
    const position = { line: before.length - 1, character: before.at(-1)!.length };
    expect(await editor.at<Range>("prepareRename", uri, position)).toMatchObject({ placeholder: name });
    const edit = await editor.at<WorkspaceEdit>("rename", uri, position, { newName: to });
    const changed = apply(text, edit.changes![uri]!);
    expect(edit.changes![uri]!.length).toBeGreaterThanOrEqual(places);
    expect(changed).not.toMatch(new RegExp(`\\b${name}\\b`));
    expect(changed.match(new RegExp(`\\b${to}\\b`, "g"))!.length).toBe(edit.changes![uri]!.length);
    const version = await editor.change(uri, changed);
    expect(await editor.diagnostics(uri, version)).toEqual([]);
  });

  test.each([
    ["y", /taken.*output/],
    ["n", /taken.*dimension/],
    ["i", /taken.*loop variable/],
    ["rank", /already means/],
    ["for", /already means/],
    ["f32", /already means/],
    ["2x", /not a name/],
  ])("renaming x to %s is refused", async (newName, message) => {
    const { uri, at } = await open(shift.replace("(x:", "(¦x:"));
    await expect(editor.at("rename", uri, at[0]!, { newName })).rejects.toThrow(message);
  });

  test("what a part is taken of is renamed, and has a description", async () => {
    const body = "  let s = x * 2\n  y = (¦s + x)[0..n][..] + relu(s)[0..n - 1 + 1]\n";
    const { uri, at } = await open(`collective f(x: T[n] local) -> y: T[n] local {\n${body}}\n`);
    const edit = await editor.at<WorkspaceEdit>("rename", uri, at[0]!, { newName: "twice" });
    expect(edit.changes![uri]!.length).toBe(3);
    expect(JSON.stringify(await editor.at("hover", uri, at[0]!))).toContain("let s");
  });

  test("renaming in a broken file is refused", async () => {
    const { uri, at } = await open(shift.replace("(x:", "(¦x:").replace("v * 2", "v *"));
    await expect(editor.at("rename", uri, at[0]!, { newName: "z" })).rejects.toThrow(/syntax errors/);
  });
});

describe("completion", () => {
  test("what can be named here, and the words of the language", async () => {
    const found = await labels(shift.replace("v * 2", "v * ¦2"));
    expect(found).toEqual(
      expect.arrayContaining(["x", "y", "m", "n", "next", "i", "j", "v", "T", "exp", "rank", "f32", "sum"]),
    );
    expect(await labels(shift.replace("(rank + 1)", "¦rank"))).not.toContain("v");
  });

  test("layouts behind a shape, dtypes behind a colon, reductions in partial", async () => {
    expect((await labels("collective f(x: T[n] ¦")).sort()).toEqual([
      "local",
      "on",
      "partial",
      "replicated",
      "sharded",
    ]);
    expect(await labels("collective f(x: ¦")).toContain("bf16");
    expect(await labels("collective f(x: T[n] partial(¦")).toEqual(["sum", "avg", "min", "max", "prod"]);
  });

  test("names of a statement that is being written", async () => {
    expect(
      await labels(
        "collective f(x: T[n] local) -> y: T[n] local {\n  let offset = 3\n  for i in tiles(n) {\n    y[i] = x[i + ¦",
      ),
    ).toEqual(expect.arrayContaining(["x", "y", "offset", "i", "n"]));
  });

  test("nothing in a comment", async () => {
    expect(await labels("// ab¦c\n")).toEqual([]);
  });
});

describe("formatting and outline", () => {
  test("formatting is the formatter's", async () => {
    const { uri, text } = await open("collective f(x:T[n] local)->y:T[n] local{for i in tiles(n){y[i]=x[i]}} // end\n");
    const edits = await editor.request<TextEdit[]>("textDocument/formatting", { textDocument: { uri }, options: {} });
    expect(apply(text, edits)).toContain("\n    y[i] = x[i]\n");
    await editor.change(uri, apply(text, edits));
    expect(await editor.request("textDocument/formatting", { textDocument: { uri }, options: {} })).toEqual([]);
    await editor.change(uri, "collective f(");
    expect(await editor.request("textDocument/formatting", { textDocument: { uri }, options: {} })).toBeNull();
  });

  test("the outline has collectives and what they declare", async () => {
    const { uri } = await open(shift + "collective g(x: T[n] on(0)) -> z: T[n] replicated {\n  z = broadcast(x)\n}\n");
    const symbols = await editor.request<DocumentSymbol[]>("textDocument/documentSymbol", { textDocument: { uri } });
    expect(symbols.map((s) => [s.name, s.detail, s.children!.map((c) => c.name)])).toEqual([
      ["shift", "sharded → sharded", ["x", "y", "next", "v"]],
      ["g", "on → replicated", ["x", "z"]],
    ]);
  });
});

describe("the session", () => {
  test("says what it can do, and ends with its editor", async () => {
    const other = await Editor.start();
    expect(other.capabilities).toMatchObject({ hoverProvider: true, renameProvider: { prepareProvider: true } });
    expect(await other.vanish()).toBe(1);
  });

  test("questions about what is not open have no answer", async () => {
    expect(await editor.at("hover", "untitled:nowhere.coll", { line: 0, character: 0 })).toBeNull();
    expect(await editor.at("definition", "untitled:nowhere.coll", { line: 9, character: 9 })).toBeNull();
  });
});

function apply(text: string, edits: readonly TextEdit[]): string {
  const lines = text.split("\n");
  const offset = (p: { line: number; character: number }): number =>
    lines.slice(0, p.line).reduce((sum, l) => sum + l.length + 1, 0) + p.character;
  return [...edits]
    .sort((a, b) => offset(b.range.start) - offset(a.range.start))
    .reduce((t, e) => t.slice(0, offset(e.range.start)) + e.newText + t.slice(offset(e.range.end)), text);
}
