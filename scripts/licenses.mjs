// Checks the licence of every installed dependency against the ones this project may use.
import { readdirSync, readFileSync, existsSync } from "node:fs";
import { join } from "node:path";

const ALLOWED = new Set(["MIT", "MIT-0", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "0BSD", "CC0-1.0", "BlueOak-1.0.0", "Python-2.0", "Unlicense", "MPL-2.0", "CC-BY-4.0"]); // prettier-ignore

const bad = [];
let count = 0;

function visit(folder) {
  for (const name of readdirSync(folder)) {
    if (name.startsWith(".")) continue;
    const path = join(folder, name);
    if (name.startsWith("@")) visit(path);
    else if (existsSync(join(path, "package.json"))) {
      const { license, version } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
      const terms = String(license?.type ?? license).replace(/[()]/g, "");
      // "A OR B" leaves the choice to us; "A AND B" asks for both.
      const fine = terms.split(" OR ").some((choice) => choice.split(" AND ").every((one) => ALLOWED.has(one.trim())));
      count++;
      if (!fine) bad.push(`${name}@${version}: ${terms}`);
      if (existsSync(join(path, "node_modules"))) visit(join(path, "node_modules"));
    }
  }
}

visit("node_modules");
if (bad.length > 0) {
  console.error(`licences to look at:\n  ${bad.join("\n  ")}`);
  process.exit(1);
}
console.log(`licences of ${count} packages are fine`);
