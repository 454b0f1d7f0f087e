/** Ops with regions: conditions, loops over numbers, blocks and threads, and reductions. */
import { InternalCompilerError } from "../../diagnostics/ice.js";
import { bufferOf, isRemote, type Region, text, type Value } from "../../ir/module.js";
import { definitionOf } from "../../ir/ops.js";
import { printKernel } from "../../ir/print.js";
import type { OpOf } from "../../ir/typed.js";
import { lanesOf, scalarOf } from "../../ir/types.js";
import { isFloat } from "../../types/dtype.js";
import { walk } from "../../ir/visit.js";
import { REDUCE } from "../../ir/functions.js";
import { WRITE } from "../order/trace.js";
import type { Setting } from "../setting.js";
import type { Writer } from "../writer.js";
import { region } from "./index.js";

export function branch(w: Writer, { operands: [condition], regions: [then, otherwise] }: OpOf<"if">): void {
  w.line(`if(${w.domain.condition(w.known(condition, "the condition of an if"))}){`);
  region(w, then);
  if (otherwise.ops.length > 0) w.line("}else{");
  region(w, otherwise);
  w.line("}");
}

type Bounds = readonly (readonly [low: string, high: string])[];

export function loop(w: Writer, op: OpOf<"for">): void {
  const [body] = op.regions;
  const bounds = body.arguments.map((_, d): [string, string] => [
    bound(w, op.operands[2 * d]!),
    bound(w, op.operands[2 * d + 1]!),
  ]);
  // A meeting before other loops comes right before their first iteration alone.
  if (op.attributes.map !== "threads") w.hasMet = false;
  switch (op.attributes.map) {
    case "serial":
    case "ranks":
      return nested(w, body, bounds, false, () => region(w, body));
    case "blocks":
      return blocks(w, body, bounds);
    case "fragment":
      exchange(w, op);
      return threads(w, body, bounds, () => limited(w, op));
    case "threads":
      return threads(w, body, bounds);
    default:
      throw new InternalCompilerError(
        `a loop over ${op.attributes.map} reached the executor; an earlier pass maps it`,
        printKernel(w.kernel),
      );
  }
}

/** Which elements of an accumulator a loop goes through, as a condition of its variable; null: all. */
function limited(w: Writer, op: OpOf<"for">): string | null {
  const { fragment, lanes = 1, limit } = op.attributes;
  if (limit === undefined || fragment === undefined) return null;
  const width = bufferOf(w.kernel, fragment).shape[1] as number;
  return `${bound(w, op.regions[0].arguments[0]!)}%${width / lanes}*${lanes}<${bound(w, op.operands[2]!)}`;
}

/** The threads that hold an accumulator write all of the buffer that they hand it to each other through. */
function exchange(w: Writer, op: OpOf<"for">): void {
  const { through } = op.attributes;
  if (through === undefined || !w.setting.observes) return;
  const number = w.kernel.buffers.indexOf(bufferOf(w.kernel, through));
  w.line(
    `T.accessOwn(${w.strandName},${w.opInTrace(op)},f.memories[${number}],${number},0,M.lengths[${number}],${WRITE},0);`,
  );
}

function bound(w: Writer, v: Value): string {
  return w.known(v, "the bound of a loop");
}

/** @param reverse whether from the last iteration to the first; `asked`: as the machine says */
function nested(
  w: Writer,
  { arguments: variables }: Region,
  bounds: Bounds,
  reverse: Setting["reversesThreads"],
  body: () => void,
): void {
  bounds.forEach(([low, high], d) => {
    const v = w.index(variables[d]!);
    if (reverse !== "asked")
      return w.line(reverse ? `for(let ${v}=${high}-1;${v}>=${low};${v}--){` : `for(let ${v}=${low};${v}<${high};${v}++){`); // prettier-ignore
    const step = w.variable("s", "M.reversesThreads?-1:1");
    w.line(`for(let ${v}=${step}<0?${high}-1:${low};${v}>=${low}&&${v}<${high};${v}+=${step}){`);
  });
  body();
  w.line("}".repeat(bounds.length));
}

/** Every `step`-th iteration from number `first` on, counted row-major over all variables. */
function everyOther(
  w: Writer,
  { arguments: variables }: Region,
  bounds: Bounds,
  first: string,
  step: string,
  body: () => void,
): void {
  const counts = bounds.map(([low, high]) => w.variable("n", `max(${high}-${low},0)`));
  const q = w.fresh("q");
  w.line(`for(let ${q}=${first};${q}<${counts.join("*")};${q}+=${step}){`);
  bounds.forEach(([low], d) => {
    const inner = counts.slice(d + 1);
    const quotient = inner.length === 0 ? q : `floor(${q}/(${inner.join("*")}))`;
    const v = w.index(variables[d]!);
    w.line(`const ${v}=${low}+${d === 0 ? quotient : `${quotient}%${counts[d]}`};`);
  });
  body();
  w.line("}");
}

/** With one variable its value, with several the number of the iteration, is the block's modulo the grid. */
function blocks(w: Writer, body: Region, bounds: Bounds): void {
  const block = w.use("block");
  const { grid } = w;
  if (bounds.length > 1) return everyOther(w, body, bounds, block, grid, () => region(w, body));
  const [low, high] = bounds[0]!;
  const v = w.index(body.arguments[0]!);
  const first = low === "0" ? block : `${low}+((${block}-${low})%${grid}+${grid})%${grid}`;
  w.line(`for(let ${v}=${first};${v}<${high};${v}+=${grid}){`);
  region(w, body);
  w.line("}");
}

/** Iterations that never wait run one after the other; where one may wait, threads are coroutines. */
function threads(w: Writer, body: Region, bounds: Bounds, condition: () => string | null = () => null): void {
  const each = (): void => {
    const only = condition();
    if (only === null) return region(w, body);
    w.line(`if(${only}){`);
    region(w, body);
    w.line("}");
  };
  const isTelling = body.ops.some((op) => op.name === "signal");
  const iteration = (): void =>
    w.mayWait(body) ? w.asWaiting(each) : isTelling ? w.asTelling(each) : w.asThread(each);
  const mention = (): void => bounds.flat().forEach((text) => void (/^[A-Za-z]/.test(text) && w.use(text)));
  w.preemption();
  if (!w.mayWait(body)) {
    const { reversesThreads } = w.setting;
    if (!w.canWait) return nested(w, body, bounds, reversesThreads, iteration);
    const call = w.outline(false, [], () => {
      mention();
      nested(w, body, bounds, reversesThreads, iteration);
    });
    return w.line(`${call([])};`);
  }
  const call = w.outline(true, ["first", "step"], () => {
    mention();
    everyOther(w, body, bounds, "first", "step", iteration);
  });
  const total = bounds.map(([low, high]) => `max(${high}-${low},0)`).join("*");
  const count = Math.max(w.kernel.blockThreads, 1);
  w.line(`yield* threads(${total},${count},(first,step)=>${call(["first", "step"])});`);
}

export function reduce(w: Writer, op: OpOf<"reduce">): void {
  const { domain } = w;
  const [result] = op.results;
  const [body] = op.regions;
  const { fn } = op.attributes;
  if (w.mayWait(body)) throw new InternalCompilerError("a wait inside a 'reduce'");
  const kind = scalarOf(result.type);
  const counts = domain.hasData || w.steering.deciding.has(result);
  const [low, high] = op.operands.map((v) => w.known(v, "the bound of a reduce"));
  const start = domain.literal(kind, REDUCE[fn].identity(kind)).text;
  const totals = counts ? Array.from({ length: lanesOf(result.type) }, () => w.fresh("r")) : [];
  for (const t of totals) w.line(`let ${t}=${start};`);
  // A sum of symbols grows in one place, instead of as one value a term.
  const adds = domain.isSymbolic && domain.hasData && fn === "sum" && isFloat(kind);
  const sums = totals.map(() => w.fresh("u"));
  const kept = keptFold(w, op, `${high}-(${low})`, totals);
  if (adds) for (const u of sums) w.line(`const ${u}=sumOf(A);`);
  const v = w.index(body.arguments[0]!);
  w.line(`for(let ${v}=${low};${v}<${high};${v}++){`);
  region(w, { arguments: [], ops: body.ops.slice(0, -1) });
  let isKnown = true;
  const yielded = body.ops.at(-1)!.operands[0]!;
  totals.forEach((t, i) => {
    const next = w.form(yielded, i);
    isKnown &&= next.isKnown;
    if (adds) return w.line(`${sums[i]!}.add(${next.text});`);
    w.line(`${t}=${domain.binary(REDUCE[fn].fn, kind, { text: t, isKnown: next.isKnown }, next).text};`);
  });
  w.line("}");
  if (adds) totals.forEach((t, i) => w.line(`${t}=${sums[i]!}.build();`));
  kept?.();
  if (counts)
    w.bind(
      result,
      totals.map((text) => ({ text, isKnown: isKnown && !adds })),
    );
}

/** Terms from which on a fold is kept. */
const LONG = 32;

/**
 * Where values are symbols, a long fold of what stays the same is computed once for each list of the indices that it depends on:
 * `x[i, j] / sum(k in 0..n) x[i, k]` has one for each i. Writes the start of that, and gives what writes its end.
 */
function keptFold(w: Writer, op: OpOf<"reduce">, length: string, totals: readonly string[]): (() => void) | null {
  const outside = w.domain.isSymbolic ? indicesOfFold(w, op) : null;
  if (outside === null) return null;
  const key = ["''", ...outside.map((v) => w.lane(v))].join('+" "+');
  const [known, at, found] = ["h", "h", "h"].map((prefix) => w.fresh(prefix)) as [string, string, string];
  w.line(`const ${known}=foldsOf(M,${w.op(op)},${w.use("rank")},f.launch);`);
  w.line(`const ${at}=${length}>=${LONG}?${key}:null;`);
  w.line(`const ${found}=${at}===null?undefined:${known}.get(${at});`);
  w.line(`if(${found}!==undefined){${totals.map((t, i) => `${t}=${found}[${i}];`).join("")}}else{`);
  return () => w.line(`if(${at}!==null)${known}.set(${at},[${totals.join(",")}]);}`);
}

/** The indices that decide about a fold, if nothing else does but what stays the same for a launch; else null. */
function indicesOfFold(w: Writer, op: OpOf<"reduce">): Value[] | null {
  const inside = new Set<Value>();
  const outside = new Set<Value>(op.operands);
  let isFixed = true;
  walk(op.regions[0], (o) => {
    for (const r of [...o.results, ...o.regions.flatMap((x) => x.arguments)]) inside.add(r);
    const { effect } = definitionOf(o.name);
    const isOwn = o.name === "load" && !isRemote(o) && w.isUntouched(bufferOf(w.kernel, text(o, "buffer")));
    isFixed &&= isOwn || (effect === "pure" && o.name !== "block") || o.name === "yield" || o.name === "reduce";
    for (const v of o.operands) outside.add(v);
  });
  for (const v of [...inside, ...op.regions[0].arguments]) outside.delete(v);
  const indices = [...outside];
  return isFixed && indices.every((v) => scalarOf(v.type) === "index" && w.formOf(v)?.isKnown === true)
    ? indices
    : null;
}
