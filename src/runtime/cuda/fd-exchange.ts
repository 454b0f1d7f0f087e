/**
 * File descriptors between the ranks of one machine, host by host where there are several. Each rank binds a UNIX socket in a private folder; the ranks tell
 * each other the paths through the store. Every message carries the run's secret, its sender and the number of the
 * exchange, and what does not fit is dropped with its descriptors closed.
 */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { tmpdir } from "node:os";

import { atExit } from "../at-exit.js";
import type { Json } from "../exchange.js";
import { RuntimeError } from "../errors.js";
import { native, type FdChannelHandle } from "../native.js";

/** What setting up needs from the store; `Exchange` in `../exchange.ts` is one. Results are in rank order. */
export interface ExchangeChannel {
  allGather<T extends Json>(name: string, value: T): Promise<T[]>;
  barrier(name: string): Promise<void>;
}

export interface FdExchangeOptions {
  readonly exchange: ExchangeChannel;
  /** Index of this rank among those of the exchange, and their number. */
  readonly rank: number;
  readonly world: number;
  /** The ranks on this machine, ascending, this one among them: descriptors travel between these. Default: all. */
  readonly near?: readonly number[] | undefined;
  /** Folder for the socket, mode 0700, such as COLLC_RUN_DIR; default: a new one under the temporary folder. */
  readonly directory?: string | undefined;
  readonly timeoutMs: number;
}

export class FdExchange {
  readonly #rank: number;
  /** Other ranks of this machine. */
  readonly #peers: readonly number[];
  readonly #paths: readonly string[];
  readonly #timeoutMs: number;
  readonly #channel: FdChannelHandle;
  readonly #ownDirectory: string | null;
  /** Descriptors that fast peers sent for exchanges we have not begun: sequence → sender → descriptor. */
  readonly #early = new Map<number, Map<number, number>>();
  #sequence = 0;
  #closed = false;
  readonly #stopAtExit: () => void;

  private constructor(
    channel: FdChannelHandle,
    paths: readonly string[],
    ownDirectory: string | null,
    options: FdExchangeOptions,
  ) {
    this.#channel = channel;
    this.#paths = paths;
    this.#ownDirectory = ownDirectory;
    this.#rank = options.rank;
    this.#peers = nearOf(options).filter((peer) => peer !== options.rank);
    this.#timeoutMs = options.timeoutMs;
    // A process that ends early leaves no socket behind either.
    this.#stopAtExit = atExit(() => this.close());
  }

  /** Collective over the ranks of `exchange`, also where those of several machines exchange apart. */
  static async connect(options: FdExchangeOptions): Promise<FdExchange> {
    const { exchange, rank } = options;
    const [first] = nearOf(options);
    const own = rank === first ? randomBytes(32).toString("hex") : "";
    const secrets = await exchange.allGather("fd-exchange secret", own);
    const secret = Buffer.from(secrets[first!] ?? "", "hex");
    // Random, because several groups may share the folder. mkdtemp makes it 0700.
    const ownDirectory = options.directory === undefined ? mkdtempSync(path.join(tmpdir(), "collc-fd-")) : null;
    const directory = options.directory ?? ownDirectory!;
    let channel: FdChannelHandle | null = null;
    try {
      const socket = path.join(directory, `fd-${randomBytes(6).toString("hex")}`);
      channel = native().fdChannelOpen(socket, secret);
      const paths = await exchange.allGather("fd-exchange paths", socket);
      return new FdExchange(channel, paths, ownDirectory, options);
    } catch (error) {
      if (channel !== null) native().fdChannelClose(channel);
      if (ownDirectory !== null) rmSync(ownDirectory, { recursive: true, force: true });
      throw error;
    }
  }

  /**
   * Gives every peer of this machine `fd` and gets theirs, in rank order; the own entry is -1, as are those of ranks elsewhere.
   * Collective over the machine's ranks. `fd` stays the caller's; the received ones become the caller's.
   * @throws RuntimeError `timeout` naming the ranks that sent nothing. Nothing is leaked then.
   */
  async allGather(fd: number): Promise<number[]> {
    if (this.#closed) throw new RuntimeError("the descriptor exchange was closed");
    const sequence = this.#sequence++;
    const received = this.#early.get(sequence) ?? new Map<number, number>();
    this.#early.delete(sequence);
    const peers = this.#peers;
    // Settle everything before judging: a descriptor that arrives after a failure must be closed too.
    const outcomes = await Promise.allSettled([
      this.#receiveAll(sequence, received, peers),
      ...peers.map((peer) =>
        native().fdChannelSend(this.#channel, this.#paths[peer]!, this.#rank, sequence, fd, this.#timeoutMs),
      ),
    ]);
    const failure = outcomes.find((outcome) => outcome.status === "rejected");
    if (failure !== undefined) {
      for (const descriptor of received.values()) native().fdClose(descriptor);
      throw failure.reason;
    }
    return this.#paths.map((_, peer) => received.get(peer) ?? -1);
  }

  /**
   * Gives the descriptor of rank `root`, one of this machine, to every other, as {@link allGather}; `fd` is looked at on `root`
   * alone, which gets -1. Collective over the machine's ranks.
   */
  async broadcast(root: number, fd = -1): Promise<number> {
    if (this.#closed) throw new RuntimeError("the descriptor exchange was closed");
    if (root !== this.#rank && !this.#peers.includes(root))
      throw new RuntimeError(`there is no rank ${root} to broadcast from`);
    const sequence = this.#sequence++;
    if (this.#rank === root) {
      const sent = await Promise.allSettled(
        this.#peers.map((peer) =>
          native().fdChannelSend(this.#channel, this.#paths[peer]!, root, sequence, fd, this.#timeoutMs),
        ),
      );
      const failure = sent.find((outcome) => outcome.status === "rejected");
      if (failure !== undefined) throw failure.reason;
      return -1;
    }
    const received = this.#early.get(sequence) ?? new Map<number, number>();
    this.#early.delete(sequence);
    try {
      await this.#receiveAll(sequence, received, [root]);
    } catch (error) {
      for (const descriptor of received.values()) native().fdClose(descriptor);
      throw error;
    }
    return received.get(root)!;
  }

  async #receiveAll(sequence: number, received: Map<number, number>, peers: readonly number[]): Promise<void> {
    const deadline = performance.now() + this.#timeoutMs;
    while (received.size < peers.length) {
      const left = deadline - performance.now();
      const message = left > 0 ? await native().fdChannelReceive(this.#channel, left) : null;
      if (message === null) {
        const missing = peers.filter((peer) => !received.has(peer));
        throw new RuntimeError(
          `no file descriptor from rank ${missing.join(", ")} within ${this.#timeoutMs} ms`,
          "did that rank die? Its own message says more",
          "timeout",
        );
      }
      const { sender, fd } = message;
      const isCurrent = message.sequence === sequence;
      const into = isCurrent ? received : this.#earlyFor(message.sequence, sequence);
      // Who is ahead may send for its next exchange, whoever is to send in this one.
      const isExpected = isCurrent ? peers.includes(sender) : this.#peers.includes(sender);
      if (into === null || !isExpected || into.has(sender)) {
        native().fdClose(fd); // stale, from nobody we know, or sent twice
        continue;
      }
      into.set(sender, fd);
    }
  }

  #earlyFor(sequence: number, current: number): Map<number, number> | null {
    if (sequence < current) return null;
    let early = this.#early.get(sequence);
    if (early === undefined) this.#early.set(sequence, (early = new Map()));
    return early;
  }

  /** Removes the socket; waiting calls throw. Not collective. Safe to call twice. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopAtExit();
    native().fdChannelClose(this.#channel);
    for (const early of this.#early.values()) for (const fd of early.values()) native().fdClose(fd);
    this.#early.clear();
    if (this.#ownDirectory !== null) rmSync(this.#ownDirectory, { recursive: true, force: true });
  }
}

function nearOf({ near, world }: FdExchangeOptions): readonly number[] {
  return near ?? Array.from({ length: world }, (_, rank) => rank);
}
