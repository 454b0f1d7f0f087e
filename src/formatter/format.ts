/** Formatting one text, for `collc fmt`, the language server and tests. */
import { format, type Plugin, resolveConfig } from "prettier";
import { collLexer, TOKENS } from "../../grammar/tokens.js";
import * as plugin from "./plugin.js";

export interface FormatOptions {
  /** Shown in diagnostics. */
  readonly file?: string;
  /** Where lines should end; 100 if not given. */
  readonly printWidth?: number;
}

/**
 * The text in the one style of Coll.
 *
 * @throws CollSyntaxError if it has syntax errors.
 */
export async function formatColl(text: string, options: FormatOptions = {}): Promise<string> {
  const given = plain(text);
  const formatted = await format(given, {
    parser: "coll",
    plugins: [plugin as Plugin],
    filepath: options.file,
    printWidth: options.printWidth ?? plugin.defaultOptions.printWidth,
    tabWidth: plugin.defaultOptions.tabWidth,
    useTabs: plugin.defaultOptions.useTabs,
  });
  if (contents(formatted) !== contents(given)) throw new Error("the formatter would have changed what the text says");
  return formatted;
}

/** A lone carriage return is a space to the lexer, but Prettier would make a line of it. */
function plain(text: string): string {
  return text
    .replace(/^\uFEFF/, "")
    .replace(/\r(?!\n)/g, " ")
    .replace(/\r\n/g, "\n");
}

/** All tokens and comments, without the spaces between them: what formatting must not change. */
function contents(text: string): string {
  const tokens = collLexer.tokenize(text).tokens.filter((t) => t.tokenType !== TOKENS.DocComment);
  const comments = [...text.matchAll(/\/\/[^\n]*/g)].map((m) => m[0].trimEnd());
  return JSON.stringify([tokens.map((t) => [t.tokenType.name, t.image]), comments]);
}

/** The print width that Prettier's configuration, if there is one, sets for a file. */
export async function printWidthFor(file: string): Promise<number> {
  // An editor's session outlives changes of the configuration.
  const config = await resolveConfig(file, { editorconfig: true, useCache: false });
  return config?.printWidth ?? plugin.defaultOptions.printWidth;
}
