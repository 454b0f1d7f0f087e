/** The backends by name. */

export const backendNames = ["cpu", "cuda", "nvshmem", "nccl"] as const;

/** `cpu` emulates; the others differ in where symmetric memory comes from. */
export type BackendName = (typeof backendNames)[number];

/** Whether a backend is called that. */
export function isBackend(name: string): name is BackendName {
  return (backendNames as readonly string[]).includes(name);
}
