/* Ranks in one process against the fake driver: what collc.c does and refuses. Prints a line a finding; `ahead.test.ts` reads them. */
#include "ranks.h"

enum { RANKS = 2, MOST = 1 << 22 };
static int (*ctx_set)(void *), (*ctx_retain)(void **, int), (*stream_create)(void **, unsigned), (*stream_query)(void *);

/* The same, with something in it. */
static collc_pointer used(size_t bytes) {
  const collc_pointer pointer = shared(bytes);
  memset((void *)(uintptr_t)pointer, 0xee, bytes);
  return pointer;
}

typedef struct {
  void *context, *stream;
  collc_handle *handle;
} rank_state;
static rank_state ranks[RANKS];
static collc_pointer workspace[RANKS], x[RANKS], y[RANKS];

static int load(const collc_program *program, const char *folder, int64_t n, int64_t max_blocks) {
  /* As many as the program with the most of them has. */
  const int64_t dims[3] = {n, 64, 64};
  for (int r = 0; r < RANKS; r++) {
    collc_options options;
    int code;
    memset(&options, 0, sizeof options);
    options.device = options.rank = r;
    options.folder = folder;
    /* Long enough for a machine that many share: only the wait of a rank that is alone takes as long. */
    options.timeout_ns = UINT64_C(3000000000);
    options.max_blocks = max_blocks;
    options.shapes = dims;
    options.shape_count = 1;
    ctx_set(ranks[r].context);
    code = collc_load(&driver, program, &options, &ranks[r].handle, &error);
    if (code != COLLC_OK) return code;
  }
  return COLLC_OK;
}
static int begin(void) {
  for (int r = 0; r < RANKS; r++) workspace[r] = used(collc_symmetric_bytes(ranks[r].handle) + 128);
  for (int r = 0; r < RANKS; r++) {
    ctx_set(ranks[r].context);
    if (collc_attach(ranks[r].handle, workspace, &error) != 0 || collc_reset(ranks[r].handle, ranks[r].stream, &error) != 0) return error.code;
  }
  return collc_fingerprint(ranks[0].handle) == collc_fingerprint(ranks[1].handle) ? COLLC_OK : -1;
}
static void end(void) {
  for (int r = 0; r < RANKS; r++) {
    ctx_set(ranks[r].context);
    collc_unload(ranks[r].handle);
    ranks[r].handle = NULL;
  }
}
static int launch(const collc_program *program, int r, int64_t n, size_t shift) {
  int64_t words[2 + 2 * RANKS];
  collc_pointer of_x[RANKS];
  for (int p = 0; p < RANKS; p++) of_x[p] = x[p] + (p == 1 ? shift : 0);
  memset(words, 0, sizeof words);
  if (collc_set_dim(program, words, "n", n, &error) || collc_set_tensor(program, words, "x", of_x, r, &error) ||
      collc_set_tensor(program, words, "y", y, r, &error))
    return error.code;
  ctx_set(ranks[r].context);
  return collc_launch(ranks[r].handle, program, words, ranks[r].stream, &error);
}
/* Kernels of the fake wait while somebody asks. */
static void finish(void) {
  int busy = 1;
  while (busy) {
    busy = 0;
    for (int r = 0; r < RANKS; r++) {
      ctx_set(ranks[r].context);
      if (stream_query(ranks[r].stream) == 600) busy = 1;
    }
  }
}
static void fill(int64_t n, int round) {
  for (int r = 0; r < RANKS; r++)
    for (int64_t i = 0; i < n; i++) ((float *)(uintptr_t)x[r])[i] = (float)((i + r * 3 + round) % 251), ((float *)(uintptr_t)y[r])[i] = -1;
}
static int64_t wrong(int64_t n, int round) {
  int64_t count = 0;
  for (int r = 0; r < RANKS; r++)
    for (int64_t i = 0; i < n; i++)
      count += ((float *)(uintptr_t)y[r])[i] != (float)((i + round) % 251) + (float)((i + 3 + round) % 251);
  return count;
}

/* Rank 0 is about to launch it, with eps = 0.5 and step = 7. */
static void load_scaled(const char *folder, int64_t n, coll_scaled_w2_f32_arguments *arguments) {
  memset(arguments, 0, sizeof *arguments);
  arguments->dim_n = n;
  memcpy(arguments->buf_x, x, sizeof x);
  arguments->buf_y = y[0];
  arguments->num_eps = 0.5f;
  arguments->num_step = 7;
  said("load", load(&coll_scaled_w2_f32, folder, n, 16));
  said("begin", begin());
  ctx_set(ranks[0].context);
}

int main(int argc, char **argv) {
  const collc_program *sum, *planned, *scatter, *product;
  const char *folder = argc > 3 && strcmp(argv[3], "embedded") != 0 ? argv[3] : NULL;
  const int64_t n = 3000;
  collc_failure failure;
  int code = collc_open_driver(argv[1], &driver, &error);
  if (code != COLLC_OK) return said("driver", code), 0;
  *(void **)&ctx_set = symbol("cuCtxSetCurrent");
  *(void **)&ctx_retain = symbol("cuDevicePrimaryCtxRetain");
  *(void **)&stream_create = symbol("cuStreamCreate");
  *(void **)&stream_query = symbol("cuStreamQuery");
  for (int r = 0; r < RANKS; r++) {
    ctx_retain(&ranks[r].context, r);
    ctx_set(ranks[r].context);
    stream_create(&ranks[r].stream, 1);
    x[r] = used(MOST * 4);
    y[r] = used(MOST * 4);
  }
  sum = collc_find(coll_programs, coll_program_count, "all_reduce/one_shot", RANKS, "T=f32");
  planned = collc_find(coll_programs, coll_program_count, "all_reduce", RANKS, NULL);
  scatter = collc_find(coll_programs, coll_program_count, "reduce_scatter/pull", RANKS, NULL);
  product = collc_find(coll_programs, coll_program_count, "matmul/reduce_scatter", RANKS, NULL);
  if (sum == NULL || planned == NULL || scatter == NULL || product == NULL) return 7;
  said("nobody", collc_find(coll_programs, coll_program_count, "all_reduce/one_shot", 3, NULL) == NULL ? 0 : 1);

  if (strcmp(argv[2], "load") == 0) {
    said("sum", load(sum, folder, n, 0));
    end();
    said("capped", load(sum, folder, n, 8));
    end();
    said("product", load(product, folder, 256, 0));
    end();
    return 0;
  }
  if (strcmp(argv[2], "maps") == 0) {
    /* Rank 1's launch of a product; once more with a matrix that no map can describe. */
    coll_reduce_scatter_of_matmul_w2_bf16_arguments arguments;
    collc_options options;
    const int64_t dims[3] = {256, 128, 32};
    memset(&options, 0, sizeof options);
    options.device = options.rank = 1;
    options.folder = folder;
    options.timeout_ns = 7;
    options.shapes = dims;
    options.shape_count = 1;
    ctx_set(ranks[1].context);
    said("load", collc_load(&driver, product, &options, &ranks[1].handle, &error));
    workspace[0] = used(collc_symmetric_bytes(ranks[1].handle) + 128);
    workspace[1] = used(collc_symmetric_bytes(ranks[1].handle) + 128);
    said("attach", collc_attach(ranks[1].handle, workspace, &error));
    memset(&arguments, 0, sizeof arguments);
    memcpy(&arguments, dims, sizeof dims);
    arguments.buf_a = x[1];
    arguments.buf_b = x[0];
    arguments.buf_c = y[1];
    printf("at: %llu %llu %llu %llu %llu\n", (unsigned long long)x[1], (unsigned long long)x[0], (unsigned long long)y[1],
           (unsigned long long)workspace[0], (unsigned long long)workspace[1]);
    said("launch", coll_reduce_scatter_of_matmul_w2_bf16_launch(ranks[1].handle, &arguments, ranks[1].stream, &error));
    arguments.buf_a += 2;
    said("launch", coll_reduce_scatter_of_matmul_w2_bf16_launch(ranks[1].handle, &arguments, ranks[1].stream, &error));
    collc_unload(ranks[1].handle);
    return 0;
  }
  if (strcmp(argv[2], "in-place") == 0) {
    coll_in_place_w2_f32_arguments arguments;
    memset(&arguments, 0, sizeof arguments);
    arguments.dim_n = n;
    memcpy(arguments.buf_x, x, sizeof x);
    said("load", load(&coll_in_place_w2_f32, folder, n, 16));
    said("begin", begin());
    ctx_set(ranks[0].context);
    printf("at: %llu %llu\n", (unsigned long long)x[0], (unsigned long long)x[1]);
    said("launch", coll_in_place_w2_f32_launch(ranks[0].handle, &arguments, ranks[0].stream, &error));
    end();
    return 0;
  }
  if (strcmp(argv[2], "numbers") == 0) {
    coll_scaled_w2_f32_arguments arguments;
    load_scaled(folder, n, &arguments);
    said("numbers", coll_scaled_w2_f32_launch(ranks[0].handle, &arguments, ranks[0].stream, &error));
    end();
    return 0;
  }
  if (strcmp(argv[2], "update") == 0) {
    int (*begin_capture)(void *, int), (*end_capture)(void *, void **), (*instantiate)(void **, void *, unsigned long long);
    int (*replay)(void *, void *), (*destroy)(void *);
    void *graph = NULL, *exec = NULL;
    collc_nodes nodes;
    coll_scaled_w2_f32_arguments arguments;
    *(void **)&begin_capture = symbol("cuStreamBeginCapture_v2");
    *(void **)&end_capture = symbol("cuStreamEndCapture");
    *(void **)&instantiate = symbol("cuGraphInstantiateWithFlags");
    *(void **)&replay = symbol("cuGraphLaunch");
    *(void **)&destroy = symbol("cuGraphDestroy");
    load_scaled(folder, n, &arguments);
    said("not captured", coll_scaled_w2_f32_capture(ranks[0].handle, &arguments, ranks[0].stream, &nodes, &error));
    printf("capture: %d\n", begin_capture(ranks[0].stream, 1));
    said("launch", coll_scaled_w2_f32_capture(ranks[0].handle, &arguments, ranks[0].stream, &nodes, &error));
    code = end_capture(ranks[0].stream, &graph);
    printf("captured: %d %d %d\n", code, instantiate(&exec, graph, 0), (int)nodes.count);
    printf("replay: %d\n", replay(exec, ranks[0].stream));
    arguments.num_step = 8;
    printf("replay: %d\n", replay(exec, ranks[0].stream));
    arguments.num_eps = 0.25f;
    said("update", coll_scaled_w2_f32_update(ranks[0].handle, &arguments, &nodes, exec, &error));
    printf("replay: %d\n", replay(exec, ranks[0].stream));
    printf("replay: %d\n", replay(exec, ranks[0].stream));
    arguments.num_step = 9;
    said("update", coll_scaled_w2_f32_update(ranks[0].handle, &arguments, &nodes, exec, &error));
    printf("replay: %d\n", replay(exec, ranks[0].stream));
    nodes.choice = NULL;
    said("other", coll_scaled_w2_f32_update(ranks[0].handle, &arguments, &nodes, exec, &error));
    end();
    return 0;
  }
  if (strcmp(argv[2], "graph") == 0) {
    int (*begin_capture)(void *, int), (*end_capture)(void *, void **), (*instantiate)(void **, void *, unsigned long long);
    int (*replay)(void *, void *);
    void *graph = NULL, *execs[RANKS];
    *(void **)&begin_capture = symbol("cuStreamBeginCapture_v2");
    *(void **)&end_capture = symbol("cuStreamEndCapture");
    *(void **)&instantiate = symbol("cuGraphInstantiateWithFlags");
    *(void **)&replay = symbol("cuGraphLaunch");
    said("load", load(sum, folder, n, 16));
    said("begin", begin());
    for (int r = 0; r < RANKS; r++) {
      ctx_set(ranks[r].context);
      printf("capture: %d\n", begin_capture(ranks[r].stream, 1));
      said("launch", launch(sum, r, n, 0));
      code = end_capture(ranks[r].stream, &graph);
      printf("captured: %d %d\n", code, instantiate(&execs[r], graph, 0));
    }
    for (int round = 0; round < 3; round++) {
      fill(n, round);
      for (int r = 0; r < RANKS; r++) ctx_set(ranks[r].context), printf("replay: %d\n", replay(execs[r], ranks[r].stream));
      finish();
      printf("wrong: %lld\n", (long long)wrong(n, round));
    }
    said("after", collc_status(ranks[0].handle, NULL, &error));
    return 0;
  }
  if (strcmp(argv[2], "plan") == 0) {
    const int64_t sizes[] = {64, 1000, 40000, 100000, 400000, 1000000, MOST - 5};
    said("load", load(planned, folder, MOST, 16));
    said("begin", begin());
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) said("launch", launch(planned, 0, sizes[i], 0));
    end();
    return 0;
  }
  said("load", load(sum, folder, n, 16));
  said("unattached", launch(sum, 0, n, 0));
  said("begin", begin());
  for (int round = 0; round < 3; round++) {
    fill(n, round);
    for (int r = 0; r < RANKS; r++) said("launch", launch(sum, r, n, 0));
    finish();
    printf("wrong: %lld\n", (long long)wrong(n, round));
  }
  said("shifted", launch(sum, 0, n, 4));
  said("null", (x[1] = 0, launch(sum, 0, n, 0)));
  x[1] = used(MOST * 4);
  said("other", collc_launch(ranks[0].handle, planned, &n, ranks[0].stream, &error));
  said("unknown", collc_set_dim(sum, workspace, "m", 1, &error));
  said("unknown", collc_set_tensor(sum, workspace, "z", x, 0, &error));
  said("negative", launch(sum, 0, -1, 0));
  said("before", collc_status(ranks[0].handle, NULL, &error));
  /* The other rank stays away. */
  said("alone", launch(sum, 0, n, 0));
  finish();
  memset(&failure, 0, sizeof failure);
  said("late", collc_status(ranks[0].handle, &failure, &error));
  printf("who: %d for %d in %s, %s\n", failure.rank, failure.peer, failure.kernel, failure.buffer);
  for (int r = 0; r < RANKS; r++) ctx_set(ranks[r].context), said("reset", collc_reset(ranks[r].handle, ranks[r].stream, &error));
  said("after", collc_status(ranks[0].handle, NULL, &error));
  fill(n, 5);
  for (int r = 0; r < RANKS; r++) said("again", launch(sum, r, n, 0));
  finish();
  printf("wrong: %lld\n", (long long)wrong(n, 5));
  end();
  said("load", load(scatter, folder, 64, 0));
  said("begin", begin());
  said("odd", launch(scatter, 0, 7, 0));
  end();
  said("load", load(planned, folder, 1000, 16));
  said("begin", begin());
  said("large", launch(planned, 0, 2000, 0));
  end();
  return 0;
}
