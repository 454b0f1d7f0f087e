/** What is said of something wrong besides: the data that it takes, and help that can be followed where it is. */
import type { Kernel, Value } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import type { Span } from "../source.js";
import { type DimValues, elementsOf } from "../types/extent.js";
import { InputValues } from "./inputs.js";
import type { Answer, Place } from "./results.js";

const ONE_LOOP_HELP =
  "no barrier can stand in a tiles loop: let only one of its iterations touch an element that one of them stores to, or make two loops of it, the first of which keeps in a scratch array what it reads";

const BY_DATA_HELP =
  "nothing can wait where data decides whether it is reached: let constants and lengths bound the loop or decide the condition, and let data decide inside of tiles loops what is stored";

/**
 * @param program the kernel on rank level, where it is known
 * @param sample of the inputs that decide where the kernel reads and writes; see `InputValues`
 */
export function explained(
  kernel: Kernel,
  program: Kernel | null,
  dims: DimValues,
  sample: number,
  seed: number,
  answer: Answer,
): Answer {
  if (answer.status !== "wrong") return answer;
  const places = answer.places.filter((p) => p.span.end > 0);
  const isOneLoop =
    answer.kind === "race" &&
    answer.help === null &&
    places.length > 0 &&
    places.every((p) => p.block >= 0) &&
    tileLoops(program).some((loop) => places.every((p) => isIn(p, loop)));
  const isByData =
    answer.kind === "race" &&
    answer.help === null &&
    underData(program).some((part) => places.some((p) => isIn(p, part)));
  const help = isOneLoop ? ONE_LOOP_HELP : isByData ? BY_DATA_HELP : answer.help;
  return { ...answer, help, witness: [...answer.witness, ...steeringData(kernel, dims, sample, seed, answer.places)] };
}

const isIn = ({ span }: Place, part: Span): boolean => part.start <= span.start && span.end <= part.end;

/** Loops and conditions around tile loops that data decides about. */
function underData(program: Kernel | null): Span[] {
  const spans: Span[] = [];
  if (program === null) return spans;
  const ofData = new Set<Value>();
  walkKernel(program, (op, parents) => {
    if (op.name === "load" || op.operands.some((v) => ofData.has(v))) for (const v of op.results) ofData.add(v);
    const isInTiles = parents.some(({ attributes }) => attributes["map"] === "tiles");
    const decides = op.name === "if" || (op.name === "for" && op.attributes["map"] !== "tiles");
    if (decides && !isInTiles && op.operands.some((v) => ofData.has(v))) spans.push(op.span);
  });
  return spans;
}

function tileLoops(program: Kernel | null): Span[] {
  const spans: Span[] = [];
  if (program !== null)
    walkKernel(program, (op) => void (op.name === "for" && op.attributes["map"] === "tiles" && spans.push(op.span)));
  return spans;
}

/** Elements of an input that are shown. */
const MOST_SHOWN = 12;

/** What the inputs that steer hold, on the ranks that are concerned. */
function steeringData(
  kernel: Kernel,
  dims: DimValues,
  sample: number,
  seed: number,
  places: readonly Place[],
): string[] {
  const inputs = new InputValues(kernel, dims, sample, seed);
  const ranks = [...new Set(places.map((p) => p.rank))].sort((a, b) => a - b);
  const launch = Math.max(0, ...places.map((p) => p.launch));
  return kernel.inputs
    .filter((t) => inputs.steers(t.name))
    .flatMap((t) =>
      ranks.map((rank) => {
        const size = elementsOf(t.localShape, dims);
        const element = inputs.numbers(launch, t.name, inputs.nameOf(t, rank));
        const shown = Array.from({ length: Math.min(size, MOST_SHOWN) }, (_, i) => element(i));
        return `with ${t.name} = [${shown.join(", ")}${size > MOST_SHOWN ? ", …" : ""}] on rank ${rank}, launch ${launch}`;
      }),
    );
}
