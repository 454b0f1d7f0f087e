/** Where a command reads from and prints to. Tests give their own; nothing in `src/cli` touches `process` otherwise. */
import { readSync, writeSync } from "node:fs";
import pc from "picocolors";
import { type Environment, processEnvironment, readEnv } from "../runtime/env.js";
import { exitCodes, systemCode } from "../runtime/errors.js";

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
  /** All of standard input, for `-` in place of a file, or its first `limit` bytes and one more. */
  readStdin(limit: number): Buffer;
}

/** Colours of a stream, or their absence. */
export type Palette = ReturnType<typeof pc.createColors>;

/** Colours only for people: not in a pipe, not with NO_COLOR, not on a terminal that says it has none. */
export function paletteOf(stream: OutputStream, env: Environment): Palette {
  const isPlain = readEnv("NO_COLOR", env) !== undefined || readEnv("TERM", env) === "dumb";
  return pc.createColors(stream.isTTY && !isPlain);
}

/** This process's streams. */
export function processIo(): Io {
  for (const stream of [process.stdout, process.stderr]) {
    // `collc emit … | head` closes the pipe early, which is no failure of ours.
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") process.exit(0);
      failToWrite(stream === process.stdout ? "standard output" : "standard error", error);
    });
  }
  return {
    out: wrap(process.stdout),
    err: wrap(process.stderr),
    env: processEnvironment(),
    readStdin: (limit) => readAtMost(0, limit),
  };
}

/** A result that nobody got is no success: the disk is full, or the device refuses it. */
function failToWrite(where: string, error: NodeJS.ErrnoException): never {
  const help = error.code === "ENOSPC" ? "\nhelp: free some space, or write elsewhere" : "";
  try {
    writeSync(2, `error: ${where} cannot be written: ${error.message}${help}\n`);
  } catch {
    // that is where it was to be said
  }
  process.exit(exitCodes.machine);
}

/** Waits until what was printed has left the process, or could not. */
export async function written(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    await new Promise<void>((resolve) => stream.write("", () => resolve()));
  }
}

/** Larger than any program that people write, in bytes; smaller than what makes a person wait. */
export const maxInputBytes = 8 * 2 ** 20;

/** The same of graphs that other compilers write: a layer has some 20 KiB, forward and backward, and models have hundreds of them. */
export const maxJsonBytes = 256 * 2 ** 20;

/**
 * What an open file holds, or the first `limit` bytes and one more: a device or a pipe has no end that one could ask for.
 */
export function readAtMost(descriptor: number, limit: number): Buffer {
  const parts: Buffer[] = [];
  for (let size = 0; size <= limit;) {
    const part = Buffer.alloc(Math.min(2 ** 16, limit + 1 - size));
    let read: number;
    try {
      read = readSync(descriptor, part, 0, part.length, null);
    } catch (error) {
      if (systemCode(error) === "EAGAIN") {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5); // a terminal or pipe that does not block
        continue;
      }
      if (systemCode(error) === "EOF") break;
      throw error;
    }
    if (read === 0) break;
    parts.push(part.subarray(0, read));
    size += read;
  }
  return Buffer.concat(parts);
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
