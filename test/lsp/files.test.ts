/** Sessions over several files: imports, and what the newer parts of the language are to an editor. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type {
  CompletionItem,
  DocumentSymbol,
  Hover,
  Location,
  MarkupContent,
  Position,
  TextEdit,
  WorkspaceEdit,
} from "vscode-languageserver/node";
import { Editor, textIn, unmark } from "./client.js";

const folder = mkdtempSync(join(tmpdir(), "collc-test-lsp-"));
let editor: Editor;

beforeAll(async () => {
  editor = await Editor.start(folder);
});
afterAll(async () => {
  expect(await editor.stop()).toBe(0);
  rmSync(folder, { recursive: true });
});

const RING = `/// How many rounds there are.
const ROUNDS = world - 1
const HALF = ROUNDS >> 1

/// The rank after r.
fn next(r) = (r + 1) % world

fn scaled(v, by) = v * by
`;

const USER = `import next, scaled, ROUNDS from "lib/ring.coll"

collective pass(x: T[n] local) -> y: T[n] local {
  let target = next(rank)
  for k in 0..ROUNDS {
    for i in tiles(n) {
      y@target[i] = scaled(x[i], 0.5)
    }
  }
}
`;

interface File {
  readonly uri: string;
  readonly text: string;
  readonly at: readonly Position[];
}

/** Writes a file to the disk; `¦` marks places. */
function write(name: string, marked: string): File {
  const { text, places } = unmark(marked);
  const path = join(folder, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
  return { uri: pathToFileURL(path).href, text, at: places };
}

/** The same, opened in the editor. */
async function open(name: string, marked: string): Promise<File> {
  const file = write(name, marked);
  await editor.open(file.uri, file.text);
  return file;
}

const hover = async (f: File, i = 0): Promise<string> =>
  ((await editor.at<Hover | null>("hover", f.uri, f.at[i]!))?.contents as MarkupContent | undefined)?.value ?? "";

function apply(text: string, edits: readonly TextEdit[]): string {
  const lines = text.split("\n");
  const offset = (p: Position): number =>
    lines.slice(0, p.line).reduce((sum, l) => sum + l.length + 1, 0) + p.character;
  return [...edits]
    .sort((a, b) => offset(b.range.start) - offset(a.range.start))
    .reduce((t, e) => t.slice(0, offset(e.range.start)) + e.newText + t.slice(offset(e.range.end)), text);
}

describe("imports", () => {
  test("resolve from the disk, and lead to the definition", async () => {
    const lib = write("a/lib/ring.coll", RING);
    const user = await open("a/user.coll", USER.replace("= next(", "= ¦next(").replace('"lib/', '"¦lib/'));
    expect(await editor.diagnostics(user.uri)).toEqual([]);
    // Marks are in the order of the text: the path first.
    const file = await editor.at<Location>("definition", user.uri, user.at[0]!);
    expect([file.uri, file.range.start.line]).toEqual([lib.uri, 0]);
    const found = await editor.at<Location>("definition", user.uri, user.at[1]!);
    expect(found.uri).toBe(lib.uri);
    expect(textIn(RING, found.range)).toBe("next");
    expect(found.range.start.line).toBe(5);
  });

  test("of imports lead to where a name is made", async () => {
    const lib = write("b/lib/ring.coll", RING);
    write("b/between.coll", 'import next from "lib/ring.coll"\n');
    const user = await open(
      "b/user.coll",
      'import next from "between.coll"\ncollective f(x: T[n] local) -> y: T[n] local {\n  for i in tiles(n) { y@¦next(rank)[i] = x[i] }\n}\n',
    );
    expect(await editor.diagnostics(user.uri)).toEqual([]);
    expect((await editor.at<Location>("definition", user.uri, user.at[0]!)).uri).toBe(lib.uri);
    expect(await hover(user)).toContain("The rank after r.");
  });

  test("from collc's own library", async () => {
    const user = await open("c/user.coll", 'import ¦ring from "all_reduce/ring.coll"\n');
    const found = await editor.at<Location>("definition", user.uri, user.at[0]!);
    expect(found.uri).toMatch(/kernels\/all_reduce\/ring\.coll$/);
  });

  test("what is wrong in an imported file is shown at the import, and where it is", async () => {
    const lib = write("d/lib.coll", "fn broken(v) = v + missing\n");
    const user = await open(
      "d/user.coll",
      'import broken from "lib.coll"\ncollective f(x: T[n] local) -> y: T[n] local {\n  for i in tiles(n) { y[i] = broken(x[i]) }\n}\n',
    );
    const [d, ...rest] = await editor.diagnostics(user.uri);
    expect(rest).toEqual([]);
    expect(d!.code).toBe("unknown-name");
    expect(d!.message).toContain("lib.coll, line 1");
    expect(textIn(user.text, d!.range)).toBe('"lib.coll"');
    const { location } = d!.relatedInformation![0]!;
    expect(location.uri).toBe(lib.uri);
    expect(textIn("fn broken(v) = v + missing\n", location.range)).toBe("missing");
  });

  test("a file that cannot be read says what is wrong with it", async () => {
    write("e/lib.coll", "fn half(v) = v *\n");
    const user = await open("e/user.coll", 'import half from "lib.coll"\n\ncollective f(x: T[n] local) -> y: T[n] local {\n  for i in tiles(n) { y[i] = half(x[i]) }\n}\n'); // prettier-ignore
    const broken = (await editor.diagnostics(user.uri)).find((d) => d.code === "import-broken");
    expect(broken!.relatedInformation![0]!.message).toMatch(/expected/);
    expect(broken!.relatedInformation![0]!.location.uri).toMatch(/e\/lib\.coll$/);
  });

  test("follow what is typed into the imported file", async () => {
    const lib = await open("f/lib.coll", "fn half(v) = v * 0.5\n");
    const user = await open("f/user.coll", 'import half from "lib.coll"\ncollective f(x: T[n] local) -> y: T[n] local {\n  for i in tiles(n) { y[i] = half(x[i]) }\n}\n'); // prettier-ignore
    expect(await editor.diagnostics(user.uri)).toEqual([]);
    editor.published.length = 0;
    await editor.change(lib.uri, "fn third(v) = v * 0.3\n");
    expect((await editor.diagnostics(user.uri, 0)).map((d) => d.code)).toContain("import-unknown");
  });

  test("names of the file are offered in the import, and imported ones in the body", async () => {
    write("g/lib.coll", RING);
    const user = await open("g/user.coll", 'import next, ¦ from "lib.coll"\n');
    const labels = (await editor.at<CompletionItem[]>("completion", user.uri, user.at[0]!)).map((i) => i.label);
    expect(labels.sort()).toEqual(["HALF", "ROUNDS", "next", "scaled"]);
    write("g/lib/ring.coll", RING);
    const body = await open("g/body.coll", USER.replace("0.5)", "¦0.5)"));
    const offered = await editor.at<CompletionItem[]>("completion", body.uri, body.at[0]!);
    expect(offered.map((i) => i.label)).toEqual(expect.arrayContaining(["next", "scaled", "ROUNDS", "target", "k"]));
    expect(JSON.stringify(offered.find((i) => i.label === "next")!.documentation)).toContain("The rank after r.");
  });
});

describe("names across files", () => {
  test("references are found in files that are not open", async () => {
    const lib = await open("h/lib/ring.coll", RING.replace("fn next", "fn ¦next"));
    const user = write("h/user.coll", USER);
    const found = await editor.at<Location[]>("references", lib.uri, lib.at[0]!, {
      context: { includeDeclaration: true },
    });
    expect(found.filter((l) => l.uri === lib.uri).length).toBe(1);
    expect(found.filter((l) => l.uri === user.uri).map((l) => textIn(user.text, l.range))).toEqual(["next", "next"]);
  });

  test("renaming changes the definition and all its uses, wherever it is asked for", async () => {
    const lib = write("i/lib/ring.coll", RING);
    const user = await open("i/user.coll", USER.replace("= scaled(", "= ¦scaled("));
    const edit = await editor.at<WorkspaceEdit>("rename", user.uri, user.at[0]!, { newName: "weighted" });
    expect(Object.keys(edit.changes!).sort()).toEqual([lib.uri, user.uri].sort());
    const changed = apply(user.text, edit.changes![user.uri]!);
    expect(changed.match(/\bweighted\b/g)!.length).toBe(2);
    expect(changed).not.toContain("scaled");
    expect(apply(RING, edit.changes![lib.uri]!)).toContain("fn weighted(v, by)");
  });

  test("is refused where another file has that name already", async () => {
    const lib = await open("j/lib/ring.coll", RING.replace("fn next", "fn ¦next"));
    write("j/user.coll", USER);
    await expect(editor.at("rename", lib.uri, lib.at[0]!, { newName: "target" })).rejects.toThrow(/taken.*user\.coll/);
  });

  test("parameters of functions are their own", async () => {
    const lib = await open("k/ring.coll", RING.replace("= v * by", "= ¦v * by"));
    const edit = await editor.at<WorkspaceEdit>("rename", lib.uri, lib.at[0]!, { newName: "value" });
    expect(apply(lib.text, edit.changes![lib.uri]!)).toContain("fn scaled(value, by) = value * by");
    expect(await hover(lib)).toContain("parameter of the function scaled");
  });
});

describe("hover", () => {
  test("constants have their value, functions their text, calls their type", async () => {
    const lib = await open("l/ring.coll", RING.replace("const HALF", "const ¦HALF"));
    expect(await hover(lib)).toContain("constant: 1, of 4 ranks");
    write("l/lib/ring.coll", RING);
    const user = await open("l/user.coll", USER.replace("= next(", "= ¦next(").replace("= scaled(", "= ¦scaled("));
    expect(await hover(user, 0)).toMatch(/fn next\(r\) = \(r \+ 1\) % world[^]*here: an index/);
    expect(await hover(user, 1)).toMatch(/fn scaled\(v, by\) = v \* by[^]*here: an element, f32/);
  });

  test("tensor expressions have their layout and shape at each operator and call", async () => {
    const f = await open(
      "m/linear.coll",
      `fn twice(t) = t + t
collective linear(a: T[m, k] sharded(1), b: T[k, n] sharded(0)) -> c: T[m, n] sharded(0) {
  let p = ¦twice(a) ¦@ b
  c = ¦reduce_scatter(p, dim: 0) ¦* 0.5
}
`,
    );
    expect(await editor.diagnostics(f.uri)).toEqual([]);
    expect(await hover(f, 0)).toMatch(/here: a tensor, f32\n- layout: `sharded\(1\)`/);
    expect(await hover(f, 1)).toMatch(/layout: `partial\(sum\)`\n- logical shape: `\[m, n\]`/);
    expect(await hover(f, 2)).toMatch(/here: a tensor[^]*sharded\(0\)/);
    expect(await hover(f, 3)).toMatch(/local shape, of 4 ranks: `\[m \/ 4, n\]`/);
  });

  test("axes of a mesh, indices of ensures, signals", async () => {
    const f = await open(
      "n/mesh.coll",
      `collective f(x: T[n] local) -> y: T[n] local
  mesh(node, gpu)
  where n % 2 == 0
  ensures y[¦i] == x[i] {
  for i in tiles(n) {
    y[i] = x[i] + f32(rank.¦gpu)
  }
  ¦signal 0
}
`,
    );
    expect(await hover(f, 0)).toContain("index of the output `y`");
    expect(await hover(f, 1)).toMatch(/axis of the mesh; 2 ranks long, of 4/);
    expect(await hover(f, 2)).toContain("Tells a rank");
    const edit = await editor.at<WorkspaceEdit>("rename", f.uri, f.at[1]!, { newName: "device" });
    expect(apply(f.text, edit.changes![f.uri]!)).toMatch(/mesh\(node, device\)[^]*rank\.device/);
    const members = await editor.at<CompletionItem[]>("completion", f.uri, f.at[1]!);
    expect(members.map((i) => i.label)).toEqual(["node", "gpu"]);
  });
});

test("the outline has constants and functions, too", async () => {
  const f = await open("o/ring.coll", RING);
  const symbols = await editor.request<DocumentSymbol[]>("textDocument/documentSymbol", { textDocument: { uri: f.uri } }); // prettier-ignore
  expect(symbols.map((s) => [s.name, s.detail])).toEqual([
    ["ROUNDS", "constant"],
    ["HALF", "constant"],
    ["next", "function"],
    ["scaled", "function"],
  ]);
});
