/** Where a command reads from and prints to. Tests give their own; nothing in `src/cli` touches `process` otherwise. */
import { readFileSync } from "node:fs";
import pc from "picocolors";
import { type Environment, processEnvironment, readEnv } from "../runtime/env.js";

/** One way out. */
export interface OutputStream {
  write(text: string): void;
  /** A person looks at it: colours and progress make sense. */
  readonly isTTY: boolean;
  /** Width in characters; 80 where nobody knows. */
  readonly columns: number;
}

export interface Io {
  /** Results, and nothing else: it may be piped. */
  readonly out: OutputStream;
  /** Messages and progress. */
  readonly err: OutputStream;
  readonly env: Environment;
  /** All of standard input, for `-` in place of a file. */
  readStdin(): Buffer;
}

/** Colours of a stream, or their absence. */
export type Palette = ReturnType<typeof pc.createColors>;

/** Colours only for people: not in a pipe, not with NO_COLOR. */
export function paletteOf(stream: OutputStream, env: Environment): Palette {
  return pc.createColors(stream.isTTY && readEnv("NO_COLOR", env) === undefined);
}

/** This process's streams. */
export function processIo(): Io {
  for (const stream of [process.stdout, process.stderr]) {
    // `collc emit … | head` closes the pipe early, which is no failure of ours.
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") process.exit(0);
      throw error;
    });
  }
  return {
    out: wrap(process.stdout),
    err: wrap(process.stderr),
    env: processEnvironment(),
    readStdin: () => readFileSync(0),
  };
}

function wrap(stream: NodeJS.WriteStream): OutputStream {
  return {
    write: (text) => void stream.write(text),
    isTTY: stream.isTTY === true,
    get columns() {
      return stream.columns || 80; // some terminals say 0
    },
  };
}
