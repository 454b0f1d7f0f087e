/** What an FX graph's nodes are to each other: which are needed, who reads whom, what every rank has. */
import { CONVERSIONS } from "../../check/functions.js";
import { type Core, coreOf, type CoreNode, VIEW_OPS } from "./core.js";
import { type Effects, effectsOf } from "./effects.js";
import { outputsOf } from "./evaluate.js";
import { CONVERTS, type FxGraph, isExchange, refsOf } from "./fx.js";
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
  /** By core value, the atoms that read it, through views. */
  readonly readers = new Map<string, Set<string>>();
  /** Core values that are given back. */
  readonly results: ReadonlySet<string>;
  /** By process group, core values that are the same on all of its ranks. */
  readonly replicated: ReadonlyMap<string, ReadonlySet<string>>;
  /** By process group, names of sizes that are the same on all of its ranks, for its conversions are of tensors that long. */
  readonly common: ReadonlyMap<string, ReadonlySet<string>>;
  /** Core nodes that results depend on. */
  private readonly live = new Set<string>();

  constructor(readonly fx: FxGraph) {
    this.effects = effectsOf(fx);
    this.core = coreOf(fx, this.effects);
    for (const name of [...this.effects.changes.keys(), ...this.effects.checks]) this.keep(name);
    const given = outputsOf(fx).map((name) => this.core.values.get(name) ?? name);
    given.forEach((id) => this.keep(id));
    this.results = new Set(given.flatMap((id) => this.basesOf(id)));
    const live = [...this.core.nodes.values()].filter((n) => this.live.has(n.id));
    const computing = live.filter((n) => !VIEW_OPS.has(n.op) && n.op !== "placeholder");
    this.atoms = fx.nodes.map((n) => n.name).filter((name) => computing.some((n) => n.fx === name));
    for (const atom of this.atoms) {
      const read = new Set(computing.filter((n) => n.fx === atom).flatMap((n) => this.inputsOf(n).flatMap((x) => this.basesOf(x)))); // prettier-ignore
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

  /** The core nodes of an atom that compute. */
  computing(atom: string): CoreNode[] {
    return [...this.core.nodes.values()].filter((n) => n.fx === atom && this.live.has(n.id) && !VIEW_OPS.has(n.op) && n.op !== "placeholder"); // prettier-ignore
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
    return refsOf(this.fx.nodes.find((n) => n.name === node.fx)!).map((name) => this.core.values.get(name) ?? name);
  }

  private keep(id: string | number): void {
    const node = this.core.nodes.get(String(id));
    if (node === undefined || this.live.has(node.id)) return;
    this.live.add(node.id);
    this.inputsOf(node).forEach((x) => this.keep(x));
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

  /** Conversions of some atoms. */
  conversionsIn(atoms: readonly string[]): CoreNode[] {
    return [...this.core.nodes.values()].filter((n) => CONVERTS.has(n.op) && atoms.includes(n.fx) && this.live.has(n.id)); // prettier-ignore
  }

  /** Whether an atom exchanges something between ranks in a way that collc does not know. */
  isUnknownExchange(atom: string): boolean {
    return this.core.unknown.has(atom) && isExchange(this.fx.nodes.find((n) => n.name === atom)!.target ?? "");
  }

  /** Whether a node computes with sizes and truth values alone, as the host does: no tensor goes into it, and none comes out. */
  isOfHost(name: string): boolean {
    const node = this.fx.nodes.find((n) => n.name === name)!;
    if (node.op !== "call_function" || node.shape !== undefined) return false;
    const parts = [...this.core.nodes.values()].filter((n) => n.fx === name);
    return parts.every((n) => n.dtype === "") && refsOf(node).every((r) => this.isOfHost(r));
  }

  /** Values of atoms that others use. */
  resultsOf(atoms: readonly string[]): string[] {
    return [...this.live].filter((id) => atoms.includes(this.fxOf(id)) && (this.results.has(id) || [...(this.readers.get(id) ?? [])].some((r) => !atoms.includes(r)))); // prettier-ignore
  }

  /** The FX node whose value it is. */
  nameOf(id: string): string {
    return [...this.core.values].find(([, value]) => value === id)?.[0] ?? this.fxOf(id);
  }

  /** An atom outside that some of these are needed for, and that others of them need; null if there is none. */
  between(atoms: readonly string[]): string | null {
    const after = new Set<string>();
    for (const a of this.atoms)
      if (!atoms.includes(a) && this.before.get(a)!.some((m) => atoms.includes(m) || after.has(m))) after.add(a);
    const seen = new Set<string>();
    const walk = (name: string): string | null => {
      for (const m of this.before.get(name)!) {
        if (seen.has(m)) continue;
        seen.add(m);
        if (after.has(m)) return m;
        const found = walk(m);
        if (found !== null) return found;
      }
      return null;
    };
    for (const a of atoms) {
      const found = walk(a);
      if (found !== null) return found;
    }
    return null;
  }

  /** FX nodes that an atom does the work of, too, and that nobody else needs. */
  absorbedBy(atom: string): string[] {
    const live = [...this.core.nodes.values()].filter((n) => n.fx === atom && this.live.has(n.id));
    return live.flatMap((n) => n.absorbs ?? []).filter((name) => !this.atoms.includes(name));
  }
}
