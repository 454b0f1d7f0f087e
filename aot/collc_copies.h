/* What collc.c needs of collc_copies.c: copies by a GPU's copy engines. Nothing here is for callers. */
#ifndef COLLC_COPIES_H
#define COLLC_COPIES_H

#include "collc.h"

/* Most copies of a step that go on at a time, as the tables number their lanes. */
enum { COLLC_LANES = 4 };

/* Streams beside the one that a program is launched on, and events; null where its steps need none. */
typedef struct collc_lanes {
  void *streams[COLLC_LANES], *ends[COLLC_LANES];
  void *begin;
  void *beside, *beside_begin, *beside_end; /* of steps that go on beside kernels */
  int is_beside;                            /* a launch has something on `beside` that its stream has not waited for */
  int most_pitch;                           /* CU_DEVICE_ATTRIBUTE_MAX_PITCH */
} collc_lanes;

/* Where the ends of copies lie, as this rank knows them. */
typedef struct collc_places {
  const collc_program *program;
  int rank;
  const void *arguments;
  const collc_pointer *workspaces; /* of every rank */
  const size_t *memory_offsets;    /* of each memory of the target, in a workspace */
} collc_places;

/* Whether a choice has steps with copies. */
int collc_has_copies(const collc_choice *choice);

/* The first address of a tensor or memory. */
collc_pointer collc_place_of(const collc_places *places, const collc_copy_end *end);

/*
 * These return 0, or a CUresult, and in `call` which call gave it.
 *
 * Makes what the steps of any choice need on this rank; what was made before a failure is there for collc_close_lanes.
 */
int collc_open_lanes(const collc_driver *driver, const collc_target *target, int rank, int device, collc_lanes *lanes, const char **call);

/* Enqueues a step's copies: `stream` is in front of them, and behind them, or behind collc_join_copies where they go on beside kernels. */
int collc_enqueue_copies(const collc_driver *driver, collc_lanes *lanes, const collc_step *step, const collc_places *places, void *stream,
                         const char **call);

/* What comes on `stream` next comes after all copies of the launch. */
int collc_join_copies(const collc_driver *driver, collc_lanes *lanes, void *stream, const char **call);

/* Gives back what was made. Nothing may be running. */
void collc_close_lanes(const collc_driver *driver, collc_lanes *lanes);

#endif
