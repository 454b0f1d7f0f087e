/**
 * What travels between a store and its clients: frames, their limits, and the proof of the secret.
 *
 * A frame is a u32 length (big endian) of all that follows, a u32 length of a JSON header, the header, and a
 * body of raw bytes. Limits are small before a peer has proved the secret, so that a stranger cannot make the
 * store hold memory. The secret never travels: each side sends a nonce and gets an HMAC over both nonces back.
 * What follows the handshake is neither encrypted nor signed; the network between the hosts is trusted.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { RuntimeError, type RuntimeErrorCode } from "./errors.js";
import type { StoreRequest } from "./store-core.js";

export const protocolVersion = 1;
/** Longest value in bytes that can be stored or gathered. */
export const maxValueBytes = 2 ** 20;
/** Longest key or label in characters. */
export const maxKeyLength = 1024;
/** Longest frame in bytes: from a stranger, from a member, and from the store (a gathering of many values). */
export const maxFrameBytes = { stranger: 2048, member: 3 * maxValueBytes, store: 2 ** 28 } as const;

export type Header = Readonly<Record<string, unknown>>;
export interface Frame {
  readonly header: Header;
  readonly body: Buffer;
}

export function encodeFrame(header: Header, body: readonly Uint8Array[] = []): Buffer {
  const headerBytes = Buffer.from(JSON.stringify(header));
  const bodyBytes = body.reduce((sum, part) => sum + part.byteLength, 0);
  const prefix = Buffer.alloc(8);
  prefix.writeUInt32BE(4 + headerBytes.length + bodyBytes, 0);
  prefix.writeUInt32BE(headerBytes.length, 4);
  return Buffer.concat([prefix, headerBytes, ...body]);
}

/** Cuts a byte stream into frames. */
export class FrameReader {
  #chunks: Buffer[] = [];
  #size = 0;
  /** Longest frame accepted, in bytes; raised once the peer is trusted. */
  limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Adds bytes and yields the frames that are complete. @throws Error when this is not our protocol. */
  *push(chunk: Buffer): Generator<Frame> {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    while (this.#size >= 4) {
      if (this.#chunks[0]!.length < 4) this.#join();
      const length = this.#chunks[0]!.readUInt32BE(0);
      if (length > this.limit || length < 6) throw new Error(`a frame of ${length} bytes, the limit is ${this.limit}`);
      if (this.#size < 4 + length) return;
      const all = this.#join();
      const frame = all.subarray(4, 4 + length);
      this.#chunks = [all.subarray(4 + length)];
      this.#size -= 4 + length;
      yield decodeFrame(frame);
    }
  }

  #join(): Buffer {
    const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks);
    this.#chunks = [all];
    return all;
  }
}

function decodeFrame(frame: Buffer): Frame {
  const headerLength = frame.readUInt32BE(0);
  if (headerLength > frame.length - 4) throw new Error("a frame whose header is longer than the frame");
  const header: unknown = JSON.parse(frame.toString("utf8", 4, 4 + headerLength));
  if (typeof header !== "object" || header === null || Array.isArray(header))
    throw new Error("a header that is no object");
  return { header: header as Header, body: frame.subarray(4 + headerLength) };
}

/** Tells runs apart before anything secret is used; the run's name itself stays private. */
export function runTag(runId: string): string {
  return createHash("sha256").update(`collc-run ${runId}`).digest("hex").slice(0, 16);
}

/** What both sides of a handshake agree on. */
export interface Handshake {
  readonly run: string;
  readonly storeNonce: string;
  readonly clientNonce: string;
  readonly rank: number;
  readonly world: number;
}

/** The proof of knowing `secret`, different for both roles so that one cannot be sent back as the other. */
export function handshakeProof(secret: string, role: "client" | "store", shake: Handshake): string {
  const { run, storeNonce, clientNonce, rank, world } = shake;
  const text = JSON.stringify([protocolVersion, role, run, storeNonce, clientNonce, rank, world]);
  return createHmac("sha256", secret).update(text).digest("hex");
}

/** Compares two proofs in constant time. */
export function isSameProof(actual: unknown, expected: string): boolean {
  if (typeof actual !== "string" || actual.length !== expected.length) return false;
  const a = Buffer.from(actual);
  return a.length === expected.length && timingSafeEqual(a, Buffer.from(expected));
}

/** An error as it travels. */
/** Text of a stranger for a terminal: one line, no control characters and nothing that turns writing around, not long. */
export function printable(text: string, maxLength = 300): string {
  const short = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  return short.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (c) => `\\u{${c.codePointAt(0)!.toString(16)}}`);
}

export function encodeError(error: unknown): Header {
  if (error instanceof RuntimeError) return { message: error.message, help: error.help, code: error.code };
  return { message: error instanceof Error ? error.message : String(error), code: "failed" };
}

export function decodeError(value: unknown): RuntimeError {
  const { message, help, code } = (value ?? {}) as Record<string, unknown>;
  return new RuntimeError(
    typeof message === "string" ? message : "the store sent an error without a message",
    typeof help === "string" ? help : undefined,
    typeof code === "string" ? (code as RuntimeErrorCode) : "failed",
  );
}

/** Checks a request field by field: what a member sends is not trusted to be well-formed. @throws RuntimeError */
export function parseRequest(header: Header, bodyBytes: number): StoreRequest {
  const { op, key, label, timeoutMs, from, amount, expectedBytes, ranks, message } = header;
  const isText = (value: unknown): value is string => typeof value === "string" && value.length <= maxKeyLength;
  const isCount = (value: unknown, max: number): value is number =>
    Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max;
  const bad = () => new RuntimeError(`the store cannot serve a malformed request (op ${JSON.stringify(op)})`);
  if (bodyBytes > 2 * maxValueBytes) throw bad();
  if (op === "members" || op === "leave") return { op };
  if (op === "fault" && typeof message === "string") return { op, message };
  if (!isText(key)) throw bad();
  if (op === "set" || op === "tryGet" || op === "delete") return { op, key };
  if (op === "add" && Number.isSafeInteger(amount)) return { op, key, amount: amount as number };
  if (op === "compareSet" && (expectedBytes === null || isCount(expectedBytes, bodyBytes))) {
    return { op, key, expectedBytes };
  }
  if (!isCount(timeoutMs, 2 ** 31 - 1)) throw bad();
  if (op === "get" && (from === null || isCount(from, 65535))) return { op, key, timeoutMs, from };
  const isRankList = Array.isArray(ranks) && ranks.length > 0 && ranks.every((rank) => isCount(rank, 65535));
  if (op === "gather" && isText(label) && (ranks === null || isRankList)) {
    return { op, key, label, timeoutMs, ranks: ranks as number[] | null };
  }
  throw bad();
}
