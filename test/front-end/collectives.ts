/**
 * Collectives that are in no library. The compiler must treat them like those in `kernels/`: nothing in it may
 * depend on the names of collectives, tensors, dimensions or variables.
 */
export const COLLECTIVES = {
  /** Everybody learns the largest absolute value of each row that anybody holds. */
  loudest: `
/// The largest magnitude of each short row, over all ranks.
collective loudest(samples: T[rows, 12] local) -> peak: f32[rows] local {
  scratch own: f32[rows]
  for r in tiles(rows) {
    own[r] = max(c in 0..12) abs(samples[r, c])
  }
  for r in tiles(rows) {
    peak[r] = max(other in ranks) own@other[r]
  }
}
`,
  /** Pairs of ranks swap halves: an exclusive or on the rank, a remote store, and a condition. */
  handshake: `
/// Even ranks give their first half to the odd neighbour, odd ranks their second half to the even one.
collective handshake(mine: T[2 * h] local) -> ours: T[2 * h] local {
  let partner = rank ^ 1
  for i in tiles(h) {
    let from = i + (rank % 2) * h
    ours[from] = mine[from]
    if partner < world {
      ours@partner[from] = mine[from]
    } else {
      ours[h - from + i] = 0
    }
  }
}
`,
  /** A tensor-level body: scaled product, bias, activation, and a conversion the library has no kernel for. */
  layer: `
/// act(a·b + bias), gathered to rank 0.
collective layer(a: T[m, k] sharded(0), b: T[k, n] replicated, bias: T[m, n] sharded(0)) -> out: T[m, n] on(0) {
  let hidden = 0.5 * (a @ b) + bias
  out = gather(silu(hidden), to: 0)
}
`,
} as const;
