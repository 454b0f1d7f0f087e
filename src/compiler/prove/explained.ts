/** What is said of something wrong besides: the data that it takes, and help that can be followed where it is. */
import { type Kernel, type Op, text, type Value } from "../ir/module.js";
import { walkKernel } from "../ir/visit.js";
import type { Span } from "../source.js";
import { type DimValues, elementsOf } from "../types/extent.js";
import { InputValues } from "./inputs.js";
import type { Answer, Place, Wrong } from "./results.js";
import { type Iteration, touches } from "./touches.js";

const ONE_LOOP_HELP =
  "no barrier can stand in a tiles loop: let only one of its iterations touch an element that one of them stores to, or make two loops of it, the first of which keeps in a scratch array what it reads";

const RANKS_LOOP_HELP =
  "iterations of a loop over ranks come in any order, and nothing stands between them: let only one of them touch an element that one of them stores to, or let the ranks take their iterations: 'for p in 0..world'";

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
  const inputs = new InputValues(kernel, dims, sample, seed);
  const pair = answer.kind === "race" && program !== null ? iterationsOf(program, dims, inputs, answer.places) : null;
  const places = answer.places.map((p, i): Place => {
    const iteration = pair === null || i > 1 ? undefined : iterationText(pair[i]!);
    return iteration === undefined ? p : { ...p, iteration };
  });
  const data = steeringData(kernel, dims, inputs, answer.places);
  return { ...answer, places, help: helpFor(answer, program, pair), witness: [...answer.witness, ...data] };
}

function helpFor({ kind, help, places: all }: Wrong, program: Kernel | null, pair: Pair | null): string | null {
  const places = all.filter((p) => p.span.end > 0);
  if (kind !== "race" || help !== null || places.length === 0) return help;
  const apart = pair === null ? undefined : differing(pair)?.attributes["map"];
  if (apart === "ranks") return RANKS_LOOP_HELP;
  const isOneLoop =
    apart === undefined
      ? places.every((p) => p.block >= 0) && tileLoops(program).some((loop) => places.every((p) => isIn(p, loop)))
      : apart === "tiles";
  if (isOneLoop) return ONE_LOOP_HELP;
  return underData(program).some((part) => places.some((p) => isIn(p, part))) ? BY_DATA_HELP : null;
}

type Pair = readonly [Iteration, Iteration];

/** Two iterations of one block that touch an element; null where they are not known, or the places are of several blocks. */
function iterationsOf(program: Kernel, dims: DimValues, inputs: InputValues, places: readonly Place[]): Pair | null {
  const [a, b] = places;
  const isOfOne = a !== undefined && a.block >= 0 && a.rank === b?.rank && a.block === b.block && a.launch === b.launch;
  if (!isOfOne || !a.element || !b.element) return null;
  const of = (p: Place): Iteration[] => touches(program, dims, inputs, p.rank, p.launch, p.span, p.element!);
  const [first, second] = [of(a), of(b)];
  for (const x of first) for (const y of second) if (differing([x, y]) !== undefined) return [x, y];
  return null;
}

/** The outermost loop around both of which they are different iterations. */
function differing([x, y]: Pair): Op | undefined {
  return x.find(({ loop, at }, i) => loop === y[i]?.loop && at.join() !== y[i].at.join())?.loop;
}

/** "iteration 1 of the ranks loop, element 0, 3 of the tiles loop". */
function iterationText(iteration: Iteration): string {
  return iteration
    .map(({ loop, at }) => {
      const map = loop.attributes["map"];
      if (map === "tiles") return `element ${at.join(", ")} of the tiles loop`;
      return `iteration ${at.join(", ")} of the ${map === "ranks" ? "ranks" : loop.name === "for" ? "serial" : "reducing"} loop`;
    })
    .join(", ");
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

/** What the inputs that steer hold: on the ranks that are concerned, and on all where these read them. */
function steeringData(kernel: Kernel, dims: DimValues, inputs: InputValues, places: readonly Place[]): string[] {
  const concerned = [...new Set(places.map((p) => p.rank))].sort((a, b) => a - b);
  const launch = Math.max(0, ...places.map((p) => p.launch));
  const remote = new Set<string>();
  walkKernel(kernel, (op) => {
    if (op.name === "load" && op.attributes["remote"] === true) remote.add(text(op, "buffer"));
  });
  return kernel.inputs
    .filter((t) => inputs.steers(t.name))
    .flatMap((t) => {
      const all = Array.from({ length: kernel.world }, (_, rank) => rank);
      const isEqual = t.layout.kind === "replicated";
      const ranks = isEqual ? concerned.slice(0, 1) : remote.has(t.name) ? all : concerned;
      return ranks.map((rank) => {
        const size = elementsOf(t.localShape, dims);
        const element = inputs.numbers(launch, t.name, inputs.nameOf(t, rank));
        const shown = Array.from({ length: Math.min(size, MOST_SHOWN) }, (_, i) => element(i));
        return `with ${t.name} = [${shown.join(", ")}${size > MOST_SHOWN ? ", …" : ""}] on ${isEqual ? "all ranks" : `rank ${rank}`}, launch ${launch}`;
      });
    });
}
