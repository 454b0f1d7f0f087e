/** Opening NCCL and what its version has. */
import { type MulticastChoice, multicastChoice } from "../capabilities/multicast.js";
import type { Environment } from "../env.js";
import { MachineError, RuntimeError } from "../errors.js";
import { isNativeError, native, type NcclSymbols } from "../native.js";
import { ncclCandidates } from "./discover.js";

/** ncclDataType_t. */
export const ncclDTypes = {
  i8: 0,
  u8: 1,
  i32: 2,
  u32: 3,
  i64: 4,
  u64: 5,
  f16: 6,
  f32: 7,
  f64: 8,
  bf16: 9,
  f8e4m3: 10,
  f8e5m2: 11,
} as const;
export type NcclDType = keyof typeof ncclDTypes;

/** Width of an element. */
export const ncclBytes: Readonly<Record<NcclDType, number>> = {
  i8: 1,
  u8: 1,
  i32: 4,
  u32: 4,
  i64: 8,
  u64: 8,
  f16: 2,
  f32: 4,
  f64: 8,
  bf16: 2,
  f8e4m3: 1,
  f8e5m2: 1,
};

/** ncclRedOp_t. */
export const ncclOps = { sum: 0, prod: 1, max: 2, min: 3, avg: 4 } as const;
export type NcclOp = keyof typeof ncclOps;

export interface NcclLibrary {
  readonly path: string;
  /** "2.27.3". */
  readonly version: string;
  /** Optional functions, by looking for them. */
  readonly symbols: NcclSymbols;
  /** f8e4m3 and f8e5m2: since 2.24. They have no function of their own, so this goes by the version. */
  readonly float8: boolean;
}

let opened: NcclLibrary | undefined;

/**
 * Opens NCCL, once a process.
 * @param options.multicast what NCCL may do with NVLink SHARP. By default off unless NCCL_NVLS_ENABLE is set, and in any
 *   case with COLLC_DISABLE_MULTICAST: a crash of a process that uses multicast can put the GPUs of a shared machine out of
 *   service.
 * @throws MachineError with every path tried.
 */
export async function openNccl(
  options: { readonly env?: Environment | undefined; readonly multicast?: MulticastChoice } = {},
): Promise<NcclLibrary> {
  const paths = (await ncclCandidates(options.env)).map((candidate) => candidate.path);
  try {
    const { path, version } = native().openNccl(paths, multicastChoice(options.multicast, options.env));
    opened = { path, version: versionText(version), symbols: native().ncclSymbols(), float8: version >= 22400 };
    return opened;
  } catch (error) {
    if (!isNativeError(error) || error.library !== "nccl") throw error;
    throw new MachineError(
      error.message,
      "install it (`pip install nvidia-nccl-cu13`, or cu12 for CUDA 12), or set COLLC_NCCL to libnccl.so.2",
    );
  }
}

/** The open library. @throws RuntimeError before {@link openNccl}. */
export function ncclLibrary(): NcclLibrary {
  if (opened === undefined) throw new RuntimeError("NCCL is not open", "call openNccl first");
  return opened;
}

/** NCCL's version number as people write it; before 2.9 it counted in thousands. */
export function versionText(version: number): string {
  const base = version < 10_000 ? 1000 : 10_000;
  return `${Math.floor(version / base)}.${Math.floor((version % base) / 100)}.${version % 100}`;
}

/** What names a communicator before it exists; rank 0 makes it and gives it to the others. 128 bytes. */
export async function ncclUniqueId(): Promise<Uint8Array> {
  await openNccl();
  return native().ncclUniqueId();
}

/** Runs `enqueue` as one group: needed for several ranks of one process, and for sends with receives. */
export function ncclGroup(enqueue: () => void): void {
  native().ncclGroupStart();
  try {
    enqueue();
  } finally {
    native().ncclGroupEnd();
  }
}

/** ncclDataType_t of `dtype`. @throws RuntimeError when the open library is too old for it. */
export function dtypeCode(dtype: NcclDType): number {
  if (dtype.startsWith("f8") && !ncclLibrary().float8) {
    throw new RuntimeError(
      `NCCL ${ncclLibrary().version} has no ${dtype}`,
      "8-bit floats came with NCCL 2.24; send them as u8 where nothing is reduced",
    );
  }
  return ncclDTypes[dtype];
}
