/**
 * What may be called proved: programs that are wrong, some only far from where a proof usually looks, programs that are
 * right in a form of their own, and programs of which no more can be said than how far they were proved. The folder is the
 * verdict.
 */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { compile } from "../../src/compiler/driver.js";
import { sharedLayout } from "../../src/compiler/emit/shared-layout.js";
import { type Claims, findings, prove, PROOF_MAPPING, summaryLine } from "../../src/compiler/prove/index.js";

const FOLDER = "test/prove/verdicts";

type Verdict = "wrong" | "limited" | "unknown" | "proved";

function proved(path: string): Claims {
  const text = readFileSync(path, "utf8");
  const setting = (name: string): string | undefined => new RegExp(`^// ${name} (.+)$`, "m").exec(text)?.[1];
  const mesh = setting("mesh")?.split("x").map(Number);
  const result = compile(text, {
    file: path,
    ranks: mesh?.reduce((a, n) => a * n, 1) ?? Number(setting("ranks") ?? 2),
    dtype: (setting("dtype") ?? "f32") as "f32",
    ...(mesh === undefined ? {} : { mesh: { node: mesh[0]!, gpu: mesh[1]! } }),
    mapping: PROOF_MAPPING,
  });
  if (result.kernel === null) throw new Error(result.diagnostics.map((d) => d.message).join("; "));
  return prove(result, { shared: sharedLayout(result.kernel) });
}

function verdictOf(claims: Claims): Verdict {
  const statuses = [claims.answer.status, claims.ordering.status];
  if (statuses.includes("wrong")) return "wrong";
  if (statuses.includes("unknown")) return "unknown";
  return claims.beyond.length + claims.saturating.length > 0 ? "limited" : "proved";
}

for (const verdict of ["wrong", "limited", "unknown", "proved"] as const)
  describe(verdict, () => {
    for (const file of readdirSync(`${FOLDER}/${verdict}`).sort())
      it(file, { timeout: 60_000 }, () => {
        const claims = proved(`${FOLDER}/${verdict}/${file}`);
        const said = findings(claims);
        expect(verdictOf(claims), [summaryLine(claims), ...said.map((f) => f.message)].join("\n")).toBe(verdict);
        // Whatever is not simply proved is found at a place in the source.
        for (const f of said) expect(f.span.end, f.message).toBeGreaterThan(0);
        expect(said.length === 0).toBe(verdict === "proved");
        expect(summaryLine(claims)).not.toMatch(/answer proved,|ordering proved,/);
      });
  });
