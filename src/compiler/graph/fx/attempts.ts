/** What programs of some of a region's nodes there are, and what they and the caller's own way take. Layers repeat: what is alike is compiled once. */
import { showExtent } from "../../check/extents.js";
import { printDiagnostics } from "../../diagnostics/index.js";
import type { CompileResult } from "../../compiled.js";
import { predictTime } from "../../explain/explain.js";
import { predictOperation } from "../../machine/cost.js";
import { machineFor, type Machine } from "../../machine/machines.js";
import { DEFAULT_ARCH } from "../../options.js";
import { type DimValues, evaluateExtent } from "../../types/extent.js";
import { brokenRequirement } from "../../types/requirement.js";
import { UsageError } from "../../../errors.js";
import { compileGraph, type GraphCompileOptions } from "../compile.js";
import type { Graph } from "../graph.js";
import { type ConversionSeconds, type Measured, type MeasuredConversions, nodeSeconds, readBytes } from "./baseline.js";
import { CONVERTS, type FxGraph } from "./fx.js";
import { type Realization, realize } from "./layouts.js";
import { Unfusable } from "./modes.js";
import { namesIn, shapeOf } from "./partition.js";
import { Region } from "./region.js";
import { type Dimensions, dimensionsOf } from "./sizes.js";
import type { TimesAt } from "./times.js";

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

/** What some atoms are as a program. */
export interface Program {
  readonly realization: Realization;
  /** The first graph that is the same but for names: what was compiled, and is the program of all of them. */
  readonly graph: Graph;
  /** The process group that it is of. */
  readonly group: string;
  readonly seconds: number;
}

/** What is known of a graph, whatever its nodes are called: layers repeat. */
type Cost = { readonly seconds: number } | { readonly why: string };

export interface Attempt {
  readonly program: Program | null;
  readonly why: string;
}

export class Attempts {
  readonly sizes: Dimensions;
  readonly region: Region;
  readonly machine: Machine;
  /** Dimensions of programs where verdicts and memory are given. */
  readonly usual: DimValues;
  /** The caller's kernel that an atom is in, as all of its atoms. */
  readonly clusterOf = new Map<string, readonly string[]>();
  private readonly fx: FxGraph;
  /** Those where times are asked for. */
  private dims: DimValues;
  private readonly attempts = new Map<string, Attempt>();
  /** By shape, the first graph of it. */
  private readonly graphs = new Map<string, Graph>();
  private readonly costs = new Map<Graph, Cost>();
  private readonly programs = new Map<Graph, CompileResult>();
  /** By graph and its dimensions. */
  private readonly times = new Map<Graph, Map<string, number>>();

  constructor(
    given: FxGraph,
    private readonly options: LowerOptions,
  ) {
    const { ranks, arch = DEFAULT_ARCH } = options;
    this.machine = options.machine ?? machineFor(arch, ranks);
    this.sizes = dimensionsOf(given);
    this.usual = this.dims = this.dimsAt(this.sizes.at);
    this.fx = this.sizes.fx;
    if (!Object.values(this.fx.groups).includes(ranks)) throw new UsageError(`no process group of the FX graph has ${ranks} ranks`, Object.keys(this.fx.groups).length === 0 ? 'list them: { "groups": { "0": 4 } }' : `its groups: ${Object.entries(this.fx.groups).map(([n, s]) => `${n} of ${s}`).join(", ")}`); // prettier-ignore
    this.region = new Region(this.fx);
  }

  private dimsAt(sizes: DimValues): DimValues {
    return Object.fromEntries(Object.entries(this.sizes.of).map(([dim, e]) => [dim, evaluateExtent(e, sizes)]));
  }

  /** The program of some atoms, or why there is none. */
  attempt(atoms: readonly string[]): Attempt {
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
    const graph = this.graphs.get(key) ?? realization.graph;
    this.graphs.set(key, graph);
    let cost = this.costs.get(graph);
    if (cost === undefined) this.costs.set(graph, (cost = this.costOf(graph)));
    return "why" in cost ? none(cost.why) : { program: { realization, graph, group, seconds: cost.seconds }, why: "" };
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
    const key = JSON.stringify(namesIn(graph).map((name) => this.dims[name]));
    const times = this.times.get(graph) ?? new Map<string, number>();
    this.times.set(graph, times);
    const known = times.get(key);
    if (known !== undefined) return known;
    const found = this.conversionSeconds(graph)?.own ?? predictTime(this.compile(graph), this.dims, this.machine).total;
    times.set(key, found);
    return found;
  }

  /** What was measured of a conversion that is all of a graph; null for other graphs. */
  conversionSeconds(graph: Graph): ConversionSeconds | null {
    const { isMeasured, manifest } = this.compile(graph);
    const { conversions, ranks } = this.options;
    const conversion = graph.nodes.find(({ op }) => CONVERTS.has(op));
    if (!isMeasured || conversions === undefined || conversion === undefined) return null;
    const { inputs, plan } = manifest!;
    return conversions.seconds(conversion.op, inputs[0]!.dtype, ranks, evaluateExtent(plan.by, this.dims));
  }

  /** The program of a graph of an {@link attempt}. */
  compile(graph: Graph): CompileResult {
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
  baselineOf(atom: string): number {
    const measured = [atom, ...this.region.absorbedBy(atom)].flatMap((name) => this.options.measured?.[name] ?? []);
    const floor = this.floorOf(atom, this.dims);
    // What was measured grows as the model says.
    if (measured.length > 0 && floor > 0)
      return (measured.reduce((a, b) => a + b) * floor) / this.floorOf(atom, this.usual);
    if (this.region.conversionsIn([atom]).length === 0) return floor;
    const { program } = this.attempt([atom]);
    if (program === null) return floor;
    return this.conversionSeconds(program.graph)?.nccl ?? this.programSeconds(program);
  }

  private floorOf(atom: string, dims: DimValues): number {
    return this.region.isOfHost(atom)
      ? 0
      : nodeSeconds(atom, this.region.nodesOf(atom), this.region.core, this.machine, this.options.ranks, dims);
  }

  private programSeconds({ graph, seconds }: Program): number {
    return this.dims === this.usual ? seconds : this.graphSeconds(graph);
  }

  /** Seconds of the caller's own way for some atoms, kernels of several nodes together. */
  callerSeconds(atoms: readonly string[]): number {
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

  /** Seconds of a part: as a program, or in the caller's own way, whichever is faster of a conversion by itself. */
  secondsOf(part: readonly string[]): number {
    if (this.region.conversionsIn(part).length === 0) return this.callerSeconds(part);
    if (part.length === 1) {
      const own = this.attempt(part).program?.seconds;
      return Math.min(this.baselineOf(part[0]!), own ?? Infinity);
    }
    return this.attempt(part).program!.seconds;
  }

  /** What a program and the caller's own way take at sizes; null where the program is not for them. */
  timesAt(program: Program, atoms: readonly string[], sizes: DimValues): TimesAt | null {
    this.dims = this.dimsAt(sizes);
    try {
      const { requirements } = this.compile(program.graph).manifest!;
      if (brokenRequirement(requirements, this.dims) !== null) return null;
      return { at: sizes, seconds: this.programSeconds(program), baseline: this.callerSeconds(atoms) };
    } finally {
      this.dims = this.usual;
    }
  }
}
