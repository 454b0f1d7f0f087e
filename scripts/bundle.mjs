#!/usr/bin/env node
/**
 * Makes collc for machines without registries: one folder and one archive with a Node runtime, production packages,
 * the built package, the addon and the kernels. Runs on any x86-64 Linux with glibc 2.31 and libstdc++.
 *
 *   npm run bundle          .bundle/collc/ and .bundle/collc.tar.xz
 *   node scripts/bundle.mjs --no-archive
 *
 * Expects a finished `npm run build`. Fails when the archive is too large, when something in it needs a newer glibc, or
 * when the unpacked bundle does not run.
 */
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values: options } = parseArgs({
  options: {
    "no-archive": { type: "boolean", default: false },
    out: { type: "string", default: join(root, ".bundle") },
  },
});
const target = join(options.out, "collc");
const archive = join(options.out, "collc.tar.xz");
const limits = { archiveBytes: 60 * 2 ** 20, glibc: [2, 31] };

/** Needed to build the addon, not to run it. */
const buildOnly = new Set(["cmake-js", "node-addon-api"]);
/** Ballast at run time. Licences stay. */
const isBallast = (path) =>
  /\.(map|d\.ts|d\.mts|d\.cts|tsbuildinfo|md|markdown)$/i.test(path) && !/licen[cs]e/i.test(path);

const launcher = `#!/bin/sh
# Starts collc with the Node runtime beside it, from wherever this folder lies. Needs no other program.
self=$0
while [ -h "$self" ]; do
  link=$(readlink "$self") || break
  case $link in /*) self=$link ;; *) self=\${self%/*}/$link ;; esac
done
case $self in */*) here=\${self%/*} ;; *) here=. ;; esac
exec "$here/bin/node" "$here/dist/src/cli/main.js" "$@"
`;

main();

function main() {
  for (const [path, how] of [
    ["dist/src/cli/main.js", "npm run build:ts"],
    ["build/Release/collc.node", "npm run build:native"],
  ]) {
    if (!existsSync(join(root, path))) fail(`${path} is not there: run \`${how}\` first`);
  }
  rmSync(target, { recursive: true, force: true });
  rmSync(archive, { force: true });
  mkdirSync(join(target, "bin"), { recursive: true });
  copyPackage();
  for (const folder of productionPackages()) copy(folder);
  copyNode();
  writeFileSync(join(target, "collc"), launcher);
  chmodSync(join(target, "collc"), 0o755);
  checkGlibc();
  say(`${relative(process.cwd(), target) || "."}: ${mebibytes(folderBytes(target))}`);
  if (!options["no-archive"]) pack();
  verify();
}

/** The built package; tests and build leavings stay out. */
function copyPackage() {
  copy("dist/src");
  if (existsSync(join(root, "dist/grammar"))) copy("dist/grammar");
  copy("aot");
  copy("kernels");
  copy("schemas");
  copy("bench/peers");
  copy("docs"); // which commands and errors name
  copy("python");
  copy("examples");
  copy("test/gpu"); // the suites that run where the bundle goes
  copy("test/python"); // and what they run
  copy("build/Release/collc.node");
  for (const file of ["README.md", "grammar/LANGUAGE.md", "LICENSE"]) {
    if (existsSync(join(root, file))) cpSync(join(root, file), join(target, file));
  }
  // Without scripts and development packages: nobody runs npm in there.
  const { name, version, type, bin, exports, license, dependencies } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  );
  const kept = Object.fromEntries(Object.entries(dependencies).filter(([each]) => !buildOnly.has(each)));
  writeFileSync(
    join(target, "package.json"),
    JSON.stringify({ name, version, type, bin, exports, license, dependencies: kept }, null, 2) + "\n",
  );
}

/** Folders of all packages that run-time dependencies lead to, relative to the root. */
function productionPackages() {
  const found = new Set();
  const visit = (from, required, optional) => {
    for (const name of required) {
      if (from === root && buildOnly.has(name)) continue;
      const folder = resolvePackage(from, name);
      if (folder === null) {
        if (optional) continue;
        fail(`package ${name}, needed by ${relative(root, from) || "collc"}, is not installed: run \`npm ci\``);
      }
      if (found.has(folder)) continue;
      found.add(folder);
      const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
        readFileSync(join(folder, "package.json"), "utf8"),
      );
      visit(
        folder,
        Object.keys(dependencies).filter((each) => !(each in optionalDependencies)),
        false,
      );
      visit(folder, Object.keys(optionalDependencies), true);
    }
  };
  visit(root, Object.keys(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).dependencies), false);
  return [...found].map((folder) => relative(root, folder)).sort();
}

/** As Node looks for packages: beside the importer, then upwards. */
function resolvePackage(from, name) {
  for (let at = from; ; at = dirname(at)) {
    const folder = join(at, "node_modules", name);
    if (existsSync(join(folder, "package.json"))) return folder;
    if (at === root || at === dirname(at)) return null;
  }
}

function copy(path) {
  cpSync(realpathSync(join(root, path)), join(target, path), {
    recursive: true,
    dereference: true,
    filter: (source) =>
      !isBallast(source) &&
      !(/node_modules/.test(path) && source.slice(join(root, path).length).includes("node_modules")),
  });
}

/** This Node without its debug symbols; what addons link against stays. */
function copyNode() {
  const node = join(target, "bin", "node");
  cpSync(realpathSync(process.execPath), node, { dereference: true });
  chmodSync(node, 0o755);
  for (const file of [node, join(target, "build/Release/collc.node")]) {
    const stripped = spawnSync("strip", ["--strip-unneeded", file], { stdio: "ignore" });
    if (stripped.status !== 0) say(`strip did not work on ${relative(target, file)}: it stays as it is`);
  }
  const license = join(dirname(dirname(realpathSync(process.execPath))), "LICENSE");
  if (existsSync(license)) cpSync(license, join(target, "bin", "LICENSE.node"));
}

/** Nothing in the bundle may ask for symbols of a newer glibc. */
function checkGlibc() {
  for (const file of filesUnder(target)) {
    if (!isElf(file)) continue;
    const symbols = spawnSync("objdump", ["-T", file], { encoding: "utf8", maxBuffer: 2 ** 28 });
    if (symbols.status !== 0) fail("objdump is needed to check what the bundle asks of glibc: install binutils");
    const versions = [...symbols.stdout.matchAll(/GLIBC_(\d+)\.(\d+)/g)].map(([, major, minor]) => [
      Number(major),
      Number(minor),
    ]);
    const newest = versions.sort((a, b) => a[0] - b[0] || a[1] - b[1]).at(-1) ?? [0, 0];
    const tooNew = newest[0] > limits.glibc[0] || (newest[0] === limits.glibc[0] && newest[1] > limits.glibc[1]);
    if (tooNew)
      fail(
        `${relative(target, file)} needs glibc ${newest.join(".")}; the bundle promises ${limits.glibc.join(".")}. Build on an older system.`,
      );
    say(`${relative(target, file)} needs glibc ${newest.join(".")}`);
  }
}

function isElf(file) {
  return statSync(file).size > 4 && readFileSync(file).subarray(0, 4).equals(Buffer.from("\x7fELF", "latin1"));
}

function pack() {
  say("packing, which takes a minute …");
  const flags = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0"];
  execFileSync("tar", [...flags, "-C", options.out, "-cJf", archive, "collc"], {
    stdio: "inherit",
    env: { ...process.env, XZ_OPT: "-9e -T0" },
  });
  const { size } = statSync(archive);
  say(`${relative(process.cwd(), archive)}: ${mebibytes(size)}`);
  if (size > limits.archiveBytes) fail(`the archive is larger than ${mebibytes(limits.archiveBytes)}`);
}

/** Runs what was made as a stranger would: unpacked elsewhere, under a path with a space, without Node on the path. */
function verify() {
  const place = mkdtempSync(join(tmpdir(), "collc bundle "));
  try {
    if (options["no-archive"]) cpSync(target, join(place, "collc"), { recursive: true });
    else execFileSync("tar", ["-C", place, "-xJf", archive]);
    const command = join(place, "collc", "collc");
    for (const args of [
      ["--version"],
      ["run", "kernels/all_reduce/one_shot.coll", "--ranks", "4", "--backend", "cpu", "--dim", "n=1000", "--json"],
    ]) {
      const ran = spawnSync(command, args, { encoding: "utf8", cwd: "/", env: { PATH: "/nowhere", HOME: place } });
      if (ran.status !== 0)
        fail(
          `the bundle's \`collc ${args.join(" ")}\` ended with ${ran.status ?? ran.error?.message}:\n${ran.stdout}${ran.stderr}`,
        );
      say(`collc ${args[0]}: ${ran.stdout.trim()}`);
    }
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

function* filesUnder(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesUnder(path);
    else if (entry.isFile()) yield path;
  }
}

function folderBytes(folder) {
  let bytes = 0;
  for (const file of filesUnder(folder)) bytes += statSync(file).size;
  return bytes;
}

function mebibytes(bytes) {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

function say(line) {
  process.stdout.write(`${line}\n`);
}

function fail(message) {
  process.stderr.write(`error: ${message}\n`);
  process.exit(1);
}
