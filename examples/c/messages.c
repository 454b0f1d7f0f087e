#include "messages.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* ncclUniqueId */
typedef struct unique_id {
  char bytes[128];
} unique_id;

int messages_open(ranks *r, const char *path, collc_carrier *made) {
  collc_error error;
  unique_id id, ids[MOST_RANKS];
  int (*get_id)(unique_id *), (*init)(void **, int, unique_id, int), result = 0;
  if (collc_open_nccl(path, made, &error) != 0) return fprintf(stderr, "rank %d: %s\n", r->rank, error.message), -1;
  *(void **)&get_id = dlsym(made->library, "ncclGetUniqueId");
  *(void **)&init = dlsym(made->library, "ncclCommInitRank");
  if (get_id == NULL || init == NULL) return fprintf(stderr, "rank %d: NCCL is too old\n", r->rank), -1;
  memset(&id, 0, sizeof id);
  if (r->rank == 0) result = get_id(&id);
  if (ranks_gather(r, &id, sizeof id, ids) != 0) return -1;
  if (result == 0) result = init(&made->communicator, r->world, ids[0], r->rank);
  if (result == 0) return 0;
  fprintf(stderr, "rank %d: there is no communicator: %s\n", r->rank, made->text_of(result));
  return -1;
}

void messages_close(collc_carrier *carrier) {
  int (*destroy)(void *);
  *(void **)&destroy = dlsym(carrier->library, "ncclCommDestroy");
  if (destroy != NULL) destroy(carrier->communicator);
}
