/**
 * The rendezvous store: a few small values that all ranks of a run see, and places where they meet.
 *
 * - `hostStore` listens on a TCP port (in `collc run`, or in rank 0 under torchrun and mpirun),
 *   `connectStore` joins it as a rank, and `memoryStores` gives the same interface inside one process.
 * - Every wait is bounded, and its error names who is missing. A wait for a rank that is gone fails at once.
 * - A rank is lost when its connection closes without a good-bye, which the kernel does when the process dies
 *   for whatever reason; TCP keep-alive (5 s idle, then 10 probes a second apart) finds a host that lost power.
 *   There are no heartbeats from the event loop: a rank that compiles or computes for a minute is not dead.
 */
import { defaultTimeoutMs } from "./env.js";
import { RuntimeError } from "./errors.js";
import { type ConnectStoreOptions, openTransport } from "./store-client.js";
import { type Member, StoreCore, type StoreRequest } from "./store-core.js";
import { maxKeyLength, maxValueBytes } from "./store-wire.js";

export { describeMember, StoreCore, type Member } from "./store-core.js";
export { hostStore, StoreServer, type HostStoreOptions } from "./store-server.js";
export type { ConnectStoreOptions } from "./store-client.js";

/** @param isOrderly whether its host has closed it; else it went away. */
export type StoreLostListener = (error: RuntimeError, isOrderly: boolean) => void;

/** How requests reach the store's state. */
export interface StoreTransport {
  /** Where the store is, for messages. */
  readonly address: string;
  request(request: StoreRequest, body: readonly Uint8Array[]): Promise<Buffer[]>;
  post(request: StoreRequest): void;
  onMemberLost(listener: (member: Member) => void): () => void;
  onStoreLost(listener: StoreLostListener): () => void;
  close(): Promise<void>;
  /** Goes without good-bye: the others are told that this rank is lost. Does not wait. */
  abandon(): void;
  unref(): void;
}

/** A value: bytes, or text that is stored as UTF-8. At most 1 MiB. */
export type StoreValue = Uint8Array | string;

export interface WaitOptions {
  /** Bound of the wait in milliseconds, default COLLC_TIMEOUT_MS or 60 s. */
  readonly timeoutMs?: number;
}

export interface GetOptions extends WaitOptions {
  /** The rank that will set the key: the error names it, and its death ends the wait. */
  readonly from?: number;
}

export interface GatherOptions extends WaitOptions {
  /** What the ranks do, for messages; ranks that meet under one name with different labels all get an error. */
  readonly label?: string;
  /** The ranks that take part, in the order of the result. Default: all. */
  readonly ranks?: readonly number[];
}

/**
 * One rank's view of the store. Every method rejects with a RuntimeError: code `store-lost` when the store is
 * gone, `timeout` when a wait ran out, `rank-lost` when it needs a rank that is gone, `mismatch` when ranks
 * disagree. Keys have at most 1024 characters.
 */
export class Store {
  readonly rank: number;
  readonly world: number;
  readonly #transport: StoreTransport;
  #isClosed = false;

  constructor(transport: StoreTransport, rank: number, world: number) {
    this.#transport = transport;
    this.rank = rank;
    this.world = world;
  }

  /** Where the store is, for messages. */
  get address(): string {
    return this.#transport.address;
  }

  /** Sets a key and wakes those who wait for it. */
  async set(key: string, value: StoreValue): Promise<void> {
    await this.#request({ op: "set", key: checkKey(key) }, [toBytes(value)]);
  }

  /** The value of a key; waits until somebody sets it. */
  async get(key: string, options: GetOptions = {}): Promise<Buffer> {
    const { from = null, timeoutMs = defaultTimeoutMs() } = options;
    return (await this.#request({ op: "get", key: checkKey(key), timeoutMs, from }))[0]!;
  }

  /** The value of a key, or null; does not wait. */
  async tryGet(key: string): Promise<Buffer | null> {
    return (await this.#request({ op: "tryGet", key: checkKey(key) }))[0] ?? null;
  }

  /** Adds a whole number to a counter (absent counts as 0) and gives the sum. Atomic. */
  async add(key: string, amount: number): Promise<number> {
    return Number((await this.#request({ op: "add", key: checkKey(key), amount }))[0]!.toString());
  }

  /** Removes a key. @returns whether it was there. */
  async delete(key: string): Promise<boolean> {
    return (await this.#request({ op: "delete", key: checkKey(key) })).length > 0;
  }

  /**
   * Sets a key if its value is `expected` (null: if it is absent). Atomic.
   * @returns whether it was set, and the value afterwards.
   */
  async compareSet(
    key: string,
    expected: StoreValue | null,
    desired: StoreValue,
  ): Promise<{ swapped: boolean; value: Buffer | null }> {
    const old = expected === null ? null : toBytes(expected);
    const body = old === null ? [toBytes(desired)] : [old, toBytes(desired)];
    const request = { op: "compareSet", key: checkKey(key), expectedBytes: old?.byteLength ?? null } as const;
    const [swapped, value] = await this.#request(request, body);
    return { swapped: swapped!.toString() === "1", value: value ?? null };
  }

  /** Waits until all ranks are here. A name may be used again once all have passed. */
  async barrier(name: string, options: GatherOptions = {}): Promise<void> {
    await this.gather(name, "", { label: `barrier "${name}"`, ...options });
  }

  /** Gives a value and gets everybody's, in the order of `ranks`. A name may be used again once all have passed. */
  async gather(name: string, value: StoreValue, options: GatherOptions = {}): Promise<Buffer[]> {
    const { label = `gather "${name}"`, ranks = null, timeoutMs = defaultTimeoutMs() } = options;
    const request = {
      op: "gather",
      key: checkKey(name),
      label: label.slice(0, maxKeyLength),
      ranks,
      timeoutMs,
    } as const;
    return this.#request(request, [toBytes(value)]);
  }

  /** What is known of all ranks. */
  async members(): Promise<readonly Member[]> {
    return JSON.parse((await this.#request({ op: "members" }))[0]!.toString()) as Member[];
  }

  /** Publishes this rank's error: whoever hears that it was lost hears the message too. Does not wait, never throws. */
  fault(message: string): void {
    this.#transport.post({ op: "fault", message: message.slice(0, 64 * 1024) });
  }

  /** Says good-bye without waiting, for a process that exits. */
  leave(): void {
    this.#isClosed = true;
    this.#transport.post({ op: "leave" });
  }

  /** Publishes an error and goes without good-bye: this rank is lost to the others. Does not wait, never throws. */
  abandon(message: string): void {
    if (this.#isClosed) return;
    this.fault(message);
    this.#isClosed = true;
    this.#transport.abandon();
  }

  /** Called for each rank that is gone without good-bye, also for those lost before. @returns unsubscribe. */
  onMemberLost(listener: (member: Member) => void): () => void {
    return this.#transport.onMemberLost(listener);
  }

  /** Called when the store itself is gone and this side did not close it. @returns unsubscribe. */
  onStoreLost(listener: StoreLostListener): () => void {
    return this.#transport.onStoreLost(listener);
  }

  /** Says good-bye and closes the connection. Never throws; twice is fine. */
  async close(): Promise<void> {
    if (!this.#isClosed) {
      this.#isClosed = true;
      await this.#request({ op: "leave" }).catch(() => {});
    }
    await this.#transport.close();
  }

  /** Lets the process end although the store is open. */
  unref(): void {
    this.#transport.unref();
  }

  #request(request: StoreRequest, body: readonly Uint8Array[] = []): Promise<Buffer[]> {
    return this.#transport.request(request, body);
  }
}

/**
 * Joins a store over TCP.
 * @throws RuntimeError `refused` (wrong secret, rank taken), `timeout` (no store of this run appeared).
 */
export async function connectStore(options: ConnectStoreOptions): Promise<Store> {
  return new Store(await openTransport(options), options.rank, options.world);
}

/** One store inside this process, seen by each of `world` ranks. */
export function memoryStores(world: number): Store[] {
  const core = new StoreCore(world);
  return Array.from({ length: world }, (_, rank) => memoryStore(core, rank));
}

/**
 * Joins a store whose state lives in this process.
 * @throws RuntimeError `refused` when the rank is taken.
 */
export function memoryStore(core: StoreCore, rank: number, address = "this process"): Store {
  core.join(rank, core.world, `pid ${process.pid}`);
  const transport: StoreTransport = {
    address,
    request: (request, body) => core.handle(rank, request, Buffer.concat(body)),
    post: (request) => void core.handle(rank, request, Buffer.alloc(0)).catch(() => {}),
    onMemberLost: (listener) => {
      for (const member of core.members()) if (member.state === "lost") listener(member);
      return core.onMemberLost(listener);
    },
    onStoreLost: () => () => {},
    close: () => Promise.resolve(),
    abandon: () => core.lose(rank, "it gave up"),
    unref: () => {},
  };
  return new Store(transport, rank, core.world);
}

function checkKey(key: string): string {
  if (key.length <= maxKeyLength) return key;
  throw new RuntimeError(`a store key has at most ${maxKeyLength} characters, this one ${key.length}`);
}

function toBytes(value: StoreValue): Uint8Array {
  const bytes = typeof value === "string" ? Buffer.from(value) : value;
  if (bytes.byteLength <= maxValueBytes) return bytes;
  throw new RuntimeError(`a store value has at most ${maxValueBytes} bytes, this one ${bytes.byteLength}`);
}
