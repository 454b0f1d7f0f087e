/*
 * An all-reduce without Node and without Python: ranks as processes, memory over CUDA's virtual memory management, a program that
 * `collc build` has compiled, launched and verified.
 *
 *   make && ./all_reduce --ranks 4 --elements 1000000
 *
 * With --domain 2, ranks 0 and 1 pretend to be on one host and ranks 2 and 3 on another: no rank uses addresses of the other host's memory,
 * and NCCL carries what goes there, for which it is told of the same hosts.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll_programs.h"
#include "memory.h"
#include "messages.h"
#include "ranks.h"

typedef struct {
  int ranks, domain;
  long long elements;
  const char *program, *folder, *libcuda, *libnccl;
  int rounds;
} settings;

/* What the example needs of the driver besides collc.h. */
typedef struct {
  int (*DeviceGetCount)(int *);
  int (*PrimaryCtxRetain)(void **, int);
  int (*CtxSetCurrent)(void *);
  int (*StreamCreate)(void **, unsigned);
  int (*CopyIn)(collc_pointer, const void *, size_t, void *);
  int (*CopyOut)(void *, collc_pointer, size_t, void *);
} driver_calls;

static int said(const ranks *r, const char *what, const collc_error *error) {
  fprintf(stderr, "rank %d: %s: %s\n", r->rank, what, error->message);
  return error->code == COLLC_ERROR_DEVICE || error->code == COLLC_ERROR_DRIVER ? 3 : 1;
}

static int checked(const ranks *r, const char *call, int result) {
  if (result == 0) return 0;
  fprintf(stderr, "rank %d: %s fails with %d\n", r->rank, call, result);
  return 3;
}

static int open_calls(const collc_driver *driver, driver_calls *calls) {
  static const char *const names[] = {"cuDeviceGetCount", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent",
                                      "cuStreamCreate", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"};
  void *found[6];
  for (int i = 0; i < 6; i++)
    if ((found[i] = dlsym(driver->library, names[i])) == NULL) return fprintf(stderr, "the driver has no %s\n", names[i]), -1;
  memcpy((void *)&calls->DeviceGetCount, &found[0], sizeof found[0]);
  memcpy((void *)&calls->PrimaryCtxRetain, &found[1], sizeof found[0]);
  memcpy((void *)&calls->CtxSetCurrent, &found[2], sizeof found[0]);
  memcpy((void *)&calls->StreamCreate, &found[3], sizeof found[0]);
  memcpy((void *)&calls->CopyIn, &found[4], sizeof found[0]);
  memcpy((void *)&calls->CopyOut, &found[5], sizeof found[0]);
  return 0;
}

/* Small whole numbers: their sums are exact in f32, so what is wrong is wrong. */
static float element(int rank, long long i, int round) { return (float)((i * 7 + rank * 13 + round) % 1009); }

/* Addresses of one domain's ranks, and none of others. */
static const collc_pointer *near(const ranks *r, const settings *s, const symmetric_memory *memory, collc_pointer *seen) {
  for (int p = 0; p < s->ranks; p++) seen[p] = p / s->domain == r->rank / s->domain ? memory->pointers[p] : 0;
  return seen;
}

/* Launches, and compares every element with the sum of what the ranks put in. */
static int launch_and_verify(ranks *r, const settings *s, const driver_calls *calls, const collc_driver *driver, collc_handle *handle,
                             const collc_program *program, const symmetric_memory *x, const symmetric_memory *y, void *stream, float *host) {
  const size_t bytes = (size_t)s->elements * sizeof(float);
  collc_error error;
  collc_failure failure;
  collc_pointer seen[MOST_RANKS];
  long long wrong = 0;
  int code = 0;
  int64_t *arguments = (int64_t *)calloc(1, program->argument_bytes);
  if (arguments == NULL) return 1;
  if (collc_set_dim(program, arguments, "n", s->elements, &error) != 0 ||
      collc_set_tensor(program, arguments, "x", near(r, s, x, seen), r->rank, &error) != 0 ||
      collc_set_tensor(program, arguments, "y", near(r, s, y, seen), r->rank, &error) != 0)
    code = said(r, "arguments", &error);
  for (int round = 0; round < s->rounds && code == 0; round++) {
    for (long long i = 0; i < s->elements; i++) host[i] = element(r->rank, i, round);
    code = checked(r, "cuMemcpyHtoDAsync", calls->CopyIn(x->pointers[r->rank], host, bytes, stream));
    if (code == 0 && collc_launch(handle, program, arguments, stream, &error) != 0) code = said(r, "launch", &error);
    if (code == 0) code = checked(r, "cuMemcpyDtoHAsync", calls->CopyOut(host, y->pointers[r->rank], bytes, stream));
    if (code == 0) code = checked(r, "cuStreamSynchronize", driver->StreamSynchronize(stream));
    if (code == 0 && collc_status(handle, &failure, &error) != 0) code = said(r, "wait", &error);
    for (long long i = 0; i < s->elements && code == 0; i++) {
      float sum = 0;
      for (int p = 0; p < s->ranks; p++) sum += element(p, i, round);
      wrong += host[i] != sum;
    }
  }
  free(arguments);
  if (code != 0) return code;
  printf("rank %d: %s of %lld f32, %d launches: %lld wrong\n", r->rank, program->path, s->elements, s->rounds, wrong);
  return wrong == 0 ? 0 : 1;
}

/* What one rank does. */
static int rank_main(ranks *r, void *data) {
  const settings *s = (const settings *)data;
  const collc_program *program = collc_find_across(coll_programs, coll_program_count, s->program, s->ranks, s->domain, "T=f32");
  const int64_t shape[1] = {s->elements};
  collc_driver driver;
  collc_options options;
  collc_handle *handle = NULL;
  collc_error error;
  driver_calls calls;
  collc_carrier carrier;
  collc_pointer seen[MOST_RANKS];
  const memory_api *api;
  symmetric_memory x, y, workspace;
  uint64_t fingerprint, fingerprints[MOST_RANKS];
  void *context = NULL, *stream = NULL;
  float *host;
  int devices = 0, code;
  if (program == NULL) {
    fprintf(stderr, "there is no %s for %d ranks, of which %d share addresses, and f32 in coll_programs: build it with --ranks %d --dtype f32",
            s->program, s->ranks, s->domain, s->ranks);
    if (s->domain < s->ranks) fprintf(stderr, " --reach %dx%d", (s->ranks + s->domain - 1) / s->domain, s->domain);
    fprintf(stderr, "\n");
    return 2;
  }
  if (collc_open_driver(s->libcuda, &driver, &error) != 0) return said(r, "driver", &error);
  if (open_calls(&driver, &calls) != 0 || checked(r, "cuDeviceGetCount", calls.DeviceGetCount(&devices)) != 0) return 3;
  if (devices < s->ranks) return fprintf(stderr, "%d ranks need as many GPUs, and there are %d\n", s->ranks, devices), 3;
  if (checked(r, "cuDevicePrimaryCtxRetain", calls.PrimaryCtxRetain(&context, r->rank)) != 0 ||
      checked(r, "cuCtxSetCurrent", calls.CtxSetCurrent(context)) != 0 || checked(r, "cuStreamCreate", calls.StreamCreate(&stream, 1)) != 0)
    return 3;
  api = memory_open(&driver, r->rank);
  if (api == NULL) return 3;

  memset(&options, 0, sizeof options);
  options.device = options.rank = r->rank;
  options.folder = s->folder;
  options.timeout_ns = UINT64_C(30000000000);
  options.shapes = shape;
  options.shape_count = 1;
  if (collc_load(&driver, program, &options, &handle, &error) != 0) return said(r, "load", &error);
  fingerprint = collc_fingerprint(handle);
  if (ranks_gather(r, &fingerprint, sizeof fingerprint, fingerprints) != 0) return 1;
  for (int p = 0; p < s->ranks; p++)
    if (fingerprints[p] != fingerprint) return fprintf(stderr, "rank %d runs other code than rank %d\n", p, r->rank), 1;

  /* Tensors and workspace: everything that peers reach. */
  host = (float *)malloc((size_t)s->elements * sizeof(float) + 1);
  if (host == NULL || symmetric_allocate(api, r, (size_t)s->elements * sizeof(float) + 16, stream, &x) != 0 ||
      symmetric_allocate(api, r, (size_t)s->elements * sizeof(float) + 16, stream, &y) != 0 ||
      symmetric_allocate(api, r, collc_symmetric_bytes(handle) + 1, stream, &workspace) != 0)
    return 1;
  /* First use: everybody's flags are zero before anybody launches. */
  if (collc_attach(handle, near(r, s, &workspace, seen), &error) != 0 || collc_reset(handle, stream, &error) != 0) return said(r, "workspace", &error);
  if (ranks_meet(r) != 0) return 1;
  if (collc_has_messages(program)) {
    char host[32];
    snprintf(host, sizeof host, "pretended-host-%d", r->rank / s->domain);
    setenv("NCCL_HOSTID", host, 0);
    if (messages_open(r, s->libnccl, &carrier) != 0) return 3;
    if (collc_carry(handle, &carrier, &error) != 0) return said(r, "messages", &error);
  }

  code = launch_and_verify(r, s, &calls, &driver, handle, program, &x, &y, stream, host);
  if (code == 0) {
    if (collc_has_messages(program)) messages_close(&carrier);
    symmetric_free(api, r, &workspace);
    symmetric_free(api, r, &y);
    symmetric_free(api, r, &x);
    collc_unload(handle);
  } /* else the process ends: the driver takes everything back */
  free(host);
  return code;
}

static int usage(const char *problem) {
  fprintf(stderr,
          "%s\nusage: all_reduce [--ranks N] [--domain N] [--elements N] [--rounds N] [--program PATH] [--folder DIR] [--libcuda FILE] [--libnccl FILE]\n",
          problem);
  return 2;
}

int main(int argc, char **argv) {
  settings s;
  memset(&s, 0, sizeof s);
  s.ranks = 2;
  s.elements = 1000003;
  s.rounds = 3;
  s.program = "all_reduce";
  s.folder = "out";
  for (int i = 1; i < argc; i += 2) {
    const char *value = argv[i + 1];
    if (i + 1 == argc) return usage("an option lacks its value");
    if (strcmp(argv[i], "--ranks") == 0) s.ranks = atoi(value);
    else if (strcmp(argv[i], "--domain") == 0) s.domain = atoi(value);
    else if (strcmp(argv[i], "--elements") == 0) s.elements = atoll(value);
    else if (strcmp(argv[i], "--rounds") == 0) s.rounds = atoi(value);
    else if (strcmp(argv[i], "--program") == 0) s.program = value;
    else if (strcmp(argv[i], "--folder") == 0) s.folder = value;
    else if (strcmp(argv[i], "--libcuda") == 0) s.libcuda = value;
    else if (strcmp(argv[i], "--libnccl") == 0) s.libnccl = value;
    else return usage("there is no such option");
  }
  if (s.domain == 0) s.domain = s.ranks;
  if (s.domain < 1 || s.domain > s.ranks || s.ranks < 1 || s.ranks > MOST_RANKS || s.elements < 1 || s.elements > 1ll << 32 || s.rounds < 1) return usage("a number is out of range");
  return run_ranks(s.ranks, rank_main, &s);
}
