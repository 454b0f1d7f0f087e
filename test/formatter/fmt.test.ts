/** `collc fmt` as a command, and the plugin as Prettier loads it. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { check, format, type Plugin } from "prettier";
import { expect, test } from "vitest";
import * as plugin from "../../src/formatter/index.js";
import { collc, file, temporaryFolder } from "../cli/support.js";

const untidy = "collective f(x:T[n] local)->y:T[n] local{for i in tiles(n){y[i]=x[i]}} // end\n";
const tidy = `collective f(x: T[n] local) -> y: T[n] local {
  for i in tiles(n) {
    y[i] = x[i]
  }
} // end
`;
const broken = "collective f(x: T[n] local) -> y: T[n] local {\n  let = 3 // keep me\n}\n";

test("formats files and folders in place and names them", async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "deep/node_modules"), { recursive: true });
  const a = file(folder, "a.coll", untidy);
  const b = file(folder, "deep/b.coll", tidy);
  const c = file(folder, "deep/c.coll", untidy);
  const d = file(folder, "deep/node_modules/d.coll", untidy);
  const e = file(folder, "deep/notes.txt", untidy);
  const { code, out, err } = await collc(["fmt", folder]);
  expect(err).toContain("2 files formatted of 3");
  expect({ code, out }).toEqual({ code: 0, out: `${a}\n${c}\n` });
  expect([a, b, c, d, e].map((path) => readFileSync(path, "utf8"))).toEqual([tidy, tidy, tidy, untidy, untidy]);
  expect(readdirSync(folder)).toEqual(["a.coll", "deep"]);
  expect(await collc(["fmt", folder])).toMatchObject({ code: 0, out: "" });
});

test("--check changes nothing and fails with the list", async () => {
  const folder = temporaryFolder();
  const a = file(folder, "a.coll", untidy);
  const b = file(folder, "b.coll", tidy);
  expect(await collc(["fmt", "--check", a, b])).toMatchObject({ code: 1, out: `${a}\n` });
  expect(readFileSync(a, "utf8")).toBe(untidy);
  expect(await collc(["fmt", "--check", b])).toMatchObject({ code: 0, out: "" });
});

test("a syntax error is reported, the file left as it is, the others formatted", async () => {
  const folder = temporaryFolder();
  const a = file(folder, "a.coll", broken);
  const b = file(folder, "b.coll", untidy);
  const { code, out, err } = await collc(["fmt", a, b]);
  expect({ code, out }).toEqual({ code: 1, out: `${b}\n` });
  expect(err).toContain("error[syntax]");
  expect(err).toContain("a.coll:2:7");
  expect(readFileSync(a, "utf8")).toBe(broken);
  expect(readFileSync(b, "utf8")).toBe(tidy);
});

test("--stdin goes to stdout", async () => {
  expect(await collc(["fmt", "--stdin"], { stdin: untidy })).toMatchObject({ code: 0, out: tidy, err: "" });
  expect(await collc(["fmt", "--stdin", "--check"], { stdin: untidy })).toMatchObject({ code: 1 });
  expect(await collc(["fmt", "--stdin", "--check"], { stdin: tidy })).toMatchObject({ code: 0 });
  expect(await collc(["fmt", "--stdin"], { stdin: broken })).toMatchObject({ code: 1, out: "" });
  expect(await collc(["fmt", "--stdin", "a.coll"], { stdin: tidy })).toMatchObject({ code: 2 });
});

test("links and permissions stay", async () => {
  const folder = temporaryFolder();
  const a = file(folder, "a.coll", untidy);
  chmodSync(a, 0o600);
  symlinkSync("a.coll", join(folder, "link.coll"));
  expect((await collc(["fmt", join(folder, "link.coll")])).code).toBe(0);
  expect(readFileSync(a, "utf8")).toBe(tidy);
  expect(statSync(a).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(["a.coll", "link.coll"]);
});

test("what is not there is an error of the command line", async () => {
  expect(await collc(["fmt", "nowhere.coll"])).toMatchObject({ code: 2 });
  expect((await collc(["fmt", temporaryFolder()])).err).toContain("no .coll files");
});

test("Prettier's configuration sets the width, and Prettier itself gives the same", async () => {
  const folder = temporaryFolder();
  const long = `collective f(x: T[n] local) -> y: T[n] local {\n  let a = ${"bbbbbbbbbb + ".repeat(8)}c\n}\n`;
  const path = file(folder, "a.coll", long);
  expect((await collc(["fmt", "--check", path])).code).toBe(1);
  file(folder, ".prettierrc", '{ "printWidth": 140 }');
  expect((await collc(["fmt", "--check", path])).code).toBe(0);
  const asPlugin = { filepath: path, plugins: [plugin as Plugin] };
  expect(await format(untidy, asPlugin)).toBe(tidy);
  expect(await check(long, asPlugin)).toBe(false);
  await expect(format(broken, asPlugin)).rejects.toThrow(/expected a name/);
  file(folder, ".prettierrc", "{ printWidth");
  const other = file(folder, "b.coll", tidy);
  expect(await collc(["fmt", other])).toMatchObject({ code: 2 });
});
