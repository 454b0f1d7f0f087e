/** What must happen when this process ends, however many groups it had: Node warns of more than ten listeners. */
type Last = (code: number) => void;

const callbacks = new Set<Last>();

function runAll(code: number): void {
  for (const callback of [...callbacks]) {
    try {
      callback(code);
    } catch {
      // the others still have their turn
    }
  }
}

/** Calls `last` synchronously when the process exits. @returns what takes it back. */
export function atExit(last: Last): () => void {
  if (callbacks.size === 0) process.on("exit", runAll);
  callbacks.add(last);
  return () => {
    if (callbacks.delete(last) && callbacks.size === 0) process.off("exit", runAll);
  };
}
