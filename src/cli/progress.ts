/** Says what goes on when it takes longer than a second, and only to a person at a terminal. */
import type { default as Spinner, Ora } from "ora";
import type { Io } from "./io.js";

const delayMs = 1000;

/** One line that changes. Use {@link withProgress}, which ends it whatever happens. */
export class Progress {
  readonly #makeSpinner: typeof Spinner | null;
  #spinner: Ora | null = null;
  #timer: NodeJS.Timeout | null = null;
  #text = "";

  /** @param makeSpinner null where nobody looks */
  constructor(makeSpinner: typeof Spinner | null) {
    this.#makeSpinner = makeSpinner;
  }

  /** What happens from here on. Shown after a second, unless something is shown already. */
  set(text: string): void {
    this.#text = text;
    if (this.#makeSpinner === null) return;
    if (this.#spinner !== null) this.#spinner.text = text;
    else this.#timer ??= setTimeout(() => this.now(this.#text), delayMs).unref();
  }

  /** The same at once: for work that keeps the event loop, so that no timer can fire. */
  now(text: string): void {
    this.#text = text;
    if (this.#makeSpinner === null) return;
    // Neither hides the cursor nor takes the keyboard: ora would then catch Ctrl-C, which must end us at once.
    this.#spinner ??= this.#makeSpinner({ stream: process.stderr, hideCursor: false, discardStdin: false });
    this.#spinner.text = text;
    if (!this.#spinner.isSpinning) this.#spinner.start();
    this.#spinner.render();
  }

  /** Takes the line away. */
  end(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#spinner?.stop();
    this.#spinner = null;
  }
}

/** Runs `action` with a progress line. */
export async function withProgress<T>(io: Io, action: (progress: Progress) => Promise<T>): Promise<T> {
  // A terminal that does not know its width (docker exec -t, expect) sends ora into an endless loop.
  const isOn = io.err.isTTY && process.stderr.columns > 0;
  // Loaded before the work, which may keep the event loop; elsewhere not at all, for it takes 50 ms.
  const progress = new Progress(isOn ? (await import("ora")).default : null);
  try {
    return await action(progress);
  } finally {
    progress.end();
  }
}
