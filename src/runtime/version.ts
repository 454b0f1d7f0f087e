/** Version of this package. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "./native.js";

/** As package.json says it: `0.1.0`. */
export function collcVersion(): string {
  return (JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8")) as { version: string }).version;
}
