/** `--mesh`: how many ranks lie along each axis of a collective's mesh. */
import { InvalidArgumentError } from "commander";
import type { parseProgram } from "../compiler/index.js";
import { UsageError } from "../runtime/errors.js";
import { ranksOfReach } from "../runtime/reach.js";
import { suggestion } from "./suggest.js";

type Collective = ReturnType<typeof parseProgram>["program"]["collectives"][number];

/** Sizes of all axes, the outermost first, or of some by name. */
export type MeshChoice = readonly number[] | Readonly<Record<string, number>>;

/** "2x4", or "node=2,gpu=4", or "gpu=4". */
export function parseMesh(text: string): MeshChoice {
  const size = (part: string): number => {
    const n = /^\d{1,6}$/.test(part.trim()) ? Number(part) : 0;
    if (n < 1) throw new InvalidArgumentError(`'${text}' is not a mesh: write 2x4, or node=2,gpu=4.`);
    return n;
  };
  if (!text.includes("=")) return text.split(/[x×]/).map(size);
  const entries = text.split(",").map((part) => {
    const [axis, n] = part.split("=").map((s) => s.trim());
    if (!axis || n === undefined) throw new InvalidArgumentError(`'${part}' is not AXIS=SIZE, as in gpu=4.`);
    return [axis, size(n)] as const;
  });
  return Object.fromEntries(entries);
}

/** The ranks that a mesh has, where it says so by the sizes of all axes; of one axis by name, others may be left out. */
export function ranksOfMesh(choice: MeshChoice | undefined): number | null {
  if (choice === undefined) return null;
  const sizes = Object.values(choice);
  return !Array.isArray(choice) && sizes.length < 2 ? null : sizes.reduce((a, n) => a * n, 1);
}

/** Ranks of a command that starts none, as its options say: by number, by a mesh, or by hosts; undefined where none does. */
export function askedRanks(options: {
  readonly ranks?: number | undefined;
  readonly mesh?: MeshChoice | undefined;
  readonly reach?: string | undefined;
}): number | undefined {
  return options.ranks ?? ranksOfMesh(options.mesh) ?? ranksOfReach(options.reach) ?? undefined;
}

/**
 * What to compile a collective with; undefined where nothing was chosen.
 * @throws UsageError where the collective has no mesh, or other axes.
 */
export function meshFor(
  collective: Collective,
  choice: MeshChoice | undefined,
): Readonly<Record<string, number>> | undefined {
  if (choice === undefined) return undefined;
  const axes = collective.mesh.map((axis) => axis.text);
  const { text: name } = collective.name;
  if (axes.length === 0)
    throw new UsageError(`${name} has no mesh`, "leave --mesh out, or write mesh(node, gpu) in its signature");
  if (Array.isArray(choice)) {
    if (choice.length === axes.length) return Object.fromEntries(axes.map((axis, i) => [axis, choice[i] as number]));
    throw new UsageError(
      `the mesh of ${name} has ${axes.length} axes, ${axes.join(" and ")}; --mesh gives ${choice.length}`,
      `write --mesh ${axes.map((axis) => `${axis}=2`).join(",")}, or a size for each: ${axes.map(() => "2").join("x")}`,
    );
  }
  const unknown = Object.keys(choice).find((axis) => !axes.includes(axis));
  if (unknown !== undefined)
    throw new UsageError(`the mesh of ${name} has no axis '${unknown}'`, suggestion(unknown, axes, "axes"));
  return choice as Readonly<Record<string, number>>;
}
