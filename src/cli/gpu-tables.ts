/** What `collc doctor` shows of the GPUs: each one, and each pair. */
import Table from "cli-table3";
import { bytes } from "../bench/format.js";
import type { PeerCapability } from "../runtime/capabilities/index.js";
import type { Gpu, MachineReport } from "./inspect-machine.js";

const yes = (value: boolean): string => (value ? "yes" : "no");
const style = { head: [], border: [], compact: true };

/** A row a GPU. Multicast is "off" where the device has it and something keeps collc from it; the reason is below. */
export function gpuTable({ cuda: { gpus } }: MachineReport): string {
  const head = [
    "GPU",
    "name",
    "arch",
    "memory",
    "SMs",
    "VMM",
    "fd export",
    "fabric handles",
    "cooperative",
    "multicast",
    "NVLinks",
  ];
  const table = new Table({ head, style });
  for (const gpu of gpus)
    table.push([
      gpu.ordinal,
      gpu.name,
      gpu.arch,
      bytes(gpu.totalBytes),
      gpu.multiprocessors,
      yes(gpu.virtualMemory),
      yes(gpu.posixFd),
      fabricOf(gpu),
      yes(gpu.cooperativeLaunch),
      gpu.multicast && gpu.multicastObstacle !== null ? "off" : yes(gpu.multicast),
      gpu.nvlinks ?? "?",
    ]);
  return table.toString();
}

function fabricOf({ fabricHandle, fabric }: Gpu): string {
  if (!fabricHandle) return "no";
  return fabric !== null && fabric.state !== 3 ? "yes (domain not joined)" : "yes";
}

/** Rows reach columns: `NV18` is 18 NVLinks, `P2P` access without any, `*` access without atomics, `–` none. */
export function peerTable({ cuda: { gpus, peers } }: MachineReport): string {
  const table = new Table({ head: ["", ...gpus.map(({ ordinal }) => `GPU ${ordinal}`)], style });
  gpus.forEach(({ ordinal }, i) => {
    table.push([`GPU ${ordinal}`, ...gpus.map((_, j) => pathOf(peers[i]?.[j] ?? null))]);
  });
  return table.toString();
}

function pathOf(peer: PeerCapability | null): string {
  if (peer === null) return "·";
  if (!peer.access) return "–";
  return `${peer.nvlinks > 0 ? `NV${peer.nvlinks}` : "P2P"}${peer.atomics ? "" : "*"}`;
}

/** What the tables' marks mean, as far as they occur, and what keeps multicast off. */
export function gpuNotes({ cuda: { gpus, peers, warnings } }: MachineReport): string[] {
  const pairs = peers.flat().filter((peer) => peer !== null);
  const notes: string[] = [];
  if (pairs.some(({ access, nvlinks }) => access && nvlinks > 0)) notes.push("NVn: n NVLinks join the two");
  if (pairs.some(({ access, nvlinks }) => access && nvlinks === 0)) notes.push("P2P: reached, not over NVLink");
  if (pairs.some(({ access, atomics }) => access && !atomics)) notes.push("*: without atomics");
  if (pairs.some(({ access }) => !access)) notes.push("–: not reached; kernels cannot run on the two");
  const off = new Set(gpus.filter(({ multicast }) => multicast).map((gpu) => gpu.multicastObstacle));
  for (const reason of off) if (reason !== null) notes.push(`multicast is off: ${reason}`);
  return [...notes, ...warnings];
}
