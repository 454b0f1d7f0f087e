// Rows that move by splits which only the launch knows: all_to_all/dispatch and its way back, all_to_all/combine, or those for hosts. Their y
// has no specification, because rows that nobody sends are not touched. So the rows are moved here once more, one by one,
// without the compiler. Imports nothing: the tests without a GPU use it, too.

/**
 * What dispatch and combine must leave on every rank.
 * @param options.counts counts[from][to]: how many rows each rank sends to each, the first ones to rank 0.
 * @param options.x each rank's elements, m rows of n; typed arrays of one kind.
 * @param options.untouched what the elements of y hold before.
 * @returns by rank: y and `received` of dispatch, and `back`, the y of combine.
 */
export function movedRows({ counts, x, n, untouched }) {
  const world = counts.length;
  const filled = (length) => new x[0].constructor(length).fill(untouched);
  const y = x.map((rows) => filled(world * rows.length));
  const back = x.map((rows) => filled(rows.length));
  const places = Array(world).fill(0);
  // Senders in order of rank, so that a receiver has their rows one after the other.
  for (let from = 0; from < world; from++) {
    let row = 0;
    for (let to = 0; to < world; to++) {
      for (let i = 0; i < counts[from][to]; i++, row++) {
        const elements = x[from].subarray(row * n, (row + 1) * n);
        y[to].set(elements, places[to]++ * n);
        back[from].set(elements, row * n);
      }
    }
  }
  const received = y.map((_, to) => Int32Array.from(counts, (sent) => sent[to]));
  return { y, received, back };
}

/** Whole numbers below a limit, the same for the same seed (xorshift32). */
function randomNumbers(seed) {
  let state = (Math.imul(seed, 0x9e3779b1) ^ 0x85ebca6b) >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state = (state ^ (state << 5)) >>> 0;
    return state % below;
  };
}

/** Elements as they lie in memory. None is `untouched`, and no bf16 is infinite or not a number. */
const KINDS = {
  f32: { array: Float32Array, untouched: -1, element: (random) => random(2 ** 24) },
  bf16: { array: Uint16Array, untouched: 0xffff, element: (random) => random(2 ** 16) & 0xbfff },
};

/**
 * Dispatches rows with random splits, checks every row on every rank of this process, brings them back and checks again.
 * Twice, each time with other splits and other rows; what an earlier launch left in y must not show.
 * @param group any backend's.
 * @param programs `dispatch` and `combine`, or `dispatch_rails` and `combine_rails`, compiled for the group's ranks and the dtype.
 * @param options.most a rank sends each other at most so many rows.
 * @returns how many rows moved, over both launches and all ranks.
 * @throws with the first row that is wrong.
 */
export async function rowsGoAndReturn(group, programs, { dtype, most, n, seed }) {
  const { world, localRanks } = group;
  const { array, untouched, element } = KINDS[dtype];
  const m = most * world;
  const dispatch = await group.load(programs.dispatch);
  const combine = await group.load(programs.combine);
  // Both read x and counts of their peers; what dispatch gives is what combine takes.
  const x = await group.symmetric(dtype, [m, n]);
  const counts = await group.symmetric("i32", [world]);
  const y = await group.symmetric(dtype, [world * m, n]);
  const received = group.local("i32", [world]);
  const back = group.local(dtype, [m, n]);
  let moved = 0;
  try {
    for (let launch = 0; launch < 2; launch++) {
      // Every rank makes all ranks' rows from the seed, so nothing of what is expected comes over the wire.
      const random = randomNumbers(seed * 2 + launch);
      const someRows = () => [0, most, random(most + 1), random(most + 1)][random(4)];
      const split = Array.from({ length: world }, () => Int32Array.from({ length: world }, someRows));
      const rows = split.map(() => Array.from({ length: m * n }, () => element(random))).map((e) => array.from(e));
      const wanted = movedRows({ counts: split, x: rows, n, untouched });
      for (const rank of localRanks) {
        x.write(rows[rank], rank);
        counts.write(split[rank], rank);
        y.write(new array(world * m * n).fill(untouched), rank);
        received.write(new Int32Array(world).fill(-1), rank);
        back.write(new array(m * n).fill(untouched), rank);
      }
      await group.barrier();
      await dispatch.run({ x, counts, y, received }, { m, n });
      for (const rank of localRanks) {
        const of = `launch ${launch} of dispatch ${dtype} m=${m} n=${n}, rank ${rank}`;
        compareRows(await received.read(rank), wanted.received[rank], 1, `${of}, received`);
        compareRows(await y.read(rank), wanted.y[rank], n, of);
      }
      const takesReceived = combine.manifest.inputs.some(({ name }) => name === "received");
      await combine.run({ x: y, counts, ...(takesReceived && { received }), y: back }, { m, n });
      for (const rank of localRanks) {
        const of = `launch ${launch} of combine ${dtype} m=${m} n=${n}, rank ${rank}`;
        compareRows(await back.read(rank), wanted.back[rank], n, of);
      }
      moved += split.flatMap((sent) => [...sent]).reduce((a, b) => a + b, 0);
      // Nobody writes what a peer may still read.
      await group.barrier();
    }
  } finally {
    for (const tensor of [x, counts, y, received, back]) await tensor.free();
    await dispatch.unload();
    await combine.unload();
  }
  return moved;
}

function compareRows(actual, wanted, n, where) {
  if (actual.length !== wanted.length) throw new Error(`${where}: ${actual.length} elements, not ${wanted.length}`);
  for (let i = 0; i < wanted.length; i++) {
    if (actual[i] === wanted[i]) continue;
    throw new Error(`${where}: row ${Math.floor(i / n)}, column ${i % n} is ${actual[i]}, not ${wanted[i]}`);
  }
}
