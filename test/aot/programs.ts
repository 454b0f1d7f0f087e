/** Programs that several tests of artefacts build. */

/** Takes numbers at each launch. */
export const SCALED = `collective scaled(x: T[n] partial(sum), eps: f32, step: u32) -> y: T[n] replicated {
  y = all_reduce(x) * eps + f32(step)
}
`;
