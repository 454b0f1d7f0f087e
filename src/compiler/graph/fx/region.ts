/** What an FX graph's nodes are to each other: which are needed, who reads whom, what every rank has. */
import { CONVERSIONS } from "../../check/functions.js";
import { type Core, coreOf, type CoreNode, VIEW_OPS } from "./core.js";
import { type Effects, effectsOf } from "./effects.js";
import { outputsOf } from "./evaluate.js";
import { CONVERTS, type FxGraph, type FxNode, isExchange, refsOf } from "./fx.js";
import { commonNames } from "./sizes.js";

export class Region {
  readonly core: Core;
  /** FX nodes that compute something which is needed, in order. */
  readonly atoms: readonly string[];
  /** By atom, those that it needs. */
  readonly makers = new Map<string, readonly string[]>();
  /** By atom, those that come before it: those that it needs, and all that stand on the other side of a change that others see. */
  readonly before = new Map<string, readonly string[]>();
  /** Nodes that change what others see, which are always the caller's. */
  readonly effects: Effects;
  /** By atom, those that have it `before` them. */
  readonly after: ReadonlyMap<string, readonly string[]>;
  /** By core value, the atoms that read it, through views. */
  readonly readers = new Map<string, Set<string>>();
  /** Core values that are given back. */
  readonly results: ReadonlySet<string>;
  /** By process group, core values that are the same on all of its ranks. */
  readonly replicated: ReadonlyMap<string, ReadonlySet<string>>;
  /** By process group, names of sizes that are the same on all of its ranks, for its conversions are of tensors that long. */
  readonly common: ReadonlyMap<string, ReadonlySet<string>>;
  /** Core nodes that results depend on, each with its number: whole models have thousands, so nothing goes through all of them for one. */
  private readonly live = new Map<string, number>();
  /** By atom, its number among all. */
  private readonly places: ReadonlyMap<string, number>;
  private readonly fxNodes: ReadonlyMap<string, FxNode>;
  /** By FX node, its core nodes, each with its number among all. */
  private readonly own = new Map<string, { readonly node: CoreNode; readonly at: number }[]>();
  /** By core value, the first FX node whose value it is. */
  private readonly names = new Map<string, string>();
  private readonly ofHost = new Map<string, boolean>();

  constructor(readonly fx: FxGraph) {
    this.effects = effectsOf(fx);
    this.core = coreOf(fx, this.effects);
    this.fxNodes = new Map(fx.nodes.map((n) => [n.name, n]));
    [...this.core.nodes.values()].forEach((node, at) => {
      const own = this.own.get(node.fx) ?? [];
      if (own.push({ node, at }) === 1) this.own.set(node.fx, own);
    });
    for (const [name, value] of this.core.values)
      if (value !== null && !this.names.has(value)) this.names.set(value, name);
    for (const name of [...this.effects.changes.keys(), ...this.effects.checks]) this.keep(name);
    const given = outputsOf(fx).map((name) => this.core.values.get(name) ?? name);
    given.forEach((id) => this.keep(id));
    this.results = new Set(given.flatMap((id) => this.basesOf(id)));
    this.atoms = fx.nodes.map((n) => n.name).filter((name) => this.computing(name).length > 0);
    this.places = new Map(this.atoms.map((atom, at) => [atom, at]));
    for (const atom of this.atoms) {
      const read = new Set(this.computing(atom).flatMap((n) => this.inputsOf(n).flatMap((x) => this.basesOf(x))));
      for (const id of read) {
        if (this.fxOf(id) === atom) continue;
        this.readers.set(id, (this.readers.get(id) ?? new Set()).add(atom));
      }
      this.makers.set(
        atom,
        [...new Set([...read].map((id) => this.fxOf(id)))].filter((m) => m !== atom),
      );
    }
    this.orderByChanges();
    const after = new Map<string, string[]>(this.atoms.map((atom) => [atom, []]));
    for (const [atom, before] of this.before) before.forEach((m) => after.get(m)!.push(atom));
    this.after = after;
    this.replicated = new Map(Object.keys(fx.groups).map((group) => [group, this.sameOn(group)]));
    const exchanged = this.conversionsIn(this.atoms);
    this.common = new Map(Object.keys(fx.groups).map((group) => [group, commonNames(exchanged.filter((n) => n.group === group).flatMap((n) => this.core.nodes.get(n.inputs[0] as string)!.shape))])); // prettier-ignore
  }

  /** A change comes behind all that stands before it, and before all that stands behind it. */
  private orderByChanges(): void {
    let since: string[] = [];
    let last: string[] = [];
    for (const atom of this.atoms) {
      const isChange = this.effects.changes.has(atom);
      this.before.set(atom, [...new Set([...this.makers.get(atom)!, ...last, ...(isChange ? since : [])])]);
      if (isChange) [since, last] = [[], [atom]];
      else since.push(atom);
    }
  }

  /** All core nodes of an FX node. */
  nodesOf(name: string): CoreNode[] {
    return (this.own.get(name) ?? []).map(({ node }) => node);
  }

  private liveOf(name: string): CoreNode[] {
    return this.nodesOf(name).filter((n) => this.live.has(n.id));
  }

  /** The core nodes of an atom that compute. */
  computing(atom: string): CoreNode[] {
    return this.liveOf(atom).filter((n) => !VIEW_OPS.has(n.op) && n.op !== "placeholder");
  }

  /**
   * Values that every rank of a group has: results of its conversions to all, what the caller says, and what is computed of such alone.
   * Of what another group's conversion gives, nobody knows whether ranks of this one have the same: each may be in another one of those.
   */
  private sameOn(group: string): Set<string> {
    const said = new Set(this.fx.nodes.filter((n) => n.replicated === true).map((n) => n.name));
    // What a change leaves there, each rank may have of its own.
    const changed = new Set([...this.effects.changes.values()].flat().flatMap((name) => this.memoryOf(this.core.values.get(name) ?? name))); // prettier-ignore
    const same = new Map<string, boolean>();
    const isSame = (id: string): boolean => {
      const known = same.get(id);
      if (known !== undefined) return known;
      const { op, fx, inputs, group: own } = this.core.nodes.get(id)!;
      const to = CONVERSIONS.get(op)?.to;
      const ofInputs = (): boolean => op !== "unknown" && inputs.every((x) => typeof x === "number" || isSame(x));
      const found = changed.has(id) ? false : op === "placeholder" ? said.has(fx) : to === undefined ? ofInputs() : to === "replicated" && own === group; // prettier-ignore
      same.set(id, found);
      return found;
    };
    return new Set([...this.core.nodes.keys()].filter(isSame));
  }

  /** The FX node that a core node is of. */
  fxOf(id: string): string {
    return this.core.nodes.get(id)!.fx;
  }

  /** What a core node is made of; of one that collc does not know, whatever FX says. */
  private inputsOf(node: CoreNode): (string | number)[] {
    if (node.op !== "unknown") return [...node.inputs, ...(node.into === undefined ? [] : [node.into])];
    return refsOf(this.fxNodes.get(node.fx)!).map((name) => this.core.values.get(name) ?? name);
  }

  private keep(id: string | number): void {
    const rest = [id];
    // Models are deeper than calls nest.
    for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
      const node = this.core.nodes.get(String(next));
      if (node === undefined || this.live.has(node.id)) continue;
      this.live.set(node.id, this.live.size);
      rest.push(...this.inputsOf(node).toReversed());
    }
  }

  /** The values that a value is made of, through views. */
  private basesOf(id: string | number): string[] {
    const node = typeof id === "string" ? this.core.nodes.get(id) : undefined;
    if (node === undefined || node.op === "placeholder") return [];
    return VIEW_OPS.has(node.op) ? node.inputs.flatMap((x) => this.basesOf(x)) : [node.id];
  }

  /** The core nodes whose memory a value may lie in. */
  private memoryOf(id: string | number): string[] {
    const node = this.core.nodes.get(String(id));
    if (node === undefined) return [];
    const others = VIEW_OPS.has(node.op) || node.op === "unknown" ? this.inputsOf(node) : [];
    return [node.id, ...others.flatMap((x) => this.memoryOf(x))];
  }

  /** Atoms in the order in which they stand. */
  inPlace(atoms: readonly string[]): string[] {
    return [...atoms].sort((a, b) => this.places.get(a)! - this.places.get(b)!);
  }

  /** Conversions of some atoms. */
  conversionsIn(atoms: readonly string[]): CoreNode[] {
    const found = atoms.flatMap((a) => (this.own.get(a) ?? []).filter(({ node: { op, id } }) => CONVERTS.has(op) && this.live.has(id))); // prettier-ignore
    return found.sort((a, b) => a.at - b.at).map(({ node }) => node);
  }

  /** Whether an FX node is a call that exchanges something between ranks. */
  isExchange(name: string): boolean {
    return isExchange(this.fxNodes.get(name)!.target ?? "");
  }

  /** Whether an atom exchanges something between ranks in a way that collc does not know. */
  isUnknownExchange(atom: string): boolean {
    return this.core.unknown.has(atom) && this.isExchange(atom);
  }

  /** Whether a node computes with sizes and truth values alone, as the host does: no tensor goes into it, and none comes out. */
  isOfHost(name: string): boolean {
    const known = this.ofHost.get(name);
    if (known !== undefined) return known;
    const node = this.fxNodes.get(name)!;
    const isCall = node.op === "call_function" && node.shape === undefined;
    const found = isCall && this.nodesOf(name).every((n) => n.dtype === "") && refsOf(node).every((r) => this.isOfHost(r)); // prettier-ignore
    this.ofHost.set(name, found);
    return found;
  }

  /** Values of atoms that others use. */
  resultsOf(atoms: readonly string[]): string[] {
    const inside = new Set(atoms);
    const isUsed = ({ id }: CoreNode): boolean =>
      this.results.has(id) || [...(this.readers.get(id) ?? [])].some((r) => !inside.has(r));
    const ids = [...inside].flatMap((a) => this.liveOf(a).filter(isUsed)).map(({ id }) => id);
    return ids.sort((a, b) => this.live.get(a)! - this.live.get(b)!);
  }

  /** The FX node whose value it is. */
  nameOf(id: string): string {
    return this.names.get(id) ?? this.fxOf(id);
  }

  /** An atom outside that some of these are needed for, and that others of them need; null if there is none. */
  between(atoms: readonly string[]): string | null {
    const inside = new Set(atoms);
    const places = atoms.map((a) => this.places.get(a)!);
    const [first, last] = [Math.min(...places), Math.max(...places)];
    // What is needed stands in front, so nothing before the first of them comes after one, and nothing behind the last before one.
    const isNear = (a: string): boolean => this.places.get(a)! > first && this.places.get(a)! < last;
    const after = new Set<string>();
    const later = [...atoms];
    for (let a = later.pop(); a !== undefined; a = later.pop())
      for (const next of this.after.get(a)!) {
        if (inside.has(next) || after.has(next) || !isNear(next)) continue;
        after.add(next);
        later.push(next);
      }
    const seen = new Set<string>();
    const rest = atoms.toReversed();
    for (let a = rest.pop(); a !== undefined; a = rest.pop()) {
      if (after.has(a)) return a;
      if (seen.has(a)) continue;
      seen.add(a);
      rest.push(
        ...this.before
          .get(a)!
          .filter((m) => inside.has(m) || isNear(m))
          .toReversed(),
      );
    }
    return null;
  }

  /** FX nodes that an atom does the work of, too, and that nobody else needs. */
  absorbedBy(atom: string): string[] {
    return this.liveOf(atom)
      .flatMap((n) => n.absorbs ?? [])
      .filter((name) => !this.before.has(name));
  }
}
