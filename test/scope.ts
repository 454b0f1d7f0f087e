/**
 * How much the tests do. `npm test` takes a few minutes: it leaves out files that take long ({@link LEFT_OUT}), and tries {@link some} kernels of the library where
 * files go through all. `npm run test:long` runs all files and tries all kernels. `npm run test:all` tries more ranks, more architectures, more
 * backends on fakes and their faults, more mutants, more random programs, the machine code of all kernels, more passes of a model's layer.
 * CI runs the first, and a part of the others that differs from commit to commit. A file that is asked for by its path does what it does
 * in `npm run test:long`.
 *
 * Where a program is tried with each rank count and each dtype, all but the last try so few of these that they are still met in pairs: every
 * program meets every rank count and every dtype that {@link pairs} is given, and each rank count meets each dtype in one program or
 * another. Where that takes too long, {@link turned} gives each program one value, and all values to some programs. Nothing is drawn at
 * random: the number of a program in its list decides.
 */
const isByPath = process.argv.slice(2).some((word) => /^test\/|\.test\.ts$/.test(word));
export const TESTS = process.env["COLLC_TESTS"] ?? (isByPath ? "long" : "");
export const isAll = TESTS === "all";
const isLong = isAll || TESTS === "long";

/** Each `each`-th of values with `npm test`, else all. */
export function some<A>(values: readonly A[], each: number): readonly A[] {
  return values.filter((_, i) => isLong || i % each === 0);
}

/** With COLLC_TESTS=all each of `as` with each of `bs`; else each of both, in other company from one turn to the next. */
export function pairs<A, B>(as: readonly A[], bs: readonly B[], turn: number): (readonly [A, B])[] {
  if (isAll) return as.flatMap((a) => bs.map((b) => [a, b] as const));
  if (as.length === 0 || bs.length === 0) return [];
  const count = Math.max(as.length, bs.length);
  return Array.from({ length: count }, (_, i) => [as[i % as.length]!, bs[(i + turn) % bs.length]!] as const);
}

/** With COLLC_TESTS=all all values; else one of them, the next one at the next turn. */
export function turned<A>(values: readonly A[], turn: number): readonly A[] {
  return isAll || values.length === 0 ? values : [values[turn % values.length]!];
}

/**
 * Files whose tests leave nothing behind in their process: no variable, no open library, no folder changed. They share processes,
 * which saves importing and optimising the compiler for each of them: a quarter of their time. The others have a process each.
 */
export const SHARING: string[] = [
  "test/{cpu,explain,formatter,front-end,fuzz,graph,hostile,kernels,machine,passes,printer,program,prove,simulate}/**/*.test.ts",
  "test/aot/examples.test.ts",
  "test/cli/{arguments,bench-doctor,check,compile,dims-traffic,failure,hosts,process,ranks,run,sharing,start-up,torch-peer,tune}.test.ts",
  "test/lsp/*.test.ts",
  "test/reach/{cli,library,messages,plan,random,store-order}.test.ts",
  "test/readme/tour.test.ts",
  "test/runtime/{env,gpu-suites,group-cpu,library-candidates}.test.ts",
  "test/safety/{cli,compile-options,hostile-inputs,lockfile}.test.ts",
  "test/{coverage,library}.test.ts",
];

/** Files that `npm test` leaves out: most of those that took longer than 12 s beside others on two cores (2026-12-01), 44 of 56 minutes of processor. */
export const LEFT_OUT: readonly string[] = isLong
  ? []
  : [
      "test/aot/{ahead,build,copies,verify}.test.ts",
      "test/cli/{bench-doctor,compile,dims-traffic,hosts,lower,process,sharing}.test.ts",
      "test/cpu/{in-place,library,program-roundings,reference}.test.ts",
      "test/formatter/corpus.test.ts",
      "test/front-end/{ir-text,language,lowering,robustness}.test.ts",
      "test/fuzz/texts.test.ts",
      "test/graph/{exchanges,forms,graph,lower,models,page,pytorch,rewrites,sizes,stacking}.test.ts",
      "test/hostile/schedules.test.ts",
      "test/kernels/{anchor,columns,expressions,gpu-programs,mesh-tensors,mixed-bodies,repeat,tensor-expressions,transfers,uneven,wide-and-truth}.test.ts",
      "test/passes/{fuse-rows,lower-tensors,merge-dims,narrow-conversions,paired-products,products,sent-products}.test.ts",
      "test/program/{in-place,plan}.test.ts",
      "test/prove/{dimension-bounds,every-dropped,every-filled,every-gathers,every-in-place,every-matrices,every-packets,every-products,every-rounds,every-row-values,every-sent,every-several,every-steps,every-sums,every-turned,exponentials,mutation,narrow-products,printed-mutants,shapes}.test.ts",
      "test/reach/{broadcasts,hierarchical,library,messages,many-domains,overlap,plan}.test.ts",
      "test/runtime/{broadcasts,copy-steps,fed-products,gpu-suites,group-device,launcher,nvshmem-messages,remote-hosts}.test.ts",
      "test/safety/{ending,hostile-inputs,trust}.test.ts",
      "test/simulate/{cli,play}.test.ts",
    ];
