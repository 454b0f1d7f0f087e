#!/usr/bin/env node
/**
 * Writes the tables of measured times that Markdown files show, from committed results. A table stands between
 *
 *   <!-- bench-table bench/results/A.json bench/results/B.json -->
 *   <!-- /bench-table -->
 *
 *   node scripts/bench-table.mjs     rewrites README.md and the pages of bench/results
 *
 * Expects a finished `npm run build:ts`. A test compares the tables with their results.
 */
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { format, resolveConfig } from "prettier";
import { markdownTable } from "../dist/src/bench/table.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const marked = /(<!-- bench-table ([^>]*?) -->\n)[\s\S]*?(<!-- \/bench-table -->)/g;
const pages = readdirSync(join(root, "bench/results")).filter((name) => name.endsWith(".md"));
for (const name of ["README.md", ...pages.map((page) => `bench/results/${page}`)]) {
  const path = join(root, name);
  const text = readFileSync(path, "utf8");
  if (text.match(marked) === null) continue;
  const filled = text.replace(marked, (_, open, files, close) => {
    const results = files.split(/\s+/).map((file) => JSON.parse(readFileSync(join(root, file), "utf8")));
    return `${open}\n${markdownTable(results)}\n${close}`;
  });
  const written = await format(filled, { ...(await resolveConfig(path)), filepath: path });
  if (written === text) continue;
  writeFileSync(`${path}.new`, written);
  renameSync(`${path}.new`, path);
  console.log(`${name}: tables written`);
}
