/*
 * Ranks in one process against the fake driver: what collc.c gives a GPU's copy engines. Prints a line a finding, and writes what tensors and
 * workspaces hold; `copies.test.ts` reads both. `test/python/copies.py` does the same with the Python package.
 *
 *   copies LIBCUDA FOLDER PATH RANKS launch|capture DUMP WORD DIMENSION...
 *
 * WORD: where in a workspace a kernel would have counted the launch, which kernels of the fake do not; -1 for programs that count none.
 */
#include "ranks.h"

enum { MOST_RANKS = 8, MOST_TENSORS = 8, DEVICES = 4, BYTES = 1 << 12 };
static const collc_program *program;
static int ranks;
static int64_t dims[8], word;
static collc_handle *handles[MOST_RANKS];
static void *contexts[DEVICES], *streams[MOST_RANKS];
static collc_pointer tensors[MOST_TENSORS][MOST_RANKS], workspaces[MOST_RANKS];
static int (*ctx_set)(void *), (*stream_create)(void **, unsigned);

/* Inputs tell whose they are, outputs are as nobody leaves them, and each rank has counted `count` launches. */
static void fill(uint32_t count) {
  for (int r = 0; r < ranks; r++) {
    for (size_t t = 0; t < program->tensor_count; t++)
      for (int i = 0; i < BYTES / 2; i++)
        ((uint16_t *)(uintptr_t)tensors[t][r])[i] = (uint16_t)(program->tensors[t].is_output ? 0xffff : 1000 * r + i);
    if (word >= 0) *(uint32_t *)(uintptr_t)(workspaces[r] + (collc_pointer)word) = count;
  }
}
static void dump(const char *path, int round) {
  char name[1024];
  FILE *file;
  snprintf(name, sizeof name, "%s.%d", path, round);
  file = fopen(name, "wb");
  if (file == NULL) exit(7);
  for (int r = 0; r < ranks; r++) {
    driver.StreamSynchronize(streams[r]);
    for (size_t t = 0; t < program->tensor_count; t++) fwrite((void *)(uintptr_t)tensors[t][r], 1, (size_t)program->tensors[t].bytes(dims), file);
    fwrite((void *)(uintptr_t)workspaces[r], 1, collc_symmetric_bytes(handles[r]), file);
  }
  fclose(file);
}
static void *arguments_of(int rank) {
  void *arguments = calloc(1, program->argument_bytes);
  for (size_t d = 0; d < program->dim_count; d++) collc_set_dim(program, arguments, program->dims[d], dims[d], &error);
  for (size_t t = 0; t < program->tensor_count; t++) collc_set_tensor(program, arguments, program->tensors[t].name, tensors[t], rank, &error);
  return arguments;
}
static void live(const char *when) {
  int count[2] = {0, 0};
  for (int kind = 0; kind < 2; kind++) driver.DeviceGetAttribute(&count[kind], 9004 + kind, 0);
  printf("%s: %d streams, %d events\n", when, count[0], count[1]);
}

/* A launch of each rank in a graph; what a handle launches elsewhere while it is captured; and what the graph may be changed to. */
static void capture(const char *path) {
  int (*begin)(void *, int) = NULL, (*end)(void *, void **) = NULL, (*instantiate)(void **, void *, unsigned long long) = NULL, (*replay)(void *, void *) = NULL;
  void *graphs[MOST_RANKS], *execs[MOST_RANKS], *other = NULL;
  collc_nodes nodes[MOST_RANKS];
  *(void **)&begin = symbol("cuStreamBeginCapture_v2");
  *(void **)&end = symbol("cuStreamEndCapture");
  *(void **)&instantiate = symbol("cuGraphInstantiateWithFlags");
  *(void **)&replay = symbol("cuGraphLaunch");
  for (int r = 0; r < ranks; r++) {
    int code;
    ctx_set(contexts[r % DEVICES]);
    begin(streams[r], 1);
    said("capture", collc_capture(handles[r], program, arguments_of(r), streams[r], &nodes[r], &error));
    if (r == 0) {
      stream_create(&other, 1);
      printf("stream other %llu\n", (unsigned long long)(uintptr_t)other);
      said("meanwhile", collc_launch(handles[r], program, arguments_of(r), other, &error));
    }
    code = end(streams[r], &graphs[r]);
    printf("captured: %d %d\n", code, instantiate(&execs[r], graphs[r], 0));
  }
  fill(7);
  dump(path, 0);
  for (int round = 1; round <= 2; round++) {
    fill(8);
    for (int r = 0; r < ranks; r++) ctx_set(contexts[r % DEVICES]), printf("replay: %d\n", replay(execs[r], streams[r]));
    dump(path, round);
  }
  ctx_set(contexts[0]);
  said("same", collc_update(handles[0], program, arguments_of(0), &nodes[0], execs[0], &error));
  for (size_t t = 0; t < program->tensor_count; t++) {
    char what[64];
    snprintf(what, sizeof what, "moved %s", program->tensors[t].name);
    tensors[t][0] += 256;
    said(what, collc_update(handles[0], program, arguments_of(0), &nodes[0], execs[0], &error));
    tensors[t][0] -= 256;
  }
  dims[0] -= ranks;
  said("shorter", collc_update(handles[0], program, arguments_of(0), &nodes[0], execs[0], &error));
  dims[0] += ranks;
  driver.StreamDestroy(other);
}

int main(int argc, char **argv) {
  int (*ctx_retain)(void **, int) = NULL;
  int code = COLLC_OK;
  if (argc < 9 || collc_open_driver(argv[1], &driver, &error) != 0) return 6;
  *(void **)&ctx_set = symbol("cuCtxSetCurrent");
  *(void **)&ctx_retain = symbol("cuDevicePrimaryCtxRetain");
  *(void **)&stream_create = symbol("cuStreamCreate");
  ranks = atoi(argv[4]);
  word = atoll(argv[7]);
  for (int d = 8; d < argc; d++) dims[d - 8] = atoll(argv[d]);
  program = collc_find(coll_programs, coll_program_count, argv[3], ranks, NULL);
  if (program == NULL) return 7;
  for (int device = 0; device < DEVICES; device++) ctx_retain(&contexts[device], device);
  for (int r = 0; r < ranks; r++) {
    ctx_set(contexts[r % DEVICES]);
    stream_create(&streams[r], 1);
    printf("stream %d %llu\n", r, (unsigned long long)(uintptr_t)streams[r]);
    for (size_t t = 0; t < program->tensor_count; t++) {
      tensors[t][r] = shared(BYTES);
      printf("at %s %d %llu\n", program->tensors[t].name, r, (unsigned long long)tensors[t][r]);
    }
  }
  live("before");
  for (int r = 0; r < ranks && code == COLLC_OK; r++) {
    collc_options options;
    memset(&options, 0, sizeof options);
    options.device = r % DEVICES;
    options.rank = r;
    options.folder = argv[2];
    options.shapes = dims;
    options.shape_count = 1;
    ctx_set(contexts[r % DEVICES]);
    code = collc_load(&driver, program, &options, &handles[r], &error);
    if (code != COLLC_OK) break;
    workspaces[r] = shared(collc_symmetric_bytes(handles[r]));
    printf("at workspace %d %llu\n", r, (unsigned long long)workspaces[r]);
  }
  said("load", code);
  live("loaded");
  for (int r = 0; r < ranks && code == COLLC_OK; r++) {
    ctx_set(contexts[r % DEVICES]);
    if (collc_attach(handles[r], workspaces, &error) != 0 || collc_reset(handles[r], streams[r], &error) != 0) return 5;
  }
  if (code == COLLC_OK && strcmp(argv[5], "capture") == 0) capture(argv[6]);
  else if (code == COLLC_OK) {
    fill(7);
    for (int r = 0; r < ranks; r++) {
      ctx_set(contexts[r % DEVICES]);
      said("launch", collc_launch(handles[r], program, arguments_of(r), streams[r], &error));
    }
    dump(argv[6], 0);
  }
  for (int r = 0; r < ranks; r++) ctx_set(contexts[r % DEVICES]), collc_unload(handles[r]);
  live("after");
  return 0;
}
