/**
 * GPUs of this machine: opening the driver and saying what is there. Failures are {@link MachineError}s that tell a
 * person what is missing.
 */
import { MachineError } from "../errors.js";
import { isNativeError, native, type DeviceDescription } from "../native.js";

/** Where the driver library is looked for: the loader's path, then the usual places outside it. */
export const driverCandidates: readonly string[] = [
  "libcuda.so.1",
  "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
  "/usr/lib64/libcuda.so.1",
  "/usr/local/nvidia/lib64/libcuda.so.1",
  "/usr/lib/wsl/lib/libcuda.so.1",
];

export interface CudaDriver {
  readonly path: string;
  /** The CUDA version the driver supports: "13.0". */
  readonly version: string;
  readonly deviceCount: number;
}

/**
 * Opens the NVIDIA driver, once a process; later calls only describe it.
 * @param paths library files or names, tried in order.
 * @throws MachineError when there is no driver, it is older than CUDA 12, or it sees no GPU.
 */
export function openCuda(paths: readonly string[] = driverCandidates): CudaDriver {
  const addon = native();
  return explain(() => {
    const { path, version } = addon.openCuda(paths);
    const text = `${Math.floor(version / 1000)}.${Math.floor((version % 1000) / 10)}`;
    if (version < 12000) {
      throw new MachineError(
        `the NVIDIA driver (${path}) supports CUDA ${text}; collc needs 12.0 or newer`,
        "update the NVIDIA driver to 525 or newer",
      );
    }
    return { path, version: text, deviceCount: addon.deviceCount() };
  });
}

/** Facts about one GPU. @throws MachineError when there is no such device. */
export function describeDevice(device: number): DeviceDescription {
  requireDevice(device);
  return explain(() => native().describeDevice(device));
}

/** Facts about every GPU, in order of ordinals. */
export function describeDevices(): DeviceDescription[] {
  return Array.from({ length: openCuda().deviceCount }, (_, device) => describeDevice(device));
}

/** The architecture to compile for: "sm_90a". From Hopper on, the one with the architecture's own instructions. */
export function archOf(description: Pick<DeviceDescription, "computeMajor" | "computeMinor">): string {
  const { computeMajor, computeMinor } = description;
  return `sm_${computeMajor}${computeMinor}${computeMajor >= 9 ? "a" : ""}`;
}

/** @throws MachineError unless `device` is an ordinal of this machine. */
export function requireDevice(device: number): void {
  const { deviceCount } = openCuda();
  if (Number.isInteger(device) && device >= 0 && device < deviceCount) return;
  throw new MachineError(
    `there is no GPU ${device}: this machine has ${deviceCount}`,
    deviceCount === 0
      ? "run with --backend cpu"
      : `use fewer ranks, GPUs count from 0 to ${deviceCount - 1}; CUDA_VISIBLE_DEVICES hides some`,
  );
}

/** @throws MachineError unless the device can hold symmetric memory and cooperative kernels. */
export function requireCapable(device: number): DeviceDescription {
  const description = describeDevice(device);
  const lacks = [
    !description.virtualMemory && "virtual memory management",
    !description.posixFd && "export of memory as a file descriptor",
    !description.cooperativeLaunch && "cooperative launch",
  ].filter((part) => part !== false);
  if (lacks.length > 0) {
    throw new MachineError(
      `GPU ${device} (${description.name}) lacks ${lacks.join(", ")}`,
      "the cuda backend needs an sm_80 or newer GPU on Linux outside a restricted container; use --backend cpu",
    );
  }
  return description;
}

/** Runs `action`; driver failures that mean "this machine cannot" become MachineErrors, others pass. */
export function explain<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw machineErrorOf(error) ?? error;
  }
}

const helps: Readonly<Record<string, string>> = {
  DLOPEN_FAILED: "install the NVIDIA driver (and in a container, start it with GPU access), or run with --backend cpu",
  SYMBOL_MISSING: "update the NVIDIA driver to 525 or newer",
  CUDA_ERROR_NO_DEVICE: "no GPU is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES, or run with --backend cpu",
  CUDA_ERROR_STUB_LIBRARY: "the toolkit's stub was found before the driver: take it off LD_LIBRARY_PATH",
  CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    "the driver's library and kernel module differ: reboot, or mount the host's driver",
  CUDA_ERROR_SYSTEM_NOT_READY: "the machine's fabric manager is not running: start nvidia-fabricmanager",
  CUDA_ERROR_INSUFFICIENT_DRIVER: "update the NVIDIA driver to 525 or newer",
  CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: "take the CUDA compatibility package off LD_LIBRARY_PATH",
  CUDA_ERROR_UNKNOWN: "the driver did not start; nvidia-smi and dmesg may say why",
  CUDA_ERROR_NOT_PERMITTED:
    "fabric handles need the IMEX service: is nvidia-imex running, with a channel for this user?",
  CUDA_ERROR_DEVICE_UNAVAILABLE: "another process holds the GPU exclusively",
  CUDA_ERROR_OUT_OF_MEMORY: "free memory on the GPU (nvidia-smi shows who holds it) or use smaller sizes",
  CUDA_ERROR_NO_BINARY_FOR_GPU: "the kernel was compiled for another architecture: pass this GPU's to --arch",
};

/** The MachineError a driver failure amounts to, or undefined when it is not the machine's. */
export function machineErrorOf(error: unknown): MachineError | undefined {
  if (!isNativeError(error) || (error.library !== "cuda" && error.library !== "nccl")) return undefined;
  const help = helps[error.codeName];
  if (help === undefined) return undefined;
  return Object.assign(new MachineError(error.message, help), { cause: error });
}
