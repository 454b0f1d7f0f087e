/* What carries messages between hosts: a communicator of NCCL's for all ranks. */
#ifndef MESSAGES_H
#define MESSAGES_H

#include "collc.h"
#include "ranks.h"

/* Collective: opens NCCL, the library at `path` or the one of the system, and makes a communicator. 0, or -1 with a message. */
int messages_open(ranks *all_ranks, const char *path, collc_carrier *made);

/* Collective: gives the communicator back, when nothing runs any more. */
void messages_close(collc_carrier *carrier);

#endif
