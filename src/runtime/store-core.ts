/**
 * The state of a rendezvous store: keys, counters, gatherings, and which ranks are there. No sockets here:
 * the TCP server and the in-process store both drive this class, so both behave the same.
 */
import { RuntimeError } from "./errors.js";

/** One member as others see it. `lost`: gone without saying good-bye. */
export interface Member {
  readonly rank: number;
  readonly state: "absent" | "joined" | "left" | "lost";
  /** Where the rank runs, when it has joined. */
  readonly where: string | null;
  /** Why it is `lost`. */
  readonly reason: string | null;
  /** The last error that the rank published itself. */
  readonly fault: string | null;
}

/** A request of a member. The value, if any, travels beside it. Waits are in milliseconds. */
export type StoreRequest =
  | { readonly op: "set" | "tryGet" | "delete"; readonly key: string }
  | { readonly op: "get"; readonly key: string; readonly timeoutMs: number; readonly from: number | null }
  | { readonly op: "add"; readonly key: string; readonly amount: number }
  /** The body holds the expected value, `expectedBytes` long (null: absent), and then the new one. */
  | { readonly op: "compareSet"; readonly key: string; readonly expectedBytes: number | null }
  | {
      readonly op: "gather";
      readonly key: string;
      readonly label: string;
      readonly ranks: readonly number[] | null;
      readonly timeoutMs: number;
    }
  | { readonly op: "members" | "leave" }
  | { readonly op: "fault"; readonly message: string };

interface Waiter {
  readonly rank: number;
  readonly resolve: (parts: Buffer[]) => void;
  readonly reject: (error: RuntimeError) => void;
  timer: NodeJS.Timeout | undefined;
}

interface GetWaiter extends Waiter {
  readonly key: string;
  readonly from: number | null;
}

interface Gathering {
  readonly key: string;
  readonly label: string;
  readonly ranks: readonly number[];
  readonly arrived: Map<number, Waiter & { readonly value: Buffer }>;
  /** Ranks that came and whose time ran out. */
  readonly gaveUp: Set<number>;
}

/** See the file's head. All replies are lists of byte strings. */
export class StoreCore {
  readonly world: number;
  readonly #values = new Map<string, Buffer>();
  readonly #members: Member[];
  readonly #getWaiters = new Set<GetWaiter>();
  readonly #gatherings = new Map<string, Gathering>();
  readonly #lostListeners = new Set<(member: Member) => void>();
  #closed: RuntimeError | null = null;

  constructor(world: number) {
    this.world = world;
    this.#members = Array.from({ length: world }, (_, rank) => ({
      rank,
      state: "absent" as const,
      where: null,
      reason: null,
      fault: null,
    }));
  }

  /** A snapshot, one entry a rank. */
  members(): readonly Member[] {
    return [...this.#members];
  }

  /** Called for each rank that is lost. @returns a function that unsubscribes. */
  onMemberLost(listener: (member: Member) => void): () => void {
    this.#lostListeners.add(listener);
    return () => this.#lostListeners.delete(listener);
  }

  /** @throws RuntimeError "refused" when the rank cannot be or is taken. */
  join(rank: number, world: number, where: string): void {
    const member = this.#members[rank];
    if (world !== this.world) throw refused(`this run has ${this.world} ranks, rank ${rank} came with ${world}`);
    if (member === undefined) throw refused(`there is no rank ${rank} among ${this.world}`);
    if (member.state === "lost") throw refused(`rank ${rank} was lost (${member.reason}) and cannot join again`);
    if (member.state !== "absent") throw refused(`rank ${rank} has joined already, from ${member.where}`);
    this.#update(rank, { state: "joined", where });
  }

  /** Notes that `rank` is gone without good-bye, whether it had joined or not. Waits that need it fail at once. */
  lose(rank: number, reason: string): void {
    const member = this.#members[rank];
    if (member === undefined || member.state === "lost" || member.state === "left") return;
    this.#update(rank, { state: "lost", reason });
    this.#dropWaits(rank);
    const lost = this.#members[rank]!;
    for (const listener of [...this.#lostListeners]) listener(lost);
    this.#failWaitsOn(rank);
  }

  /** Ends every wait with an error. */
  close(reason: string): void {
    this.#closed = new RuntimeError(reason, undefined, "store-lost");
    for (const waiter of this.#getWaiters) this.#settle(waiter, this.#closed);
    for (const { arrived } of this.#gatherings.values()) {
      for (const waiter of arrived.values()) this.#settle(waiter, this.#closed);
    }
    this.#gatherings.clear();
  }

  /** Serves one request of `rank`. @throws RuntimeError (rejects) with a code that names the reason. */
  async handle(rank: number, request: StoreRequest, body: Buffer): Promise<Buffer[]> {
    if (this.#closed) throw this.#closed;
    switch (request.op) {
      case "set":
        this.#set(request.key, Buffer.from(body)); // a copy: the body is a view of what the socket read
        return [];
      case "tryGet":
        return this.#valueParts(request.key);
      case "delete":
        return this.#values.delete(request.key) ? [Buffer.alloc(0)] : [];
      case "get":
        return this.#get(rank, request);
      case "add": {
        const old = this.#values.get(request.key)?.toString() ?? "0";
        const sum = Number(old) + request.amount;
        if (!Number.isSafeInteger(sum)) {
          throw new RuntimeError(
            `store key "${request.key}" is no counter: it holds ${JSON.stringify(old.slice(0, 40))}`,
          );
        }
        this.#set(request.key, Buffer.from(String(sum)));
        return [Buffer.from(String(sum))];
      }
      case "compareSet": {
        const { key, expectedBytes } = request;
        const current = this.#values.get(key);
        const expected = expectedBytes === null ? undefined : body.subarray(0, expectedBytes);
        const isEqual = expected === undefined ? current === undefined : current?.equals(expected) === true;
        if (isEqual) this.#set(key, Buffer.from(body.subarray(expectedBytes ?? 0)));
        return [Buffer.from(isEqual ? "1" : "0"), ...this.#valueParts(key)];
      }
      case "gather":
        return this.#gather(rank, request, body);
      case "members":
        return [Buffer.from(JSON.stringify(this.#members))];
      case "fault":
        this.#update(rank, { fault: request.message });
        return [];
      case "leave":
        if (this.#members[rank]!.state === "joined") this.#update(rank, { state: "left" });
        this.#dropWaits(rank);
        this.#failWaitsOn(rank);
        return [];
    }
  }

  #update(rank: number, change: Partial<Member>): void {
    this.#members[rank] = { ...this.#members[rank]!, ...change };
  }

  #valueParts(key: string): Buffer[] {
    const value = this.#values.get(key);
    return value === undefined ? [] : [value];
  }

  #set(key: string, value: Buffer): void {
    this.#values.set(key, value);
    for (const waiter of this.#getWaiters) if (waiter.key === key) this.#settle(waiter, [value]);
  }

  #get(rank: number, request: StoreRequest & { op: "get" }): Promise<Buffer[]> {
    const { key, from, timeoutMs } = request;
    const present = this.#valueParts(key);
    if (present.length > 0) return Promise.resolve(present);
    if (from !== null && this.#isGone(from)) return Promise.reject(this.#goneError(from, `key "${key}"`));
    return new Promise((resolve, reject) => {
      const waiter: GetWaiter = { rank, key, from, resolve, reject, timer: undefined };
      this.#getWaiters.add(waiter);
      waiter.timer = setTimeout(() => {
        const who = from === null ? "" : `: missing ${this.#describe(from)}`;
        this.#settle(waiter, timeoutError(`store key "${key}" was not set within ${timeoutMs} ms${who}`));
      }, timeoutMs);
    });
  }

  #gather(rank: number, request: StoreRequest & { op: "gather" }, body: Buffer): Promise<Buffer[]> {
    const { key, label, timeoutMs } = request;
    const ranks = request.ranks ?? this.#members.map((member) => member.rank);
    if (!ranks.includes(rank)) return Promise.reject(mismatch(`rank ${rank} is not among the ranks of ${label}`));
    let gathering = this.#gatherings.get(key);
    if (gathering === undefined) {
      gathering = { key, label, ranks, arrived: new Map(), gaveUp: new Set() };
      this.#gatherings.set(key, gathering);
    }
    const problem = disagreement(gathering, rank, label, ranks);
    if (problem !== null) {
      this.#gatherings.delete(key);
      for (const waiter of gathering.arrived.values()) this.#settle(waiter, problem);
      return Promise.reject(problem);
    }
    const { arrived, gaveUp } = gathering;
    const gone = ranks.find((peer) => peer !== rank && !arrived.has(peer) && this.#isGone(peer));
    if (gone !== undefined) {
      if (arrived.size === 0) this.#gatherings.delete(key);
      return Promise.reject(this.#goneError(gone, label));
    }
    return new Promise((resolve, reject) => {
      const waiter = { rank, value: body, resolve, reject, timer: undefined as NodeJS.Timeout | undefined };
      arrived.set(rank, waiter);
      if (arrived.size === ranks.length) {
        this.#gatherings.delete(key);
        const values = ranks.map((peer) => arrived.get(peer)!.value);
        for (const each of arrived.values()) this.#settle(each, values);
        return;
      }
      waiter.timer = setTimeout(() => {
        // Whoever came and waited in vain is not the one to blame, while there is another.
        const absent = ranks.filter((peer) => !arrived.has(peer));
        const never = absent.filter((peer) => !gaveUp.has(peer));
        const missing = (never.length > 0 ? never : absent).map((peer) => this.#describe(peer));
        arrived.delete(rank);
        gaveUp.add(rank);
        if (arrived.size === 0) this.#gatherings.delete(key);
        this.#settle(
          waiter,
          timeoutError(`${label} was not complete within ${timeoutMs} ms: missing ${missing.join(", ")}`),
        );
      }, timeoutMs);
    });
  }

  #settle(waiter: Waiter, outcome: Buffer[] | RuntimeError): void {
    clearTimeout(waiter.timer);
    this.#getWaiters.delete(waiter as GetWaiter);
    if (outcome instanceof RuntimeError) waiter.reject(outcome);
    else waiter.resolve(outcome);
  }

  /** Ends the waits of a rank that is gone itself. What it gave to a gathering stays given. */
  #dropWaits(rank: number): void {
    const gone = new RuntimeError(`rank ${rank} has left`, undefined, "store-lost");
    for (const waiter of this.#getWaiters) if (waiter.rank === rank) this.#settle(waiter, gone);
    for (const { arrived } of this.#gatherings.values()) clearTimeout(arrived.get(rank)?.timer);
  }

  /** Nobody waits for a rank that cannot come. */
  #failWaitsOn(rank: number): void {
    for (const waiter of this.#getWaiters) {
      if (waiter.from === rank) this.#settle(waiter, this.#goneError(rank, `key "${waiter.key}"`));
    }
    for (const { key, label, ranks, arrived } of [...this.#gatherings.values()]) {
      if (!ranks.includes(rank) || arrived.has(rank)) continue;
      this.#gatherings.delete(key);
      for (const waiter of arrived.values()) this.#settle(waiter, this.#goneError(rank, label));
    }
  }

  #isGone(rank: number): boolean {
    const state = this.#members[rank]?.state;
    return state === undefined || state === "lost" || state === "left";
  }

  #goneError(rank: number, waitedFor: string): RuntimeError {
    return new RuntimeError(`${this.#describe(rank)}, and ${waitedFor} needs it`, undefined, "rank-lost");
  }

  #describe(rank: number): string {
    const member = this.#members[rank];
    return member === undefined ? `rank ${rank} (no such rank)` : describeMember(member);
  }
}

/** "rank 2 was lost (its connection closed); its last message: out of memory". */
export function describeMember({ rank, state, where, reason, fault }: Member): string {
  switch (state) {
    case "absent":
      return `rank ${rank} (has not joined the run)`;
    case "joined":
      return `rank ${rank} (joined from ${where}, not there yet)`;
    case "left":
      return `rank ${rank} has left the run`;
    case "lost":
      return `rank ${rank} was lost (${reason})${fault === null ? "" : `; its last message: ${fault}`}`;
  }
}

function disagreement(
  { label, ranks, arrived }: Gathering,
  rank: number,
  newLabel: string,
  newRanks: readonly number[],
): RuntimeError | null {
  const first = [...arrived.keys()][0];
  if (first === undefined) return null;
  if (label !== newLabel) {
    return mismatch(`ranks are not in step: rank ${first} is in ${label}, rank ${rank} in ${newLabel}`);
  }
  if (ranks.join() !== newRanks.join()) {
    return mismatch(
      `${label}: rank ${first} counts on ranks ${ranks.join(", ")}, rank ${rank} on ${newRanks.join(", ")}`,
    );
  }
  return arrived.has(rank) ? mismatch(`rank ${rank} came twice to ${label}`) : null;
}

const timeoutHelp = "COLLC_TIMEOUT_MS sets how long ranks wait for each other";
const timeoutError = (message: string) => new RuntimeError(message, timeoutHelp, "timeout");
const mismatch = (message: string) =>
  new RuntimeError(message, "every rank must make the same calls in the same order", "mismatch");
const refused = (message: string) => new RuntimeError(message, undefined, "refused");
