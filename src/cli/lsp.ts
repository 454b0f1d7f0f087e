/** `collc lsp`: the language server, which editors start. */
import { Command } from "commander";
import { collcVersion } from "../runtime/version.js";
import type { Io } from "./io.js";

/** The command. It speaks to an editor over this process's standard input and output, whatever `io` is. */
export function lspCommand(_io: Io): Command {
  return new Command("lsp")
    .description("Serve an editor over standard input and output (Language Server Protocol).")
    .option("--stdio", "accepted, as editors pass it; there is no other way")
    .addHelpText(
      "after",
      "\nGives diagnostics as you type, hovers, completion, definitions, references, renaming, formatting and an outline\nof .coll files. grammar/editor/coll.tmLanguage.json colours them.\n",
    )
    .action(async () => {
      const { serve } = await import("../lsp/index.js");
      await serve(process.stdin, process.stdout, collcVersion());
    });
}
