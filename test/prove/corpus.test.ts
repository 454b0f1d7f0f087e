/** Bugs known from the field, and what must not be reported: what `collc check` prints of each, word for word. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { NO_COLOUR, printDiagnostics } from "../../src/compiler/diagnostics/index.js";
import { OPS } from "../../src/compiler/ir/ops.js";
import { type Claims, findings, prove, proveOrdering } from "../../src/compiler/prove/index.js";
import { CORPUS, CORPUS_FOLDER, type CorpusEntry, loadEntry } from "./corpus.js";

/** What is printed of an entry; IR has no signature, so only its ordering is asked for. */
function printed(entry: CorpusEntry): string {
  const found = findings(entry.name.endsWith(".ir") ? ordering(entry) : prove(entry, { launches: entry.launches }));
  return found.length === 0 ? "proved\n" : printDiagnostics(found, entry.source, NO_COLOUR);
}

function ordering({ kernel, launches }: CorpusEntry): Claims {
  const answer = proveOrdering(kernel, { dims: {}, launches });
  const claim = { ranks: kernel.world, dims: {}, grid: 1, launches, aligned: true };
  const nothing = {
    status: "proved",
    claim,
    checked: 0,
    samples: 0,
    unspecified: [],
    overflows: [],
    executed: [],
  } as const;
  return {
    collective: kernel.name,
    ranks: kernel.world,
    dtypes: kernel.dtypes,
    outputs: kernel.outputs.length,
    steering: [],
    answers: [nothing],
    orderings: [answer],
    answer: nothing,
    ordering: answer,
    coverage: { total: 0, ran: 0, idle: [] },
    mapping: { threads: kernel.blockThreads, blocks: kernel.maxBlocks },
    mesh: kernel.mesh,
    beyond: [],
    unreached: [],
    leaving: null,
    without: [],
    every: null,
    printed: null,
    caveats: {
      rounding: [],
      overflow: [],
      isDivided: false,
      hasNoRoot: false,
      isCutOff: false,
      isCompared: false,
      integers: [],
      open: [],
    },
    saturating: [],
  };
}

describe("the corpus", () => {
  for (const file of CORPUS)
    it(file, () => {
      const entry = loadEntry(file);
      const path = `${CORPUS_FOLDER}/${file}.txt`;
      const text = printed(entry);
      if (process.env["UPDATE_GOLDENS"] === "1") writeFileSync(path, text);
      expect(text).toBe(existsSync(path) ? readFileSync(path, "utf8") : "(no golden)");
      // What is called right is proved, and nothing else is.
      expect(text === "proved\n").toBe(entry.about.startsWith("Right: "));
    });

  it("has no wait for an exact value, which overshoots: a wait is for a value or more", () => {
    expect(Object.keys(OPS.wait.attributes)).toEqual(["buffer", "scope", "order"]);
    expect(OPS.wait.doc).toContain("is not negative");
  });

  it("has no copy through another proxy, which would need a fence between proxies", () => {
    // Bulk and tensor copies are not among the ops. When they come, a missing fence.proxy.async belongs here.
    expect(Object.keys(OPS).filter((name) => /bulk|tensor|tma|proxy|multicast/.test(name))).toEqual([]);
  });

  it("is against blocks that wait for blocks that are not resident", () => {
    const { kernel } = loadEntry("pull-between-meetings.ir");
    expect(proveOrdering(kernel, { dims: {}, residentBlocks: 0 })).toMatchObject({ kind: "residency" });
  });
});
