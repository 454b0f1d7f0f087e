/**
 * A process that `collc` started as one of its ranks: it finds in its environment that it is one, and what it has to say
 * goes to the launcher as messages; see spawn-ranks.ts.
 */
import { toWire } from "../bench/wire.js";
import { detectLauncher, readEnv } from "../runtime/env.js";
import { describeFailure, Exit, type Failure } from "./failure.js";
import type { Io } from "./io.js";

/** From a rank to its launcher. */
export type Message =
  | { readonly kind: "progress"; readonly text: string }
  | { readonly kind: "part"; readonly text: string }
  | { readonly kind: "result"; readonly text: string }
  | { readonly kind: "failure"; readonly failure: Failure };

/** Whether this process is a rank that `runAsRanks` started. */
export function isSpawnedRank(io: Io): boolean {
  return (
    readEnv("COLLC_STORE", io.env) !== undefined &&
    detectLauncher(io.env)?.launcher === "collc" &&
    process.send !== undefined
  );
}

/** In a rank: what it does now. The launcher shows that of rank 0. */
export function sendProgress(text: string): void {
  send({ kind: "progress", text });
}

/** In rank 0: a part of the result, which the launcher keeps whatever becomes of the rest; plain data. */
export function sendPart(value: unknown): Promise<void> {
  return send({ kind: "part", text: toWire(value) });
}

/** In rank 0: the result that the launcher waits for; plain data. */
export function sendResult(value: unknown): Promise<void> {
  return send({ kind: "result", text: toWire(value) });
}

/** In a rank: ends it with an error that the launcher prints. */
export async function failAsRank(error: unknown): Promise<number> {
  if (error instanceof Exit) return error.exitCode;
  const failure = describeFailure(error);
  await send({ kind: "failure", failure });
  return failure.exitCode;
}

function send(message: Message): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, undefined, () => resolve());
  });
}
