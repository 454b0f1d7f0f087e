/**
 * Joins the modules of the command into a few files. Node takes a millisecond for each module that it loads, and the compiler has three
 * hundred of them: a command that proves loads them twice, once in a thread of its own. What proves was loaded in 430 ms of processor, and is in 95
 * (2026-11-27). The library stays as it is.
 *
 *     node scripts/join-modules.mjs
 *
 * Expects what `tsc -p tsconfig.build.json` makes, and takes the place of the modules there that processes and threads begin with.
 */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const folder = fileURLToPath(new URL("../dist/src/cli", import.meta.url));

/** What processes and threads begin with. They find each other beside the module that starts them. */
const entries = {
  main: join(folder, "main.js"),
  "check-worker": join(folder, "check-worker.js"),
  "compile-process": join(folder, "aot/compile-process.js"),
};

/** What several commands share. None is called as a module that was compiled. */
const shared = "joined-";

for (const file of readdirSync(folder)) if (file.startsWith(shared)) rmSync(join(folder, file));
const bundle = await rolldown({
  input: entries,
  platform: "node",
  // No module does anything when it is loaded, so that a command loads of the compiler, which has one door for all, what it uses.
  treeshake: { moduleSideEffects: false },
  // Packages stay where they are.
  external: /^[^./]/,
});
await bundle.write({
  dir: folder,
  format: "esm",
  entryFileNames: "[name].js",
  chunkFileNames: `${shared}[name].js`,
});
await bundle.close();
