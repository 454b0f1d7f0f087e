/*
 * Programs that `collc build` has compiled, loaded and launched over the CUDA driver API. Plain C99 or C++11, Linux, no CUDA
 * headers: libcuda is opened with dlopen, so that what includes this builds and reports errors on any machine. Link collc.c,
 * collc_copies.c, the programs' own .c files, and -ldl where the C library wants it.
 *
 * A program is a collective for one number of ranks, mesh and choice of dtypes. Of each it has a header NAME.h with its arguments
 * as a struct; all of a folder are in the table `collc_programs` (collc_programs.h). What a rank does:
 *
 *   collc_open_driver        once a process; then make a CUDA context current, the primary one as a rule
 *   collc_load               chooses the code for the GPU and checks that the GPU can run it
 *   collc_symmetric_bytes    so much symmetric memory the program needs besides its tensors
 *   (exchange)               allocate that, map every rank's, as for tensors that are symmetric
 *   collc_attach             hands over where every rank's lies
 *   collc_carry              of a program that sends messages: hands over what carries them
 *   collc_reset              zeroes this rank's, then meet: no rank launches before all have reset
 *   NAME_launch              any number of times
 *   collc_status             after a synchronisation: whether a wait ran out
 *   collc_unload             when nothing runs any more, on all ranks
 *
 * THE CONTRACT
 *
 * What ranks exchange. Of each symmetric tensor and of the workspace, where every rank's memory lies in this rank's address space:
 *   entry p is rank p's as mapped here, the own one included; 0 for ranks of other domains, of which "Messages" says more. And
 *   `collc_fingerprint`, which must be equal on all ranks: ranks that run different code, or reserve for different shapes, wait for each
 *   other for ever.
 * Alignment. A tensor's address is a multiple of its element's size, and the addresses of one symmetric tensor on all ranks are equal
 *   modulo 16: how wide a rank accesses is decided by its own address. Tensors that begin at multiples of 16 are the fastest.
 *   The workspace begins at a multiple of 128 on every rank. A launch refuses what it can see of this: COLLC_ERROR_ARGUMENT.
 * Order. All ranks launch the same programs with the same dimensions and numbers in the same order. A launch returns before the kernel runs; an
 *   output is whole, and an input may be overwritten, on a rank once the launch is done on that rank: kernels wait for their peers.
 * Concurrency. Launches of one handle must not overlap, for they share a workspace: one stream, or events between streams. Handles
 *   with workspaces of their own may overlap if all their blocks fit the GPU together (`max_blocks` divides it up): blocks wait for
 *   blocks of other ranks, and a block that finds no room while others wait for it is a deadlock until the time-out. A handle is used
 *   by one thread at a time.
 *   From sm_90 on, blocks of a launch take their places while the kernel before it in the stream still runs, and wait for its end there. They
 *   take room from kernels of other streams meanwhile; programs built with --max-blocks leave that, and begin when the kernel has ended.
 * First use and epochs. Flags and packets carry numbers that grow from launch to launch, and live in device memory. They begin at
 *   zero: `collc_reset` on every rank, a meeting of the ranks, then the first launch. Nobody else writes to the workspace.
 * Graphs. A launch may be captured into a CUDA graph and replayed: dimensions, numbers and addresses are those of the capture,
 *   epochs go on. All ranks replay equally often, and replays and launches of one handle must not overlap. collc_load, collc_attach,
 *   collc_reset and collc_unload are not for captures. With NAME_capture instead of NAME_launch, NAME_update changes the arguments
 *   (numbers such as eps or step, addresses) in the executable graph, from its next launch on, without another capture: every rank
 *   does, with the same numbers, before the same replay. The graph that the executable was made of must be alive. Messages and copies stay as
 *   they were captured: where a launch has some, dimensions stay the same, and so do addresses of tensors that are copied.
 * Time-outs and recovery. A wait that takes longer than `timeout_ns` ends its kernel early: outputs are undefined, the context lives,
 *   `collc_status` says who waited for whom. Other ranks run into the same within the time-out. Then, on all ranks: synchronise
 *   every stream in use, meet, `collc_reset`, meet, and go on. With timeout_ns 0 a wait has no end.
 * Messages. A program that was built with --reach has domains of `ranks_per_domain` consecutive ranks, which share addresses; what goes from
 *   one domain to another goes as messages, on the launch's stream, between kernels. NCCL carries them, over a communicator of all of the
 *   program's ranks, in their order: collc_open_nccl finds its functions, the communicator is yours. No window is registered with it, which
 *   NCCL 2.28.9 mixes messages up by. All message memory lies in the workspace: allocate that so that other processes could map it, on every
 *   rank alike; where NCCL could register one side alone, captured launches hung. A message that never comes blocks the stream, and
 *   `timeout_ns` does not end it: watch the communicator, and abort it (ncclCommGetAsyncError, ncclCommAbort).
 * Copies. Steps of a plan may be copies, which the GPU's copy engines carry out: some go on side by side between two kernels, others one after
 *   the other beside kernels that wait for them. They have streams of the handle's own, which a launch forks to and joins again: behind it, on
 *   its stream, all of them are done. Launches may be captured as others: a handle's streams belong to the capture until that ends, and what
 *   the handle launches elsewhere meanwhile copies on the stream that it is given.
 * Sizes. A launch's buffers of the workspace fit those that were reserved by `shapes`: else COLLC_ERROR_WORKSPACE.
 *
 * Functions return COLLC_OK or another code, and fill `error` where it is not null.
 */
#ifndef COLLC_H
#define COLLC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of these tables; programs made by another version do not compile with this header. */
#define COLLC_ABI 4

/* A device address: CUdeviceptr. */
typedef uint64_t collc_pointer;

enum {
  COLLC_OK = 0,
  COLLC_ERROR_ARGUMENT = 1,    /* an argument is wrong: null, misaligned, of another program */
  COLLC_ERROR_REQUIREMENT = 2, /* dimensions that the program is not for */
  COLLC_ERROR_DEVICE = 3,      /* the GPU cannot run it */
  COLLC_ERROR_FILE = 4,        /* a cubin is missing or is another one */
  COLLC_ERROR_DRIVER = 5,      /* the driver refused; `driver` is its CUresult */
  COLLC_ERROR_WORKSPACE = 6,   /* the workspace is missing, or reserved for smaller shapes */
  COLLC_ERROR_TIMEOUT = 7,     /* a wait ran out */
  COLLC_ERROR_MEMORY = 8,      /* no host memory */
  COLLC_ERROR_MESSAGE = 9      /* messages cannot be sent: nothing carries them, or what does refused; `driver` is its code */
};

typedef struct collc_error {
  int code;
  int driver;
  char message[480];
} collc_error;

/* Extents over the dimensions of a launch. Division rounds down. */
typedef int64_t (*collc_extent)(const int64_t *dims);

static inline int64_t collc_div(int64_t a, int64_t b) {
  return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
static inline int64_t collc_mod(int64_t a, int64_t b) { return b == 0 ? 0 : a - collc_div(a, b) * b; }
static inline int64_t collc_ceildiv(int64_t a, int64_t b) { return -collc_div(-a, b); }
static inline int64_t collc_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t collc_max(int64_t a, int64_t b) { return a > b ? a : b; }

/* The tables of a program. They are data that `collc build` writes; callers need their names, sizes and signatures alone. */

typedef struct collc_tensor {
  const char *name;
  const char *dtype;
  int element_bytes;
  int is_output;
  int is_symmetric;    /* every rank's address is needed, else this rank's alone */
  collc_extent bytes;  /* of one rank's part */
  size_t word;         /* where its addresses begin in the arguments, in 8-byte words */
} collc_tensor;

typedef struct collc_requirement {
  int (*holds)(const int64_t *dims);
  const char *text;
  const char *reason;
} collc_requirement;

enum { COLLC_SCRATCH = 0, COLLC_PACKET = 1, COLLC_SIGNAL = 2, COLLC_STATE = 3, COLLC_TENSOR = 4 };

typedef struct collc_buffer {
  const char *name;
  int role;
  int is_symmetric;
  int tensor;          /* of the program, or -1 */
  int memory;          /* of the target, which several kernels, messages and copies use, or -1 */
  collc_extent bytes;
} collc_buffer;

enum { COLLC_PEERS = 0, COLLC_POINTER = 1, COLLC_DIM = 2, COLLC_RANK = 3, COLLC_TIMEOUT = 4, COLLC_WAITS = 5, COLLC_MAP = 6, COLLC_SCALAR = 7, COLLC_LENGTH = 8 };

typedef struct collc_parameter {
  int kind;
  int index;           /* of the buffer, the dimension, or the length, which lie behind the dimensions; of a number, its byte in the arguments */
  int map_ranks;       /* of a tensor map: maps of all ranks, or 0 for the own one */
  int map_type;        /* CUtensorMapDataType */
  int map_dims;
  uint32_t map_box[5]; /* the fastest dimension first, as the driver has it */
  collc_extent map_sizes[5];
  int map_element_bytes;
} collc_parameter;

typedef struct collc_kernel {
  const char *name;
  const char *symbol;
  const char *file;
  const unsigned char *embedded; /* the cubin itself, or null */
  size_t cubin_bytes;
  uint64_t cubin_hash;           /* FNV-1a */
  unsigned block_threads;
  unsigned shared_bytes;
  int is_cooperative;
  int is_early;                  /* waits by itself for the launch before it in the stream */
  int64_t max_blocks;
  collc_extent work;             /* blocks that there is work for */
  const collc_buffer *buffers;
  size_t buffer_count;
  const collc_parameter *parameters;
  size_t parameter_count;
  const collc_extent *lengths;   /* each of the dimensions and the lengths before it, one after the other */
  size_t length_count;
} collc_kernel;

/* Memory that kernels, messages and copies of a program share. */
typedef struct collc_memory {
  const char *name;
  collc_extent bytes;
} collc_memory;

/* Bytes of the program's memory that go to a rank, or come from it; where `bytes` gives 0, nothing does. */
typedef struct collc_message {
  int peer;
  int memory;
  collc_extent offset, bytes;
} collc_message;

/* Of one rank, all together. The k-th that goes to a rank is the k-th that comes there from this one. */
typedef struct collc_messages {
  const collc_message *sends;
  size_t send_count;
  const collc_message *receives;
  size_t receive_count;
} collc_messages;

/* One side of a copy: of a tensor of the program, or of a memory of the target; the other one is -1. */
typedef struct collc_copy_end {
  int tensor, memory;
  int rank;                   /* whose it is: with another one than the copying rank's, a tensor is symmetric */
  collc_extent offset, pitch; /* in bytes: of the first row, and from a row to the next */
} collc_copy_end;

/* Rows of so many bytes; none where either is not above 0. */
typedef struct collc_copy {
  int lane; /* copies of a lane come one after the other, and beside those of others */
  collc_extent rows, bytes;
  collc_copy_end from, to;
} collc_copy;

/* Of one rank, by lanes. */
typedef struct collc_copies {
  const collc_copy *copies;
  size_t count;
} collc_copies;

/* A kernel, messages, or copies. */
typedef struct collc_step {
  int kernel; /* -1 for others */
  int64_t max_blocks;
  const collc_messages *messages; /* of each rank, or null */
  const collc_copies *copies;     /* of each rank, or null */
  int is_beside; /* copies go on beside what comes behind them, one after the other, up to the end of the program */
} collc_step;

/* Below so many elements these steps; 0: at all other sizes. */
typedef struct collc_choice {
  int64_t below;
  const collc_step *steps;
  size_t step_count;
} collc_choice;

typedef struct collc_target {
  const char *arch;
  int major, minor;
  char variant; /* 'a': this very architecture; 'f': its family; 0: its generation */
  const collc_kernel *kernels;
  size_t kernel_count;
  const collc_memory *memories;
  size_t memory_count;
  collc_extent size;
  const collc_choice *choices;
} collc_target;

typedef struct collc_program {
  int abi;
  const char *name;
  const char *path;       /* of the source, without its ending: "all_reduce/one_shot" */
  const char *collective;
  const char *signature;
  const char *dtypes;     /* "T=bf16" */
  const char *mesh;       /* "node=2,gpu=4", or "" */
  int ranks;
  int ranks_per_domain; /* that share addresses; `ranks` where all do */
  const char *const *dims;
  size_t dim_count;
  const collc_tensor *tensors;
  size_t tensor_count;
  const collc_requirement *requirements;
  size_t requirement_count;
  size_t argument_bytes;
  const collc_target *targets;
  size_t target_count;
} collc_program;

/* libcuda, opened. Copies of it may be passed around; the library stays open. */
typedef struct collc_driver {
  void *library; /* for dlsym of what is not here */
  int (*GetErrorName)(int, const char **);
  int (*GetErrorString)(int, const char **);
  int (*DeviceGetAttribute)(int *, int, int);
  int (*ModuleLoadData)(void **, const void *);
  int (*ModuleUnload)(void *);
  int (*ModuleGetFunction)(void **, void *, const char *);
  int (*FuncGetAttribute)(int *, int, void *);
  int (*FuncSetAttribute)(void *, int, int);
  int (*Occupancy)(int *, void *, int, size_t);
  int (*LaunchKernelEx)(const void *, void *, void **, void **);
  int version; /* 13000: CUDA 13.0 */
  int (*TensorMapEncodeTiled)(void *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *, const uint32_t *,
                              int, int, int, int);
  int (*MemAlloc)(collc_pointer *, size_t);
  int (*MemFree)(collc_pointer);
  int (*MemsetD8Async)(collc_pointer, unsigned char, size_t, void *);
  int (*MemHostAlloc)(void **, size_t, unsigned);
  int (*MemFreeHost)(void *);
  int (*MemHostGetDevicePointer)(collc_pointer *, void *, unsigned);
  int (*StreamSynchronize)(void *);
  int (*StreamCreate)(void **, unsigned);
  int (*StreamDestroy)(void *);
  int (*StreamWaitEvent)(void *, void *, unsigned);
  int (*EventCreate)(void **, unsigned);
  int (*EventDestroy)(void *);
  int (*EventRecord)(void *, void *);
  int (*MemcpyDtoDAsync)(collc_pointer, collc_pointer, size_t, void *);
  int (*Memcpy2DAsync)(const void *, void *);
  int (*StreamGetCaptureInfo)(void *, int *, uint64_t *, void **, void *const **, size_t *); /* null where the driver has none */
  int (*GraphExecKernelNodeSetParams)(void *, void *, const void *);                         /* null where the driver has none */
} collc_driver;

/* The nodes of a CUDA graph that a captured launch has become, for collc_update. */
#define COLLC_MOST_NODES 16
typedef struct collc_nodes {
  void *nodes[COLLC_MOST_NODES];
  size_t count;
  const void *choice; /* the steps of the plan that were captured */
  uint64_t dims;      /* digest of the dimensions, of steps with messages or copies */
  uint64_t copied;    /* digest of the addresses of tensors that are copied */
} collc_nodes;

/*
 * What carries messages: NCCL's functions with its types, or others that mean the same. All that is sent and received between group_start
 * and group_end goes at once, in the stream's order; the k-th that goes to a rank is the k-th that it receives from here. They return 0, or
 * a code that `text_of` knows, which may be null.
 */
typedef struct collc_carrier {
  int (*group_start)(void);
  int (*group_end)(void);
  int (*send)(const void *data, size_t bytes, int type, int peer, void *communicator, void *stream);
  int (*receive)(void *data, size_t bytes, int type, int peer, void *communicator, void *stream);
  const char *(*text_of)(int code);
  void *library;      /* for dlsym of what is not here */
  void *communicator; /* ncclComm_t */
} collc_carrier;

typedef struct collc_options {
  int device;            /* ordinal, whose context is current */
  int rank;
  const char *folder;    /* where the cubins lie; null: they are embedded */
  uint64_t timeout_ns;   /* how long a wait may take; 0: for ever */
  int64_t max_blocks;    /* of a launch, the same on every rank; 0: as many as the program was built for */
  const int64_t *shapes; /* dimensions that the workspace is reserved for: one tuple after the other */
  size_t shape_count;
} collc_options;

/* What a wait that ran out left. */
typedef struct collc_failure {
  const char *kernel;
  const char *buffer;
  int rank, peer;
  uint32_t slot, wanted, seen, line;
} collc_failure;

typedef struct collc_handle collc_handle;

/* Opens libcuda, `path` or the one of the system, and initialises it. COLLC_ERROR_DRIVER without one, or without a GPU. */
int collc_open_driver(const char *path, collc_driver *driver, collc_error *error);

/*
 * The first program of a table with this path, or collective, for so many ranks that all share addresses; dtypes "T=f32", or null for any.
 * Null without one.
 */
const collc_program *collc_find(const collc_program *const *programs, size_t count, const char *path, int ranks, const char *dtypes);

/* The same for ranks of which `ranks_per_domain` consecutive ones share addresses: it was built with --reach. */
const collc_program *collc_find_across(const collc_program *const *programs, size_t count, const char *path, int ranks, int ranks_per_domain,
                                       const char *dtypes);

/* The code of a program for a GPU of this compute capability, the most special first; null if it has none. */
const collc_target *collc_target_for(const collc_program *program, int major, int minor);

/* Whether a launch may have these dimensions. COLLC_ERROR_REQUIREMENT says which they break, and why. */
int collc_check(const collc_program *program, const int64_t *dims, collc_error *error);

/*
 * Fill arguments of a program that is known at run time alone; others fill in the struct of NAME.h. `arguments` are
 * program->argument_bytes bytes, zeroed, aligned as int64_t. `all[p]`: of rank p; of a tensor that is not symmetric, this rank's
 * is taken. COLLC_ERROR_ARGUMENT where the program has no such dimension or tensor.
 */
int collc_set_dim(const collc_program *program, void *arguments, const char *name, int64_t value, collc_error *error);
int collc_set_tensor(const collc_program *program, void *arguments, const char *name, const collc_pointer *all, int rank,
                     collc_error *error);

/* Loads a program on this rank. A context of `options->device` is current. */
int collc_load(const collc_driver *driver, const collc_program *program, const collc_options *options, collc_handle **handle,
               collc_error *error);

/* Bytes of symmetric memory that the program needs on each rank, besides its tensors; equal on all ranks. */
size_t collc_symmetric_bytes(const collc_handle *handle);

/* Equal on all ranks that run the same code, reserved for the same shapes. */
uint64_t collc_fingerprint(const collc_handle *handle);

/* `workspace[p]`: rank p's symmetric workspace, as mapped here. */
int collc_attach(collc_handle *handle, const collc_pointer *workspace, collc_error *error);

/* Whether the program sends messages, and so wants a carrier. */
int collc_has_messages(const collc_program *program);

/*
 * Opens libnccl, `path` or the one of the system, and fills in all of `carrier` but the communicator, which is null: make one of the
 * program's ranks with the library's ncclCommInitRank. COLLC_ERROR_MESSAGE without a library.
 */
int collc_open_nccl(const char *path, collc_carrier *carrier, collc_error *error);

/* What carries the program's messages, copied. COLLC_ERROR_ARGUMENT where it lacks a function or the communicator. */
int collc_carry(collc_handle *handle, const collc_carrier *carrier, collc_error *error);

/* Zeroes this rank's flags, packets and counters, and waits for that. Nothing may be running on any rank; meet before you launch. */
int collc_reset(collc_handle *handle, void *stream, collc_error *error);

/* Enqueues what the plan has for the arguments' dimensions. Called by NAME_launch, which knows what the arguments are. */
int collc_launch(collc_handle *handle, const collc_program *program, const void *arguments, void *stream, collc_error *error);

/* The same on a stream that is being captured, and which nodes of the graph that gives. Called by NAME_capture. */
int collc_capture(collc_handle *handle, const collc_program *program, const void *arguments, void *stream, collc_nodes *nodes,
                  collc_error *error);

/*
 * Gives the nodes of an executable graph (CUgraphExec) other arguments. COLLC_ERROR_ARGUMENT where the plan has other steps for
 * their dimensions than those that were captured, or where those steps have messages or copies and dimensions, or addresses of tensors that
 * are copied, are others. Called by NAME_update.
 */
int collc_update(collc_handle *handle, const collc_program *program, const void *arguments, const collc_nodes *nodes, void *graph_exec,
                 collc_error *error);

/* COLLC_ERROR_TIMEOUT if a wait ran out, who and for whom in `failure`; else COLLC_OK. Synchronise the stream first. */
int collc_status(const collc_handle *handle, collc_failure *failure, collc_error *error);

/* Frees what collc_load made. Nothing may be running. Null is fine. */
void collc_unload(collc_handle *handle);

#ifdef __cplusplus
}
#endif

#endif
