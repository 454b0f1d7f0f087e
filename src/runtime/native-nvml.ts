/** The addon's NVML functions, part of `Native` in `native.ts`; native/nvml.cc implements them. */

/** One NVLink of a GPU that is up. */
export interface NvmlLink {
  readonly link: number;
  /** What is at the other end; `unknown` where the driver does not say, as in some virtual machines. */
  readonly remote: "gpu" | "switch" | "unknown";
  /** PCI place of the other end, null where the driver does not say. */
  readonly remotePci: { readonly domain: number; readonly bus: number; readonly device: number } | null;
}

/** Membership in an NVLink domain that may span hosts. */
export interface NvmlFabric {
  /** 0 not supported, 1 not started, 2 in progress, 3 completed. */
  readonly state: number;
  /** UUID of the cluster, 32 hexadecimal digits. */
  readonly cluster: string;
  readonly clique: number;
}

export interface NvmlDevice {
  readonly links: readonly NvmlLink[];
  /** Null where the driver or the GPU has no such thing. */
  readonly fabric: NvmlFabric | null;
}

export interface NvmlNative {
  /** Opens and initialises the first library that loads; a process has one. */
  openNvml(paths: readonly string[]): { readonly path: string; readonly driverVersion: string };
  /** The device at a PCI place. */
  nvmlDevice(domain: number, bus: number, device: number): NvmlDevice;
}
