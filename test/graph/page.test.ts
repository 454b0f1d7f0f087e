/** docs/BACKEND.md says what `lower` does today. */
import { join } from "node:path";
import { format, resolveConfig } from "prettier";
import { expect, test } from "vitest";
import { backendPage } from "./backend-page.js";

test("the page of the back end is what the compiler gives; -u writes it anew", async () => {
  const file = join(import.meta.dirname, "../../docs/BACKEND.md");
  const text = await format(backendPage(), { ...(await resolveConfig(file)), filepath: file });
  await expect(text).toMatchFileSnapshot(file);
});
