/**
 * Hosts a store on a TCP port. One host a run: `collc run` itself, or rank 0 under torchrun and mpirun.
 */
import { randomBytes } from "node:crypto";
import { createServer, type Server, type Socket } from "node:net";
import { MachineError, RuntimeError, messageOf, systemCode } from "./errors.js";
import { type Member, StoreCore } from "./store-core.js";
import {
  FrameReader,
  type Frame,
  type Header,
  encodeError,
  encodeFrame,
  handshakeProof,
  isSameProof,
  maxFrameBytes,
  parseRequest,
  printable,
  protocolVersion,
  runTag,
} from "./store-wire.js";

/** A stranger has this long to prove the secret, in milliseconds. */
const handshakeMs = 10_000;
/** Strangers served at a time, so that they cannot use up file descriptors; one more, and the oldest has to go. */
const maxStrangers = 128;
/** Lines about strangers that a run prints; they may come for as long as it lives. */
const maxRefusals = 5;

export interface HostStoreOptions {
  readonly world: number;
  readonly secret: string;
  /** Name of the run, see {@link runTag}. */
  readonly runId: string;
  /** Address to listen on, or several, of which the first that this machine has is taken; default 127.0.0.1. */
  readonly host?: string | readonly string[];
  /** Ports to try in order, default [0]: any free one. */
  readonly ports?: readonly number[];
  /** Told of the first connections that were turned away, in one printable line each: who and why. */
  readonly onRefused?: (message: string) => void;
}

/**
 * Starts a store.
 * @throws MachineError when none of the ports can be had.
 */
export async function hostStore(options: HostStoreOptions): Promise<StoreServer> {
  const { host = "127.0.0.1", ports = [0] } = options;
  const hosts = [host].flat();
  let failures: string[] = [];
  for (const address of hosts) {
    failures = [];
    for (const port of ports) {
      const store = new StoreServer(options);
      try {
        await store.listen(address, port);
        return store;
      } catch (error) {
        failures.push(`${port}: ${systemCode(error) ?? messageOf(error)}`);
        if (systemCode(error) !== "EADDRINUSE" && systemCode(error) !== "EACCES") break;
      }
    }
  }
  throw new MachineError(
    `the store of the run cannot listen on ${hosts.at(-1)} (port ${failures.join(", ")})`,
    "set MASTER_ADDR to an address of this host, or COLLC_STORE_PORT to a free port",
  );
}

/** A store that listens. Made by {@link hostStore}. */
export class StoreServer {
  readonly core: StoreCore;
  readonly #options: HostStoreOptions;
  readonly #server: Server;
  readonly #members = new Map<number, Socket>();
  /** Oldest first. */
  readonly #strangers = new Set<Socket>();
  #refusals = 0;
  #isClosing = false;

  constructor(options: HostStoreOptions) {
    this.#options = options;
    this.core = new StoreCore(options.world);
    this.#server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: 5000 }, (socket) =>
      this.#serve(socket),
    );
    this.core.onMemberLost((member) => this.#broadcast({ event: "lost", member }));
  }

  /** Port the store listens on. */
  get port(): number {
    const address = this.#server.address();
    return typeof address === "object" && address !== null ? address.port : 0;
  }

  /** @throws the system's error. */
  listen(host: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host, port, backlog: 1024, exclusive: true }, () => {
        this.#server.off("error", reject);
        this.#server.on("error", () => {}); // EMFILE on accept: that connection fails, the store lives
        resolve();
      });
    });
  }

  members(): readonly Member[] {
    return this.core.members();
  }

  onMemberLost(listener: (member: Member) => void): () => void {
    return this.core.onMemberLost(listener);
  }

  /** For a host that knows better than the connection, as a launcher knows that a process has exited. */
  markLost(rank: number, reason: string): void {
    this.core.lose(rank, reason);
  }

  /** Closes all connections; clients are told that it was meant. */
  async close(): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#broadcast({ event: "closing" });
    this.core.close("the store of the run was closed");
    for (const socket of this.#members.values()) socket.end(() => socket.destroy());
    for (const socket of this.#strangers) socket.destroy();
    // A client that does not read cannot hold the host up.
    const force = setTimeout(() => this.#members.forEach((socket) => socket.destroy()), 500);
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    clearTimeout(force);
  }

  #broadcast(header: Header): void {
    const frame = encodeFrame(header);
    for (const socket of this.#members.values()) socket.write(frame);
  }

  #refuse(socket: Socket, error: unknown): void {
    this.#report(`the store refused ${describePeer(socket)}: ${messageOf(error)}`);
    socket.end(encodeFrame({ refused: encodeError(error) }), () => socket.destroySoon());
  }

  #report(message: string): void {
    this.#refusals++;
    if (this.#refusals > maxRefusals) return;
    const isLast = this.#refusals === maxRefusals;
    this.#options.onRefused?.(printable(message) + (isLast ? "; of more like this, nothing is said" : ""));
  }

  #serve(socket: Socket): void {
    socket.on("error", () => {}); // "close" follows and says all
    if (this.#isClosing) {
      socket.destroy();
      return;
    }
    // Whoever knows the secret proves it at once; the longer one says nothing, the less it is one of ours.
    const [oldest] = this.#strangers;
    if (oldest !== undefined && this.#strangers.size >= maxStrangers) {
      this.#strangers.delete(oldest);
      oldest.destroy();
      this.#report(
        `the store dropped ${describePeer(oldest)}: it said nothing, and ${maxStrangers} strangers are here`,
      );
    }
    const reader = new FrameReader(maxFrameBytes.stranger);
    const storeNonce = randomBytes(32).toString("hex");
    const run = runTag(this.#options.runId);
    let rank: number | null = null;
    let closeReason = "its connection closed";
    this.#strangers.add(socket);
    const deadline = setTimeout(() => {
      this.#refuse(socket, new Error(`no proof of the secret within ${handshakeMs / 1000} s`));
    }, handshakeMs);
    socket.write(encodeFrame({ store: "collc", version: protocolVersion, run, nonce: storeNonce }));
    socket.on("data", (chunk) => {
      if (socket.writableEnded) return; // refused already; whatever else it says is not read
      try {
        for (const frame of reader.push(chunk)) {
          if (rank === null) {
            rank = this.#admit(socket, frame.header, run, storeNonce);
            clearTimeout(deadline);
            this.#strangers.delete(socket);
            reader.limit = maxFrameBytes.member;
          } else this.#answer(socket, rank, frame);
        }
      } catch (error) {
        closeReason = `it sent garbage: ${messageOf(error)}`;
        this.#refuse(socket, error);
      }
    });
    socket.on("close", () => {
      clearTimeout(deadline);
      this.#strangers.delete(socket);
      if (rank === null) return;
      this.#members.delete(rank);
      if (!this.#isClosing) this.core.lose(rank, closeReason);
    });
  }

  /** Checks the proof and lets the rank in. @throws RuntimeError "refused". */
  #admit(socket: Socket, header: Header, run: string, storeNonce: string): number {
    const { rank, world, nonce, proof, where } = header;
    if (!Number.isSafeInteger(rank) || !Number.isSafeInteger(world) || typeof nonce !== "string") {
      throw new RuntimeError("it does not speak collc's protocol", undefined, "refused");
    }
    const shake = { run, storeNonce, clientNonce: nonce, rank: rank as number, world: world as number };
    if (!isSameProof(proof, handshakeProof(this.#options.secret, "client", shake))) {
      throw new RuntimeError("the secret is wrong", "every rank needs the run's COLLC_STORE_SECRET", "refused");
    }
    this.core.join(shake.rank, shake.world, typeof where === "string" ? where : describePeer(socket));
    this.#members.set(shake.rank, socket);
    const welcome = handshakeProof(this.#options.secret, "store", shake);
    socket.write(encodeFrame({ welcome, members: this.core.members() }));
    return shake.rank;
  }

  #answer(socket: Socket, rank: number, { header, body }: Frame): void {
    const { id } = header;
    const reply = (outcome: Header, parts: readonly Buffer[] = []): void => {
      if (!socket.writable) return;
      socket.write(encodeFrame({ id, ...outcome, lengths: parts.map((part) => part.length) }, parts));
    };
    Promise.resolve()
      .then(() => this.core.handle(rank, parseRequest(header, body.length), body))
      .then(
        (parts) => reply({}, parts),
        (error: unknown) => reply({ error: encodeError(error) }),
      );
  }
}

function describePeer(socket: Socket): string {
  // What listens by IPv6 sees IPv4 inside of it.
  const address = socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, "");
  return `${address ?? "a peer that is gone"}:${socket.remotePort ?? "?"}`;
}
