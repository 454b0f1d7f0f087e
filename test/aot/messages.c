/* Four ranks of two domains in one process, against the fake driver: what collc.c gives to what carries messages. `messages.test.ts` reads it. */
#include "ranks.h"

enum { RANKS = 4, DOMAIN = 2, MOST = 1 << 20 };
static collc_handle *handles[RANKS];
static void *contexts[RANKS], *streams[RANKS];
static collc_pointer workspaces[RANKS], x[RANKS], y[RANKS];
static int refused;

/* As a rank has them: those of other domains have no address. */
static const collc_pointer *near(const collc_pointer *all, int rank) {
  static collc_pointer seen[RANKS];
  for (int p = 0; p < RANKS; p++) seen[p] = p / DOMAIN == rank / DOMAIN ? all[p] : 0;
  return seen;
}

/* The communicator is the rank's number, plus one. */
static int rank_of(const void *communicator) { return (int)(intptr_t)communicator - 1; }
static int group_start(void) { return printf("group\n") < 0; }
static int group_end(void) { return printf("end\n") < 0; }
static int called(const char *what, const void *data, size_t bytes, int type, int peer, const void *communicator, const void *stream) {
  const int rank = rank_of(communicator);
  if (refused != 0) return refused;
  printf("rank %d %s %d %lld %zu %s\n", rank, what, peer, (long long)((collc_pointer)(uintptr_t)data - workspaces[rank]), bytes,
         type == 1 && stream == streams[rank] ? "bytes" : "WRONG");
  return 0;
}
static int send(const void *data, size_t bytes, int type, int peer, void *communicator, void *stream) {
  return called("sends", data, bytes, type, peer, communicator, stream);
}
static int receive(void *data, size_t bytes, int type, int peer, void *communicator, void *stream) {
  return called("receives", data, bytes, type, peer, communicator, stream);
}
static const char *text_of(int code) { return code == 6 ? "remote error" : "?"; }

static int launch(const collc_program *program, int r, int64_t n) {
  int64_t words[1 + 2 * RANKS];
  memset(words, 0, sizeof words);
  if (collc_set_dim(program, words, "n", n, &error) || collc_set_tensor(program, words, "x", near(x, r), r, &error) ||
      collc_set_tensor(program, words, "y", near(y, r), r, &error))
    return error.code;
  driver.StreamSynchronize(streams[r]);
  return collc_launch(handles[r], program, words, streams[r], &error);
}

/* libcuda, folder, path, n */
int main(int argc, char **argv) {
  const collc_program *program;
  int (*ctx_set)(void *), (*ctx_retain)(void **, int), (*stream_create)(void **, unsigned);
  collc_carrier carrier = {group_start, group_end, send, receive, text_of, NULL, NULL};
  const int64_t n = argc > 4 ? atoll(argv[4]) : 0;
  if (argc < 5 || collc_open_driver(argv[1], &driver, &error) != 0) return 6;
  *(void **)&ctx_set = symbol("cuCtxSetCurrent");
  *(void **)&ctx_retain = symbol("cuDevicePrimaryCtxRetain");
  *(void **)&stream_create = symbol("cuStreamCreate");
  program = collc_find_across(coll_programs, coll_program_count, argv[3], RANKS, DOMAIN, NULL);
  if (program == NULL || collc_find(coll_programs, coll_program_count, argv[3], RANKS, NULL) != NULL) return 7;
  printf("has messages: %d\n", collc_has_messages(program));
  for (int r = 0; r < RANKS; r++) {
    collc_options options;
    memset(&options, 0, sizeof options);
    options.device = options.rank = r;
    options.folder = argv[2];
    options.timeout_ns = UINT64_C(3000000000);
    options.shapes = &n;
    options.shape_count = 1;
    ctx_retain(&contexts[r], r);
    ctx_set(contexts[r]);
    stream_create(&streams[r], 1);
    x[r] = shared(MOST);
    y[r] = shared(MOST);
    if (collc_load(&driver, program, &options, &handles[r], &error) != 0) return said("load", error.code), 0;
    workspaces[r] = shared(collc_symmetric_bytes(handles[r]));
  }
  for (int r = 0; r < RANKS; r++) {
    collc_pointer lacking[RANKS];
    ctx_set(contexts[r]);
    if (collc_fingerprint(handles[r]) != collc_fingerprint(handles[0])) printf("other code on rank %d\n", r);
    memcpy(lacking, near(workspaces, r), sizeof lacking);
    lacking[r ^ 1] = 0;
    said("without a neighbour", collc_attach(handles[r], lacking, &error));
    if (collc_attach(handles[r], near(workspaces, r), &error) != 0) return said("attach", error.code), 0;
    if (collc_reset(handles[r], streams[r], &error) != 0) return said("reset", error.code), 0;
  }
  ctx_set(contexts[0]);
  said("nothing carries", launch(program, 0, n));
  said("no communicator", collc_carry(handles[0], &carrier, &error));
  for (int r = 0; r < RANKS; r++) {
    ctx_set(contexts[r]);
    carrier.communicator = (void *)(intptr_t)(r + 1);
    said("carry", collc_carry(handles[r], &carrier, &error));
    said("launch", launch(program, r, n));
    said("shorter", launch(program, r, 1));
  }
  ctx_set(contexts[0]);
  said("too long", launch(program, 0, 2 * n));
  refused = 6;
  said("refused", launch(program, 0, n));
  said("no library", collc_open_nccl("./libnccl-is-not-here.so", &carrier, &error));
  for (int r = 0; r < RANKS; r++) collc_unload(handles[r]);
  return 0;
}
