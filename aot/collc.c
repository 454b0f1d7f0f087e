/* Loads and launches programs that `collc build` has compiled. collc.h says how, and what callers owe. */
#include "collc.h"
#include "collc_copies.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MAX_THREADS = 1,
  MULTIPROCESSORS = 16,
  MAJOR = 75,
  MINOR = 76,
  COOPERATIVE = 95,
  MAX_SHARED = 97
}; /* CUdevice_attribute */
enum { STATIC_SHARED = 1, DYNAMIC_SHARED = 8 }; /* CUfunction_attribute */
enum { WORKSPACE_ALIGNMENT = 128, STATUS_WORDS = 16, MAP_BYTES = 128, MAP_GRAIN = 16 };
#define MOST_DIMENSION (INT64_C(1) << 48)

typedef struct loaded_kernel {
  void *module;
  void *function;
  int64_t *bytes;      /* reserved for each buffer of the workspace; -1 for tensors */
  size_t *offsets;     /* in the symmetric or in the local workspace */
  collc_pointer *peers; /* of buffer b: entries b * ranks … */
  void **arguments;
  unsigned char *maps; /* aligned to 64 bytes */
  void *maps_memory;
  int64_t *lengths; /* the dimensions of a launch, and what is computed of them */
} loaded_kernel;

struct collc_handle {
  collc_driver driver;
  const collc_program *program;
  const collc_target *target;
  int32_t rank;
  uint64_t timeout_ns;
  int64_t max_blocks;
  loaded_kernel *kernels;
  size_t symmetric_bytes, local_bytes;
  collc_pointer local;
  collc_pointer own; /* this rank's symmetric workspace */
  collc_pointer *workspaces; /* every rank's */
  int64_t *memory_bytes;  /* reserved for each memory of the target */
  size_t *memory_offsets; /* in the symmetric workspace */
  collc_carrier carrier;
  collc_lanes lanes;
  int is_attached;
  uint32_t *status;
  collc_pointer status_pointer;
  uint64_t fingerprint;
};

static int fail(collc_error *error, int code, const char *format, ...) {
  va_list arguments;
  if (error == NULL) return code;
  error->code = code;
  error->driver = 0;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  return code;
}

static int driver_failed(const collc_driver *driver, int result, const char *call, collc_error *error) {
  const char *name = "", *text = "";
  if (driver->GetErrorName(result, &name) != 0) name = "an error";
  if (driver->GetErrorString(result, &text) != 0) text = "";
  fail(error, COLLC_ERROR_DRIVER, "%s: %s (%d): %s", call, name, result, text);
  if (error != NULL) error->driver = result;
  return COLLC_ERROR_DRIVER;
}

#define TRY(driver, call, name)                                                  \
  do {                                                                           \
    const int tried = (call);                                                    \
    if (tried != 0) return driver_failed((driver), tried, (name), error);        \
  } while (0)

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t count) {
  const unsigned char *bytes = (const unsigned char *)data;
  for (size_t i = 0; i < count; i++) hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
  return hash;
}
#define HASH_START UINT64_C(14695981039346656037)

/* A function of `library`, which is called `name`. */
#define REQUIRE(code, member, symbol)                                                            \
  do {                                                                                           \
    void *found = dlsym(library, symbol);                                                        \
    if (found == NULL) return fail(error, code, "%s has no %s: it is too old", name, symbol);    \
    memcpy((void *)&(member), (void *)&found, sizeof found);                                     \
  } while (0)

int collc_open_driver(const char *path, collc_driver *driver, collc_error *error) {
  const char *name = path != NULL ? path : "libcuda.so.1";
  void *library = dlopen(name, RTLD_NOW);
  int (*init)(unsigned);
  int (*version)(int *);
  if (library == NULL) return fail(error, COLLC_ERROR_DRIVER, "there is no NVIDIA driver here: %s", dlerror());
  memset(driver, 0, sizeof *driver);
  driver->library = library;
#define SYMBOL(member, symbol) REQUIRE(COLLC_ERROR_DRIVER, member, symbol)
  SYMBOL(init, "cuInit");
  SYMBOL(driver->GetErrorName, "cuGetErrorName");
  SYMBOL(driver->GetErrorString, "cuGetErrorString");
  SYMBOL(driver->DeviceGetAttribute, "cuDeviceGetAttribute");
  SYMBOL(driver->ModuleLoadData, "cuModuleLoadData");
  SYMBOL(driver->ModuleUnload, "cuModuleUnload");
  SYMBOL(driver->ModuleGetFunction, "cuModuleGetFunction");
  SYMBOL(driver->FuncGetAttribute, "cuFuncGetAttribute");
  SYMBOL(driver->FuncSetAttribute, "cuFuncSetAttribute");
  SYMBOL(driver->Occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  SYMBOL(version, "cuDriverGetVersion");
  SYMBOL(driver->LaunchKernelEx, "cuLaunchKernelEx");
  SYMBOL(driver->TensorMapEncodeTiled, "cuTensorMapEncodeTiled");
  SYMBOL(driver->MemAlloc, "cuMemAlloc_v2");
  SYMBOL(driver->MemFree, "cuMemFree_v2");
  SYMBOL(driver->MemsetD8Async, "cuMemsetD8Async");
  SYMBOL(driver->MemHostAlloc, "cuMemHostAlloc");
  SYMBOL(driver->MemFreeHost, "cuMemFreeHost");
  SYMBOL(driver->MemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2");
  SYMBOL(driver->StreamSynchronize, "cuStreamSynchronize");
  SYMBOL(driver->StreamCreate, "cuStreamCreate");
  SYMBOL(driver->StreamDestroy, "cuStreamDestroy_v2");
  SYMBOL(driver->StreamWaitEvent, "cuStreamWaitEvent");
  SYMBOL(driver->EventCreate, "cuEventCreate");
  SYMBOL(driver->EventDestroy, "cuEventDestroy_v2");
  SYMBOL(driver->EventRecord, "cuEventRecord");
  SYMBOL(driver->MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
  SYMBOL(driver->Memcpy2DAsync, "cuMemcpy2DAsync_v2");
#define OPTIONAL_SYMBOL(member, symbol)                                   \
  do {                                                                    \
    void *found = dlsym(library, symbol);                                 \
    memcpy((void *)&(member), (void *)&found, sizeof found);              \
  } while (0)
  OPTIONAL_SYMBOL(driver->StreamGetCaptureInfo, "cuStreamGetCaptureInfo_v2");
  OPTIONAL_SYMBOL(driver->GraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams_v2");
  TRY(driver, init(0), "cuInit");
  TRY(driver, version(&driver->version), "cuDriverGetVersion");
  return COLLC_OK;
}

const collc_program *collc_find(const collc_program *const *programs, size_t count, const char *path, int ranks, const char *dtypes) {
  return collc_find_across(programs, count, path, ranks, ranks, dtypes);
}

const collc_program *collc_find_across(const collc_program *const *programs, size_t count, const char *path, int ranks, int ranks_per_domain,
                                       const char *dtypes) {
  for (size_t i = 0; i < count; i++) {
    const collc_program *program = programs[i];
    if (program->ranks != ranks || program->ranks_per_domain != ranks_per_domain) continue;
    if (dtypes != NULL && strcmp(program->dtypes, dtypes) != 0) continue;
    if (strcmp(program->path, path) == 0 || strcmp(program->collective, path) == 0 || strcmp(program->name, path) == 0) return program;
  }
  return NULL;
}

const collc_target *collc_target_for(const collc_program *program, int major, int minor) {
  const collc_target *best = NULL;
  int best_score = -1;
  for (size_t i = 0; i < program->target_count; i++) {
    const collc_target *target = &program->targets[i];
    int score;
    if (target->major != major || target->minor > minor || (target->variant == 'a' && target->minor != minor)) continue;
    score = (target->variant == 'a' ? 200 : target->variant == 'f' ? 100 : 0) + target->minor;
    if (score > best_score) best = target, best_score = score;
  }
  return best;
}

/* "n=10, m=4" */
static void write_dims(const collc_program *program, const int64_t *dims, char *text, size_t bytes) {
  size_t at = 0;
  text[0] = 0;
  for (size_t d = 0; d < program->dim_count && at < bytes; d++)
    at += (size_t)snprintf(text + at, bytes - at, "%s%s=%lld", d == 0 ? "" : ", ", program->dims[d], (long long)dims[d]);
}

int collc_check(const collc_program *program, const int64_t *dims, collc_error *error) {
  char shown[160];
  for (size_t d = 0; d < program->dim_count; d++)
    if (dims[d] < 0 || dims[d] > MOST_DIMENSION)
      return fail(error, COLLC_ERROR_REQUIREMENT, "%s: %s=%lld is no length", program->name, program->dims[d], (long long)dims[d]);
  for (size_t i = 0; i < program->requirement_count; i++) {
    const collc_requirement *requirement = &program->requirements[i];
    if (requirement->holds(dims)) continue;
    write_dims(program, dims, shown, sizeof shown);
    return fail(error, COLLC_ERROR_REQUIREMENT, "%s is not for %s: %s must hold, because %s", program->name, shown, requirement->text,
                requirement->reason);
  }
  return COLLC_OK;
}

int collc_set_dim(const collc_program *program, void *arguments, const char *name, int64_t value, collc_error *error) {
  for (size_t d = 0; d < program->dim_count; d++) {
    if (strcmp(program->dims[d], name) != 0) continue;
    ((int64_t *)arguments)[d] = value;
    return COLLC_OK;
  }
  return fail(error, COLLC_ERROR_ARGUMENT, "%s has no dimension '%s'", program->name, name);
}

int collc_set_tensor(const collc_program *program, void *arguments, const char *name, const collc_pointer *all, int rank,
                     collc_error *error) {
  for (size_t i = 0; i < program->tensor_count; i++) {
    const collc_tensor *tensor = &program->tensors[i];
    collc_pointer *to = (collc_pointer *)arguments + tensor->word;
    if (strcmp(tensor->name, name) != 0) continue;
    if (tensor->is_symmetric)
      for (int p = 0; p < program->ranks; p++) to[p] = all[p];
    else
      *to = all[rank];
    return COLLC_OK;
  }
  return fail(error, COLLC_ERROR_ARGUMENT, "%s has no tensor '%s'", program->name, name);
}

static int read_cubin(const collc_kernel *kernel, const char *folder, unsigned char **bytes, collc_error *error) {
  char path[1024];
  FILE *file;
  size_t count;
  if (folder == NULL)
    return fail(error, COLLC_ERROR_FILE, "%s is not embedded: name the folder of the cubins, or build with --embed", kernel->file);
  if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, kernel->file) >= sizeof path)
    return fail(error, COLLC_ERROR_FILE, "the path of %s is too long", kernel->file);
  file = fopen(path, "rb");
  if (file == NULL) return fail(error, COLLC_ERROR_FILE, "%s cannot be opened", path);
  *bytes = (unsigned char *)malloc(kernel->cubin_bytes + 1);
  if (*bytes == NULL) {
    fclose(file);
    return fail(error, COLLC_ERROR_MEMORY, "no memory for %s", path);
  }
  count = fread(*bytes, 1, kernel->cubin_bytes + 1, file);
  fclose(file);
  if (count == kernel->cubin_bytes && hash_bytes(HASH_START, *bytes, count) == kernel->cubin_hash) return COLLC_OK;
  free(*bytes);
  *bytes = NULL;
  return fail(error, COLLC_ERROR_FILE, "%s is not the file that this program was built with: build again, and link again", path);
}

/* The most blocks that any step of the plan launches of a kernel. */
static int64_t most_blocks(const collc_target *target, size_t kernel) {
  int64_t most = 1;
  const collc_choice *choice = target->choices;
  for (;; choice++) {
    for (size_t s = 0; s < choice->step_count; s++)
      if (choice->steps[s].kernel >= 0 && (size_t)choice->steps[s].kernel == kernel) most = collc_max(most, choice->steps[s].max_blocks);
    if (choice->below == 0) return most;
  }
}

static int load_kernel(collc_handle *handle, size_t k, const collc_options *options, collc_error *error) {
  const collc_driver *driver = &handle->driver;
  const collc_kernel *kernel = &handle->target->kernels[k];
  loaded_kernel *loaded = &handle->kernels[k];
  int threads = 0, shared = 0, multiprocessors = 0, cooperative = 0, used = 0, resident = 0, result;
  int64_t blocks = most_blocks(handle->target, k);
  unsigned char *read = NULL;
  TRY(driver, driver->DeviceGetAttribute(&threads, MAX_THREADS, options->device), "cuDeviceGetAttribute");
  TRY(driver, driver->DeviceGetAttribute(&shared, MAX_SHARED, options->device), "cuDeviceGetAttribute");
  TRY(driver, driver->DeviceGetAttribute(&multiprocessors, MULTIPROCESSORS, options->device), "cuDeviceGetAttribute");
  TRY(driver, driver->DeviceGetAttribute(&cooperative, COOPERATIVE, options->device), "cuDeviceGetAttribute");
  if (kernel->block_threads > (unsigned)threads)
    return fail(error, COLLC_ERROR_DEVICE, "%s has blocks of %u threads; GPU %d allows %d", kernel->symbol, kernel->block_threads,
                options->device, threads);
  if (kernel->shared_bytes > (unsigned)shared)
    return fail(error, COLLC_ERROR_DEVICE,
                "%s needs %u bytes of shared memory a block; GPU %d has %d: build with smaller tiles, or for this architecture",
                kernel->symbol, kernel->shared_bytes, options->device, shared);
  if (kernel->is_cooperative && !cooperative)
    return fail(error, COLLC_ERROR_DEVICE, "GPU %d cannot launch cooperatively, which %s needs", options->device, kernel->symbol);
  if (kernel->embedded == NULL) {
    const int code = read_cubin(kernel, options->folder, &read, error);
    if (code != COLLC_OK) return code;
  }
  result = driver->ModuleLoadData(&loaded->module, kernel->embedded != NULL ? kernel->embedded : read);
  free(read);
  if (result != 0) {
    loaded->module = NULL;
    return driver_failed(driver, result, "cuModuleLoadData", error);
  }
  TRY(driver, driver->ModuleGetFunction(&loaded->function, loaded->module, kernel->symbol), "cuModuleGetFunction");
  TRY(driver, driver->FuncGetAttribute(&used, STATIC_SHARED, loaded->function), "cuFuncGetAttribute");
  if (kernel->shared_bytes + (unsigned)used > (unsigned)shared)
    return fail(error, COLLC_ERROR_DEVICE, "%s needs %u bytes of shared memory a block; GPU %d has %d", kernel->symbol,
                kernel->shared_bytes + (unsigned)used, options->device, shared);
  if (kernel->shared_bytes > 0)
    TRY(driver, driver->FuncSetAttribute(loaded->function, DYNAMIC_SHARED, (int)kernel->shared_bytes), "cuFuncSetAttribute");
  TRY(driver, driver->Occupancy(&resident, loaded->function, (int)kernel->block_threads, kernel->shared_bytes),
      "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  resident *= multiprocessors;
  if (handle->max_blocks > 0) blocks = collc_min(blocks, handle->max_blocks);
  if (resident == 0)
    return fail(error, COLLC_ERROR_DEVICE, "%s does not fit on GPU %d: not one block of %u threads", kernel->symbol, options->device,
                kernel->block_threads);
  if (kernel->is_cooperative && blocks > resident)
    return fail(error, COLLC_ERROR_DEVICE,
                "%s launches up to %lld blocks that wait for each other; GPU %d holds %d at once: set max_blocks to %d on every rank, or "
                "build with --max-blocks %d",
                kernel->symbol, (long long)blocks, options->device, resident, resident, resident);
  return COLLC_OK;
}

static int64_t largest(collc_extent extent, const collc_program *program, const collc_options *options) {
  int64_t most = 0;
  for (size_t i = 0; i < options->shape_count; i++) most = collc_max(most, extent(options->shapes + i * program->dim_count));
  return most;
}

static int place_buffers(collc_handle *handle, size_t k, const collc_options *options, collc_error *error) {
  const collc_program *program = handle->program;
  const collc_kernel *kernel = &handle->target->kernels[k];
  loaded_kernel *loaded = &handle->kernels[k];
  size_t maps = 0;
  loaded->bytes = (int64_t *)calloc(kernel->buffer_count + 1, sizeof(int64_t));
  loaded->offsets = (size_t *)calloc(kernel->buffer_count + 1, sizeof(size_t));
  loaded->peers = (collc_pointer *)calloc(kernel->buffer_count * (size_t)program->ranks + 1, sizeof(collc_pointer));
  loaded->arguments = (void **)calloc(kernel->parameter_count + 1, sizeof(void *));
  for (size_t i = 0; i < kernel->parameter_count; i++)
    if (kernel->parameters[i].kind == COLLC_MAP) maps += (size_t)collc_max(1, kernel->parameters[i].map_ranks);
  loaded->maps_memory = calloc(maps * MAP_BYTES + 64, 1);
  loaded->lengths = (int64_t *)calloc(program->dim_count + kernel->length_count + 1, sizeof(int64_t));
  if (!loaded->bytes || !loaded->offsets || !loaded->peers || !loaded->arguments || !loaded->maps_memory || !loaded->lengths)
    return fail(error, COLLC_ERROR_MEMORY, "no memory for %s", kernel->symbol);
  loaded->maps = (unsigned char *)(((uintptr_t)loaded->maps_memory + 63) / 64 * 64);
  for (size_t b = 0; b < kernel->buffer_count; b++) {
    const collc_buffer *buffer = &kernel->buffers[b];
    size_t *total = buffer->is_symmetric ? &handle->symmetric_bytes : &handle->local_bytes;
    loaded->bytes[b] = buffer->tensor >= 0 || buffer->memory >= 0 ? -1 : largest(buffer->bytes, program, options);
    loaded->offsets[b] = buffer->memory >= 0 ? handle->memory_offsets[buffer->memory] : *total;
    if (loaded->bytes[b] < 0) continue;
    *total += ((size_t)loaded->bytes[b] + WORKSPACE_ALIGNMENT - 1) / WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT;
    handle->fingerprint = hash_bytes(handle->fingerprint, &loaded->bytes[b], sizeof(int64_t));
  }
  return COLLC_OK;
}

/* Shared memory is symmetric, whoever accesses it: NCCL then finds one kind of memory on both sides. */
static int place_memories(collc_handle *handle, const collc_options *options, collc_error *error) {
  const collc_target *target = handle->target;
  handle->memory_bytes = (int64_t *)calloc(target->memory_count + 1, sizeof(int64_t));
  handle->memory_offsets = (size_t *)calloc(target->memory_count + 1, sizeof(size_t));
  handle->workspaces = (collc_pointer *)calloc((size_t)handle->program->ranks, sizeof(collc_pointer));
  if (!handle->memory_bytes || !handle->memory_offsets || !handle->workspaces) return fail(error, COLLC_ERROR_MEMORY, "no memory for %s", handle->program->name);
  for (size_t m = 0; m < target->memory_count; m++) {
    handle->memory_bytes[m] = largest(target->memories[m].bytes, handle->program, options);
    handle->memory_offsets[m] = handle->symmetric_bytes;
    handle->symmetric_bytes += ((size_t)handle->memory_bytes[m] + WORKSPACE_ALIGNMENT - 1) / WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT;
    handle->fingerprint = hash_bytes(handle->fingerprint, &handle->memory_bytes[m], sizeof(int64_t));
  }
  return COLLC_OK;
}

/* Streams and events for copies, of programs that have some. */
static int open_lanes(collc_handle *handle, const collc_options *options, collc_error *error) {
  const collc_driver *driver = &handle->driver;
  const char *call = NULL;
  int has_copies = 0, result;
  for (const collc_choice *choice = handle->target->choices;; choice++) {
    has_copies = has_copies || collc_has_copies(choice);
    if (choice->below == 0) break;
  }
  if (!has_copies) return COLLC_OK;
  if (driver->StreamGetCaptureInfo == NULL) return fail(error, COLLC_ERROR_DRIVER, "the driver is too old to tell whose capture a stream is in");
  result = collc_open_lanes(driver, handle->target, handle->rank, options->device, &handle->lanes, &call);
  return result == 0 ? COLLC_OK : driver_failed(driver, result, call, error);
}

static int load(collc_handle *handle, const collc_options *options, collc_error *error) {
  const collc_driver *driver = &handle->driver;
  const collc_program *program = handle->program;
  size_t count = handle->target->kernel_count;
  void *status = NULL;
  int code;
  handle->kernels = (loaded_kernel *)calloc(count, sizeof(loaded_kernel));
  if (handle->kernels == NULL) return fail(error, COLLC_ERROR_MEMORY, "no memory for %s", program->name);
  handle->fingerprint = hash_bytes(HASH_START, program->name, strlen(program->name));
  handle->fingerprint = hash_bytes(handle->fingerprint, &handle->max_blocks, sizeof handle->max_blocks);
  code = place_memories(handle, options, error);
  if (code != COLLC_OK) return code;
  for (size_t k = 0; k < count; k++) {
    code = load_kernel(handle, k, options, error);
    handle->fingerprint = hash_bytes(handle->fingerprint, &handle->target->kernels[k].cubin_hash, sizeof(uint64_t));
    if (code == COLLC_OK) code = place_buffers(handle, k, options, error);
    if (code != COLLC_OK) return code;
  }
  code = open_lanes(handle, options, error);
  if (code != COLLC_OK) return code;
  if (handle->local_bytes > 0) TRY(driver, driver->MemAlloc(&handle->local, handle->local_bytes), "cuMemAlloc");
  /* Portable and mapped: kernels write it, this process reads it at any time. */
  TRY(driver, driver->MemHostAlloc(&status, count * STATUS_WORDS * sizeof(uint32_t), 1 | 2), "cuMemHostAlloc");
  handle->status = (uint32_t *)status;
  memset(status, 0, count * STATUS_WORDS * sizeof(uint32_t));
  TRY(driver, driver->MemHostGetDevicePointer(&handle->status_pointer, status, 0), "cuMemHostGetDevicePointer");
  return COLLC_OK;
}

int collc_load(const collc_driver *driver, const collc_program *program, const collc_options *options, collc_handle **made,
               collc_error *error) {
  int major = 0, minor = 0, code;
  collc_handle *handle;
  char archs[200];
  size_t at = 0;
  *made = NULL;
  if (program->abi != COLLC_ABI)
    return fail(error, COLLC_ERROR_ARGUMENT, "%s was built for version %d of collc.h, this is %d", program->name, program->abi, COLLC_ABI);
  if (options->rank < 0 || options->rank >= program->ranks)
    return fail(error, COLLC_ERROR_ARGUMENT, "%s has ranks 0 to %d, and %d is none of them", program->name, program->ranks - 1, options->rank);
  if (options->max_blocks < 0) return fail(error, COLLC_ERROR_ARGUMENT, "max_blocks is %lld", (long long)options->max_blocks);
  if (options->shape_count == 0 && program->dim_count > 0)
    return fail(error, COLLC_ERROR_ARGUMENT, "%s must know the dimensions to reserve its workspace for: give at least one of shapes",
                program->name);
  for (size_t i = 0; i < options->shape_count; i++) {
    code = collc_check(program, options->shapes + i * program->dim_count, error);
    if (code != COLLC_OK) return code;
  }
  TRY(driver, driver->DeviceGetAttribute(&major, MAJOR, options->device), "cuDeviceGetAttribute");
  TRY(driver, driver->DeviceGetAttribute(&minor, MINOR, options->device), "cuDeviceGetAttribute");
  if (collc_target_for(program, major, minor) == NULL) {
    archs[0] = 0;
    for (size_t i = 0; i < program->target_count && at < sizeof archs; i++)
      at += (size_t)snprintf(archs + at, sizeof archs - at, "%s%s", i == 0 ? "" : ", ", program->targets[i].arch);
    return fail(error, COLLC_ERROR_DEVICE, "%s was built for %s; GPU %d is sm_%d%d: build with --arch sm_%d%d, too", program->name, archs,
                options->device, major, minor, major, minor);
  }
  handle = (collc_handle *)calloc(1, sizeof *handle);
  if (handle == NULL) return fail(error, COLLC_ERROR_MEMORY, "no memory for %s", program->name);
  handle->driver = *driver;
  handle->program = program;
  handle->target = collc_target_for(program, major, minor);
  handle->rank = options->rank;
  handle->timeout_ns = options->timeout_ns;
  handle->max_blocks = options->max_blocks;
  code = load(handle, options, error);
  if (code == COLLC_OK) *made = handle;
  else collc_unload(handle);
  return code;
}

/* Whether this rank has addresses of rank p's memory. */
static int is_near(const collc_handle *handle, int p) {
  const int each = handle->program->ranks_per_domain;
  return p / each == handle->rank / each;
}

size_t collc_symmetric_bytes(const collc_handle *handle) { return handle->symmetric_bytes; }

uint64_t collc_fingerprint(const collc_handle *handle) { return handle->fingerprint; }

int collc_attach(collc_handle *handle, const collc_pointer *workspace, collc_error *error) {
  const int ranks = handle->program->ranks;
  if (handle->symmetric_bytes > 0)
    for (int p = 0; p < ranks; p++)
      if (workspace == NULL || (is_near(handle, p) && (workspace[p] == 0 || workspace[p] % WORKSPACE_ALIGNMENT != 0)))
        return fail(error, COLLC_ERROR_ARGUMENT, "rank %d's workspace is not at a multiple of %d", p, WORKSPACE_ALIGNMENT);
  handle->own = handle->symmetric_bytes > 0 ? workspace[handle->rank] : 0;
  for (int p = 0; p < ranks; p++) handle->workspaces[p] = handle->symmetric_bytes > 0 && is_near(handle, p) ? workspace[p] : 0;
  for (size_t k = 0; k < handle->target->kernel_count; k++) {
    const collc_kernel *kernel = &handle->target->kernels[k];
    loaded_kernel *loaded = &handle->kernels[k];
    for (size_t b = 0; b < kernel->buffer_count; b++)
      for (int p = 0; p < ranks && kernel->buffers[b].tensor < 0; p++) {
        const int is_shared = kernel->buffers[b].is_symmetric || kernel->buffers[b].memory >= 0;
        /* Kernels have no use for addresses of other domains. */
        loaded->peers[b * (size_t)ranks + (size_t)p] =
            is_shared && !is_near(handle, p) ? 0 : (is_shared ? workspace[p] : handle->local) + loaded->offsets[b];
      }
  }
  handle->is_attached = 1;
  return COLLC_OK;
}

int collc_has_messages(const collc_program *program) { return program->ranks_per_domain < program->ranks; }

int collc_open_nccl(const char *path, collc_carrier *carrier, collc_error *error) {
  const char *name = path != NULL ? path : "libnccl.so.2";
  void *library = dlopen(name, RTLD_NOW);
  memset(carrier, 0, sizeof *carrier);
  if (library == NULL) return fail(error, COLLC_ERROR_MESSAGE, "there is no NCCL here, which carries messages: %s", dlerror());
  carrier->library = library;
#define NCCL_SYMBOL(member, symbol) REQUIRE(COLLC_ERROR_MESSAGE, member, symbol)
  NCCL_SYMBOL(carrier->group_start, "ncclGroupStart");
  NCCL_SYMBOL(carrier->group_end, "ncclGroupEnd");
  NCCL_SYMBOL(carrier->send, "ncclSend");
  NCCL_SYMBOL(carrier->receive, "ncclRecv");
  NCCL_SYMBOL(carrier->text_of, "ncclGetErrorString");
  return COLLC_OK;
}

int collc_carry(collc_handle *handle, const collc_carrier *carrier, collc_error *error) {
  if (!carrier->group_start || !carrier->group_end || !carrier->send || !carrier->receive)
    return fail(error, COLLC_ERROR_ARGUMENT, "the carrier lacks a function: call collc_open_nccl");
  if (carrier->communicator == NULL)
    return fail(error, COLLC_ERROR_ARGUMENT, "the carrier has no communicator: make one of the program's %d ranks", handle->program->ranks);
  handle->carrier = *carrier;
  return COLLC_OK;
}

int collc_reset(collc_handle *handle, void *stream, collc_error *error) {
  const collc_driver *driver = &handle->driver;
  if (!handle->is_attached) return fail(error, COLLC_ERROR_WORKSPACE, "%s has no workspace: call collc_attach", handle->program->name);
  if (handle->own != 0) TRY(driver, driver->MemsetD8Async(handle->own, 0, handle->symmetric_bytes, stream), "cuMemsetD8Async");
  if (handle->local != 0) TRY(driver, driver->MemsetD8Async(handle->local, 0, handle->local_bytes, stream), "cuMemsetD8Async");
  TRY(driver, driver->StreamSynchronize(stream), "cuStreamSynchronize");
  memset(handle->status, 0, handle->target->kernel_count * STATUS_WORDS * sizeof(uint32_t));
  return COLLC_OK;
}

static int check_tensors(const collc_handle *handle, const void *arguments, collc_error *error) {
  const collc_program *program = handle->program;
  for (size_t i = 0; i < program->tensor_count; i++) {
    const collc_tensor *tensor = &program->tensors[i];
    const collc_pointer *pointers = (const collc_pointer *)arguments + tensor->word;
    const int count = tensor->is_symmetric ? program->ranks : 1;
    const collc_pointer own = pointers[tensor->is_symmetric ? handle->rank : 0];
    /* Of a tensor without elements no address is used. */
    if (tensor->bytes((const int64_t *)arguments) == 0) continue;
    for (int p = 0; p < count; p++) {
      if (tensor->is_symmetric && !is_near(handle, p)) continue;
      if (pointers[p] == 0 || pointers[p] % (collc_pointer)tensor->element_bytes != 0)
        return fail(error, COLLC_ERROR_ARGUMENT, "'%s' of rank %d is at 0x%llx, which is no address of %s", tensor->name,
                    tensor->is_symmetric ? p : handle->rank, (unsigned long long)pointers[p], tensor->dtype);
      if ((pointers[p] ^ own) % 16 != 0)
        return fail(error, COLLC_ERROR_ARGUMENT,
                    "'%s' is aligned differently on rank %d (0x%llx) and on rank %d (0x%llx): addresses must be equal modulo 16",
                    tensor->name, handle->rank, (unsigned long long)own, p, (unsigned long long)pointers[p]);
    }
  }
  return COLLC_OK;
}

/* The address of a buffer as this rank knows rank p's. */
static const collc_pointer *addresses(const collc_handle *handle, size_t k, int b, const void *arguments, int *is_by_rank) {
  const collc_buffer *buffer = &handle->target->kernels[k].buffers[b];
  if (buffer->tensor < 0) {
    *is_by_rank = 1;
    return &handle->kernels[k].peers[(size_t)b * (size_t)handle->program->ranks];
  }
  *is_by_rank = handle->program->tensors[buffer->tensor].is_symmetric;
  return (const collc_pointer *)arguments + handle->program->tensors[buffer->tensor].word;
}

/* One map a rank, or the own one; of what no map can describe it stays zero, which kernels know to avoid. */
static int encode_maps(collc_handle *handle, size_t k, const collc_parameter *parameter, const void *arguments, unsigned char *maps,
                       collc_error *error) {
  const collc_driver *driver = &handle->driver;
  const int64_t *dims = (const int64_t *)arguments;
  const int count = parameter->map_ranks > 0 ? parameter->map_ranks : 1;
  const uint32_t steps[5] = {1, 1, 1, 1, 1};
  uint64_t sizes[5], strides[5], stride = (uint64_t)parameter->map_element_bytes;
  int is_by_rank, is_mapped = 1;
  const collc_pointer *pointers = addresses(handle, k, parameter->index, arguments, &is_by_rank);
  for (int d = 0; d < parameter->map_dims; d++) {
    sizes[d] = (uint64_t)parameter->map_sizes[d](dims);
    stride *= sizes[d];
    strides[d] = stride;
    if (sizes[d] == 0 || (d + 1 < parameter->map_dims && stride % MAP_GRAIN != 0)) is_mapped = 0;
  }
  memset(maps, 0, (size_t)count * MAP_BYTES);
  for (int p = 0; p < count && is_mapped; p++) {
    const collc_pointer start = pointers[parameter->map_ranks > 0 ? p : is_by_rank ? handle->rank : 0];
    if (start % MAP_GRAIN != 0) continue;
    /* No interleaving, swizzle of 128 bytes, promotion to 256 bytes, zeros beyond the ends. */
    TRY(driver,
        driver->TensorMapEncodeTiled(maps + p * MAP_BYTES, parameter->map_type, (uint32_t)parameter->map_dims, (void *)(uintptr_t)start,
                                     sizes, strides, parameter->map_box, steps, 0, 3, 3, 0),
        "cuTensorMapEncodeTiled");
  }
  return COLLC_OK;
}

/* Where a launch goes: to a stream, to one that is being captured, or into the nodes of an executable graph. */
typedef struct target {
  void *stream;
  collc_nodes *captured;
  const collc_nodes *nodes;
  void *graph_exec;
  size_t next; /* of the nodes */
} target;

/* CUDA_KERNEL_NODE_PARAMS_v2 */
typedef struct kernel_node {
  void *function;
  unsigned grid[3], block[3], shared_bytes;
  void **parameters, **extra;
  void *kernel, *context;
} kernel_node;

/* CUlaunchAttribute, of which a launch has the first word of the value alone. */
typedef struct launch_attribute {
  unsigned id, padding;
  int value;
  unsigned char rest[60];
} launch_attribute;
enum { COOPERATIVE_LAUNCH = 2, PROGRAMMATIC_STREAM_SERIALIZATION = 6 };

/* CUlaunchConfig */
typedef struct launch_config {
  unsigned grid[3], block[3], shared_bytes;
  void *stream;
  launch_attribute *attributes;
  unsigned attribute_count;
} launch_config;

/* What was enqueued last on the stream is the node that what comes next depends on. */
static int note_node(const collc_driver *driver, target *to, collc_error *error) {
  int status = 0;
  uint64_t id;
  void *graph, *const *last = NULL;
  size_t count = 0;
  if (driver->StreamGetCaptureInfo == NULL) return fail(error, COLLC_ERROR_DRIVER, "the driver is too old to tell nodes of a capture");
  TRY(driver, driver->StreamGetCaptureInfo(to->stream, &status, &id, &graph, &last, &count), "cuStreamGetCaptureInfo");
  if (status != 1 || count != 1) return fail(error, COLLC_ERROR_ARGUMENT, "the stream is not being captured");
  if (to->captured->count == COLLC_MOST_NODES)
    return fail(error, COLLC_ERROR_ARGUMENT, "a launch of more than %d kernels cannot be noted", COLLC_MOST_NODES);
  to->captured->nodes[to->captured->count++] = last[0];
  return COLLC_OK;
}

static int launch_step(collc_handle *handle, const collc_step *step, const void *arguments, target *to, collc_error *error) {
  const collc_driver *driver = &handle->driver;
  const size_t k = (size_t)step->kernel;
  const collc_kernel *kernel = &handle->target->kernels[k];
  loaded_kernel *loaded = &handle->kernels[k];
  const int64_t *dims = (const int64_t *)arguments;
  collc_pointer status = handle->status_pointer + k * STATUS_WORDS * sizeof(uint32_t);
  int64_t blocks = collc_min(collc_max(kernel->work(dims), 1), step->max_blocks);
  unsigned char *maps = loaded->maps;
  launch_attribute attributes[2] = {{0, 0, 1, {0}}, {0, 0, 1, {0}}};
  launch_config config = {{1, 1, 1}, {1, 1, 1}, 0, NULL, NULL, 0};
  if (handle->max_blocks > 0) blocks = collc_min(blocks, handle->max_blocks);
  for (size_t b = 0; b < kernel->buffer_count; b++) {
    char shown[160];
    if (loaded->bytes[b] < 0 || kernel->buffers[b].bytes(dims) <= loaded->bytes[b]) continue;
    write_dims(handle->program, dims, shown, sizeof shown);
    return fail(error, COLLC_ERROR_WORKSPACE, "%s has no room for %s: give these dimensions to collc_load as one of shapes",
                handle->program->name, shown);
  }
  if (handle->program->dim_count > 0) memcpy(loaded->lengths, dims, handle->program->dim_count * sizeof *dims);
  for (size_t i = 0; i < kernel->length_count; i++) loaded->lengths[handle->program->dim_count + i] = kernel->lengths[i](loaded->lengths);
  for (size_t i = 0; i < kernel->parameter_count; i++) {
    const collc_parameter *parameter = &kernel->parameters[i];
    const collc_pointer *pointers;
    int is_by_rank, code;
    switch (parameter->kind) {
      case COLLC_PEERS:
        loaded->arguments[i] = (void *)(uintptr_t)addresses(handle, k, parameter->index, arguments, &is_by_rank);
        break;
      case COLLC_POINTER:
        pointers = addresses(handle, k, parameter->index, arguments, &is_by_rank);
        loaded->arguments[i] = (void *)(uintptr_t)(pointers + (is_by_rank ? handle->rank : 0));
        break;
      case COLLC_DIM:
        loaded->arguments[i] = (void *)(uintptr_t)(dims + parameter->index);
        break;
      case COLLC_LENGTH:
        loaded->arguments[i] = loaded->lengths + parameter->index;
        break;
      case COLLC_SCALAR:
        loaded->arguments[i] = (void *)(uintptr_t)((const unsigned char *)arguments + parameter->index);
        break;
      case COLLC_RANK:
        loaded->arguments[i] = &handle->rank;
        break;
      case COLLC_TIMEOUT:
        loaded->arguments[i] = &handle->timeout_ns;
        break;
      case COLLC_WAITS:
        loaded->arguments[i] = &status;
        break;
      default:
        code = encode_maps(handle, k, parameter, arguments, maps, error);
        if (code != COLLC_OK) return code;
        loaded->arguments[i] = maps;
        maps += (size_t)(parameter->map_ranks > 0 ? parameter->map_ranks : 1) * MAP_BYTES;
    }
  }
  if (to->graph_exec != NULL) {
    kernel_node node = {loaded->function, {(unsigned)blocks, 1, 1}, {(unsigned)kernel->block_threads, 1, 1}, (unsigned)kernel->shared_bytes,
                        loaded->arguments, NULL, NULL, NULL};
    TRY(driver, driver->GraphExecKernelNodeSetParams(to->graph_exec, to->nodes->nodes[to->next++], &node), "cuGraphExecKernelNodeSetParams");
    return COLLC_OK;
  }
  config.grid[0] = (unsigned)blocks;
  config.block[0] = (unsigned)kernel->block_threads;
  config.shared_bytes = (unsigned)kernel->shared_bytes;
  config.stream = to->stream;
  config.attributes = attributes;
  if (kernel->is_cooperative) attributes[config.attribute_count++].id = COOPERATIVE_LAUNCH;
  /* Graphs keep what a captured launch says of the one before it since CUDA 12.3. */
  if (kernel->is_early && driver->version >= 12030) attributes[config.attribute_count++].id = PROGRAMMATIC_STREAM_SERIALIZATION;
  TRY(driver, driver->LaunchKernelEx(&config, loaded->function, loaded->arguments, NULL), "cuLaunchKernelEx");
  return to->captured == NULL ? COLLC_OK : note_node(driver, to, error);
}

static int carrier_failed(const collc_handle *handle, int result, collc_error *error) {
  const char *text = handle->carrier.text_of != NULL ? handle->carrier.text_of(result) : "an error";
  fail(error, COLLC_ERROR_MESSAGE, "messages of %s: %s (%d)", handle->program->name, text, result);
  if (error != NULL) error->driver = result;
  return COLLC_ERROR_MESSAGE;
}

/* ncclUint8: what moves, moves as bytes. */
enum { BYTES = 1 };

static int send_step(const collc_handle *handle, const collc_messages *messages, const void *arguments, const target *to,
                     collc_error *error) {
  const collc_carrier *carrier = &handle->carrier;
  const int64_t *dims = (const int64_t *)arguments;
  const size_t most = messages->send_count > messages->receive_count ? messages->send_count : messages->receive_count;
  int result;
  /* A captured launch has its messages, which dimensions alone decide about. */
  if (to->graph_exec != NULL) return COLLC_OK;
  if (carrier->communicator == NULL)
    return fail(error, COLLC_ERROR_MESSAGE, "%s sends messages, and nothing carries them: call collc_carry", handle->program->name);
  result = carrier->group_start();
  if (result != 0) return carrier_failed(handle, result, error);
  for (size_t i = 0; i < 2 * most && result == 0; i++) {
    const int is_send = i % 2 == 0;
    const collc_message *message = (is_send ? messages->sends : messages->receives) + i / 2;
    int64_t bytes;
    if (i / 2 >= (is_send ? messages->send_count : messages->receive_count)) continue;
    bytes = message->bytes(dims);
    if (bytes > 0) {
      void *data = (void *)(uintptr_t)(handle->own + handle->memory_offsets[message->memory] + (size_t)message->offset(dims));
      result = is_send ? carrier->send(data, (size_t)bytes, BYTES, message->peer, carrier->communicator, to->stream)
                       : carrier->receive(data, (size_t)bytes, BYTES, message->peer, carrier->communicator, to->stream);
    }
  }
  if (result != 0) {
    carrier->group_end();
    return carrier_failed(handle, result, error);
  }
  result = carrier->group_end();
  return result == 0 ? COLLC_OK : carrier_failed(handle, result, error);
}

static int copy_step(collc_handle *handle, const collc_step *step, const void *arguments, const target *to, collc_error *error) {
  const collc_places places = {handle->program, handle->rank, arguments, handle->workspaces, handle->memory_offsets};
  const char *call = NULL;
  int result;
  /* A captured launch has its copies, which this one has the addresses of. */
  if (to->graph_exec != NULL) return COLLC_OK;
  result = collc_enqueue_copies(&handle->driver, &handle->lanes, step, &places, to->stream, &call);
  return result == 0 ? COLLC_OK : driver_failed(&handle->driver, result, call, error);
}

/* Whatever has gone wrong before, the stream waits for copies that are under way. */
static int join_step(collc_handle *handle, int code, const target *to, collc_error *error) {
  const char *call = NULL;
  const int result = collc_join_copies(&handle->driver, &handle->lanes, to->stream, &call);
  return code != COLLC_OK || result == 0 ? code : driver_failed(&handle->driver, result, call, error);
}

/* Of the addresses that this rank's copies have of tensors. */
static uint64_t digest_copied(const collc_handle *handle, const collc_choice *choice, const void *arguments) {
  const collc_places places = {handle->program, handle->rank, arguments, handle->workspaces, handle->memory_offsets};
  uint64_t hash = HASH_START;
  for (size_t s = 0; s < choice->step_count; s++) {
    const collc_copies *copies = choice->steps[s].copies != NULL ? &choice->steps[s].copies[handle->rank] : NULL;
    for (size_t c = 0; copies != NULL && c < 2 * copies->count; c++) {
      const collc_copy *copy = &copies->copies[c / 2];
      const collc_pointer place = collc_place_of(&places, c % 2 == 0 ? &copy->from : &copy->to);
      hash = hash_bytes(hash, &place, sizeof place);
    }
  }
  return hash;
}

/* Whether the memory that several kernels have was reserved for these dimensions. */
static int check_memories(const collc_handle *handle, const int64_t *dims, collc_error *error) {
  char shown[160];
  for (size_t m = 0; m < handle->target->memory_count; m++) {
    if (handle->target->memories[m].bytes(dims) <= handle->memory_bytes[m]) continue;
    write_dims(handle->program, dims, shown, sizeof shown);
    return fail(error, COLLC_ERROR_WORKSPACE, "%s has no room for %s: give these dimensions to collc_load as one of shapes",
                handle->program->name, shown);
  }
  return COLLC_OK;
}

static size_t kernels_of(const collc_choice *choice) {
  size_t count = 0;
  for (size_t s = 0; s < choice->step_count; s++) count += choice->steps[s].kernel >= 0;
  return count;
}

static int launch_to(collc_handle *handle, const collc_program *program, const void *arguments, target *to, collc_error *error) {
  const int64_t *dims = (const int64_t *)arguments;
  const collc_choice *choice;
  uint64_t dims_digest = 0, copied = 0;
  int code;
  if (handle->program != program)
    return fail(error, COLLC_ERROR_ARGUMENT, "these are arguments of %s, and the handle is of %s", program->name, handle->program->name);
  if (!handle->is_attached) return fail(error, COLLC_ERROR_WORKSPACE, "%s has no workspace: call collc_attach", program->name);
  code = collc_check(program, dims, error);
  if (code == COLLC_OK) code = check_tensors(handle, arguments, error);
  if (code == COLLC_OK) code = check_memories(handle, dims, error);
  choice = handle->target->choices;
  if (code == COLLC_OK)
    for (const int64_t size = handle->target->size(dims); choice->below != 0 && size >= choice->below;) choice++;
  if (code != COLLC_OK) return code;
  if (collc_has_messages(program) || collc_has_copies(choice)) {
    dims_digest = hash_bytes(HASH_START, dims, program->dim_count * sizeof *dims);
    copied = digest_copied(handle, choice, arguments);
  }
  if (to->captured != NULL) to->captured->choice = choice, to->captured->dims = dims_digest, to->captured->copied = copied;
  if (to->nodes != NULL && (to->nodes->choice != choice || to->nodes->count != kernels_of(choice)))
    return fail(error, COLLC_ERROR_ARGUMENT, "%s has other kernels for these dimensions than were captured", program->name);
  if (to->nodes != NULL && to->nodes->dims != dims_digest)
    return fail(error, COLLC_ERROR_ARGUMENT, "%s %s, whose lengths are those of the capture: capture these dimensions, too", program->name,
                collc_has_messages(program) ? "sends messages" : "has copies");
  if (to->nodes != NULL && to->nodes->copied != copied)
    return fail(error, COLLC_ERROR_ARGUMENT, "%s copies tensors, whose addresses are those of the capture: capture these, too", program->name);
  for (size_t s = 0; code == COLLC_OK && s < choice->step_count; s++) {
    const collc_step *step = &choice->steps[s];
    code = step->messages != NULL ? send_step(handle, &step->messages[handle->rank], arguments, to, error)
           : step->copies != NULL ? copy_step(handle, step, arguments, to, error)
                                  : launch_step(handle, step, arguments, to, error);
  }
  return join_step(handle, code, to, error);
}

int collc_launch(collc_handle *handle, const collc_program *program, const void *arguments, void *stream, collc_error *error) {
  target to = {stream, NULL, NULL, NULL, 0};
  return launch_to(handle, program, arguments, &to, error);
}

int collc_capture(collc_handle *handle, const collc_program *program, const void *arguments, void *stream, collc_nodes *nodes,
                  collc_error *error) {
  target to = {stream, nodes, NULL, NULL, 0};
  memset(nodes, 0, sizeof *nodes);
  return launch_to(handle, program, arguments, &to, error);
}

int collc_update(collc_handle *handle, const collc_program *program, const void *arguments, const collc_nodes *nodes, void *graph_exec,
                 collc_error *error) {
  target to = {NULL, NULL, nodes, graph_exec, 0};
  if (handle->driver.GraphExecKernelNodeSetParams == NULL)
    return fail(error, COLLC_ERROR_DRIVER, "the driver is too old to change nodes of a graph");
  if (graph_exec == NULL) return fail(error, COLLC_ERROR_ARGUMENT, "there is no executable graph");
  return launch_to(handle, program, arguments, &to, error);
}

int collc_status(const collc_handle *handle, collc_failure *failure, collc_error *error) {
  for (size_t k = 0; k < handle->target->kernel_count; k++) {
    const collc_kernel *kernel = &handle->target->kernels[k];
    /* Written by the GPU, so it is read anew each time. */
    const volatile uint32_t *words = handle->status + k * STATUS_WORDS;
    const char *buffer;
    if (words[0] == 0) continue;
    buffer = words[3] < kernel->buffer_count ? kernel->buffers[words[3]].name : "?";
    if (failure != NULL) {
      failure->kernel = kernel->name;
      failure->buffer = buffer;
      failure->rank = (int)words[1];
      failure->peer = (int)words[2];
      failure->slot = words[4];
      failure->wanted = words[5];
      failure->seen = words[6];
      failure->line = words[7];
    }
    return fail(error, COLLC_ERROR_TIMEOUT, "rank %d waited too long for rank %d in %s (line %u, %s[%u]: wanted %u, saw %u)", (int)words[1],
                (int)words[2], kernel->name, words[7], buffer, words[4], words[5], words[6]);
  }
  return COLLC_OK;
}

void collc_unload(collc_handle *handle) {
  if (handle == NULL) return;
  for (size_t k = 0; handle->kernels != NULL && k < handle->target->kernel_count; k++) {
    loaded_kernel *loaded = &handle->kernels[k];
    if (loaded->module != NULL) handle->driver.ModuleUnload(loaded->module);
    free(loaded->bytes);
    free(loaded->offsets);
    free(loaded->peers);
    free(loaded->arguments);
    free(loaded->maps_memory);
    free(loaded->lengths);
  }
  collc_close_lanes(&handle->driver, &handle->lanes);
  if (handle->local != 0) handle->driver.MemFree(handle->local);
  if (handle->status != NULL) handle->driver.MemFreeHost(handle->status);
  free(handle->memory_bytes);
  free(handle->memory_offsets);
  free(handle->workspaces);
  free(handle->kernels);
  free(handle);
}
