/** Programs that several tests of artefacts build. */

/** Changes its input. */
export const IN_PLACE = `collective in_place(x: T[n] partial(sum)) -> x: T[n] replicated {
  for i in tiles(chunk(n, rank)) {
    let s = sum(p in ranks) x@p[i]
    for p in ranks {
      x@p[i] = s
    }
  }
}
`;

/** Takes numbers at each launch. */
export const SCALED = `collective scaled(x: T[n] partial(sum), eps: f32, step: u32) -> y: T[n] replicated {
  y = all_reduce(x) * eps + f32(step)
}
`;
