// An NCCL over the fake driver: communicators meet in memory that all processes map, collectives go through it in three
// steps (publish, compute, leave), sends go through mailboxes. Ranks that come to different collectives, or to one with
// different lengths or roots, end: the real library would mix up data, or wait for ever. FAKE_NCCL_VERSION, set when this
// is compiled, takes functions away as in old versions. A rank's part of a collective is at most 4 MiB, a message 64 KiB.
#include <algorithm>
#include <cmath>
#include <vector>

#include "api/nccl.h"
#include "guest.h"
#include "takes-signals.h"

using namespace guest;
using collc::nccl::ncclUniqueId;

namespace {

constexpr int kMaxRanks = 8, kInvalidArgument = 4, kInvalidUsage = 5;
constexpr std::size_t kArea = 4 << 20, kMail = 1 << 16;

struct Mailbox {
  std::atomic<int> full;
  std::size_t bytes;
  char data[kMail];
};

/// What a rank came for. Of a collective without a root that is -1.
struct Call {
  char name[16];
  std::size_t bytes;
  int root;
};

struct Control {
  std::atomic<std::uint64_t> met;       ///< On threads: initialisation, windows.
  std::atomic<std::uint64_t> arrivals;  ///< On streams.
  Shared windows[kMaxRanks];
  std::uint64_t window_bytes[kMaxRanks];
  Call calls[kMaxRanks];
  char area[kMaxRanks][kArea];
  Mailbox mail[kMaxRanks][kMaxRanks];
};

struct Id {
  Shared control;
};

/// Memory of ncclMemAlloc in this process.
[[maybe_unused]] std::map<std::uint64_t, DeviceBlock>& Blocks() {
  static auto* blocks = new std::map<std::uint64_t, DeviceBlock>;
  return *blocks;
}

struct Comm {
  int rank, size, device;
  Control* control;
  std::uint64_t meetings = 0;
  std::uint64_t steps = 0;
  std::atomic<bool> aborted{false};
};

struct Window {
  Comm* comm;
  std::size_t bytes;
  std::vector<std::uint64_t> bases;
};

Comm* Of(collc::nccl::ncclComm_t comm) { return reinterpret_cast<Comm*>(comm); }
[[maybe_unused]] Window* Of(collc::nccl::ncclWindow_t window) {
  return reinterpret_cast<Window*>(window);
}

void Meet(Comm* comm) {
  const std::uint64_t wanted = ++comm->meetings * comm->size;
  ++comm->control->met;
  Await([=] { return comm->control->met.load() >= wanted; });
}

/// `act` when the stream gets there, then all ranks' streams together.
void Step(Comm* comm, Stream stream, std::function<void()> act) {
  auto* wanted = new std::uint64_t(0);
  OnStream(stream, [=] {
    act();
    *wanted = ++comm->steps * comm->size;
    ++comm->control->arrivals;
  });
  Hold(comm->device, stream, [=] { return comm->control->arrivals.load() >= *wanted || comm->aborted; });
}

/// Ends this process where ranks came for different things.
void RequireAlike(const Comm* comm) {
  const Call* calls = comm->control->calls;
  const Call& own = calls[comm->rank];
  for (int rank = 0; rank < comm->size; ++rank) {
    const Call& other = calls[rank];
    if (std::strcmp(own.name, other.name) == 0 && own.bytes == other.bytes && own.root == other.root) continue;
    std::fprintf(stderr, "fake NCCL: rank %d of %d came for %s of %zu bytes, root %d, rank %d for %s of %zu bytes, root %d\n",
                 comm->rank, comm->size, own.name, own.bytes, own.root, rank, other.name, other.bytes, other.root);
    std::abort();
  }
}

int Collective(const char* name, Comm* comm, Stream stream, const void* source, std::size_t bytes,
               std::function<void()> compute, int root = -1) {
  if (bytes > kArea || root >= comm->size) return kInvalidArgument;
  Step(comm, stream, [=] {
    Call& call = comm->control->calls[comm->rank];
    std::snprintf(call.name, sizeof call.name, "%s", name);
    call.bytes = bytes;
    call.root = root;
    if (source) std::memcpy(comm->control->area[comm->rank], source, bytes);
  });
  Step(comm, stream, [=] {
    if (comm->aborted) return;
    RequireAlike(comm);
    compute();
  });
  return 0;
}

constexpr std::size_t kWidths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

double HalfToDouble(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const double fraction = (bits & 1023) / 1024.0;
  const double value = exponent ? (1 + fraction) * std::exp2(exponent - 15) : fraction * std::exp2(-14);
  return bits & 0x8000 ? -value : value;
}
std::uint16_t DoubleToHalf(double value) {
  // Exact values only: small whole numbers.
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    if (HalfToDouble(static_cast<std::uint16_t>(bits)) == std::fabs(value)) {
      return static_cast<std::uint16_t>(bits | (value < 0 ? 0x8000 : 0));
    }
  }
  return 0x7e00;
}

template <typename T>
T Read(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
template <typename T>
void Write(char* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

double Load(const char* at, int type) {
  switch (type) {
    case 0: return Read<std::int8_t>(at);
    case 1: return Read<std::uint8_t>(at);
    case 2: return Read<std::int32_t>(at);
    case 3: return Read<std::uint32_t>(at);
    case 6: return HalfToDouble(Read<std::uint16_t>(at));
    case 7: return Read<float>(at);
    case 8: return Read<double>(at);
    case 9: {
      const std::uint32_t bits = static_cast<std::uint32_t>(Read<std::uint16_t>(at)) << 16;
      return Read<float>(reinterpret_cast<const char*>(&bits));
    }
    default: std::abort();
  }
}
void Store(char* at, int type, double value) {
  switch (type) {
    case 0: return Write(at, static_cast<std::int8_t>(value));
    case 1: return Write(at, static_cast<std::uint8_t>(value));
    case 2: return Write(at, static_cast<std::int32_t>(value));
    case 3: return Write(at, static_cast<std::uint32_t>(value));
    case 6: return Write(at, DoubleToHalf(value));
    case 7: return Write(at, static_cast<float>(value));
    case 8: return Write(at, value);
    case 9: {
      const float narrow = static_cast<float>(value);
      return Write(at, static_cast<std::uint16_t>(Read<std::uint32_t>(reinterpret_cast<const char*>(&narrow)) >> 16));
    }
    default: std::abort();
  }
}

/// Elements `from`… of all ranks' areas, reduced in rank order.
void Reduce(const Comm* comm, void* target, std::size_t from, std::size_t count, int type, int op) {
  const std::size_t width = kWidths[type];
  for (std::size_t i = 0; i < count; ++i) {
    double total = 0;
    for (int rank = 0; rank < comm->size; ++rank) {
      const double value = Load(comm->control->area[rank] + (from + i) * width, type);
      if (rank == 0) total = value;
      else if (op == 0 || op == 4) total += value;
      else if (op == 1) total *= value;
      else if (op == 2) total = std::max(total, value);
      else total = std::min(total, value);
    }
    Store(static_cast<char*>(target) + i * width, type, op == 4 ? total / comm->size : total);
  }
}

}  // namespace

GUEST_API int ncclGetVersion(int* version) {
  *version = FAKE_NCCL_VERSION;
  return 0;
}
GUEST_API const char* ncclGetErrorString(int result) { return result == kInvalidArgument ? "invalid argument" : "bad"; }
GUEST_API const char* ncclGetLastError(collc::nccl::ncclComm_t) { return "the fake NCCL says no"; }

GUEST_API int ncclGetUniqueId(ncclUniqueId* id) {
  takes_signals::ForGood();
  const Id made{MakeShared(sizeof(Control))};
  std::memset(id, 0, sizeof *id);
  std::memcpy(id, &made, sizeof made);
  return 0;
}

GUEST_API int ncclCommInitRank(collc::nccl::ncclComm_t* out, int size, ncclUniqueId id, int rank) {
  takes_signals::ForGood();
  Id from{};
  std::memcpy(&from, &id, sizeof from);
  auto* comm = new Comm;
  comm->rank = rank;
  comm->size = size;
  comm->control = static_cast<Control*>(MapShared(from.control, sizeof(Control)));
  if (!comm->control || size > kMaxRanks) return kInvalidUsage;
  int device = 0;
  if (cuCtxGetDevice(&device) != 0) return kInvalidUsage;
  comm->device = device;
  Meet(comm);
  *out = reinterpret_cast<collc::nccl::ncclComm_t>(comm);
  return 0;
}

GUEST_API int ncclCommDestroy(collc::nccl::ncclComm_t comm) {
  Meet(Of(comm));
  delete Of(comm);
  return 0;
}
/// Streams that wait for peers go on; they still use the communicator.
GUEST_API int ncclCommAbort(collc::nccl::ncclComm_t comm) {
  Of(comm)->aborted = true;
  return 0;
}
GUEST_API int ncclCommGetAsyncError(collc::nccl::ncclComm_t, int* result) {
  *result = 0;
  return 0;
}

GUEST_API int ncclAllReduce(const void* source, void* target, std::size_t count, int type, int op,
                            collc::nccl::ncclComm_t handle, Stream stream) {
  Comm* comm = Of(handle);
  return Collective("all-reduce", comm, stream, source, count * kWidths[type],
                    [=] { Reduce(comm, target, 0, count, type, op); });
}
GUEST_API int ncclReduceScatter(const void* source, void* target, std::size_t count, int type, int op,
                                collc::nccl::ncclComm_t handle, Stream stream) {
  Comm* comm = Of(handle);
  return Collective("reduce-scatter", comm, stream, source, comm->size * count * kWidths[type],
                    [=] { Reduce(comm, target, comm->rank * count, count, type, op); });
}
GUEST_API int ncclReduce(const void* source, void* target, std::size_t count, int type, int op, int root,
                         collc::nccl::ncclComm_t handle, Stream stream) {
  Comm* comm = Of(handle);
  if (root < 0 || root >= comm->size) return kInvalidArgument;
  return Collective("reduce", comm, stream, source, count * kWidths[type], [=] {
    if (comm->rank == root) Reduce(comm, target, 0, count, type, op);
  }, root);
}
GUEST_API int ncclAllGather(const void* source, void* target, std::size_t count, int type,
                            collc::nccl::ncclComm_t handle, Stream stream) {
  Comm* comm = Of(handle);
  const std::size_t bytes = count * kWidths[type];
  return Collective("all-gather", comm, stream, source, bytes, [=] {
    for (int rank = 0; rank < comm->size; ++rank) {
      std::memcpy(static_cast<char*>(target) + rank * bytes, comm->control->area[rank], bytes);
    }
  });
}
GUEST_API int ncclBroadcast(const void* source, void* target, std::size_t count, int type, int root,
                            collc::nccl::ncclComm_t handle, Stream stream) {
  Comm* comm = Of(handle);
  if (root < 0 || root >= comm->size) return kInvalidArgument;
  const std::size_t bytes = count * kWidths[type];
  return Collective("broadcast", comm, stream, comm->rank == root ? source : nullptr, bytes,
                    [=] { std::memcpy(target, comm->control->area[root], bytes); }, root);
}
#if FAKE_NCCL_VERSION >= 22800
GUEST_API int ncclAlltoAll(const void* source, void* target, std::size_t count, int type,
                           collc::nccl::ncclComm_t handle, Stream stream) {
  Comm* comm = Of(handle);
  const std::size_t bytes = count * kWidths[type];
  return Collective("all-to-all", comm, stream, source, comm->size * bytes, [=] {
    for (int rank = 0; rank < comm->size; ++rank) {
      std::memcpy(static_cast<char*>(target) + rank * bytes, comm->control->area[rank] + comm->rank * bytes, bytes);
    }
  });
}
#endif

GUEST_API int ncclSend(const void* source, std::size_t count, int type, int peer, collc::nccl::ncclComm_t handle,
                       Stream stream) {
  Comm* comm = Of(handle);
  if (peer < 0 || peer >= comm->size || count * kWidths[type] > kMail) return kInvalidArgument;
  Mailbox* box = &comm->control->mail[comm->rank][peer];
  Hold(comm->device, stream, [=] { return box->full.load() == 0 || comm->aborted; });
  OnStream(stream, [=] {
    if (comm->aborted) return;
    box->bytes = count * kWidths[type];
    std::memcpy(box->data, source, box->bytes);
    box->full = 1;
  });
  return 0;
}
GUEST_API int ncclRecv(void* target, std::size_t count, int type, int peer, collc::nccl::ncclComm_t handle,
                       Stream stream) {
  Comm* comm = Of(handle);
  if (peer < 0 || peer >= comm->size) return kInvalidArgument;
  Mailbox* box = &comm->control->mail[peer][comm->rank];
  Hold(comm->device, stream, [=] { return box->full.load() == 1 || comm->aborted; });
  OnStream(stream, [=] {
    if (comm->aborted) return;
    if (box->bytes != count * kWidths[type]) std::abort();
    std::memcpy(target, box->data, box->bytes);
    box->full = 0;
  });
  return 0;
}
GUEST_API int ncclGroupStart() { return 0; }
GUEST_API int ncclGroupEnd() { return 0; }

#if FAKE_NCCL_VERSION >= 22700
GUEST_API int ncclCommFinalize(collc::nccl::ncclComm_t comm) {
  Meet(Of(comm));
  return 0;
}

GUEST_API int ncclMemAlloc(void** pointer, std::size_t bytes) {
  int device = 0;
  if (cuCtxGetDevice(&device) != 0) return kInvalidUsage;
  const DeviceBlock block = AllocateBlock(device, bytes);
  Blocks()[block.pointer] = block;
  *pointer = reinterpret_cast<void*>(block.pointer);
  return 0;
}
GUEST_API int ncclMemFree(void* pointer) {
  const auto found = Blocks().find(reinterpret_cast<std::uint64_t>(pointer));
  if (found == Blocks().end()) return kInvalidArgument;
  UnmapBlock(found->second.pointer, found->second.bytes);
  close(found->second.shared.fd);
  Blocks().erase(found);
  return 0;
}

GUEST_API int ncclCommWindowRegister(collc::nccl::ncclComm_t handle, void* pointer, std::size_t bytes,
                                     collc::nccl::ncclWindow_t* out, int flags) {
  Comm* comm = Of(handle);
  const auto found = Blocks().find(reinterpret_cast<std::uint64_t>(pointer));
  if (flags != collc::nccl::WIN_COLL_SYMMETRIC || found == Blocks().end() || bytes > found->second.bytes) {
    return kInvalidArgument;
  }
  if (*Env("FAKE_NCCL_NO_WINDOWS")) {
    *out = nullptr;
    return 0;
  }
  comm->control->windows[comm->rank] = found->second.shared;
  comm->control->window_bytes[comm->rank] = found->second.bytes;
  Meet(comm);
  auto* window = new Window;
  window->comm = comm;
  window->bytes = found->second.bytes;
  for (int rank = 0; rank < comm->size; ++rank) {
    window->bases.push_back(
        ImportBlock(comm->device, comm->control->windows[rank], comm->control->window_bytes[rank]));
  }
  Meet(comm);
  *out = reinterpret_cast<collc::nccl::ncclWindow_t>(window);
  return 0;
}
GUEST_API int ncclCommWindowDeregister(collc::nccl::ncclComm_t, collc::nccl::ncclWindow_t handle) {
  Window* window = Of(handle);
  for (const std::uint64_t base : window->bases) UnmapBlock(base, window->bytes);
  delete window;
  return 0;
}
#endif

#if FAKE_NCCL_VERSION >= 22900
GUEST_API int ncclGetPeerDevicePointer(collc::nccl::ncclWindow_t handle, std::size_t offset, int peer, void** out) {
  Window* window = Of(handle);
  if (peer < 0 || peer >= window->comm->size || offset >= window->bytes) return kInvalidArgument;
  *out = reinterpret_cast<void*>(window->bases[peer] + offset);
  return 0;
}
#endif
