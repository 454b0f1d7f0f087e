/** Programs of the library, compiled for ranks of several hosts. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { compile, type CompileOptions, type CompileResult, type DimValues, fitDims } from "../../src/compiler/index.js";
import { EmulatedGroup } from "../../src/runtime/group-cpu.js";
import { importsFromDisk } from "../../src/runtime/imports.js";
import { packageRoot } from "../../src/runtime/native.js";

/** So many hosts of so many GPUs each. */
export interface Hosts {
  readonly hosts: number;
  readonly gpus: number;
}

/** Files of the library, `all_gather/push`, without what others import. */
export function libraryFiles(): string[] {
  const root = path.join(packageRoot(), "kernels");
  return readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".coll") && !file.startsWith("common"))
    .map((file) => file.slice(0, -".coll".length).replaceAll(path.sep, "/"))
    .sort();
}

export function compiledFor(
  file: string,
  { hosts, gpus }: Hosts,
  options: Partial<CompileOptions> = {},
): CompileResult {
  const text = readFileSync(path.join(packageRoot(), `kernels/${file}.coll`), "utf8");
  const mesh = text.includes("mesh(node, gpu)") ? { mesh: { node: hosts, gpu: gpus } } : {};
  return compile(text, {
    file: `kernels/${file}.coll`,
    ranks: hosts * gpus,
    dtype: "bf16",
    resolve: importsFromDisk,
    reach: { ranksPerDomain: gpus },
    ...mesh,
    ...options,
  });
}

/** Small dimensions that a program takes, of lengths that do not fill what they are cut into. */
export function dimsFor({ manifest }: CompileResult): DimValues {
  const wanted = Object.fromEntries(manifest!.dims.map((name, i) => [name, i === 0 ? 200 : 24]));
  return fitDims(manifest!.requirements, wanted, new Set(manifest!.dims));
}

/** What a program enqueues: `l` a kernel, `m` messages. */
export function stepsText({ manifest }: CompileResult): string {
  return manifest!.plan.choices[0]!.steps.map(({ kind }) => kind[0]).join("");
}

/** What a program from `x: f32[n]` to `y: f32[n]` leaves in y on each rank. */
export async function outputs(program: CompileResult, ranks: number, dims: DimValues): Promise<Float32Array[]> {
  // Messages that go on beside kernels come no sooner than somebody waits for them.
  const group = new EmulatedGroup(ranks, { messages: "late" });
  const n = dims["n"]!;
  const tensors = { x: await group.symmetric("f32", [n]), y: await group.symmetric("f32", [n]) };
  for (const rank of group.localRanks) {
    tensors.x.write(
      Float32Array.from({ length: n }, (_, i) => ((7 * i + 131 * rank) % 97) - 40),
      rank,
    );
    tensors.y.write(new Float32Array(n).fill(-1), rank);
  }
  const loaded = await group.load(program);
  // The second launch finds what the first has left behind.
  for (let launch = 0; launch < 2; launch++) await loaded.run(tensors, dims);
  const found: Float32Array[] = [];
  for (const rank of group.localRanks) found.push((await tensors.y.read(rank)) as Float32Array);
  await group.close();
  return found;
}
