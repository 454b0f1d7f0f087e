/** The examples and tables of `grammar/LANGUAGE.md`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

export const PATH = join(import.meta.dirname, "../../grammar/LANGUAGE.md");
export const REFERENCE = readFileSync(PATH, "utf8");

export interface Example {
  readonly text: string;
  /** The one diagnostic it must give; null for none. */
  readonly error: string | null;
  /** Line of the fence in LANGUAGE.md. */
  readonly line: number;
  /** The heading it stands under. */
  readonly section: string;
}

/** Every ```coll block; those that must fail say ```coll error=CODE. */
export const EXAMPLES: readonly Example[] = readExamples();

function readExamples(): Example[] {
  const out: Example[] = [];
  let section = "";
  let open: { error: string | null; line: number; lines: string[] } | null = null;
  let isOther = false;
  REFERENCE.split("\n").forEach((text, i) => {
    const fence = /^```(\S*)\s*(.*)$/.exec(text);
    if (open !== null) {
      if (fence === null) open.lines.push(text);
      else {
        out.push({ text: open.lines.join("\n") + "\n", error: open.error, line: open.line, section });
        open = null;
      }
    } else if (fence === null) {
      if (text.startsWith("#") && !isOther) section = text.replace(/^#+\s*/, "");
    } else if (fence[1] === "coll") {
      open = { error: /^error=(\S+)$/.exec(fence[2]!)?.[1] ?? null, line: i + 1, lines: [] };
    } else isOther = !isOther;
  });
  return out;
}

/** Rows of the table under a heading, cells trimmed, without the head. */
export function tableUnder(heading: string): string[][] {
  const lines = REFERENCE.split("\n");
  const start = lines.findIndex((l) => l.replace(/^#+\s*/, "") === heading && l.startsWith("#"));
  const rows: string[][] = [];
  for (const line of lines.slice(start + 1)) {
    if (line.startsWith("#")) break;
    if (line.startsWith("|"))
      rows.push(
        line
          .split("|")
          .slice(1, -1)
          .map((c) => c.trim()),
      );
  }
  return rows.slice(2);
}
