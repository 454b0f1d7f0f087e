/** Coll as a language of Prettier: one style, of which the print width alone is the user's choice. */
import type { AstPath, Doc, Parser, Printer, SupportLanguage } from "prettier";
import { parseProgram, SourceFile } from "../compiler/index.js";
import { printFile } from "./printer.js";
import { CollSyntaxError, isUnreadable } from "./syntax-error.js";
import { type FileTree, readTree } from "./tree.js";

/** What the parser hands to the printer. */
interface CollFile extends FileTree {
  readonly type: "coll-file";
  readonly length: number;
}

/** Which files are Coll. */
export const languages: SupportLanguage[] = [
  { name: "Coll", parsers: ["coll"], extensions: [".coll"], vscodeLanguageIds: ["coll"] },
];

/** Text → tree. */
export const parsers: Record<string, Parser<CollFile>> = {
  coll: {
    astFormat: "coll",
    /** @throws CollSyntaxError for a text that is not wholly understood. */
    parse(text, options) {
      const source = new SourceFile((options as { filepath?: string }).filepath ?? "<input>", text);
      const unreadable = parseProgram(source).diagnostics.filter(isUnreadable);
      if (unreadable.length > 0) throw new CollSyntaxError(unreadable, source);
      return { type: "coll-file", length: text.length, ...readTree(text) };
    },
    locStart: () => 0,
    locEnd: (file) => file.length,
  },
};

/** Tree → document. */
export const printers: Record<string, Printer<CollFile>> = {
  coll: {
    print: (path: AstPath<CollFile>): Doc => printFile(path.node),
    // Prettier looks for comments and cursors in the tree; ours are in the gaps.
    getVisitorKeys: () => [],
  },
};

/** Taken where no configuration says otherwise. */
export const defaultOptions = { printWidth: 100, tabWidth: 2, useTabs: false } as const;
