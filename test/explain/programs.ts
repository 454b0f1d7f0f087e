/** Programs to explain. */

export const TWO_SHOT = `collective two_shot(x: T[n] partial(sum)) -> y: T[n] replicated {
  for i in tiles(chunk(n, rank)) {
    let s = sum(p in ranks) x@p[i]
    for p in ranks {
      y@p[i] = s
    }
  }
}
`;

export const HANDSHAKE = `collective handshake(x: T[n] local) -> y: T[n] local {
  scratch box: T[n]
  let next = (rank + 1) % world
  for i in tiles(n) {
    box@next[i] = x[i]
  }
  signal next
  wait (rank - 1) % world
  for i in tiles(n) {
    y[i] = box[i]
  }
}
`;

export const LINEAR = `collective linear(a: T[m, k] sharded(1), b: T[k, n] sharded(0)) -> c: T[m, n] sharded(0) {
  c = reduce_scatter(a @ b, dim: 0)
}
`;

export const DISPATCH = `collective dispatch(x: T[m, n] local, counts: i32[world] local)
  -> (y: T[m * world, n] local, received: i32[world] local)
  where counts in 0..m / world + 1
  ensures received[p] == counts@p[rank] {
  for p in ranks {
    let source = sum(q in 0..rank) index(counts@p[q])
    let target = sum(q in 0..p) index(counts@q[rank])
    for i, j in tiles(index(counts@p[rank]), n) {
      y[target + i, j] = x@p[source + i, j]
    }
  }
  for p in tiles(world) {
    received[p] = counts@p[rank]
  }
}
`;

export const DOUBLING = `
collective doubling(x: T[n] partial(max)) -> y: T[n] replicated
  where world & (world - 1) == 0 {
  scratch box: T[log2(world) + 1, n]
  for i in tiles(n) {
    box[0, i] = x[i]
  }
  for s in 0..log2(world) {
    for i in tiles(n) {
      box[s + 1, i] = max(box[s, i], box@(rank ^ (1 << s))[s, i])
    }
  }
  for i in tiles(n) {
    y[i] = box[log2(world), i]
  }
}
`;
