// The part of NVSHMEM's host library that collc uses. Layouts as in the headers of NVSHMEM 3.4, which keep version 1 of
// each structure since 3.0; what is inline in those headers (nvshmemx_init_attr) is done in nvshmem.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "api/cuda.h"

namespace collc::nvshmem {

using Stream = cuda::CUstream;  // cudaStream_t is the same pointer
using Team = std::int32_t;

struct UniqueId {
  int version;
  char internal[124];
};
struct UniqueIdArgs {
  int version;
  UniqueId* id;
  int myrank;
  int nranks;
};
struct InitArgs {
  int version;
  UniqueIdArgs uid_args;
  char content[96];
};
struct InitAttr {
  int version;
  void* mpi_comm;
  InitArgs args;
};
struct TeamConfig {
  int version;
  int num_contexts;
  std::uint64_t uniqueid;
  char padding[48];
};
static_assert(sizeof(UniqueId) == 128, "nvshmemx_uniqueid_v1");
static_assert(sizeof(UniqueIdArgs) == 24, "nvshmemx_uniqueid_args_v1");
static_assert(sizeof(InitArgs) == 128, "nvshmemx_init_args_v1");
static_assert(sizeof(InitAttr) == 144, "nvshmemx_init_attr_v1");
static_assert(sizeof(TeamConfig) == 64, "nvshmem_team_config_v2");

/// The version word of a structure: its version above its size.
template <typename T>
constexpr int VersionWord(int version) {
  return (version << 16) + static_cast<int>(sizeof(T));
}

enum : unsigned { INIT_WITH_UNIQUEID = 1u << 3 };
enum : int { STATUS_NOT_INITIALIZED = 0, STATUS_IS_BOOTSTRAPPED = 1, STATUS_IS_INITIALIZED = 2 };
enum : int { SIGNAL_SET = 9, SIGNAL_ADD = 10, CMP_GE = 5 };
enum : Team { TEAM_INVALID = -1, TEAM_WORLD = 0 };
enum : long { TEAM_CONFIG_MASK_UNIQUEID = 2 };

// X(return type, name here, exported symbol, parameter types...)
#define COLLC_NVSHMEM_SYMBOLS(X)                                                                                    \
  X(int, GetUniqueId, "nvshmemx_get_uniqueid", UniqueId*)                                                           \
  X(int, SetAttrUniqueIdArgs, "nvshmemx_set_attr_uniqueid_args", int, int, const UniqueId*, InitAttr*)              \
  X(int, HostlibInitAttr, "nvshmemx_hostlib_init_attr", unsigned, InitAttr*)                                        \
  X(void, HostlibFinalize, "nvshmemx_hostlib_finalize", void)                                                       \
  X(int, InitStatus, "nvshmemx_init_status", void)                                                                  \
  X(void, VendorVersion, "nvshmemx_vendor_get_version_info", int*, int*, int*)                                      \
  X(void, SpecificationVersion, "nvshmem_info_get_version", int*, int*)                                             \
  X(int, MyPe, "nvshmem_my_pe", void)                                                                               \
  X(int, NPes, "nvshmem_n_pes", void)                                                                               \
  X(void*, Calloc, "nvshmem_calloc", std::size_t, std::size_t)                                                      \
  X(void, Free, "nvshmem_free", void*)                                                                              \
  X(void*, Ptr, "nvshmem_ptr", const void*, int)                                                                    \
  X(int, TeamSplitStrided, "nvshmem_team_split_strided", Team, int, int, int, const TeamConfig*, long, Team*)       \
  X(void, TeamDestroy, "nvshmem_team_destroy", Team)                                                                \
  X(int, TeamNPes, "nvshmem_team_n_pes", Team)                                                                      \
  X(int, TeamMyPe, "nvshmem_team_my_pe", Team)                                                                      \
  X(void, PutOnStream, "nvshmemx_putmem_on_stream", void*, const void*, std::size_t, int, Stream)                   \
  X(void, GetOnStream, "nvshmemx_getmem_on_stream", void*, const void*, std::size_t, int, Stream)                   \
  X(void, PutSignalOnStream, "nvshmemx_putmem_signal_on_stream", void*, const void*, std::size_t, std::uint64_t*,   \
    std::uint64_t, int, int, Stream)                                                                                \
  X(void, SignalOnStream, "nvshmemx_signal_op_on_stream", std::uint64_t*, std::uint64_t, int, int, Stream)          \
  X(void, SignalWaitOnStream, "nvshmemx_signal_wait_until_on_stream", std::uint64_t*, int, std::uint64_t, Stream)   \
  X(void, QuietOnStream, "nvshmemx_quiet_on_stream", Stream)                                                        \
  X(int, BarrierOnStream, "nvshmemx_barrier_on_stream", Team, Stream)                                               \
  X(int, BroadcastOnStream, "nvshmemx_broadcastmem_on_stream", Team, void*, const void*, std::size_t, int, Stream)  \
  X(int, AllToAllOnStream, "nvshmemx_alltoallmem_on_stream", Team, void*, const void*, std::size_t, Stream)         \
  X(int, AllGatherOnStream, "nvshmemx_fcollectmem_on_stream", Team, void*, const void*, std::size_t, Stream)

// Only newer libraries have these: teams of any PEs that only the members make.
#define COLLC_NVSHMEM_OPTIONAL_SYMBOLS(X)                                    \
  X(int, TeamGetUniqueId, "nvshmemx_team_get_uniqueid", std::uint64_t*)      \
  X(int, TeamInit, "nvshmemx_team_init", Team*, TeamConfig*, long, int, int)

struct Api {
#define COLLC_MEMBER(result, name, symbol, ...) result (*name)(__VA_ARGS__) = nullptr;
  COLLC_NVSHMEM_SYMBOLS(COLLC_MEMBER)
  COLLC_NVSHMEM_OPTIONAL_SYMBOLS(COLLC_MEMBER)
#undef COLLC_MEMBER
};

/// Opens the first library that loads; returns its path. Later calls return at once.
std::string Open(const std::vector<std::string>& candidates);

const Api& Get();

/// Throws unless `status` is 0.
void Check(int status, const char* call);

}  // namespace collc::nvshmem
