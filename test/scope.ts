/**
 * How much the tests do. `npm run test:all`, which CI runs where the machine is quick enough, does all; `npm test` leaves out what takes minutes and differs from
 * the rest in numbers alone: more ranks, more architectures, more backends on fakes and their faults, more mutants, more random programs,
 * the machine code of two kernels of three, more passes of a model's layer.
 *
 * Where a program is tried with each rank count and each dtype, `npm test` tries so few of these that they are still met in pairs: every
 * program meets every rank count and every dtype that {@link pairs} is given, and each rank count meets each dtype in one program or
 * another. Where that takes too long, {@link turned} gives each program one value, and all values to some programs. Nothing is drawn at
 * random: the number of a program in its list decides.
 */
export const isAll = process.env["COLLC_TESTS"] === "all";

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
