/**
 * NVRTC on all cores. It compiles one text at a time in a process, however many threads ask (seen with 13.0: four texts at once take
 * as long as one after the other), so what this process has no time for goes to others.
 */
import { type ChildProcess, fork } from "node:child_process";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { type CompiledProgram, compileCuda } from "../../runtime/program.js";

/** What a process is asked. */
export interface CompileRequest {
  readonly cuda: string;
  readonly arch: string;
}

/** A place where one text is compiled at a time: a process, or this one. */
type Place = ChildProcess | "here";

export class Compilers {
  private readonly path = fileURLToPath(new URL(`./compile-process${extname(import.meta.url)}`, import.meta.url));
  private readonly children: ChildProcess[] = [];
  private readonly free: Place[] = ["here"];
  private readonly waiting: ((place: Place) => void)[] = [];
  /** Nothing is begun for a build that has failed. */
  hasFailed = false;

  /** @param most texts at once; from TypeScript sources, as in tests, one */
  constructor(private readonly most: number) {}

  /** As `compileCuda`. Waits for a place. */
  async compile(cuda: string, arch: string): Promise<CompiledProgram> {
    const place = await this.take();
    try {
      if (this.hasFailed) throw new Error("another text was refused");
      const made = place === "here" ? null : await this.ask(place, { cuda, arch });
      // What a process could not do is done here, where its fault is told as what it is.
      return made ?? (await compileCuda(cuda, arch));
    } catch (error) {
      this.hasFailed = true;
      throw error;
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.free.push(place);
      else next(place);
    }
  }

  private take(): Place | Promise<Place> {
    const place = this.free.pop();
    if (place !== undefined) return place;
    const canGrow = this.path.endsWith(".js") && this.children.length + 1 < this.most;
    if (!canGrow) return new Promise((resolve) => this.waiting.push(resolve));
    const child = fork(this.path, { serialization: "advanced", stdio: ["ignore", "ignore", "ignore", "ipc"] });
    child.on("error", () => {}); // it answers nothing then
    this.children.push(child);
    return child;
  }

  /** Null where the process has refused the text, or has ended. */
  private ask(child: ChildProcess, request: CompileRequest): Promise<CompiledProgram | null> {
    return new Promise((resolve) => {
      const done = (answer: CompiledProgram | null): void => {
        child.off("message", answered);
        child.off("exit", ended);
        resolve(answer);
      };
      const answered = (answer: unknown): void => done(answer as CompiledProgram | null);
      const ended = (): void => done(null);
      child.once("message", answered);
      child.once("exit", ended);
      if (!child.connected) return done(null);
      child.send(request, (error) => {
        if (error !== null) done(null);
      });
    });
  }

  /** Ends the processes. */
  close(): void {
    for (const child of this.children) if (child.connected) child.disconnect();
  }
}
