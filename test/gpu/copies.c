/*
 * A built program whose copies a GPU's copy engines carry out, on GPUs: launched, and replayed from a graph, with every element compared.
 * `test/gpu/aot.mjs` builds and runs it. It knows `all_gather/push` of x, and `matmul/all_gather` of a and b.
 *
 *   copies --program PATH --ranks N --folder DIR [--libcuda FILE] [--meet 1]
 *
 * --meet: ranks meet around each launch, for drivers whose kernels do nothing.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_programs.h"
#include "memory.h"
#include "ranks.h"

enum { ROUNDS = 3, REPLAYS = 2, MOST_TENSORS = 3 };

typedef struct {
  int ranks, meet;
  const char *program, *folder, *libcuda;
} settings;

typedef struct {
  int (*CtxRetain)(void **, int);
  int (*CtxSet)(void *);
  int (*CopyIn)(collc_pointer, const void *, size_t, void *);
  int (*CopyOut)(void *, collc_pointer, size_t, void *);
  int (*BeginCapture)(void *, int);
  int (*EndCapture)(void *, void **);
  int (*Instantiate)(void **, void *, unsigned long long);
  int (*Replay)(void *, void *);
} driver_calls;

/* What a rank has, and compares with. */
typedef struct {
  ranks *all;
  const settings *s;
  driver_calls calls;
  collc_driver driver;
  const collc_program *program;
  collc_handle *handle;
  void *stream, *arguments;
  symmetric_memory tensors[MOST_TENSORS];
  uint16_t *host;
  int64_t dims[3];
} rank_state;

static void find(const collc_driver *driver, void *to, const char *name) {
  void *found = dlsym(driver->library, name);
  if (found == NULL) exit(9);
  memcpy(to, &found, sizeof found);
}

/* Whole numbers as bf16: exact up to 256, and -1 to 1 for factors, so that products of 256 terms are exact, too. */
static uint16_t bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)(bits >> 16);
}
static int64_t factor(int of, int64_t i, int64_t j, int round) { return (i * 7 + j * 5 + of * 3 + round) % 3 - 1; }
static int64_t element(int rank, int64_t i, int round) { return (i * 7 + rank * 13 + round) % 251; }

/* Element i of this rank's tensor t. `a` is row by row of all ranks, `b` has this rank's columns. */
static float given(const rank_state *r, size_t t, int64_t i, int round) {
  const int64_t k = r->dims[1], columns = r->dims[2] / r->all->world, rows = r->dims[0] / r->all->world;
  if (r->program->tensor_count == 2) return (float)element(r->all->rank, i, round);
  if (t == 0) return (float)factor(0, r->all->rank * rows + i / k, i % k, round);
  return (float)factor(1, i / columns, r->all->rank * columns + i % columns, round);
}
static float wanted(const rank_state *r, int64_t i, int round) {
  const int64_t k = r->dims[1], columns = r->dims[2] / r->all->world;
  int64_t sum = 0;
  if (r->program->tensor_count == 2) return (float)element((int)(i / (r->dims[0] / r->all->world)), i % (r->dims[0] / r->all->world), round);
  for (int64_t d = 0; d < k; d++) sum += factor(0, i / columns, d, round) * factor(1, d, r->all->rank * columns + i % columns, round);
  return (float)sum;
}

static int64_t bytes_of(const rank_state *r, size_t t) { return r->program->tensors[t].bytes(r->dims); }

/* Inputs of a round, then `exec`, or a launch where there is none, then a look at each element. */
static int round_of(rank_state *r, void *exec, int round, long long *wrong) {
  const size_t last = r->program->tensor_count - 1;
  collc_error error;
  int code = 0;
  for (size_t t = 0; t <= last && code == 0; t++) {
    const int64_t count = bytes_of(r, t) / 2;
    for (int64_t i = 0; i < count; i++) r->host[i] = t == last ? 0xffff : bf16(given(r, t, i, round));
    code = r->calls.CopyIn(r->tensors[t].pointers[r->all->rank], r->host, (size_t)bytes_of(r, t), r->stream);
    if (code == 0) code = r->driver.StreamSynchronize(r->stream);
  }
  /* Nobody may write to what another one is still filling in. */
  if (code == 0) code = ranks_meet(r->all);
  error.message[0] = 0;
  if (code == 0) code = exec != NULL ? r->calls.Replay(exec, r->stream) : collc_launch(r->handle, r->program, r->arguments, r->stream, &error);
  if (code == 0) code = r->driver.StreamSynchronize(r->stream);
  if (code == 0 && r->s->meet) code = ranks_meet(r->all);
  if (code == 0) code = collc_status(r->handle, NULL, &error);
  if (code == 0) code = r->calls.CopyOut(r->host, r->tensors[last].pointers[r->all->rank], (size_t)bytes_of(r, last), r->stream);
  if (code == 0) code = r->driver.StreamSynchronize(r->stream);
  if (code != 0) return fprintf(stderr, "rank %d, round %d: %d %s\n", r->all->rank, round, code, error.message), 1;
  for (int64_t i = 0; i < bytes_of(r, last) / 2; i++) *wrong += r->host[i] != bf16(wanted(r, i, round));
  return 0;
}

static int rank_main(ranks *all, void *data) {
  rank_state state, *r = &state;
  collc_options options;
  collc_error error;
  collc_nodes nodes;
  symmetric_memory workspace;
  const memory_api *api;
  const char *names[] = {"cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuStreamBeginCapture_v2",
                         "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch"};
  void *context = NULL, *graph = NULL, *exec = NULL;
  collc_pointer moved[MOST_RANKS];
  long long wrong = 0;
  size_t most = 1;
  int code;
  memset(r, 0, sizeof *r);
  r->all = all;
  r->s = (const settings *)data;
  r->program = collc_find(coll_programs, coll_program_count, r->s->program, all->world, "T=bf16");
  if (r->program == NULL || r->program->tensor_count > MOST_TENSORS) return fprintf(stderr, "there is no %s that this knows\n", r->s->program), 2;
  if (r->program->tensor_count == 2) r->dims[0] = all->world * (INT64_C(1) << 18);
  else r->dims[0] = 256 * all->world, r->dims[1] = 256, r->dims[2] = 128 * all->world;
  if (collc_open_driver(r->s->libcuda, &r->driver, &error) != 0) return fprintf(stderr, "%s\n", error.message), 3;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) find(&r->driver, (char *)&r->calls + i * sizeof(void *), names[i]);
  if (r->calls.CtxRetain(&context, all->rank) != 0 || r->calls.CtxSet(context) != 0 || r->driver.StreamCreate(&r->stream, 1) != 0) return 3;
  memset(&options, 0, sizeof options);
  options.device = options.rank = all->rank;
  options.folder = r->s->folder;
  options.timeout_ns = UINT64_C(20000000000);
  options.shapes = r->dims;
  options.shape_count = 1;
  if (collc_load(&r->driver, r->program, &options, &r->handle, &error) != 0) return fprintf(stderr, "load: %s\n", error.message), 1;
  api = memory_open(&r->driver, all->rank);
  r->arguments = calloc(1, r->program->argument_bytes);
  if (api == NULL || r->arguments == NULL) return 3;
  for (size_t d = 0; d < r->program->dim_count; d++) collc_set_dim(r->program, r->arguments, r->program->dims[d], r->dims[d], &error);
  for (size_t t = 0; t < r->program->tensor_count; t++) {
    if (symmetric_allocate(api, all, (size_t)bytes_of(r, t), r->stream, &r->tensors[t]) != 0) return 1;
    collc_set_tensor(r->program, r->arguments, r->program->tensors[t].name, r->tensors[t].pointers, all->rank, &error);
    if ((size_t)bytes_of(r, t) > most) most = (size_t)bytes_of(r, t);
  }
  r->host = (uint16_t *)malloc(most);
  if (r->host == NULL || symmetric_allocate(api, all, collc_symmetric_bytes(r->handle) + 1, r->stream, &workspace) != 0) return 1;
  if (collc_attach(r->handle, workspace.pointers, &error) != 0 || collc_reset(r->handle, r->stream, &error) != 0) return fprintf(stderr, "%s\n", error.message), 1;
  if (ranks_meet(all) != 0) return 1;
  for (int round = 0; round < ROUNDS; round++)
    if (round_of(r, NULL, round, &wrong) != 0) return 1;
  if (r->calls.BeginCapture(r->stream, 1) != 0) return 3;
  code = collc_capture(r->handle, r->program, r->arguments, r->stream, &nodes, &error);
  if (code != 0) return fprintf(stderr, "capture: %s\n", error.message), 1;
  if (r->calls.EndCapture(r->stream, &graph) != 0 || r->calls.Instantiate(&exec, graph, 0) != 0) return fprintf(stderr, "the capture does not end\n"), 1;
  for (int round = 0; round < REPLAYS; round++)
    if (round_of(r, exec, ROUNDS + round, &wrong) != 0) return 1;
  code = collc_update(r->handle, r->program, r->arguments, &nodes, exec, &error);
  if (code != 0) return fprintf(stderr, "update: %s\n", error.message), 1;
  /* The first tensor is copied from. */
  for (int p = 0; p < all->world; p++) moved[p] = r->tensors[0].pointers[p] + 16;
  collc_set_tensor(r->program, r->arguments, r->program->tensors[0].name, moved, all->rank, &error);
  code = collc_update(r->handle, r->program, r->arguments, &nodes, exec, &error);
  printf("rank %d: %s, %d launches and %d replays: %lld wrong, other addresses %s\n", all->rank, r->program->path, ROUNDS, REPLAYS, wrong,
         code == COLLC_ERROR_ARGUMENT ? "refused" : "TAKEN");
  ranks_meet(all);
  collc_unload(r->handle);
  return wrong == 0 && code == COLLC_ERROR_ARGUMENT ? 0 : 1;
}

int main(int argc, char **argv) {
  settings s = {2, 0, "all_gather/push", "out", NULL};
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--ranks") == 0) s.ranks = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--meet") == 0) s.meet = atoi(argv[i + 1]);
    else if (strcmp(argv[i], "--program") == 0) s.program = argv[i + 1];
    else if (strcmp(argv[i], "--folder") == 0) s.folder = argv[i + 1];
    else if (strcmp(argv[i], "--libcuda") == 0) s.libcuda = argv[i + 1];
    else return fprintf(stderr, "there is no option %s\n", argv[i]), 2;
  }
  return run_ranks(s.ranks, rank_main, &s);
}
