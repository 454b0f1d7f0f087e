// Writes the published JSON Schemas, which are made of the compiler's tables. A test compares them.
import { writeFileSync } from "node:fs";
import { MANIFEST_SCHEMA } from "../dist/src/cli/aot/manifest.js";
import { fxSchema, graphSchema } from "../dist/src/compiler/graph/index.js";
import { clusterSchema } from "../dist/src/compiler/index.js";

const schemas = { graph: graphSchema(), fx: fxSchema(), manifest: MANIFEST_SCHEMA, cluster: clusterSchema() };
for (const [name, schema] of Object.entries(schemas))
  writeFileSync(new URL(`../schemas/${name}.schema.json`, import.meta.url), JSON.stringify(schema, null, 2) + "\n");
