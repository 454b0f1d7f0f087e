/** How many ranks each axis of a mesh has. */
import type { Name } from "../ast/nodes.js";
import { diagnostic, type Diagnostic } from "../diagnostics/create.js";
import type { MeshAxis } from "../manifest.js";

/**
 * Sizes of the axes, whose product is the world size. Those that are not given are made as equal as can be, the inner
 * ones the larger: on 4 ranks mesh(node, gpu) is 2 by 2, on 8 it is 2 by 4. A runtime that knows how many ranks share a
 * host gives the sizes.
 */
export function meshOf(
  axes: readonly Name[],
  world: number,
  given: Readonly<Record<string, number>> = {},
  report: (d: Diagnostic) => void = () => undefined,
): MeshAxis[] {
  const open = axes.filter((a) => given[a.text] === undefined);
  const fixed = axes.reduce((n, a) => n * (given[a.text] ?? 1), 1);
  if (axes.length === 0) return [];
  if (world % fixed !== 0 || (open.length === 0 && fixed !== world)) {
    const span = { start: axes[0]!.span.start, end: axes.at(-1)!.span.end };
    report(
      diagnostic("mesh-does-not-fit", span, {
        world,
        sizes: axes.map((a) => `${a.text}=${given[a.text] ?? "?"}`).join(", "),
      }),
    );
    return axes.map((a, i) => ({ name: a.text, size: i === axes.length - 1 ? world : 1 }));
  }
  const sizes = new Map<string, number>();
  let rest = world / fixed;
  open.forEach((a, i) => {
    const left = open.length - i;
    // The outer axis takes at most its root of what is left.
    let size = left === 1 ? rest : Math.floor(rest ** (1 / left) + 1e-9);
    while (rest % size !== 0) size--;
    sizes.set(a.text, size);
    rest /= size;
  });
  return axes.map((a) => ({ name: a.text, size: given[a.text] ?? sizes.get(a.text)! }));
}
