/* Steps of programs that a GPU's copy engines carry out, side by side between kernels or one after the other beside them. */
#include "collc_copies.h"

#include <string.h>

enum { MAX_PITCH = 11 }; /* CUdevice_attribute */
enum { NON_BLOCKING = 1, DISABLE_TIMING = 2, UNIFIED = 4 }; /* CUstream_flags, CUevent_flags, CUmemorytype */

#define TRY(name, invoked)                                 \
  do {                                                     \
    const int tried = (invoked);                           \
    if (tried != 0) return *call = (name), tried;          \
  } while (0)

/* CUDA_MEMCPY2D_v2 */
typedef struct rows_copy {
  size_t source_x, source_y;
  int source_type;
  const void *source_host;
  collc_pointer source;
  void *source_array;
  size_t source_pitch;
  size_t target_x, target_y;
  int target_type;
  void *target_host;
  collc_pointer target;
  void *target_array;
  size_t target_pitch;
  size_t width, height;
} rows_copy;

int collc_has_copies(const collc_choice *choice) {
  for (size_t s = 0; s < choice->step_count; s++)
    if (choice->steps[s].copies != NULL) return 1;
  return 0;
}

collc_pointer collc_place_of(const collc_places *places, const collc_copy_end *end) {
  const collc_tensor *tensor;
  if (end->tensor < 0) return places->workspaces[end->rank] + places->memory_offsets[end->memory];
  tensor = &places->program->tensors[end->tensor];
  return ((const collc_pointer *)places->arguments)[tensor->word + (tensor->is_symmetric ? (size_t)end->rank : 0)];
}

/* Lanes of a step that have copies on a rank, whatever the dimensions. */
static int lanes_of(const collc_copies *copies) {
  unsigned seen = 0;
  int count = 0;
  for (size_t c = 0; c < copies->count; c++) seen |= 1u << copies->copies[c].lane;
  for (; seen != 0; seen >>= 1) count += (int)(seen & 1);
  return count;
}

static int open_event(const collc_driver *driver, void **event, const char **call) {
  TRY("cuEventCreate", driver->EventCreate(event, DISABLE_TIMING));
  return 0;
}

static int open_stream(const collc_driver *driver, void **stream, const char **call) {
  TRY("cuStreamCreate", driver->StreamCreate(stream, NON_BLOCKING));
  return 0;
}

int collc_open_lanes(const collc_driver *driver, const collc_target *target, int rank, int device, collc_lanes *lanes, const char **call) {
  int count = 0, has_beside = 0, has_copies = 0, result = 0;
  for (const collc_choice *choice = target->choices;; choice++) {
    for (size_t s = 0; s < choice->step_count; s++) {
      const collc_step *step = &choice->steps[s];
      if (step->copies == NULL) continue;
      has_copies = 1;
      if (step->is_beside) has_beside = 1;
      else if (lanes_of(&step->copies[rank]) > count) count = lanes_of(&step->copies[rank]);
    }
    if (choice->below == 0) break;
  }
  if (has_copies) TRY("cuDeviceGetAttribute", driver->DeviceGetAttribute(&lanes->most_pitch, MAX_PITCH, device));
  if (has_beside) {
    result = open_event(driver, &lanes->beside_begin, call);
    if (result == 0) result = open_event(driver, &lanes->beside_end, call);
    if (result == 0) result = open_stream(driver, &lanes->beside, call);
  }
  /* With nothing beside it, a lane needs no other stream. */
  if (count < 2 || result != 0) return result;
  result = open_event(driver, &lanes->begin, call);
  for (int lane = 0; lane < count && result == 0; lane++) {
    result = open_stream(driver, &lanes->streams[lane], call);
    if (result == 0) result = open_event(driver, &lanes->ends[lane], call);
  }
  return result;
}

void collc_close_lanes(const collc_driver *driver, collc_lanes *lanes) {
  for (int lane = 0; lane < COLLC_LANES; lane++) {
    if (lanes->streams[lane] != NULL) driver->StreamDestroy(lanes->streams[lane]);
    if (lanes->ends[lane] != NULL) driver->EventDestroy(lanes->ends[lane]);
  }
  if (lanes->begin != NULL) driver->EventDestroy(lanes->begin);
  if (lanes->beside != NULL) driver->StreamDestroy(lanes->beside);
  if (lanes->beside_begin != NULL) driver->EventDestroy(lanes->beside_begin);
  if (lanes->beside_end != NULL) driver->EventDestroy(lanes->beside_end);
  memset(lanes, 0, sizeof *lanes);
}

/* A lane belongs to a capture until that ends. What runs meanwhile, or is captured by itself, has none, and copies on its own stream. */
static int ask_free(const collc_driver *driver, void *lane, void *stream, int *is_free, const char **call) {
  int status = 0, of_stream = 0;
  uint64_t id = 0, id_of_stream = 0;
  TRY("cuStreamGetCaptureInfo", driver->StreamGetCaptureInfo(lane, &status, &id, NULL, NULL, NULL));
  *is_free = status == 0;
  if (*is_free) return 0;
  TRY("cuStreamGetCaptureInfo", driver->StreamGetCaptureInfo(stream, &of_stream, &id_of_stream, NULL, NULL, NULL));
  *is_free = of_stream != 0 && id_of_stream == id;
  return 0;
}

static int has_elements(const collc_copy *copy, const int64_t *dims) { return copy->rows(dims) > 0 && copy->bytes(dims) > 0; }

/* As many calls as the driver needs for a copy; rows that are neighbours on both sides are one. */
static int enqueue_copy(const collc_driver *driver, const collc_lanes *lanes, const collc_copy *copy, const collc_places *places, void *stream,
                        const char **call) {
  const int64_t *dims = (const int64_t *)places->arguments;
  int64_t rows = copy->rows(dims), bytes = copy->bytes(dims);
  const int64_t source_pitch = copy->from.pitch(dims), target_pitch = copy->to.pitch(dims);
  const collc_pointer source = collc_place_of(places, &copy->from) + (collc_pointer)copy->from.offset(dims);
  const collc_pointer target = collc_place_of(places, &copy->to) + (collc_pointer)copy->to.offset(dims);
  if (rows <= 0 || bytes <= 0) return 0;
  if (source_pitch == bytes && target_pitch == bytes) bytes *= rows, rows = 1;
  /* Rows that overlap, are one row again and again, or go backwards, are no rectangle to the driver. */
  const int are_apart = source_pitch >= bytes && target_pitch >= bytes;
  if (rows > 1 && are_apart && collc_max(source_pitch, target_pitch) <= lanes->most_pitch) {
    rows_copy all;
    memset(&all, 0, sizeof all);
    all.source_type = all.target_type = UNIFIED;
    all.source = source;
    all.source_pitch = (size_t)source_pitch;
    all.target = target;
    all.target_pitch = (size_t)target_pitch;
    all.width = (size_t)bytes;
    all.height = (size_t)rows;
    TRY("cuMemcpy2DAsync", driver->Memcpy2DAsync(&all, stream));
    return 0;
  }
  for (int64_t row = 0; row < rows; row++)
    TRY("cuMemcpyDtoDAsync", driver->MemcpyDtoDAsync(target + (collc_pointer)(row * target_pitch), source + (collc_pointer)(row * source_pitch),
                                                     (size_t)bytes, stream));
  return 0;
}

/* Those of a lane, or of all: in their order. */
static int enqueue_all(const collc_driver *driver, const collc_lanes *lanes, const collc_copies *copies, int lane, const collc_places *places,
                       void *stream, const char **call) {
  for (size_t c = 0; c < copies->count; c++) {
    int result;
    if (lane >= 0 && copies->copies[c].lane != lane) continue;
    result = enqueue_copy(driver, lanes, &copies->copies[c], places, stream, call);
    if (result != 0) return result;
  }
  return 0;
}

/* Those of a lane on a stream of theirs, behind `begin`; `end` is what comes behind them. What fails leaves that to be waited for, too. */
static int fork_copies(const collc_driver *driver, const collc_lanes *lanes, const collc_copies *copies, int lane, const collc_places *places,
                       void *own, void *begin, void *end, const char **call) {
  int result, recorded;
  TRY("cuStreamWaitEvent", driver->StreamWaitEvent(own, begin, 0));
  result = enqueue_all(driver, lanes, copies, lane, places, own, call);
  recorded = driver->EventRecord(end, own);
  if (result == 0 && recorded != 0) *call = "cuEventRecord", result = recorded;
  return result;
}

static int enqueue_beside(const collc_driver *driver, collc_lanes *lanes, const collc_copies *copies, const collc_places *places, void *stream,
                          const char **call) {
  int is_free, result = ask_free(driver, lanes->beside, stream, &is_free, call);
  if (result != 0) return result;
  if (!is_free) return enqueue_all(driver, lanes, copies, -1, places, stream, call);
  TRY("cuEventRecord", driver->EventRecord(lanes->beside_begin, stream));
  result = fork_copies(driver, lanes, copies, -1, places, lanes->beside, lanes->beside_begin, lanes->beside_end, call);
  lanes->is_beside = 1;
  return result;
}

int collc_enqueue_copies(const collc_driver *driver, collc_lanes *lanes, const collc_step *step, const collc_places *places, void *stream,
                         const char **call) {
  const collc_copies *copies = &step->copies[places->rank];
  const int64_t *dims = (const int64_t *)places->arguments;
  unsigned used = 0;
  int is_free = 0, next = 0, result = 0;
  if (step->is_beside) return enqueue_beside(driver, lanes, copies, places, stream, call);
  for (size_t c = 0; c < copies->count; c++)
    if (has_elements(&copies->copies[c], dims)) used |= 1u << copies->copies[c].lane;
  if ((used & (used - 1)) != 0) result = ask_free(driver, lanes->streams[0], stream, &is_free, call);
  if (result != 0) return result;
  if (!is_free) return enqueue_all(driver, lanes, copies, -1, places, stream, call);
  TRY("cuEventRecord", driver->EventRecord(lanes->begin, stream));
  for (int lane = 0; lane < COLLC_LANES && result == 0; lane++) {
    int waited;
    if ((used >> lane & 1) == 0) continue;
    result = fork_copies(driver, lanes, copies, lane, places, lanes->streams[next], lanes->begin, lanes->ends[next], call);
    waited = driver->StreamWaitEvent(stream, lanes->ends[next++], 0);
    if (result == 0 && waited != 0) *call = "cuStreamWaitEvent", result = waited;
  }
  return result;
}

int collc_join_copies(const collc_driver *driver, collc_lanes *lanes, void *stream, const char **call) {
  if (!lanes->is_beside) return 0;
  lanes->is_beside = 0;
  TRY("cuStreamWaitEvent", driver->StreamWaitEvent(stream, lanes->beside_end, 0));
  return 0;
}
