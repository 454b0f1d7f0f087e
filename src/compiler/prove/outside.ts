/** Indices of a program held against their dimensions, at one shape and one set of values. */
import type { Kernel } from "../ir/module.js";
import type { ProveOptions } from "./claims.js";
import { describeOutside, type KnownElements, type OutsideDimension, outsideDimension } from "./dimension-bounds.js";
import { InputValues, steeringInputs } from "./inputs.js";
import { gridOf } from "./machine.js";
import type { Claim, Wrong } from "./results.js";
import type { Setting } from "./settings.js";

/** What is wrong where an index leaves its dimension. The execution cannot see it: it has linear indices. */
export function outsideAt(kernel: Kernel, setting: Setting, { program, launches = 2 }: ProveOptions): Wrong | null {
  if (program == null) return null;
  const found = outsideOf(kernel, program, setting);
  return found === null ? null : wrongOutside(kernel, found, { ...setting, launches });
}

/** What is wrong where an access was found outside. */
export function wrongOutside(
  kernel: Kernel,
  found: OutsideDimension,
  { dims, launches, aligned }: Pick<Claim, "dims" | "launches" | "aligned">,
): Wrong {
  const { op, rank, buffer } = found;
  const what = op.name === "store" ? `'${buffer}' is stored here` : `'${buffer}' is loaded here`;
  return {
    status: "wrong",
    claim: { ranks: kernel.world, dims, grid: gridOf(kernel, dims), launches, aligned },
    kind: "bounds",
    message: `${describeOutside(found)} on rank ${rank}`,
    places: [{ rank, block: -1, launch: 0, span: op.span, what }],
    witness: [],
    help: null,
  };
}

/** What was found at a shape and a set of values. */
type Outside = Map<string, OutsideDimension | null>;

/** By kernel and program. Answers and orderings ask the same, of aligned buffers and of others. */
const outside = new WeakMap<Kernel, WeakMap<Kernel, Outside>>();

function outsideOf(kernel: Kernel, program: Kernel, { dims, sample, seed }: Setting): OutsideDimension | null {
  let programs = outside.get(kernel);
  if (programs === undefined) outside.set(kernel, (programs = new WeakMap<Kernel, Outside>()));
  let known = programs.get(program);
  if (known === undefined) programs.set(program, (known = new Map()));
  const key = JSON.stringify([dims, sample, seed]);
  let found = known.get(key);
  if (found !== undefined) return found;
  const inputs = new InputValues(kernel, dims, sample, seed);
  const element: KnownElements = (launch, name, rank, index) => {
    const tensor = kernel.inputs.find((t) => t.name === name);
    return tensor !== undefined && inputs.steers(name)
      ? inputs.numbers(launch, name, inputs.nameOf(tensor, rank))(index)
      : undefined;
  };
  found = outsideDimension(program, dims, steeringInputs(kernel).size > 0 ? element : null);
  known.set(key, found);
  return found;
}
