/**
 * A kernel whose blocks go through rows in rounds, without rounds: in place of them are loops over elements, and what rows fold to comes from
 * inputs. What is folded goes to outputs. docs/PROOF.md, "Rows", says why what holds of the one holds of the other.
 */
import { Builder } from "../../ir/builder.js";
import { bufferOf, type Buffer, freshName, type Kernel, type Op, type Region, text, type Value } from "../../ir/module.js"; // prettier-ignore
import type { BinaryFunction } from "../../ir/ops.js";
import { scalar, scalarOf } from "../../ir/types.js";
import { problemsOf } from "../../ir/verify.js";
import { buffersNamed, walkKernel } from "../../ir/visit.js";
import type { SignatureTensor } from "../../manifest.js";
import type { Span } from "../../source.js";
import { demand, NotShown } from "./conditions.js";
import { type Expression, type Expressions, unlimited } from "./expressions.js";
import type { Footprints } from "./footprints.js";
import { type NamedFold, withFolds, withParts } from "./row-answers.js";
import type { RowLoop } from "./row-loops.js";
import { foldTree, partsOf, type Tree } from "./row-trees.js";
import type { Walk } from "./stretches.js";

/** Rounds as a rank comes to them, in each launch. */
interface RankRounds {
  readonly rank: number;
  readonly loop: RowLoop;
}

/**
 * @param walks of each rank, in launches of either parity
 * @throws NotShown
 */
export function withoutRounds(
  kernel: Kernel,
  expressions: Expressions,
  footprints: Footprints,
  walks: readonly Walk[],
): Kernel {
  // prettier-ignore
  const found = new Map<string, RankRounds & { readonly op: number }>();
  for (const { rank, stretches } of walks)
    for (const [op, { rounds }] of stretches.entries()) {
      if (rounds === null) continue;
      const loop = footprints.loopOf(rounds);
      for (const other of found.values()) {
        if (other.rank !== rank || other.loop.rounds.op !== rounds.op) continue;
        if (other.op !== op) throw new NotShown("a launch comes to rounds several times", rounds.span);
        if (other.loop !== loop) throw new NotShown("rounds of one launch are others than those of the next", rounds.span); // prettier-ignore
      }
      found.set(`${rank} ${op}`, { rank, op, loop });
    }
  const all = [...found.values()];
  return new WithoutRounds(kernel, expressions, all).make();
}

class WithoutRounds {
  private readonly folds = new Map<string, NamedFold>();
  private readonly span: Span;
  /** The tensor that has all rows, as ranks go through them. */
  private readonly rows: SignatureTensor;
  /** Buffers of one element for each row. */
  private readonly ofRows = new Set<string>();

  constructor(
    private readonly kernel: Kernel,
    private readonly expressions: Expressions,
    private readonly found: readonly RankRounds[],
  ) {
    const [{ loop }] = found as readonly [RankRounds];
    this.span = loop.rounds.span;
    this.rows = this.tensorOf(loop);
    for (const { loop: other } of found) {
      if (this.tensorOf(other) !== this.rows) throw new NotShown("rounds go through several kinds of rows", this.span);
      for (const [buffer, { where }] of other.lie) if (where === "row") this.ofRows.add(buffer);
      this.name(other);
    }
    this.checkRows();
    this.checkOrders();
  }

  private tensorOf({ all, row, rounds }: RowLoop): SignatureTensor {
    const { expressions, kernel } = this;
    const count = unlimited(all, expressions) ?? all;
    const tensor = [...kernel.inputs, ...kernel.outputs].find(
      ({ localShape: [m, n, ...more] }) =>
        n !== undefined && more.length === 0 && expressions.extent(m!) === count && expressions.extent(n) === row,
    );
    if (tensor === undefined) throw new NotShown("rows are no tensor's", rounds.span);
    return tensor;
  }

  /** Names folds, each after those that it is made of. */
  private name({ stores }: RowLoop): void {
    for (const { tree } of stores.values())
      for (const part of partsOf(tree)) {
        if (part.kind !== "fold" || this.folds.has(part.key)) continue;
        const number = this.folds.size + 1;
        const [input, output] = [freshName(this.kernel, `fold${number}`), freshName(this.kernel, `folded${number}`)];
        this.folds.set(part.key, { fold: part.fold, input: `${input}_in`, output: `${output}_out` });
      }
  }

  /** What has one element for each row is a tensor or scratch that nothing but rounds touches: here it has one for each place of the row. */
  private checkRows(): void {
    const { kernel, span } = this;
    const rounds = new Set(this.found.map(({ loop }) => loop.rounds.op));
    walkKernel(kernel, (op, parents) => {
      if (op.name !== "load" && op.name !== "store") return;
      if (!this.ofRows.has(text(op, "buffer")) || parents.some((p) => rounds.has(p))) return;
      throw new NotShown(`'${text(op, "buffer")}' is touched outside of rounds, too`, op.span);
    });
    for (const buffer of this.ofRows)
      if (bufferOf(kernel, buffer).role !== "scratch" && !this.isColumn(buffer)) throw new NotShown(`'${buffer}' has one element for each row`, span); // prettier-ignore
    for (const { loop } of this.found)
      for (const [buffer, { where, base }] of loop.lie)
        if (where === "column" && (base.kind !== "constant" || base.value !== 0))
          throw new NotShown(`columns of '${buffer}' do not begin with it`, span);
  }

  /** Whether a tensor is one of the callers' with one element for each row, of rows that are not cut. */
  private isColumn(name: string): boolean {
    const { role } = bufferOf(this.kernel, name);
    if (role !== "input" && role !== "output") return false;
    const { shape } = this.signed(name);
    return shape.length === 2 && shape[1] === 1 && !this.isCut;
  }

  private signed(name: string): SignatureTensor {
    return [...this.kernel.inputs, ...this.kernel.outputs].find((t) => t.name === name)!;
  }

  /** A tensor as it is here: with an element for each place of a row, in place of one for each row. */
  private widened(t: SignatureTensor): SignatureTensor {
    if (!this.ofRows.has(t.name)) return t;
    const { shape, localShape } = this.rows;
    return { ...t, shape: [t.shape[0]!, shape[1]!], localShape: [t.localShape[0]!, localShape[1]!] };
  }

  /** Whether ranks have parts of rows. */
  private get isCut(): boolean {
    const layout = this.layout();
    return layout.kind === "sharded" && layout.dim === 1;
  }

  /** Where several ranks make the same rows, they fold them up in one order. */
  private checkOrders(): void {
    const { found, span } = this;
    if (this.layout().kind !== "replicated") return;
    const known = new Map<Op, RowLoop>();
    for (const { loop } of found) {
      const { op } = loop.rounds;
      const isOne = loop.isOfOneOrder && (known.get(op) ?? loop) === loop;
      demand("one order", isOne, "ranks may fold up a row in different orders", span);
      known.set(op, loop);
    }
  }

  private layout(): SignatureTensor["layout"] {
    const { layout, shape, localShape } = this.rows;
    if (this.kernel.mesh.length > 0) throw new NotShown("ranks of a mesh go through rows", this.span);
    // Of rows that are cut, each rank folds up its own part.
    if (layout.kind === "sharded" && layout.dim <= 1 && layout.axis === undefined) return layout;
    const isWhole = layout.kind !== "sharded" && JSON.stringify(shape) === JSON.stringify(localShape);
    if (!isWhole) throw new NotShown("no rank has whole rows", this.span);
    return { kind: "replicated" };
  }

  make(): Kernel {
    const { kernel, folds, rows, ofRows, span } = this;
    const loops = new Map<Op, RankRounds[]>();
    for (const f of this.found) loops.set(f.loop.rounds.op, [...(loops.get(f.loop.rounds.op) ?? []), f]);
    const body = without(kernel.body, (op) => {
      const own = loops.get(op);
      return own === undefined ? null : this.replaced(own);
    });
    const layout = this.layout();
    const { shape, localShape } = rows;
    const tensors = (name: (f: NamedFold) => string): SignatureTensor[] =>
      [...folds.values()].map((f) => ({ name: name(f), dtype: "f32", layout, shape, localShape }));
    const [inputs, outputs] = [tensors((f) => f.input), tensors((f) => f.output)];
    const bufferFor = ({ name }: SignatureTensor, role: Buffer["role"]): Buffer => ({ name, role, dtype: "f32", shape: localShape, symmetric: false }); // prettier-ignore
    const used = new Set(body.ops.flatMap(buffersNamed));
    const names = new Set([...kernel.inputs, ...kernel.outputs].map((t) => t.name));
    const given = kernel.buffers
      .filter((b) => used.has(b.name) || names.has(b.name))
      .map((b) => {
        if (!ofRows.has(b.name)) return b;
        return { ...b, shape: names.has(b.name) ? this.widened(this.signed(b.name)).localShape : localShape };
      });
    const answers = (this.isCut ? withParts : withFolds)(kernel, [...folds.values()], rows, span);
    const { clauses } = kernel;
    const ensures = [...(clauses?.ensures ?? []), ...outputs.map(() => null)];
    const made: Kernel = {
      ...kernel,
      ...(clauses === undefined ? {} : { clauses: { ...clauses, ensures } }),
      inputs: [...kernel.inputs.map((t) => this.widened(t)), ...inputs],
      outputs: [...kernel.outputs.map((t) => this.widened(t)), ...outputs],
      specification: answers,
      buffers: [...given, ...inputs.map((t) => bufferFor(t, "input")), ...outputs.map((t) => bufferFor(t, "output"))],
      body,
    };
    const [problem] = problemsOf(made);
    if (problem !== undefined) throw new NotShown(`what is left without rounds is no kernel: ${problem.message}`, span);
    return made;
  }

  // -- loops ----------------------------------------------------------------------------------------------------------

  /** The loops of all ranks. What they count, and where their rows begin, stands before them. */
  private replaced(found: readonly RankRounds[]): readonly Op[] {
    const b = new Builder(this.span);
    const [first] = found as readonly [RankRounds];
    const isOne = found.every(({ loop }) => loop === first.loop);
    const loops = (isOne ? [first] : found).map((f) => ({ ...f, make: this.loop(b, f.loop) }));
    if (isOne) loops[0]!.make();
    else for (const { rank, make } of loops) b.if(b.compare("eq", b.rank(), b.constant(rank)), make);
    // As threads do at the ends of rounds.
    b.op("block_sync", [], {}, null);
    return b.ops;
  }

  private loop(b: Builder, loop: RowLoop): () => void {
    const [zero, one] = [b.constant(0), b.constant(1)];
    const [m, n] = this.rows.localShape.map((e) => b.extent(e)) as [Value, Value];
    const count = b.binary("max", b.mul(m, n), zero);
    const bases = new Map<string, Value>();
    for (const [buffer, { where, base }] of loop.lie) {
      const from = this.number(b, base);
      bases.set(buffer, where === "row" ? b.mul(from, n) : from);
    }
    return () => {
      b.for("blocks", [[zero, count]], ([o]) => {
        b.for("threads", [[zero, one]], ([t]) => {
          this.elements(b, loop, bases, b.add(o!, t!), n);
        });
      });
    };
  }

  private number(b: Builder, e: Expression): Value {
    switch (e.kind) {
      case "constant":
        return b.constant(e.value);
      case "dim":
        return b.dim(e.name);
      case "apply": {
        const of = e.of.map((x) => this.number(b, x));
        if (of.length === 2 && ["add", "sub", "mul", "div", "rem", "min", "max"].includes(e.fn))
          return b.binary(e.fn as BinaryFunction, of[0]!, of[1]!);
      }
    }
    throw new NotShown("where rows begin is not followed", this.span);
  }

  /** What is done with one element: all is read before anything is stored. */
  private elements(b: Builder, loop: RowLoop, bases: ReadonlyMap<string, Value>, at: Value, row: Value): void {
    const made = new Map<string, Value>();
    const indexOf = (buffer: string): Value => {
      const { where } = loop.lie.get(buffer)!;
      if (where === "column") return b.rem(at, row);
      return b.add(bases.get(buffer)!, at);
    };
    const valueOf = (tree: Tree): Value => {
      let value = made.get(tree.key);
      if (value === undefined) made.set(tree.key, (value = make(tree)));
      return value;
    };
    const make = (tree: Tree): Value => {
      switch (tree.kind) {
        case "op": {
          const of = tree.of.map(valueOf);
          return b.op(tree.op.name, of, tree.op.attributes, scalar(scalarOf(tree.op.results[0]!.type)))!;
        }
        case "load": {
          const peer = tree.owner < 0 ? null : b.constant(tree.owner);
          return b.load(tree.buffer, [indexOf(tree.buffer)], scalar(tree.type), peer);
        }
        case "fold":
          return b.load(this.folds.get(tree.key)!.input, [at], scalar("f32"));
        case "length":
          throw new NotShown("an element is made of a length", this.span);
      }
    };
    const stores = [...loop.stores].map(([buffer, { tree, owners }]) => ({ buffer, owners, value: valueOf(tree) }));
    const folded = [...loop.stores.values()].flatMap(({ tree }) => partsOf(tree));
    const own = new Set(folded.flatMap((t) => (t.kind === "fold" ? [t.key] : [])));
    const parts = [...this.folds.values()].filter(({ fold }) => own.has(foldTree(fold).key));
    for (const { fold, output } of parts) b.store(output, valueOf(fold.of), [at]);
    for (const { buffer, owners, value } of stores)
      for (const owner of owners) b.store(buffer, value, [indexOf(buffer)], owner < 0 ? null : b.constant(owner));
  }
}

/** A region with other ops in place of some. */
function without(region: Region, replaced: (op: Op) => readonly Op[] | null): Region {
  const ops = region.ops.flatMap((op) => {
    const other = replaced(op);
    if (other !== null) return other;
    return op.regions.length === 0 ? [op] : [{ ...op, regions: op.regions.map((r) => without(r, replaced)) }];
  });
  return { ...region, ops };
}
