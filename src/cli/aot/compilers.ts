/**
 * NVRTC on all cores, a process of its own for each text. It compiles one text at a time in a process, however many threads ask (seen
 * with 13.0: four texts at once take as long as one after the other). And what it makes of a text depends on what the process has
 * compiled before (seen with 13.0, of one kernel in some thirty: other registers, as good), so that a build would not be the same twice.
 * In a process of its own it still depends on where memory lies, so that is the same each time: addresses of programs are fixed, and
 * blocks of 128 KiB and more come from the thread's arena (`MALLOC_MMAP_THRESHOLD_` of glibc), not from wherever the system has room
 * (one text, 160 times: 2 were others with the second alone).
 */
import { type ChildProcess, fork } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { native } from "../../runtime/native.js";
import { type CompiledProgram, compileCuda } from "../../runtime/program.js";

/** What a process is asked. */
export interface CompileRequest {
  readonly cuda: string;
  readonly arch: string;
}

export class Compilers {
  private readonly path = fileURLToPath(new URL(`./compile-process${extname(import.meta.url)}`, import.meta.url));
  private readonly children = new Set<ChildProcess>();
  private readonly waiting: (() => void)[] = [];
  private running = 0;
  /** From TypeScript sources, as in tests, there is this process alone. */
  private readonly isAlone = !this.path.endsWith(".js");
  /** Nothing is begun for a build that has failed. */
  hasFailed = false;

  /** @param most texts at once */
  constructor(private readonly most: number) {}

  /** As `compileCuda`. Waits for its turn. */
  async compile(cuda: string, arch: string): Promise<CompiledProgram> {
    if (this.running === (this.isAlone ? 1 : this.most)) await new Promise<void>((next) => this.waiting.push(next));
    else this.running++;
    try {
      if (this.hasFailed) throw new Error("another text was refused");
      const made = this.isAlone ? null : await this.ask({ cuda, arch });
      // What a process could not do is done here, where its fault is told as what it is.
      return made ?? (await compileCuda(cuda, arch));
    } catch (error) {
      this.hasFailed = true;
      throw error;
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.running--;
      else next();
    }
  }

  /** Null where the process has refused the text, or has ended. */
  private ask(request: CompileRequest): Promise<CompiledProgram | null> {
    // It begins alike each time, whatever Node was told here.
    const child = this.started();
    this.children.add(child);
    return new Promise((resolve) => {
      const done = (answer: CompiledProgram | null): void => {
        this.children.delete(child);
        if (child.connected) child.disconnect();
        resolve(answer);
      };
      child.once("message", (answer) => done(answer as unknown as CompiledProgram | null));
      child.once("exit", () => done(null));
      child.on("error", () => done(null));
      child.send(request, (error) => {
        if (error !== null) done(null);
      });
    });
  }

  private started(): ChildProcess {
    const before = native().fixAddresses(true);
    try {
      return fork(this.path, {
        execArgv: [],
        env: { ...process.env, MALLOC_MMAP_THRESHOLD_: String(32 << 20) },
        serialization: "advanced",
        stdio: ["ignore", "ignore", "ignore", "ipc"],
      });
    } finally {
      native().fixAddresses(before);
    }
  }

  /** Ends the processes. */
  close(): void {
    for (const child of this.children) if (child.connected) child.disconnect();
  }
}
