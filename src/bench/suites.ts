/**
 * What is measured, as data: for each suite the kernels that compete, how a size becomes dimensions, and NCCL's
 * counterpart. A new collective is a row here.
 */
import type { DimValues } from "../compiler/index.js";

/** The call of NCCL that does the same change of layout. */
export type NcclCall = "allReduce" | "allGather" | "reduceScatter" | "allToAll" | "broadcast";

/** One row of the table that is measured. */
export interface BenchCase {
  /** "64 KiB", "8192×8192×8192". */
  readonly label: string;
  /** What the horizontal axis of a plot shows: bytes, or multiplications. */
  readonly size: number;
  readonly dims: DimValues;
  /** Of a model's product: "llama3-70b down". */
  readonly layer?: string;
}

/** One way to do a collective, as far as its time on paper goes. */
export interface Way {
  readonly exchanges: number;
  readonly bytes: number;
}

export interface Suite {
  readonly title: string;
  /** Files in `kernels/`, without `.coll`. One without a folder is a program that takes the best of its folder's ways. */
  readonly kernels: readonly string[];
  /** Those ways, which `--ways` times one by one. */
  readonly variants: readonly string[];
  /** Null: NCCL alone has no counterpart. */
  readonly nccl: NcclCall | null;
  /** What a row's label counts. */
  readonly unit: "bytes" | "M×N×K";
  /** Bytes behind the bus bandwidth of nccl-tests, which is the same at any number of ranks; null for products. */
  readonly busBytes: ((size: number, world: number) => number) | null;
  /**
   * Ways to do it, each with the exchanges it takes one after the other and the bytes that leave the busiest GPU: the
   * fastest on paper is the floor. Null where the arithmetic counts too.
   */
  readonly ways: ((size: number, world: number) => readonly Way[]) | null;
  readonly defaults: Readonly<Record<"cpu" | "cuda", readonly string[]>>;
  /** Parses one entry of `--sizes`; null when it is none. */
  readonly parse: (text: string, elementBytes: number, world: number) => BenchCase | null;
  /** Which of a model's products it has; null for none. */
  readonly layers: "gathered" | "summed" | null;
}

const sizesOnGpus = ["1Ki", "8Ki", "32Ki", "64Ki", "256Ki", "1Mi", "4Mi", "16Mi", "64Mi", "256Mi"];
const sizesEmulated = ["4Ki", "64Ki", "1Mi"];
const vectorDefaults = { cpu: sizesEmulated, cuda: sizesOnGpus };

/** A size in bytes of the full tensor, as in nccl-tests: what all_reduce takes and all_gather returns. */
function bytesCase(dims: (elements: number, world: number) => DimValues): Suite["parse"] {
  return (text, elementBytes, world) => {
    const match = /^(\d+)([KMG]i?)?B?$/i.exec(text.trim());
    if (match === null) return null;
    const scale = { k: 2 ** 10, m: 2 ** 20, g: 2 ** 30 }[match[2]?.[0]?.toLowerCase() ?? ""] ?? 1;
    const size = Number(match[1]) * scale;
    // The nearest multiple that every rank gets an equal part of.
    const elements = Math.max(world, Math.round(size / elementBytes / world) * world);
    return { label: sizeLabel(size), size, dims: dims(elements, world) };
  };
}

function sizeLabel(size: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  const unit = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(size, 1)) / 10));
  return `${Number((size / 1024 ** unit).toFixed(2))} ${units[unit]}`;
}

const vector = bytesCase((n) => ({ n }));

/** The size of all_to_all is one rank's part, as in nccl-tests: world times as much lies on all ranks together. */
const matrix = bytesCase((elements, world) => {
  const columns = world * Math.max(1, 2 ** Math.floor(Math.log2(Math.sqrt(elements / world))));
  return { m: world * Math.max(1, Math.round(elements / columns)), n: columns };
});

function product(text: string): BenchCase | null {
  const match = /^(\d+)[x×*](\d+)[x×*](\d+)$/i.exec(text.trim());
  if (match === null) return null;
  const [m, n, k] = match.slice(1).map(Number) as [number, number, number];
  return { label: `${m}×${n}×${k}`, size: m * n * k, dims: { m, n, k } };
}

/** Each rank's part goes once to each of the others. */
const spread = (size: number, world: number): number => (size * (world - 1)) / world;
const inOneExchange = (size: number, world: number): Way[] => [{ exchanges: 1, bytes: spread(size, world) }];

const productDefaults = {
  cpu: ["128x128x128", "256x256x256"],
  cuda: [
    "512x8192x8192",
    "2048x8192x8192",
    "4096x8192x28672",
    "8192x8192x8192",
    "8192x8192x28672",
    "16384x8192x28672",
    "8192x4096x14336",
  ],
};

/** What products beside a collective have in common. Their peers are PyTorch's: cuBLAS and then NCCL, and its fused ops. */
const products = {
  variants: [],
  nccl: null,
  unit: "M×N×K",
  busBytes: null,
  ways: null,
  defaults: productDefaults,
  parse: product,
} as const satisfies Partial<Suite>;

/** All suites by name. */
export const suites = {
  all_reduce: {
    title: "all_reduce",
    kernels: ["all_reduce"],
    variants: ["one_shot", "two_shot", "push", "ring"].map((way) => `all_reduce/${way}`),
    nccl: "allReduce",
    unit: "bytes",
    busBytes: (size, world) => 2 * spread(size, world),
    ways: (size, world) => [
      { exchanges: 1, bytes: size * (world - 1) },
      { exchanges: 2, bytes: 2 * spread(size, world) },
    ],
    defaults: vectorDefaults,
    parse: vector,
    layers: null,
  },
  all_gather: {
    title: "all_gather",
    kernels: ["all_gather"],
    variants: ["push", "pull"].map((way) => `all_gather/${way}`),
    nccl: "allGather",
    unit: "bytes",
    busBytes: spread,
    ways: inOneExchange,
    defaults: vectorDefaults,
    parse: vector,
    layers: null,
  },
  reduce_scatter: {
    title: "reduce_scatter",
    kernels: ["reduce_scatter"],
    variants: ["pull", "push"].map((way) => `reduce_scatter/${way}`),
    nccl: "reduceScatter",
    unit: "bytes",
    busBytes: spread,
    ways: inOneExchange,
    defaults: vectorDefaults,
    parse: vector,
    layers: null,
  },
  all_to_all: {
    title: "all_to_all",
    kernels: ["all_to_all"],
    variants: ["push"].map((way) => `all_to_all/${way}`),
    nccl: "allToAll",
    unit: "bytes",
    busBytes: spread,
    ways: inOneExchange,
    defaults: vectorDefaults,
    parse: matrix,
    layers: null,
  },
  broadcast: {
    title: "broadcast",
    kernels: ["broadcast"],
    variants: ["flat", "scatter_gather", "relay"].map((way) => `broadcast/${way}`),
    nccl: "broadcast",
    unit: "bytes",
    busBytes: (size) => size,
    // The root sends all of it at least once; what each rank got a part of, it hands on in a second exchange.
    ways: (size, world) => [
      { exchanges: 1, bytes: size * (world - 1) },
      { exchanges: 2, bytes: size },
    ],
    defaults: vectorDefaults,
    parse: vector,
    layers: null,
  },
  matmul_reduce_scatter: {
    title: "matmul + reduce_scatter",
    kernels: ["matmul/reduce_scatter"],
    layers: "summed",
    ...products,
  },
  all_gather_matmul: { title: "all_gather + matmul", kernels: ["matmul/all_gather"], layers: "gathered", ...products },
  matmul_all_reduce: { title: "matmul + all_reduce", kernels: ["matmul/all_reduce"], layers: "summed", ...products },
} as const satisfies Record<string, Suite>;

export type SuiteName = keyof typeof suites;

/** Suites that run together, by name: one session, one machine, the same peers. */
export const groups: Readonly<Record<string, readonly SuiteName[]>> = {
  collectives: ["all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"],
  matmul: ["matmul_reduce_scatter", "all_gather_matmul", "matmul_all_reduce"],
};
