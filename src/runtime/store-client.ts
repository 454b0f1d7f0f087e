/**
 * A member's connection to a store: finds it, proves the secret, sends requests, hears of lost members.
 */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { readEnv } from "./env.js";
import { RuntimeError, messageOf, systemCode } from "./errors.js";
import type { Member, StoreRequest } from "./store-core.js";
import { masterHelp } from "./store-host.js";
import type { StoreLostListener, StoreTransport } from "./store.js";
import {
  FrameReader,
  type Frame,
  type Header,
  decodeError,
  printable,
  encodeFrame,
  handshakeProof,
  isSameProof,
  maxFrameBytes,
  protocolVersion,
  runTag,
} from "./store-wire.js";

/** How long whatever listens on a port may take to say that it is our store, in milliseconds. */
const greetingMs = 2000;
/** On top of the store's own deadline, before a store that says nothing is given up, in milliseconds. */
const answerGraceMs = 5000;

export interface ConnectStoreOptions {
  readonly host: string;
  /** Ports the store may be on, tried in turn until one answers for this run. */
  readonly ports: readonly number[];
  readonly secret: string;
  readonly runId: string;
  readonly rank: number;
  readonly world: number;
  /** How long to wait for the store to appear, in milliseconds. */
  readonly timeoutMs: number;
}

/** Another run's store, or no store at all: look on. */
class NotOurStore extends Error {}

/** Nothing was said in the time that there was: less is known than where something was. */
class NoAnswer extends NotOurStore {}

/**
 * Joins a store as a rank.
 * @throws RuntimeError "refused" when it does not want this process, "timeout" when it does not appear.
 */
export async function openTransport(options: ConnectStoreOptions): Promise<TcpTransport> {
  const { host, ports, timeoutMs } = options;
  const deadline = performance.now() + timeoutMs;
  const seen = new Map<number, string>();
  for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 1.5, 500)) {
    for (const port of ports) {
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) break;
      try {
        return await TcpTransport.open(options, port, Math.min(greetingMs, leftMs));
      } catch (error) {
        if (error instanceof RuntimeError) throw error;
        // The last attempt may have had little time.
        if (error instanceof NoAnswer && seen.has(port)) continue;
        seen.set(port, error instanceof NotOurStore ? error.message : (systemCode(error) ?? messageOf(error)));
      }
    }
    if (performance.now() + pauseMs >= deadline) break;
    await sleep(pauseMs);
  }
  const where = [...seen].map(([port, what]) => `${port}: ${what}`).join("; ");
  throw new RuntimeError(
    `rank ${options.rank} found no store of its run on ${host} within ${timeoutMs} ms (${where || "not tried"})`,
    readEnv("COLLC_HOST") === undefined
      ? "rank 0 hosts it under torchrun and mpirun: is it up, and can its host and ports be reached from here?"
      : masterHelp(),
    "timeout",
  );
}

interface Pending {
  readonly resolve: (parts: Buffer[]) => void;
  readonly reject: (error: RuntimeError) => void;
  readonly timer: NodeJS.Timeout | undefined;
}

export class TcpTransport implements StoreTransport {
  readonly address: string;
  readonly #socket: Socket;
  readonly #pending = new Map<number, Pending>();
  readonly #memberLost = new Set<(member: Member) => void>();
  readonly #storeLost = new Set<StoreLostListener>();
  /** Losses from before anybody listened. */
  readonly #lostMembers: Member[] = [];
  #nextId = 1;
  #lostBecause: RuntimeError | null = null;
  #isClosing = false;
  #isHostClosing = false;

  private constructor(socket: Socket, address: string) {
    this.#socket = socket;
    this.address = address;
  }

  /** One attempt at one port. @throws RuntimeError when refused, other errors when it is not there. */
  static open(options: ConnectStoreOptions, port: number, greetMs: number): Promise<TcpTransport> {
    const { host, secret, runId, rank, world } = options;
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 5000 });
      const transport = new TcpTransport(socket, `${host}:${port}`);
      const reader = new FrameReader(maxFrameBytes.member);
      const clientNonce = randomBytes(32).toString("hex");
      const run = runTag(runId);
      let storeNonce: string | null = null;
      let isOpen = false;
      const fail = (error: Error): void => {
        clearTimeout(timer);
        socket.destroy();
        reject(error);
      };
      const giveUp = (): void => fail(new NoAnswer("something else listens there, or it does not answer"));
      let timer = setTimeout(giveUp, greetMs);
      const onFrame = (frame: Frame): void => {
        const { header } = frame;
        if (isOpen) return transport.#onFrame(frame);
        if (header["refused"] !== undefined) {
          const { message, help, code } = decodeError(header["refused"]);
          // Nothing has proved yet that this is our store.
          const said = `the store at ${host}:${port} refused rank ${rank}: ${printable(message)}`;
          throw new RuntimeError(said, help === undefined ? undefined : printable(help), code);
        }
        if (storeNonce === null) {
          if (header["store"] !== "collc") throw new NotOurStore("something else listens there");
          if (header["run"] !== run) throw new NotOurStore("the store of another run");
          if (header["version"] !== protocolVersion || typeof header["nonce"] !== "string") {
            throw new RuntimeError(
              `the store at ${host}:${port} speaks another version of the protocol`,
              undefined,
              "refused",
            );
          }
          storeNonce = header["nonce"];
          const proof = handshakeProof(secret, "client", { run, storeNonce, clientNonce, rank, world });
          const where = `${hostname()}, pid ${process.pid}`;
          socket.write(encodeFrame({ rank, world, nonce: clientNonce, proof, where }));
          // From here on the store may have let this rank in, and lets none in twice: a slow machine must not give it up and try again.
          clearTimeout(timer);
          timer = setTimeout(giveUp, Math.max(greetMs, answerGraceMs));
          return;
        }
        const expected = handshakeProof(secret, "store", { run, storeNonce, clientNonce, rank, world });
        if (!isSameProof(header["welcome"], expected)) {
          throw new RuntimeError(
            `what listens on ${host}:${port} does not know the run's secret`,
            undefined,
            "refused",
          );
        }
        clearTimeout(timer);
        isOpen = true;
        reader.limit = maxFrameBytes.store;
        for (const member of header["members"] as Member[])
          if (member.state === "lost") transport.#lostMembers.push(member);
        resolve(transport);
      };
      socket.on("data", (chunk) => {
        try {
          for (const frame of reader.push(chunk)) onFrame(frame);
        } catch (error) {
          if (isOpen) socket.destroy();
          else {
            const isKnown = error instanceof RuntimeError || error instanceof NotOurStore;
            fail(isKnown ? error : new NotOurStore("something else listens there"));
          }
        }
      });
      socket.on("error", (error) => (isOpen ? undefined : fail(error)));
      socket.on("close", () => (isOpen ? transport.#onClose() : fail(new NotOurStore("it closed the connection"))));
    });
  }

  request(request: StoreRequest, body: readonly Uint8Array[]): Promise<Buffer[]> {
    if (this.#lostBecause) return Promise.reject(this.#lostBecause);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const waitMs = "timeoutMs" in request ? request.timeoutMs : 30_000;
      const timer = setTimeout(() => {
        this.#pending.delete(id);
        const text = `the store at ${this.address} did not answer "${request.op}" within ${waitMs + answerGraceMs} ms`;
        reject(new RuntimeError(text, "its process is busy or stopped", "timeout"));
      }, waitMs + answerGraceMs);
      this.#pending.set(id, { resolve, reject, timer });
      this.#socket.write(encodeFrame({ id, ...request }, body));
    });
  }

  /** Sends without waiting, as a process that is about to exit must. The kernel takes small writes at once. */
  post(request: StoreRequest): void {
    if (this.#socket.writable) this.#socket.write(encodeFrame({ id: 0, ...request }));
  }

  onMemberLost(listener: (member: Member) => void): () => void {
    this.#memberLost.add(listener);
    this.#lostMembers.forEach(listener);
    return () => this.#memberLost.delete(listener);
  }

  onStoreLost(listener: StoreLostListener): () => void {
    this.#storeLost.add(listener);
    if (this.#lostBecause && !this.#isClosing) listener(this.#lostBecause, this.#isHostClosing);
    return () => this.#storeLost.delete(listener);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    if (this.#socket.destroyed) return;
    await new Promise<void>((resolve) => {
      const force = setTimeout(() => this.#socket.destroy(), 500);
      this.#socket.once("close", () => {
        clearTimeout(force);
        resolve();
      });
      this.#socket.end();
    });
  }

  abandon(): void {
    this.#isClosing = true;
    this.#socket.end();
  }

  /** Lets the process end although the connection is open. */
  unref(): void {
    this.#socket.unref();
  }

  #onFrame({ header, body }: Frame): void {
    if (header["event"] === "lost") {
      const member = header["member"] as Member;
      this.#lostMembers.push(member);
      for (const listener of [...this.#memberLost]) listener(member);
    } else if (header["event"] === "closing") this.#isHostClosing = true;
    else this.#onReply(header, body);
  }

  #onReply(header: Header, body: Buffer): void {
    const pending = this.#pending.get(header["id"] as number);
    if (pending === undefined) return;
    this.#pending.delete(header["id"] as number);
    clearTimeout(pending.timer);
    if (header["error"] !== undefined) return pending.reject(decodeError(header["error"]));
    const parts: Buffer[] = [];
    let offset = 0;
    for (const length of header["lengths"] as number[]) parts.push(body.subarray(offset, (offset += length)));
    pending.resolve(parts);
  }

  #onClose(): void {
    const how = this.#isClosing
      ? "is closed"
      : this.#isHostClosing
        ? "was closed by its host"
        : "went away: its connection ended, as its process died or the network between";
    this.#lostBecause = new RuntimeError(`the store of the run at ${this.address} ${how}`, undefined, "store-lost");
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(this.#lostBecause);
    }
    this.#pending.clear();
    if (!this.#isClosing) for (const listener of [...this.#storeLost]) listener(this.#lostBecause, this.#isHostClosing);
  }
}
