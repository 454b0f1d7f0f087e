/**
 * Regions of an FX graph → programs. Each conversion, and what stands around it, is fused as far as the region is a graph and
 * the model says that one program is faster than the parts by themselves; everything else stays with the caller. Of each edge that
 * could have been fused, the result says whether it was, why, and what both would take.
 */
import { showExtent } from "../../check/extents.js";
import { printDiagnostics } from "../../diagnostics/index.js";
import type { CompileResult } from "../../compiled.js";
import { predictTime } from "../../explain/explain.js";
import { predictOperation } from "../../machine/cost.js";
import { machineFor, type Machine } from "../../machine/machines.js";
import { DEFAULT_ARCH } from "../../options.js";
import { DTYPES, isDType } from "../../types/dtype.js";
import { type DimValues, evaluateExtent } from "../../types/extent.js";
import { brokenRequirement } from "../../types/requirement.js";
import { sizeOf } from "../arrays.js";
import { UsageError } from "../../../errors.js";
import { compileGraph, type GraphCompileOptions } from "../compile.js";
import { type Graph, GRAPH_OPS } from "../graph.js";
import { type Lifetime, planBuffers } from "./buffers.js";
import { type ConversionSeconds, type Measured, type MeasuredConversions, nodeSeconds, readBytes } from "./baseline.js";
import { type Binding, type EdgeVerdict, type Lowered, namesIn, type Part, shapeOf, us } from "./partition.js";
import { asFx, CONVERTS, type FxGraph, isExchange } from "./fx.js";
import { type Realization, realize } from "./layouts.js";
import { Unfusable } from "./modes.js";
import { Region } from "./region.js";
import { type Dimensions, dimensionsOf, launchOf, shapeAt } from "./sizes.js";
import { fasterWithin, type TimesAt, timesOf } from "./times.js";

export interface LowerOptions extends Omit<GraphCompileOptions, "machine" | "dtype" | "mesh" | "variant" | "tuned"> {
  readonly machine?: Machine;
  /** Seconds that the caller has measured, by FX node, for nodes that it carries out itself; a conversion's name is NCCL's time. */
  readonly measured?: Measured;
  /** Goes before the model for conversions by themselves; `measured` goes before it. */
  readonly conversions?: MeasuredConversions;
  /** `model`: only what is predicted to be faster. `legal`: whatever is a graph, for looking into it and for tests. */
  readonly fuse?: "model" | "legal";
  /**
   * How the caller runs what stays with it: `nodes`, a kernel for each; `kernels`, one for elementwise operations and reductions along
   * one dimension that hang together, as Inductor does. Those become part of a program together, or else one by one.
   */
  readonly caller?: "nodes" | "kernels";
}

/**
 * Partitions a region.
 *
 * @param value checked as {@link asFx} does
 * @param options `library` and `resolve` as for `compile`: without the library, conversions alone have the compiler's own code
 * @throws UsageError for what is no FX graph; InternalCompilerError for a bug in the compiler
 */
export function lower(value: FxGraph, options: LowerOptions): Lowered {
  return new Partition(asFx(value), options).run();
}

interface Program {
  readonly realization: Realization;
  /** The process group that it is of. */
  readonly group: string;
  readonly seconds: number;
}

/** What is known of a graph, whatever its nodes are called: layers repeat. */
type Cost = { readonly seconds: number } | { readonly why: string };

interface Attempt {
  readonly program: Program | null;
  readonly why: string;
}

/** Two parts that become one, and what of a caller's kernel is left over. */
interface Fusion {
  readonly verdict: EdgeVerdict;
  readonly joined: readonly string[];
  readonly rest: readonly string[];
  /** Seconds. */
  readonly gain: number;
}

const fused = (verdict: EdgeVerdict, joined: readonly string[], rest: readonly string[]): Fusion => ({ verdict, joined, rest, gain: verdict.apart! - verdict.together! }); // prettier-ignore

class Partition {
  private readonly sizes: Dimensions;
  private readonly region: Region;
  /** Dimensions of programs where verdicts and memory are given, and those where times are asked for. */
  private readonly usual: DimValues;
  private dims: DimValues;
  private readonly fx: FxGraph;
  private readonly machine: Machine;
  /** The part that each atom is in, as the names of all that are. */
  private readonly partOf = new Map<string, readonly string[]>();
  /** The caller's kernel that an atom is in, as all of its atoms. */
  private readonly clusterOf = new Map<string, readonly string[]>();
  private readonly attempts = new Map<string, Attempt>();
  private readonly costs = new Map<string, Cost>();
  private readonly programs = new Map<Graph, CompileResult>();

  constructor(
    given: FxGraph,
    private readonly options: LowerOptions,
  ) {
    const { ranks, arch = DEFAULT_ARCH } = options;
    this.machine = options.machine ?? machineFor(arch, ranks);
    this.sizes = dimensionsOf(given);
    this.usual = this.dims = this.dimsAt(this.sizes.at);
    this.fx = this.sizes.fx;
    if (!Object.values(this.fx.groups).includes(ranks)) throw new UsageError(`no process group of the FX graph has ${ranks} ranks`, `its groups: ${Object.entries(this.fx.groups).map(([n, s]) => `${n} of ${s}`).join(", ")}`); // prettier-ignore
    this.region = new Region(this.fx);
    for (const atom of this.region.atoms) this.partOf.set(atom, [atom]);
    if (options.caller === "kernels") this.cluster();
  }

  private dimsAt(sizes: DimValues): DimValues {
    return Object.fromEntries(Object.entries(this.sizes.of).map(([dim, e]) => [dim, evaluateExtent(e, sizes)]));
  }

  /** Makes parts of what the caller runs as one kernel. */
  private cluster(): void {
    const folds = new Map<string, ReadonlySet<string>>();
    const isElementwise = (atom: string): boolean => {
      const own = this.region.computing(atom);
      folds.set(atom, new Set(own.filter((n) => n.dim !== undefined).map((n) => String(n.dim! - n.shape.length))));
      return own.every((n) => !CONVERTS.has(n.op) && (n.op === "number" || Object.hasOwn(GRAPH_OPS, n.op)) && !["matmul", "concat"].includes(n.op)); // prettier-ignore
    };
    const own = new Set(this.region.atoms.filter(isElementwise));
    for (const to of own)
      for (const from of this.region.makers.get(to)!) {
        const [a, b] = [this.partOf.get(from)!, this.partOf.get(to)!];
        if (!own.has(from) || a === b) continue;
        const dims = new Set([...a, ...b].flatMap((x) => [...folds.get(x)!]));
        const all = this.region.atoms.filter((x) => a.includes(x) || b.includes(x));
        if (dims.size > 1 || this.region.between(all) !== null || this.orderOfParts(all) === null) continue;
        for (const x of all) this.partOf.set(x, all);
      }
    for (const atom of own) this.clusterOf.set(atom, this.partOf.get(atom)!);
  }

  // -- programs ------------------------------------------------------------------------------------

  /** The program of some atoms, or why there is none. */
  private attempt(atoms: readonly string[]): Attempt {
    const key = atoms.join(" ");
    let made = this.attempts.get(key);
    if (made === undefined) this.attempts.set(key, (made = this.compiled(atoms)));
    return made;
  }

  private compiled(atoms: readonly string[]): Attempt {
    const { ranks } = this.options;
    const none = (why: string): Attempt => ({ program: null, why });
    const other = this.region.conversionsIn(atoms).find((n) => this.fx.groups[n.group!] !== ranks);
    if (other !== undefined)
      return none(`'${other.fx}' is of a group of ${this.fx.groups[other.group!]} ranks, not ${ranks}`);
    const [first, ...more] = this.region.conversionsIn(atoms);
    const apart = more.find((n) => n.group !== first!.group);
    if (apart !== undefined)
      return none(`'${first!.fx}' is of process group ${first!.group}, and '${apart.fx}' of ${apart.group}`);
    const group = first!.group!;
    const change = atoms.find((a) => this.region.effects.changes.has(a));
    if (change !== undefined) return none(`of '${change}': ${this.region.core.unknown.get(change)}`);
    const between = this.region.between(atoms);
    if (between !== null) return none(`'${between}' stands between them and is not in the program`);
    let realization: Realization;
    try {
      const name = atoms.length === 1 ? atoms[0]! : `${atoms[0]}_to_${atoms.at(-1)}`;
      realization = realize(`${this.fx.name ?? "region"}_${name}`, this.region.core, ranks, (n) => atoms.includes(n.fx), this.region.resultsOf(atoms), this.region.replicated.get(group)!); // prettier-ignore
    } catch (error) {
      if (error instanceof Unfusable) return none(error.message);
      throw error;
    }
    const common = this.region.common.get(group)!;
    const free = namesIn(realization.graph).find((name) => !common.has(name));
    if (free !== undefined) return none(`${showExtent(this.sizes.of[free]!)} may be another on each rank, for no conversion is of a tensor that long`); // prettier-ignore
    const key = shapeOf(realization.graph);
    let cost = this.costs.get(key);
    if (cost === undefined) this.costs.set(key, (cost = this.costOf(realization.graph)));
    return "why" in cost ? none(cost.why) : { program: { realization, group, seconds: cost.seconds }, why: "" };
  }

  private costOf(graph: Graph): Cost {
    const compiled = this.compile(graph);
    const [error] = compiled.diagnostics.filter((d) => d.severity === "error");
    if (error !== undefined) return { why: `the compiler refuses it: ${printDiagnostics([error], compiled.source).split("\n")[0]}` }; // prettier-ignore
    const broken = brokenRequirement(compiled.manifest!.requirements, this.dims);
    if (broken !== null) return { why: `it is not for the sizes that times are for: ${broken.message}` };
    return { seconds: this.graphSeconds(graph) };
  }

  /** Seconds of a graph's program: as measured, where it is a conversion and nothing else, and else as predicted. */
  private graphSeconds(graph: Graph): number {
    return this.conversionSeconds(graph)?.own ?? predictTime(this.compile(graph), this.dims, this.machine).total;
  }

  /** What was measured of a conversion that is all of a graph; null for other graphs. */
  private conversionSeconds(graph: Graph): ConversionSeconds | null {
    const { isMeasured, manifest } = this.compile(graph);
    const { conversions, ranks } = this.options;
    const conversion = graph.nodes.find(({ op }) => CONVERTS.has(op));
    if (!isMeasured || conversions === undefined || conversion === undefined) return null;
    const { inputs, plan } = manifest!;
    return conversions.seconds(conversion.op, inputs[0]!.dtype, ranks, evaluateExtent(plan.by, this.dims));
  }

  private compile(graph: Graph): CompileResult {
    let compiled = this.programs.get(graph);
    if (compiled === undefined) {
      const { measured: _, fuse: __, caller: ___, conversions, ...options } = this.options;
      const tuned = conversions === undefined ? {} : { tuned: conversions.tuned };
      this.programs.set(graph, (compiled = compileGraph(graph, { ...options, ...tuned, machine: this.machine })));
    }
    return compiled;
  }

  // -- costs ---------------------------------------------------------------------------------------

  /** Seconds of the caller's own way. Of a conversion NCCL's as measured, and where nobody has measured it, those of collc's own program for it. */
  private baselineOf(atom: string): number {
    const measured = [atom, ...this.region.absorbedBy(atom)].flatMap((name) => this.options.measured?.[name] ?? []);
    const floor = this.floorOf(atom, this.dims);
    // What was measured grows as the model says.
    if (measured.length > 0 && floor > 0)
      return (measured.reduce((a, b) => a + b) * floor) / this.floorOf(atom, this.usual);
    if (this.region.conversionsIn([atom]).length === 0) return floor;
    const { program } = this.attempt([atom]);
    if (program === null) return floor;
    return this.conversionSeconds(program.realization.graph)?.nccl ?? this.programSeconds(program);
  }

  private floorOf(atom: string, dims: DimValues): number {
    return this.region.isOfHost(atom) ? 0 : nodeSeconds(atom, this.region.core, this.machine, this.options.ranks, dims);
  }

  private programSeconds({ realization, seconds }: Program): number {
    return this.dims === this.usual ? seconds : this.graphSeconds(realization.graph);
  }

  /** Seconds of the caller's own way for some atoms, kernels of several nodes together. */
  private callerSeconds(atoms: readonly string[]): number {
    const kernels = new Set(atoms.map((a) => this.clusterOf.get(a) ?? [a]));
    return [...kernels].reduce((sum, kernel) => {
      const own = kernel.filter((a) => atoms.includes(a));
      return sum + (own.length === 1 ? this.baselineOf(own[0]!) : this.kernelSeconds(own));
    }, 0);
  }

  /** Seconds of one kernel of elementwise operations and reductions: it reads what others make once, and writes what others read. */
  private kernelSeconds(atoms: readonly string[]): number {
    const measured = atoms.flatMap((a) => this.options.measured?.[a] ?? []);
    if (measured.length === atoms.length) return atoms.reduce((sum, a) => sum + this.baselineOf(a), 0);
    const reads = new Set(atoms.flatMap((a) => this.region.computing(a).flatMap((n) => n.inputs)).filter((x): x is string => typeof x === "string" && !atoms.includes(this.region.fxOf(x)))); // prettier-ignore
    const bytes = (ids: Iterable<string>): number => [...ids].reduce((sum, id) => sum + readBytes(id, this.region.core, this.dims), 0); // prettier-ignore
    const operation = { loaded: bytes(reads), stored: bytes(this.region.resultsOf(atoms)), scalarOps: 0, tensorOps: 0 };
    return predictOperation(operation, this.machine);
  }

  private secondsOf(part: readonly string[]): number {
    if (this.region.conversionsIn(part).length === 0) return this.callerSeconds(part);
    if (part.length === 1) {
      const own = this.attempt(part).program?.seconds;
      return Math.min(this.baselineOf(part[0]!), own ?? Infinity);
    }
    return this.attempt(part).program!.seconds;
  }

  // -- partition -----------------------------------------------------------------------------------

  run(): Lowered {
    const edges = this.region.atoms.flatMap((to) => this.region.makers.get(to)!.map((from) => [from, to] as const));
    const verdicts = new Map<string, EdgeVerdict>();
    for (;;) {
      // What is fused first may stand in the way of others, so the edge that gains most goes first.
      let best: Fusion | null = null;
      for (const [from, to] of edges) {
        const fusion = this.fusionOf(from, to, verdicts);
        if (fusion !== null && (best === null || fusion.gain > best.gain)) best = fusion;
        if (best !== null && this.options.fuse === "legal") break;
      }
      if (best === null) break;
      const { verdict, joined, rest } = best;
      verdicts.set(`${verdict.from} ${verdict.to}`, verdict);
      for (const x of joined) this.partOf.set(x, joined);
      for (const x of rest) this.partOf.set(x, rest);
    }
    // What came together by another edge is together.
    for (const [from, to] of edges) {
      const key = `${from} ${to}`;
      const part = this.partOf.get(to)!;
      if (this.partOf.get(from) !== part || verdicts.get(key)?.isFused === true) continue;
      // The caller's own kernel is nothing that was decided.
      if (this.region.conversionsIn(part).length === 0) continue;
      verdicts.set(key, { from, to, isFused: true, why: "both are in one program by other edges", together: null, apart: null }); // prettier-ignore
    }
    const ordered = edges.flatMap(([from, to]) => verdicts.get(`${from} ${to}`) ?? []);
    return this.result(ordered);
  }

  /** What fusing across an edge makes, as parts are now; null where it is not fused, of which the reason goes to `verdicts`. */
  private fusionOf(from: string, to: string, verdicts: Map<string, EdgeVerdict>): Fusion | null {
    const [a, b] = [this.partOf.get(from)!, this.partOf.get(to)!];
    if (a === b) return null;
    const all = this.region.atoms.filter((x) => a.includes(x) || b.includes(x));
    if (this.region.conversionsIn(all).length === 0) {
      // A conversion that collc does not know could have been fused, too, if it did.
      const unknown = [from, to].find((x) => this.region.isUnknownExchange(x));
      if (unknown !== undefined) verdicts.set(`${from} ${to}`, { from, to, isFused: false, why: `of '${unknown}': ${this.region.core.unknown.get(unknown)}`, together: null, apart: null }); // prettier-ignore
      return null;
    }
    const verdict = this.verdictOf(from, to, a, b, all);
    if (!verdict.isFused) verdicts.set(`${from} ${to}`, verdict);
    return verdict.isFused ? fused(verdict, all, []) : this.withOneOf(from, to, a, b);
  }

  /** A program with one atom of a caller's kernel, where the whole kernel does not go into it; null if that does not, either. */
  private withOneOf(from: string, to: string, a: readonly string[], b: readonly string[]): Fusion | null {
    const [own, kernel, atom] = this.region.conversionsIn(a).length > 0 ? [a, b, to] : [b, a, from];
    if (kernel.length === 1 || this.region.conversionsIn(kernel).length > 0) return null;
    const rest = kernel.filter((x) => x !== atom);
    const all = this.region.atoms.filter((x) => own.includes(x) || x === atom);
    const { program } = this.attempt(all);
    if (program === null) return null;
    for (const x of rest) this.partOf.set(x, rest);
    const isInOrder = this.orderOfParts(all) !== null;
    for (const x of kernel) this.partOf.set(x, kernel);
    const together = program.seconds + this.callerSeconds(rest);
    const apart = this.secondsOf(own) + this.callerSeconds(kernel);
    if (!isInOrder || (this.options.fuse !== "legal" && together >= apart)) return null;
    return fused({ from, to, isFused: true, why: `${us(together)} together, ${us(apart)} apart`, together, apart }, all, rest); // prettier-ignore
  }

  private verdictOf(
    from: string,
    to: string,
    a: readonly string[],
    b: readonly string[],
    all: readonly string[],
  ): EdgeVerdict {
    const { program, why } = this.attempt(all);
    const refuse = (reason: string, together: number | null, apart: number | null): EdgeVerdict => ({ from, to, isFused: false, why: reason, together, apart }); // prettier-ignore
    if (program === null) return refuse(why, null, null);
    if (this.orderOfParts(all) === null) return refuse("another program would have to run both before and after it", null, null); // prettier-ignore
    const apart = this.secondsOf(a) + this.secondsOf(b);
    const { seconds: together } = program;
    if (this.options.fuse !== "legal" && together >= apart)
      return refuse(`together they are predicted to take ${us(together)}, apart ${us(apart)}`, together, apart);
    return { from, to, isFused: true, why: `${us(together)} together, ${us(apart)} apart`, together, apart };
  }

  private result(edges: readonly EdgeVerdict[]): Lowered {
    const order = this.orderOfParts()!;
    const parts = order.map((atoms) => this.part(atoms));
    const symmetric = new Set<string>();
    for (const p of parts)
      if (p.kind === "program") for (const b of [...p.inputs, ...p.outputs]) if (b.isSymmetric) symmetric.add(b.tensor);
    const programs = parts.flatMap((p, step) =>
      p.kind === "program" ? [{ step, manifest: p.compiled.manifest!, dims: this.dims }] : [],
    );
    return {
      name: this.fx.name ?? "region",
      ranks: this.options.ranks,
      machine: this.machine.name,
      conversions: this.options.conversions?.source ?? null,
      caller: this.options.caller ?? "nodes",
      sizes: this.fx.sizes ?? {},
      at: this.sizes.at,
      parts,
      edges,
      symmetric: [...symmetric],
      buffers: planBuffers(this.lifetimes(order, symmetric), programs),
      seconds: parts.reduce((sum, p) => sum + p.seconds, 0),
      baseline: parts.reduce((sum, p) => sum + p.baseline, 0),
    };
  }

  /** Parts, each behind those that it needs; null where there is no such order. @param joined atoms that are one part, too */
  private orderOfParts(joined: readonly string[] = []): (readonly string[])[] | null {
    const rest = new Set(this.region.atoms.map((a) => (joined.includes(a) ? joined : this.partOf.get(a)!)));
    const done = new Set<string>();
    const order: (readonly string[])[] = [];
    while (rest.size > 0) {
      const next = [...rest].find((p) =>
        p.every((a) => this.region.before.get(a)!.every((m) => done.has(m) || p.includes(m))),
      );
      if (next === undefined) return null;
      rest.delete(next);
      next.forEach((a) => done.add(a));
      order.push(next);
    }
    return order;
  }

  private part(atoms: readonly string[]): Part {
    const isConversion = (name: string): boolean => isExchange(this.fx.nodes.find((n) => n.name === name)!.target ?? ""); // prettier-ignore
    const baseline = this.callerSeconds(atoms);
    // What was taken in, and is needed by nobody else, comes back where it is carried out one by one.
    const nodes = atoms.flatMap((a) => [...this.region.absorbedBy(a), a]);
    const fallback = nodes.map((node) => ({ node, by: isConversion(node) ? ("nccl" as const) : ("caller" as const) }));
    const common = { nodes, baseline, fallback, seconds: this.secondsOf(atoms) };
    const external = (why: string): Part => ({ ...common, kind: "external", by: fallback[0]!.by, why });
    if (this.region.conversionsIn(atoms).length === 0)
      return external(this.region.core.unknown.get(atoms[0]!) ?? "it moves nothing between ranks");
    const { program, why } = this.attempt(atoms);
    if (program === null) return external(why);
    const { realization } = program;
    const isMeasured = this.conversionSeconds(realization.graph) !== null;
    if (atoms.length === 1 && baseline < program.seconds) return external(`${us(baseline)} was measured, ${us(program.seconds)} ${isMeasured ? "of" : "is predicted for"} collc's program`); // prettier-ignore
    const { graph } = realization;
    const compiled = this.compile(graph);
    const manifest = compiled.manifest!;
    const { syntax } = compiled.checked!;
    const launch = launchOf(this.sizes, namesIn(graph), manifest.requirements);
    const times = timesOf(launch, this.sizes, this.fx.sizes ?? {}, (sizes) => this.timesAt(program, atoms, sizes));
    const isGuarded = this.options.fuse !== "legal";
    const binding = (id: string, core: string, name: string): Binding => {
      const { op, shape, dtype, order } = this.region.core.nodes.get(core)!;
      return {
        id,
        name,
        tensor: this.region.nameOf(core),
        shape,
        ...(op === "placeholder" && order !== undefined ? { order } : {}),
        dtype,
        isSymmetric: manifest.symmetric.includes(name),
      };
    };
    return {
      ...common,
      kind: "program",
      group: program.group,
      graph,
      compiled,
      dims: launch.dims,
      guards: isGuarded ? [...launch.guards, ...times.flatMap(fasterWithin)] : launch.guards,
      times,
      inputs: graph.inputs.map(({ id }, i) => binding(id, realization.inputs.get(id)!, syntax.inputs[i]!.name.text)),
      outputs: graph.outputs.map(({ id }, i) =>
        binding(id, realization.outputs.get(id)!, syntax.outputs[i]!.name.text),
      ),
    };
  }

  /** What a program and the caller's own way take at sizes; null where the program is not for them. */
  private timesAt(program: Program, atoms: readonly string[], sizes: DimValues): TimesAt | null {
    this.dims = this.dimsAt(sizes);
    try {
      const { requirements } = this.compile(program.realization.graph).manifest!;
      if (brokenRequirement(requirements, this.dims) !== null) return null;
      return { at: sizes, seconds: this.programSeconds(program), baseline: this.callerSeconds(atoms) };
    } finally {
      this.dims = this.usual;
    }
  }

  /** Tensors between steps. Placeholders are the caller's, and so are results, which live on. */
  private lifetimes(order: readonly (readonly string[])[], symmetric: ReadonlySet<string>): Lifetime[] {
    const stepOf = (atom: string): number => order.findIndex((p) => p.includes(atom));
    return order.flatMap((atoms, from) =>
      this.region
        .resultsOf(atoms)
        .filter((id) => !this.region.isOfHost(this.region.fxOf(id)))
        .map((id): Lifetime => {
          const { shape, dtype } = this.region.core.nodes.get(id)!;
          const bytes = sizeOf(shapeAt(shape, this.dims)) * (isDType(dtype) ? DTYPES[dtype].bytes : 8);
          const readers = [...(this.region.readers.get(id) ?? [])].map(stepOf);
          const to = this.region.results.has(id) ? order.length : Math.max(from, ...readers);
          const tensor = this.region.nameOf(id);
          return { tensor, bytes, isSymmetric: symmetric.has(tensor), from, to };
        }),
    );
  }
}
