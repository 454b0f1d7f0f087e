/** Whether a group may load a program: it compiled, it is for as many ranks, and all ranks load the same. */
import { createHash } from "node:crypto";
import type { CompileResult, Manifest } from "../compiler/index.js";
import { RuntimeError, UsageError } from "./errors.js";
import type { Exchange } from "./exchange.js";

/** The ranks that are to load it. */
interface Loading {
  readonly world: number;
  readonly rank: number;
  readonly exchangeChannel: Exchange;
}

/**
 * The manifest of a program that a group of `world` ranks may load.
 * @throws UsageError for one with errors, or for another number of ranks.
 */
export function requireManifest({ manifest, diagnostics }: CompileResult, world: number): Manifest {
  if (manifest === null) {
    const first = diagnostics.find((d) => d.severity === "error");
    throw new UsageError(
      `the program has errors, so there is no kernel to load${first === undefined ? "" : `; the first is: ${first.message}`}`,
      "look at the diagnostics of the compilation: they say where, and what to do",
    );
  }
  if (manifest.ranks !== world)
    throw new UsageError(`the kernel was compiled for ${manifest.ranks} ranks; this group has ${world}`);
  return manifest;
}

/**
 * {@link requireManifest} of a program that all ranks of a group load. Collective.
 * @throws RuntimeError where other ranks load another.
 */
export async function requireLoadable(compiled: CompileResult, group: Loading): Promise<Manifest> {
  const manifest = requireManifest(compiled, group.world);
  await requireSameProgram(
    compiled.kernels.map(({ cuda }) => cuda),
    manifest,
    group,
  );
  return manifest;
}

/**
 * Ranks that run different kernels, or plan different ones for a size, would wait for signals that never come: refuse before
 * anything is launched.
 */
async function requireSameProgram(
  texts: readonly string[],
  { collective, plan, kernels }: Manifest,
  { exchangeChannel, rank }: Loading,
): Promise<void> {
  const hash = createHash("sha256")
    .update(JSON.stringify([texts, plan]))
    .digest("hex")
    .slice(0, 16);
  const { symbol } = kernels[0]!;
  const named = kernels.length === 1 ? symbol : `${collective} of ${kernels.map((k) => k.name).join(", ")}`;
  const all = await exchangeChannel.allGather("kernel", { symbol: named, hash });
  const other = all.findIndex((k) => k.hash !== hash);
  if (other < 0) return;
  throw new RuntimeError(
    `rank ${rank} loads ${named} (${hash}), but rank ${other} loads ${all[other]!.symbol} (${all[other]!.hash})`,
    "all ranks must load the same kernels, from the same source and options, with the same plan, in the same order",
    "mismatch",
  );
}
