// Kernels of the smoke test, and their launch manifests as the compiler would write them.

/** One-shot all-reduce with flag barriers at both ends; every wait is bounded and reports to `status`. */
export function smokeSource(ranks) {
  return `
struct Floats { float* p[${ranks}]; };
struct Flags { unsigned* p[${ranks}]; };

static __device__ __forceinline__ void put(unsigned* at, unsigned v) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" :: "l"(at), "r"(v) : "memory");
}
static __device__ __forceinline__ unsigned get(const unsigned* at) {
  unsigned v;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(at) : "memory");
  return v;
}
static __device__ __forceinline__ unsigned long long now() {
  unsigned long long t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t) :: "memory");
  return t;
}

// Block b of every rank meets block b of every other. Returns whether all came in time.
static __device__ bool meet(const Flags& flags, unsigned epoch, int rank, unsigned long long timeout, unsigned* status) {
  int late = 0;
  __syncthreads();
  if (threadIdx.x < ${ranks}) {
    int peer = threadIdx.x;
    put(flags.p[peer] + blockIdx.x * ${ranks} + rank, epoch);
    const unsigned* mine = flags.p[rank] + blockIdx.x * ${ranks} + peer;
    unsigned long long begin = now();
    unsigned seen;
    while ((int)((seen = get(mine)) - epoch) < 0) {
      if (timeout != 0 && now() - begin > timeout) {
        late = 1;
        if (atomicCAS_system(status, 0u, 1u) == 0u) {
          status[1] = rank; status[2] = peer; status[3] = 1; status[4] = blockIdx.x * ${ranks} + peer;
          status[5] = epoch; status[6] = seen; status[7] = 42;
          __threadfence_system();
        }
        break;
      }
    }
  }
  return __syncthreads_or(late) == 0;
}

extern "C" __global__ void __launch_bounds__(256)
smoke_all_reduce(Floats x, Flags flags, unsigned* epochs, float* y, long long n, int rank,
                 unsigned long long timeout, unsigned* status) {
  unsigned epoch = epochs[blockIdx.x];
  if (!meet(flags, epoch + 1, rank, timeout, status)) return;
  for (long long i = blockIdx.x * 256ll + threadIdx.x; i < n; i += gridDim.x * 256ll) {
    float sum = 0;
    #pragma unroll
    for (int p = 0; p < ${ranks}; ++p) sum += x.p[p][i];
    y[i] = sum;
  }
  if (!meet(flags, epoch + 2, rank, timeout, status)) return;
  if (threadIdx.x == 0) epochs[blockIdx.x] = epoch + 2;
}

extern "C" __global__ void smoke_empty() {}
`;
}

export const maxBlocks = 32;

/** Bytes of the flags and of the epochs. */
export const flagBytes = (ranks) => maxBlocks * ranks * 4;
export const epochBytes = maxBlocks * 4;

export function allReduceManifest(ranks, arch) {
  return {
    ...emptyManifest(arch),
    ranks,
    symbol: "smoke_all_reduce",
    dims: ["n"],
    parameters: [
      { kind: "peers", buffer: "x", ranks },
      { kind: "peers", buffer: "flags", ranks },
      { kind: "pointer", buffer: "epochs" },
      { kind: "pointer", buffer: "y" },
      { kind: "dim", name: "n" },
      { kind: "rank" },
      { kind: "timeout" },
      { kind: "status" },
    ],
    grid: { work: [{ op: "ceildiv", a: "n", b: 1024 }], maxBlocks },
    cooperative: true,
    early: false,
  };
}

export function emptyManifest(arch) {
  return {
    formatVersion: 2,
    collective: "smoke",
    symbol: "smoke_empty",
    ranks: 1,
    dtypes: {},
    arch,
    dims: [],
    inputs: [],
    outputs: [],
    specification: { nodes: [], outputs: [] },
    mesh: [],
    roundings: [],
    requirements: [],
    buffers: [],
    parameters: [],
    blockThreads: 256,
    grid: { work: [], maxBlocks: 1 },
    sharedBytes: 0,
    cooperative: false,
    early: false,
  };
}

/** What the fake driver takes for a cubin: an ELF header, then a list of functions with their parameters' sizes. */
export function fakeCubin(ranks) {
  const text = [
    "FAKE",
    `smoke_all_reduce params=${8 * ranks},${8 * ranks},8,8,8,4,8,8 registers=32`,
    "smoke_empty params= registers=8",
  ].join("\n");
  const header = Buffer.alloc(64);
  header.writeUInt32BE(0x7f454c46, 0);
  return new Uint8Array(Buffer.concat([header, Buffer.from(text + "\n\0")]));
}
