// Writes the published JSON Schemas, which are made of the compiler's tables. A test compares them.
import { writeFileSync } from "node:fs";
import { graphSchema } from "../dist/src/compiler/graph/index.js";

writeFileSync(new URL("../schemas/graph.schema.json", import.meta.url), JSON.stringify(graphSchema(), null, 2) + "\n");
