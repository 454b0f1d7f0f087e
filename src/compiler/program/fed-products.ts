/**
 * Products whose operand the copy engines gather while they go on. What movers would send (`passes/support/product-movers.ts`), a rank's engine
 * copies to one peer after the other, part by part of the depth, and behind each part a word that counts launches; the product awaits the words of
 * the rows that it comes to. So no multiprocessor sends anything.
 *
 * Four steps: a kernel that counts the launch, behind the barrier that says that ranks may be sent to; the copies to peers, beside what follows; what
 * this rank copies for itself; and the kernel with the product. The driver copies within one GPU with multiprocessors, which the product leaves none of:
 * that comes before it, and needs no word. What is proved is the kernel that they are cut from, in which movers send the same rows and tell of them.
 */
import { type Buffer, freshName, isParameter, type Kernel, type Op } from "../ir/module.js";
import { buffersNamed } from "../ir/visit.js";
import type { Copy, CopyEnd } from "../manifest-steps.js";
import { inferSymmetric } from "../passes/infer-symmetric.js";
import type { PassOptions } from "../passes/options.js";
import { Definitions } from "../passes/support/analysis.js";
import type { Contraction } from "../passes/support/contraction.js";
import { copyLists } from "../passes/support/copies.js";
import { findProducts } from "../passes/support/found-products.js";
import { productGroups } from "../passes/support/product-groups.js";
import { isBarrier, isReadElsewhere, type Movers, moversFor } from "../passes/support/product-movers.js";
import { repeatableOps } from "../passes/support/repeatable.js";
import { roleShape } from "../passes/support/role-shape.js";
import { extent, type Extent } from "../types/extent.js";
import { type KernelStep, memoryName } from "./steps.js";

/**
 * Parts of what all ranks send one, each with a word of its own: a tile is multiplied as far as its rows have come. An engine takes some µs from one to
 * the next (`copyNext`); on 2×H200, 2 to 8 parts of a shard took as long as each other, one up to 4 % longer (2026-11-29).
 */
const PARTS = 8;

/** The product that is fed, and what feeds it. */
interface Fed {
  readonly loop: Op;
  /** Loops of the products that go together with it. */
  readonly group: readonly Op[];
  readonly match: Contraction;
  readonly movers: Movers;
}

/**
 * The steps of a kernel as derive-sync left it.
 * @returns null where the options do not ask for it, and where the kernel does something else before it gathers than to meet, or engines cannot copy
 *   what it gathers
 */
export function fedSteps(
  kernel: Kernel,
  { copies, roles }: Pick<PassOptions, "copies" | "roles">,
): readonly KernelStep[] | null {
  if (copies !== "beside" || roles === null) return null;
  const definitions = new Definitions(kernel);
  const fed = fedProduct(kernel, definitions);
  if (fed === null) return null;
  const { begin, send, isDeep } = fed.movers;
  const isCopied = (b: Buffer): boolean => isParameter(b) || b.role === "scratch";
  const lists = copyLists([send], kernel, definitions, isCopied);
  if (lists === null || lists.some((list) => list.length !== kernel.world)) return null;
  const parts = isDeep && lists[0]![0]!.rows !== 1 ? Math.max(1, Math.floor(PARTS / kernel.world)) : 1;
  const names = { arrived: freshName(kernel, "arrived"), sent: freshName(kernel, "sent") };
  const memory = (name: string): { readonly memory: string } => ({ memory: memoryName(kernel, name) });
  const words: readonly Buffer[] = [
    { name: names.arrived, role: "signal", dtype: "u32", shape: [kernel.world, parts], symmetric: false, ...memory(names.arrived) }, // prettier-ignore
    { name: names.sent, role: "state", dtype: "u32", shape: [1], symmetric: false, ...memory(names.sent) },
  ];
  const gathered = fed.match[fed.movers.operand].buffer;
  const shape = roleShape(fed.match, roles);
  const size = fed.movers.operand === "a" ? shape.m : shape.n;
  const cut = { parts, k: shape.k, own: ownShare(fed, size, kernel, definitions) };
  const kernelOf = (number: number, ops: readonly Op[]): Kernel => {
    const used = new Set(ops.flatMap(buffersNamed));
    const buffers = [...kernel.buffers, ...words]
      .filter((b) => isParameter(b) || used.has(b.name))
      .map((b) => ({ ...b, symmetric: false, ...(b.name === gathered ? memory(gathered) : {}) }));
    const own = { ...kernel, name: `${kernel.name}_${number}`, buffers, body: { arguments: [], ops } };
    // What engines store on peers is not this kernel's to reach.
    const reached = inferSymmetric({
      ...own,
      body: { arguments: [], ops: ops.filter((op) => op.attributes["arrived"] === undefined) },
    });
    return { ...own, buffers: reached.buffers };
  };
  const repeatable = repeatableOps(kernel);
  const rest = kernel.body.ops
    .filter((op) => op !== begin)
    .map((op) => (op === send ? { ...op, attributes: { ...op.attributes, ...names } } : op));
  const none = { operands: [], results: [], regions: [], span: send.span };
  const count: Op = { ...none, name: "count_launch", attributes: { sent: names.sent } };
  return [
    { kind: "launch", kernel: kernelOf(0, [...repeatable, ...(begin === null ? [] : [begin]), count]) },
    {
      kind: "copy",
      beside: true,
      copies: lists.map((list, rank) => copiesToPeers(list, rank, kernel, gathered, names, cut)),
    },
    { kind: "copy", copies: lists.map((list, rank) => copiesForItself(list, rank, kernel, gathered, cut)) },
    { kind: "launch", kernel: kernelOf(1, rest) },
  ];
}

/** The one product of a kernel that is fed by what the kernel does first. */
function fedProduct(kernel: Kernel, definitions: Definitions): Fed | null {
  const { found, byRoles } = findProducts(kernel, definitions, { tiles: true, roles: true });
  if (!byRoles) return null;
  const [fed, ...others] = [...found].flatMap(([loop, match]): Fed[] => {
    const movers = moversFor(loop, match, kernel, definitions);
    if (movers === null) return [];
    const groups = productGroups(kernel, found, new Map([[loop, movers]]), definitions);
    return [{ loop, match, movers, group: groups.find((g) => g.includes(loop))! }];
  });
  if (fed === undefined || others.length > 0) return null;
  const { begin, send } = fed.movers;
  const repeatable = repeatableOps(kernel);
  const [first] = kernel.body.ops.filter((op) => !repeatable.has(op));
  return first === (begin ?? send) && (begin === null || isBarrier(begin, "block")) ? fed : null;
}

/** What of its own rows a rank copies: none where tiles that have any are made of what they are a copy of, as 0, else 1. */
function ownShare({ loop, group, match, movers }: Fed, size: number, kernel: Kernel, definitions: Definitions) {
  const rows = movers.operand === "a" ? match.row : match.column;
  const first = loop.operands[2 * loop.regions[0]!.arguments.indexOf(rows)]!;
  const isWhole =
    movers.own !== null && definitions.constant(first) === 0 && !isReadElsewhere(movers, match, group, kernel);
  return (shard: Extent): Extent => (isWhole ? extent("min", 1, extent("mod", shard, size)) : 1);
}

interface Cut {
  readonly parts: number;
  /** Depth of a step of the product. */
  readonly k: number;
  readonly own: (shard: Extent) => Extent;
}

/** The end of a copy, of which what is gathered lies in the program's memory. */
function inMemory(end: CopyEnd, gathered: string, kernel: Kernel): CopyEnd {
  return end.tensor === gathered ? { ...end, tensor: memoryName(kernel, gathered), isMemory: true } : end;
}

/** What a rank copies of its own rows: all parts together. */
function copiesForItself(
  list: readonly Copy[],
  rank: number,
  kernel: Kernel,
  gathered: string,
  { own }: Cut,
): readonly Copy[] {
  return list
    .filter(({ to }) => to.rank === rank)
    .map(({ rows, length, from, to }) => ({
      rows: extent("mul", rows, own(rows)),
      length,
      from: inMemory(from, gathered, kernel),
      to: inMemory(to, gathered, kernel),
    }));
}

/** One rank's copies, for one peer after the other: for the rank before it first, which comes to these rows next. */
function copiesToPeers(
  list: readonly Copy[],
  rank: number,
  kernel: Kernel,
  gathered: string,
  { arrived, sent }: { readonly arrived: string; readonly sent: string },
  { parts, k }: Cut,
): readonly Copy[] {
  const { world } = kernel;
  const behind = ({ to }: Copy): number => (rank - to.rank + world) % world;
  const word = (name: string, of: number, offset: number): CopyEnd => ({
    ...{ tensor: memoryName(kernel, name), isMemory: true, rank: of, offset, pitch: 1 },
  });
  return list
    .filter(({ to }) => to.rank !== rank)
    .sort((a, b) => behind(a) - behind(b))
    .flatMap(({ rows, length, from, to }) => {
      const steps = extent("max", extent("ceildiv", length, k), 1);
      const columns = extent("mul", extent("ceildiv", steps, parts), k);
      return Array.from({ length: parts }, (_, p): Copy[] => {
        const first = extent("mul", columns, p);
        const width = parts === 1 ? length : extent("max", 0, extent("min", columns, extent("sub", length, first)));
        const at = (end: CopyEnd): CopyEnd =>
          inMemory({ ...end, offset: extent("add", end.offset, first) }, gathered, kernel);
        return [
          { rows, length: width, from: at(from), to: at(to) },
          { rows: 1, length: 1, from: word(sent, rank, 0), to: word(arrived, to.rank, rank * parts + p) },
        ];
      }).flat();
    });
}
