/*
 * The ranks of one machine, as processes: how they start and what they tell each other, over UNIX sockets. A launcher that starts
 * ranks by itself gives each RANK, WORLD_SIZE and a folder of their own in RUN_DIR; without them, the program forks its ranks.
 */
#ifndef RANKS_H
#define RANKS_H

#include <stddef.h>

enum { MOST_RANKS = 64 };

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ranks {
  int rank, world;
  int sockets[MOST_RANKS]; /* to each other rank; -1 for the own */
  char folder[96];
} ranks;

/*
 * Runs `body` on every rank: here, where a launcher has started the ranks, else in processes of its own.
 * Gives 0 if all of them did, else the first code that was not 0; the others are stopped then.
 */
int run_ranks(int world, int (*body)(ranks *, void *), void *data);

/* `all[p]` is what rank p gave, of so many bytes; small. 0, or -1 when a rank is gone. */
int ranks_gather(ranks *all_ranks, const void *mine, size_t bytes, void *all);

/* Nobody returns before everybody has called. */
int ranks_meet(ranks *all_ranks);

/* `all[p]`: a descriptor of what rank p's `mine` is of; the own entry is -1. The caller closes them. */
int ranks_gather_descriptors(ranks *all_ranks, int mine, int *all);

#ifdef __cplusplus
}
#endif

#endif
