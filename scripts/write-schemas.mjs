// Writes the published JSON Schemas, which are made of the compiler's tables. A test compares them.
import { writeFileSync } from "node:fs";
import { fxSchema, graphSchema } from "../dist/src/compiler/graph/index.js";

writeFileSync(new URL("../schemas/graph.schema.json", import.meta.url), JSON.stringify(graphSchema(), null, 2) + "\n");
writeFileSync(new URL("../schemas/fx.schema.json", import.meta.url), JSON.stringify(fxSchema(), null, 2) + "\n");
