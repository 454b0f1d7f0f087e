/* Symmetric memory over CUDA's virtual memory management: so many bytes on every rank's GPU, mapped by all ranks. */
#ifndef MEMORY_H
#define MEMORY_H

#include "collc.h"
#include "ranks.h"

typedef struct memory_api memory_api;

typedef struct symmetric_memory {
  collc_pointer pointers[MOST_RANKS]; /* rank p's, as mapped here */
  size_t bytes;                       /* mapped */
  int world;
} symmetric_memory;

/* Looks up what memory needs in the driver. Null, with a message, where it is too old, or the GPU cannot share memory. */
const memory_api *memory_open(const collc_driver *driver, int device);

/* Collective: all ranks ask for the same. Zeroed, over the stream. 0, or -1 with a message on the rank that failed. */
int symmetric_allocate(const memory_api *api, ranks *all_ranks, size_t bytes, void *stream, symmetric_memory *made);

/* Collective: nobody unmaps before everybody is done. */
void symmetric_free(const memory_api *api, ranks *all_ranks, symmetric_memory *memory);

#endif
