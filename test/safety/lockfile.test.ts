/** What `npm ci` needs of package-lock.json: an entry for each package that another one names, optional ones too. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, "../..");
const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
  packages: Readonly<Record<string, Locked>>;
};

/** Where Node would find `name` from the package at `path`: beside it or in a folder above. */
function resolve(path: string, name: string): string | undefined {
  for (let folder = path; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("node_modules/") - 1))) {
    const candidate = `${folder === "" ? "" : `${folder}/`}node_modules/${name}`;
    if (candidate in lock.packages) return candidate;
    if (folder === "") return undefined;
  }
}

it("package-lock.json has an entry for each package that it names, those of other platforms included", () => {
  const missing: string[] = [];
  for (const [path, locked] of Object.entries(lock.packages)) {
    const names = { ...locked.dependencies, ...locked.devDependencies, ...locked.optionalDependencies };
    for (const name of Object.keys(names)) {
      if (resolve(path, name) === undefined) missing.push(`${path || "collc"} needs ${name}`);
    }
  }
  expect(missing).toEqual([]);
});

it("package-lock.json says of each package which bytes it has", () => {
  const bundled = Object.entries(lock.packages).filter(([path, locked]) => path !== "" && !locked.integrity);
  expect(bundled.map(([path]) => path)).toEqual([]);
});

it("package.json asks for what package-lock.json has, and scripts install from it alone", () => {
  const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Locked & {
    scripts: Readonly<Record<string, string>>;
  };
  expect(lock.packages[""]!.dependencies).toEqual(manifest.dependencies);
  expect(lock.packages[""]!.devDependencies).toEqual(manifest.devDependencies);
  expect(Object.values(manifest.scripts).filter((script) => /npm (i|install)\b/.test(script))).toEqual([]);
  expect(manifest.scripts["start"]).toMatch(/^npm ci /);
});
