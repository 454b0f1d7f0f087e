#!/usr/bin/env node
/** The command `collc`: the tree of commands, one file each, and the way from what they throw to an exit code. */
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { watchLauncher } from "../runtime/bootstrap.js";
import { collcVersion } from "../runtime/program.js";
import { reportFailure } from "./failure.js";
import { type Io, processIo, paletteOf } from "./io.js";

import { benchCommand } from "./bench.js";
import { buildCommand } from "./build.js";
import { checkCommand } from "./check.js";
import { doctorCommand } from "./doctor.js";
import { emitCommand } from "./emit.js";
import { explainCommand } from "./explain.js";
import { fmtCommand } from "./fmt.js";
import { lspCommand } from "./lsp.js";
import { examples } from "./options.js";
import { runCommand } from "./run.js";
import { setupCommand } from "./setup.js";
import { failAsRank, isSpawnedRank } from "./spawn-ranks.js";

const exitCodeHelp = `
Exit codes:
  0  fine
  1  the program, or its run, is wrong
  2  the command line is wrong
  3  the machine lacks something; the message says what and how to get it
`;

/** A command line tree whose commands print to `io`. */
export function makeProgram(io: Io): Command {
  const program = new Command("collc")
    .description("Compiler and runtime for Coll, a small language of GPU collectives.")
    .version(collcVersion(), "-V, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .helpCommand("help [command]", "print help of a command")
    .addHelpText(
      "after",
      examples(
        ["collc run kernels/all_reduce/one_shot.coll", "compile, run on emulated ranks, check"],
        ["collc run my.coll --ranks 4 --backend cuda", "the same on four GPUs"],
        ["collc check my.coll --ranks 2,4,8", "what is wrong with the program"],
        ["collc explain my.coll", "what moves, what waits, and how long it takes"],
        ["collc emit my.coll --stage cuda", "the CUDA text it becomes"],
        ["collc build my.coll --arch sm_90a -o out", "cubin, manifest and C header"],
        ["collc doctor", "what this machine has and lacks"],
      ) + exitCodeHelp,
    );
  for (const make of [
    runCommand,
    checkCommand,
    explainCommand,
    emitCommand,
    buildCommand,
    benchCommand,
    doctorCommand,
    setupCommand,
  ])
    program.addCommand(make(io));
  program.addCommand(fmtCommand(io));
  program.addCommand(lspCommand(io));
  const c = paletteOf(io.out, io.env);
  const configure = (command: Command): void => {
    command
      .exitOverride()
      .configureOutput({
        writeOut: (text) => io.out.write(text),
        writeErr: (text) => io.err.write(text),
        getOutHelpWidth: () => Math.min(io.out.columns, 110),
        getErrHelpWidth: () => Math.min(io.err.columns, 110),
        getOutHasColors: () => c.isColorSupported,
        getErrHasColors: () => false,
        outputError: (text, write) => write(text.replace(/^error: /, `${paletteOf(io.err, io.env).red("error:")} `)),
      })
      .configureHelp({ styleTitle: (title) => c.bold(title), showGlobalOptions: false })
      .showHelpAfterError(`(collc ${command === program ? "" : `${command.name()} `}--help says more)`)
      .showSuggestionAfterError(true);
    command.commands.forEach(configure);
  };
  configure(program);
  return program;
}

/**
 * Runs one command line.
 * @param argv arguments after `collc`.
 * @returns the exit code: 0 fine, 1 program, 2 command line, 3 machine, 70 a bug in collc.
 */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  let exitCode = 0;
  try {
    if (argv.length === 0) {
      makeProgram(io).outputHelp();
      return 0;
    }
    await makeProgram(io).parseAsync([...argv], { from: "user" });
  } catch (error) {
    // A rank tells its launcher, which prints once for all.
    exitCode = isSpawnedRank(io) ? await failAsRank(error) : reportFailure(io, error);
  }
  return exitCode;
}

/** True when this file is the program and not an import of a test. */
function isEntry(): boolean {
  const script = process.argv[1];
  return script !== undefined && realpathSync(script) === fileURLToPath(import.meta.url);
}

if (isEntry()) {
  // Before anything that takes time: a rank must not outlive the launcher that started it.
  watchLauncher();
  // Handles of libraries may linger; when the command is done, so is the process.
  process.exit(await main(process.argv.slice(2), processIo()));
}
