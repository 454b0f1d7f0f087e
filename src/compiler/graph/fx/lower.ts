/**
 * Regions of an FX graph → programs. Each conversion, and what stands around it, is fused as far as the region is a graph and
 * the model says that one program is faster than the parts by themselves; everything else stays with the caller. Of each edge that
 * could have been fused, the result says whether it was, why, and what both would take.
 */
import { architectureOf } from "../../machine/architectures.js";
import { DEFAULT_ARCH } from "../../options.js";
import { DTYPES, isDType } from "../../types/dtype.js";
import { sizeOf } from "../arrays.js";
import { GRAPH_OPS } from "../graph.js";
import { Attempts, type LowerOptions } from "./attempts.js";
import { type Lifetime, planBuffers } from "./buffers.js";
import { asFx, CONVERTS, type FxGraph } from "./fx.js";
import { type Binding, type EdgeVerdict, type Lowered, namesIn, type Part, us } from "./partition.js";
import type { Region } from "./region.js";
import { launchOf, shapeAt } from "./sizes.js";
import { fasterWithin, timesOf } from "./times.js";

export type { LowerOptions } from "./attempts.js";

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

type Edge = readonly [from: string, to: string];

/** Two parts that become one, and what of a caller's kernel is left over. */
interface Fusion {
  readonly verdict: EdgeVerdict;
  readonly joined: readonly string[];
  readonly rest: readonly string[];
  /** Seconds. */
  readonly gain: number;
}

/** What fusing across an edge comes to, for the two parts that its nodes are in. */
interface Consideration {
  readonly parts: readonly [from: readonly string[], to: readonly string[]];
  /** What may be done, the first rather: both parts as one, or one of a caller's kernel. Each still has to leave an order of parts. */
  readonly ways: readonly Fusion[];
  /** Why both are not one; of parts that could be one, whether there is an order is for others to say. */
  readonly refusal: EdgeVerdict | null;
  /** Both as one, where that is a program. */
  readonly all: readonly string[] | null;
}

const fused = (verdict: EdgeVerdict, joined: readonly string[], rest: readonly string[]): Fusion => ({ verdict, joined, rest, gain: verdict.apart! - verdict.together! }); // prettier-ignore

class Partition {
  private readonly attempts: Attempts;
  private readonly region: Region;
  /** The part that each atom is in, as the names of all that are. */
  private readonly partOf = new Map<string, readonly string[]>();
  private readonly considered = new Map<string, Consideration>();

  constructor(
    given: FxGraph,
    private readonly options: LowerOptions,
  ) {
    this.attempts = new Attempts(given, options);
    this.region = this.attempts.region;
    for (const atom of this.region.atoms) this.partOf.set(atom, [atom]);
    if (options.caller === "kernels") this.cluster();
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
        if (dims.size > 1 || this.region.between(all) !== null || !this.isInOrder(all)) continue;
        for (const x of all) this.partOf.set(x, all);
      }
    for (const atom of own) this.attempts.clusterOf.set(atom, this.partOf.get(atom)!);
  }

  // -- partition -----------------------------------------------------------------------------------

  run(): Lowered {
    const edges = this.region.atoms.flatMap((to) => this.region.makers.get(to)!.map((from): Edge => [from, to]));
    const beside = new Map(this.region.atoms.map((atom): [string, Edge[]] => [atom, []]));
    for (const edge of edges) for (const atom of edge) beside.get(atom)!.push(edge);
    const verdicts = new Map<string, EdgeVerdict>();
    const ways = new Map(edges.map((edge) => [edge, this.consider(...edge).ways]));
    for (let best = this.bestOf(ways.values()); best !== null; best = this.bestOf(ways.values())) {
      const { verdict, joined, rest } = best;
      verdicts.set(`${verdict.from} ${verdict.to}`, verdict);
      for (const part of [joined, rest]) for (const x of part) this.partOf.set(x, part);
      for (const x of [...joined, ...rest])
        for (const edge of beside.get(x)!) ways.set(edge, this.consider(...edge).ways);
    }
    for (const [from, to] of edges) {
      const key = `${from} ${to}`;
      const part = this.partOf.get(to)!;
      if (this.partOf.get(from) !== part) {
        const refusal = this.refusalOf(from, to);
        if (refusal !== null) verdicts.set(key, refusal);
      } else if (verdicts.get(key)?.isFused !== true && this.region.conversionsIn(part).length > 0)
        // What came together by another edge is together. The caller's own kernel is nothing that was decided.
        verdicts.set(key, { from, to, isFused: true, why: "both are in one program by other edges", together: null, apart: null }); // prettier-ignore
    }
    const ordered = edges.flatMap(([from, to]) => verdicts.get(`${from} ${to}`) ?? []);
    return this.result(ordered);
  }

  /** What is fused next: what is fused first may stand in the way of others, so the edge that gains most goes first. */
  private bestOf(edges: Iterable<readonly Fusion[]>): Fusion | null {
    const isLegal = this.options.fuse === "legal";
    const open = [...edges].flatMap((ways) => (ways.length === 0 ? [] : [{ ways, most: Math.max(...ways.map((w) => w.gain)) }])); // prettier-ignore
    if (!isLegal) open.sort((a, b) => b.most - a.most);
    let best: Fusion | null = null;
    for (const { ways, most } of open) {
      if (best !== null && (isLegal || best.gain >= most)) break;
      const way = ways.find(({ joined }) => this.isInOrder(joined));
      if (way !== undefined && (best === null || way.gain > best.gain)) best = way;
    }
    return best;
  }

  /** Why an edge between two parts is not fused; null where there is nothing to be fused. */
  private refusalOf(from: string, to: string): EdgeVerdict | null {
    const { refusal, all } = this.consider(from, to);
    if (all === null || this.isInOrder(all)) return refusal;
    return { from, to, isFused: false, why: "another program would have to run both before and after it", together: null, apart: null }; // prettier-ignore
  }

  /** What fusing across an edge comes to, as parts are now. */
  private consider(from: string, to: string): Consideration {
    const [a, b] = [this.partOf.get(from)!, this.partOf.get(to)!];
    const key = `${from} ${to}`;
    const known = this.considered.get(key);
    if (known?.parts[0] === a && known.parts[1] === b) return known;
    const made = { parts: [a, b] as const, ...this.comparison(from, to, a, b) };
    this.considered.set(key, made);
    return made;
  }

  private comparison(
    from: string,
    to: string,
    a: readonly string[],
    b: readonly string[],
  ): Omit<Consideration, "parts"> {
    const { region, attempts } = this;
    if (a === b) return { ways: [], refusal: null, all: null };
    const all = region.inPlace([...a, ...b]);
    const refuse = (why: string, together: number | null, apart: number | null): EdgeVerdict => ({ from, to, isFused: false, why, together, apart }); // prettier-ignore
    if (region.conversionsIn(all).length === 0) {
      // A conversion that collc does not know could have been fused, too, if it did.
      const unknown = [from, to].find((x) => region.isUnknownExchange(x));
      const refusal = unknown === undefined ? null : refuse(`of '${unknown}': ${region.core.unknown.get(unknown)}`, null, null); // prettier-ignore
      return { ways: [], refusal, all: null };
    }
    const one = this.withOneOf(from, to, a, b);
    const { program, why } = attempts.attempt(all);
    if (program === null) return { ways: one, refusal: refuse(why, null, null), all: null };
    const apart = attempts.secondsOf(a) + attempts.secondsOf(b);
    const { seconds: together } = program;
    if (this.options.fuse !== "legal" && together >= apart)
      return { ways: one, refusal: refuse(`together they are predicted to take ${us(together)}, apart ${us(apart)}`, together, apart), all }; // prettier-ignore
    const verdict = { from, to, isFused: true, why: `${us(together)} together, ${us(apart)} apart`, together, apart };
    return { ways: [fused(verdict, all, []), ...one], refusal: null, all };
  }

  /** A program with one atom of a caller's kernel, where the whole kernel does not go into it; none if that does not, either. */
  private withOneOf(from: string, to: string, a: readonly string[], b: readonly string[]): Fusion[] {
    const { region, attempts } = this;
    const [own, kernel, atom] = region.conversionsIn(a).length > 0 ? [a, b, to] : [b, a, from];
    if (kernel.length === 1 || region.conversionsIn(kernel).length > 0) return [];
    const rest = kernel.filter((x) => x !== atom);
    const all = region.inPlace([...own, atom]);
    const { program } = attempts.attempt(all);
    if (program === null) return [];
    const together = program.seconds + attempts.callerSeconds(rest);
    const apart = attempts.secondsOf(own) + attempts.callerSeconds(kernel);
    if (this.options.fuse !== "legal" && together >= apart) return [];
    return [fused({ from, to, isFused: true, why: `${us(together)} together, ${us(apart)} apart`, together, apart }, all, rest)]; // prettier-ignore
  }

  private result(edges: readonly EdgeVerdict[]): Lowered {
    const { arch = DEFAULT_ARCH } = this.options;
    const order = this.orderOfParts();
    const parts = order.map((atoms) => this.part(atoms));
    const symmetric = new Set<string>();
    for (const p of parts)
      if (p.kind === "program") for (const b of [...p.inputs, ...p.outputs]) if (b.isSymmetric) symmetric.add(b.tensor);
    const programs = parts.flatMap((p, step) =>
      p.kind === "program" ? [{ step, manifest: p.compiled.manifest!, dims: this.attempts.usual }] : [],
    );
    return {
      name: this.attempts.sizes.fx.name ?? "region",
      ranks: this.options.ranks,
      machine: this.attempts.machine.name,
      standsFor: architectureOf(arch).name === architectureOf(this.attempts.machine.arch).name ? null : arch,
      conversions: this.options.conversions?.source ?? null,
      caller: this.options.caller ?? "nodes",
      sizes: this.attempts.sizes.fx.sizes ?? {},
      at: this.attempts.sizes.at,
      parts,
      edges,
      symmetric: [...symmetric],
      buffers: planBuffers(this.lifetimes(order, symmetric), programs),
      seconds: parts.reduce((sum, p) => sum + p.seconds, 0),
      baseline: parts.reduce((sum, p) => sum + p.baseline, 0),
    };
  }

  /** Parts, each behind those that it needs. */
  private orderOfParts(): (readonly string[])[] {
    const rest = new Set(this.region.atoms.map((a) => this.partOf.get(a)!));
    const done = new Set<string>();
    const order: (readonly string[])[] = [];
    const isReady = (part: readonly string[]): boolean =>
      part.every((a) => this.region.before.get(a)!.every((m) => done.has(m) || this.partOf.get(m) === part));
    while (rest.size > 0)
      for (const part of rest) {
        if (!isReady(part)) continue;
        rest.delete(part);
        part.forEach((a) => done.add(a));
        order.push(part);
        // The first that stands in the graph goes first.
        break;
      }
    return order;
  }

  /**
   * Whether there is an order of parts with some atoms as one of them, given that there is one as parts are: whether nothing that
   * comes behind them as a whole comes before them, too.
   */
  private isInOrder(joined: readonly string[]): boolean {
    const inside = new Set(joined);
    const seen = new Set<readonly string[]>([joined]);
    const rest = [joined];
    for (let part = rest.pop(); part !== undefined; part = rest.pop())
      for (const atom of part) {
        if (part !== joined && inside.has(atom)) continue;
        for (const next of this.region.after.get(atom)!) {
          if (inside.has(next)) {
            if (part !== joined) return false;
            continue;
          }
          const behind = this.partOf.get(next)!;
          if (seen.has(behind)) continue;
          seen.add(behind);
          rest.push(behind);
        }
      }
    return true;
  }

  private part(atoms: readonly string[]): Part {
    const { attempts } = this;
    const baseline = attempts.callerSeconds(atoms);
    // What was taken in, and is needed by nobody else, comes back where it is carried out one by one.
    const nodes = atoms.flatMap((a) => [...this.region.absorbedBy(a), a]);
    const fallback = nodes.map((node) => ({
      node,
      by: this.region.isExchange(node) ? ("nccl" as const) : ("caller" as const),
    }));
    const common = { nodes, baseline, fallback, seconds: attempts.secondsOf(atoms) };
    const external = (why: string): Part => ({ ...common, kind: "external", by: fallback[0]!.by, why });
    if (this.region.conversionsIn(atoms).length === 0)
      return external(this.region.core.unknown.get(atoms[0]!) ?? "it moves nothing between ranks");
    const { program, why } = attempts.attempt(atoms);
    if (program === null) return external(why);
    const { realization, graph } = program;
    const isMeasured = attempts.conversionSeconds(graph) !== null;
    if (atoms.length === 1 && baseline < program.seconds) return external(`${us(baseline)} was measured, ${us(program.seconds)} ${isMeasured ? "of" : "is predicted for"} collc's program`); // prettier-ignore
    const compiled = attempts.compile(graph);
    const manifest = compiled.manifest!;
    const { syntax } = compiled.checked!;
    const launch = launchOf(attempts.sizes, namesIn(graph), manifest.requirements);
    const times = timesOf(launch, attempts.sizes, attempts.sizes.fx.sizes ?? {}, (sizes) =>
      attempts.timesAt(program, atoms, sizes),
    );
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
      inputs: realization.graph.inputs.map(({ id }, i) =>
        binding(graph.inputs[i]!.id, realization.inputs.get(id)!, syntax.inputs[i]!.name.text),
      ),
      outputs: realization.graph.outputs.map(({ id }, i) =>
        binding(graph.outputs[i]!.id, realization.outputs.get(id)!, syntax.outputs[i]!.name.text),
      ),
    };
  }

  /** Tensors between steps. Placeholders are the caller's, and so are results, which live on. */
  private lifetimes(order: readonly (readonly string[])[], symmetric: ReadonlySet<string>): Lifetime[] {
    const steps = new Map(order.flatMap((atoms, step) => atoms.map((atom) => [atom, step])));
    return order.flatMap((atoms, from) =>
      this.region
        .resultsOf(atoms)
        .filter((id) => !this.region.isOfHost(this.region.fxOf(id)))
        .map((id): Lifetime => {
          const { shape, dtype } = this.region.core.nodes.get(id)!;
          const bytes = sizeOf(shapeAt(shape, this.attempts.usual)) * (isDType(dtype) ? DTYPES[dtype].bytes : 8);
          const readers = [...(this.region.readers.get(id) ?? [])].map((atom) => steps.get(atom)!);
          const to = this.region.results.has(id) ? order.length : Math.max(from, ...readers);
          const tensor = this.region.nameOf(id);
          return { tensor, bytes, isSymmetric: symmetric.has(tensor), from, to };
        }),
    );
  }
}
