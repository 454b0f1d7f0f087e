// An NVSHMEM host library over the fake driver: heaps that all processes map, real waits, real teams. Stricter than the
// real one where that ends the process: here it aborts with a line on stderr, which fails the test.
//
// Puts and signals are on their way for a time of their own, so they arrive in any order. The library orders no more than this: the data of
// a put comes before its own signal, and a quiet, or what meets all PEs, comes after all that its PE sent before. The source of a put is read
// when the stream is there.
//
//   FAKE_NVSHMEM_HEAP_MB=32   size of the heap
//   FAKE_NVSHMEM_LATE_US=2000 most that something is on its way: see wire.h
//   FAKE_NVSHMEM_NO_PTR=1     nvshmem_ptr gives null for peers
//   FAKE_NVSHMEM_FAIL=init    initialisation fails
#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "api/nvshmem.h"
#include "guest.h"
#include "takes-signals.h"
#include "wire.h"

using namespace guest;
using collc::nvshmem::InitAttr;
using collc::nvshmem::Team;
using collc::nvshmem::TeamConfig;
using collc::nvshmem::UniqueId;

namespace {

constexpr int kMaxPes = 16, kMaxTeams = 64;

struct SharedTeam {
  std::atomic<std::uint64_t> key;
  int size;
  int pes[kMaxPes];
  std::atomic<int> members;
  std::atomic<std::uint64_t> arrivals;
  std::atomic<int> leavers;
};

/// What all processes map.
struct Control {
  std::atomic<int> lock;
  std::atomic<int> joined;
  Shared heaps[kMaxPes];
  std::atomic<std::uint64_t> arrivals;
  SharedTeam teams[kMaxTeams];
};

struct Id {
  int version;
  Shared control;
};

struct State {
  int pe = -1, pes = 0, device = 0;
  Control* control = nullptr;
  std::size_t heap_bytes = 0;
  std::vector<std::uint64_t> bases;
  std::map<std::size_t, std::size_t> taken;
  std::uint64_t meetings = 0;
  std::uint64_t splits = 0;
  std::uint64_t team_meetings[kMaxTeams] = {};
};
State* state = nullptr;

[[noreturn]] void Die(const char* what) {
  std::fprintf(stderr, "fake NVSHMEM: %s\n", what);
  std::abort();
}

State& Live() {
  if (!state) Die("used before it is initialised");
  return *state;
}

/// All PEs, on the calling thread; what they sent before has come then.
void Meet() {
  State& s = Live();
  Await([] { return Wire::Own().IsEmpty(); });
  const std::uint64_t wanted = ++s.meetings * s.pes;
  ++s.control->arrivals;
  Await([&] { return s.control->arrivals.load() >= wanted; });
}

std::size_t OffsetOf(const void* pointer) {
  State& s = Live();
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  if (address < s.bases[s.pe] || address >= s.bases[s.pe] + s.heap_bytes) Die("an address outside the heap");
  return address - s.bases[s.pe];
}

std::uint64_t At(const void* pointer, int pe) { return Live().bases[pe] + OffsetOf(pointer); }

SharedTeam& TeamAt(Team team) {
  SharedTeam& shared = Live().control->teams[team];
  if (team < 0 || team >= kMaxTeams || shared.key == 0) Die("no such team");
  return shared;
}

int IndexIn(const SharedTeam& team) {
  for (int i = 0; i < team.size; ++i) {
    if (team.pes[i] == Live().pe) return i;
  }
  return -1;
}

/// A slot that all members find by the key.
Team Join(std::uint64_t key, const std::vector<int>& pes) {
  Control& control = *Live().control;
  while (control.lock.exchange(1)) std::this_thread::yield();
  Team found = -1;
  for (Team team = 0; team < kMaxTeams && found < 0; ++team) {
    if (control.teams[team].key == key) found = team;
  }
  for (Team team = 0; team < kMaxTeams && found < 0; ++team) {
    SharedTeam& shared = control.teams[team];
    if (shared.key != 0) continue;
    shared.size = static_cast<int>(pes.size());
    for (int i = 0; i < shared.size; ++i) shared.pes[i] = pes[i];
    shared.members = 0;
    shared.arrivals = 0;
    shared.leavers = 0;
    shared.key = key;
    found = team;
  }
  control.lock = 0;
  if (found < 0) Die("no more teams");
  Live().team_meetings[found] = 0;
  return found;
}

void BarrierOnStream(Team team, Stream stream) {
  SharedTeam& shared = TeamAt(team);
  if (IndexIn(shared) < 0) Die("a barrier of a team without this PE");
  auto* wanted = new std::uint64_t(0);
  Hold(Live().device, stream, [] { return Wire::Own().IsEmpty(); });
  OnStream(stream, [&shared, team, wanted] {
    *wanted = ++Live().team_meetings[team] * shared.size;
    ++shared.arrivals;
  });
  Hold(Live().device, stream, [&shared, wanted] { return shared.arrivals.load() >= *wanted; });
}

void Copy(Stream stream, std::uint64_t target, std::uint64_t source, std::size_t bytes) {
  if (bytes > 0) Must(cuMemcpyDtoDAsync_v2(target, source, bytes, stream), "cuMemcpyDtoDAsync");
}

std::atomic<std::uint64_t>* Word(std::uint64_t address) {
  return reinterpret_cast<std::atomic<std::uint64_t>*>(address);
}

void Raise(std::uint64_t signal, std::uint64_t value, int op) {
  if (op == collc::nvshmem::SIGNAL_ADD) {
    Word(signal)->fetch_add(value);
  } else {
    Word(signal)->store(value);
  }
}

/// Sends the bytes that the source has when the stream is there, and does `then` where they have come.
void Put(void* target, const void* source, std::size_t bytes, int pe, Stream stream, std::function<void()> then) {
  if (pe < 0 || pe >= Live().pes) Die("no such PE");
  const std::uint64_t to = bytes > 0 ? At(target, pe) : 0;
  if (bytes > 0) OffsetOf(static_cast<char*>(target) + bytes - 1);
  OnStream(stream, [=] {
    const auto* from = static_cast<const char*>(source);
    const auto held = std::make_shared<std::vector<char>>(from, from + bytes);
    Wire::Own().Send([=] {
      std::copy(held->begin(), held->end(), reinterpret_cast<char*>(to));
      then();
    });
  });
}

}  // namespace

GUEST_API int nvshmemx_get_uniqueid(UniqueId* id) {
  takes_signals::ForGood();
  if (id->version != collc::nvshmem::VersionWord<UniqueId>(1)) return 1;
  const Id made{id->version, MakeShared(sizeof(Control))};
  std::memcpy(id, &made, sizeof made);
  return 0;
}

GUEST_API int nvshmemx_set_attr_uniqueid_args(int rank, int pes, const UniqueId* id, InitAttr* attr) {
  if (id->version != collc::nvshmem::VersionWord<UniqueId>(1)) return 1;
  attr->args.uid_args.id = const_cast<UniqueId*>(id);
  attr->args.uid_args.myrank = rank;
  attr->args.uid_args.nranks = pes;
  return 0;
}

GUEST_API int nvshmemx_hostlib_init_attr(unsigned flags, InitAttr* attr) {
  takes_signals::ForGood();
  if (std::string(Env("FAKE_NVSHMEM_FAIL")) == "init") return 7;
  if (flags != collc::nvshmem::INIT_WITH_UNIQUEID || state) return 1;
  if (attr->version != (1 << 16) + 144 || attr->args.version != (1 << 16) + 128) return 1;
  const auto& uid = attr->args.uid_args;
  if (uid.version != (1 << 16) + 24) return 1;
  Id id{};
  std::memcpy(&id, uid.id, sizeof id);
  auto* made = new State;
  made->pe = uid.myrank;
  made->pes = uid.nranks;
  made->device = uid.myrank;
  made->control = static_cast<Control*>(MapShared(id.control, sizeof(Control)));
  if (!made->control || made->pes > kMaxPes) return 7;
  const char* megabytes = Env("FAKE_NVSHMEM_HEAP_MB");
  made->heap_bytes = static_cast<std::size_t>(*megabytes ? std::atoi(megabytes) : 32) << 20;
  state = made;
  const DeviceBlock heap = AllocateBlock(made->device, made->heap_bytes);
  made->control->heaps[made->pe] = heap.shared;
  Meet();
  for (int pe = 0; pe < made->pes; ++pe) {
    made->bases.push_back(pe == made->pe ? heap.pointer
                                         : ImportBlock(made->device, made->control->heaps[pe], made->heap_bytes));
  }
  std::vector<int> all;
  for (int pe = 0; pe < made->pes; ++pe) all.push_back(pe);
  Join(1, all);
  Meet();
  return 0;
}

GUEST_API void nvshmemx_hostlib_finalize() {
  State& s = Live();
  Meet();
  for (const std::uint64_t base : s.bases) UnmapBlock(base, s.heap_bytes);
  close(s.control->heaps[s.pe].fd);
  state = nullptr;
}

GUEST_API int nvshmemx_init_status() { return state ? 2 : 0; }
GUEST_API int nvshmem_my_pe() { return Live().pe; }
GUEST_API int nvshmem_n_pes() { return Live().pes; }
GUEST_API void nvshmemx_vendor_get_version_info(int* major, int* minor, int* patch) {
  *major = 3;
  *minor = FAKE_NVSHMEM_MINOR;
  *patch = 5;
}
GUEST_API void nvshmem_info_get_version(int* major, int* minor) {
  *major = 1;
  *minor = 3;
}

GUEST_API void* nvshmem_calloc(std::size_t count, std::size_t size) {
  State& s = Live();
  const std::size_t bytes = (count * size + 511) / 512 * 512;
  Meet();
  std::size_t offset = 0;
  for (const auto& [start, length] : s.taken) {
    if (offset + bytes <= start) break;
    offset = start + length;
  }
  if (offset + bytes > s.heap_bytes) {
    Meet();
    return nullptr;
  }
  s.taken[offset] = bytes;
  auto* pointer = reinterpret_cast<void*>(s.bases[s.pe] + offset);
  std::memset(pointer, 0, bytes);
  Meet();
  return pointer;
}

GUEST_API void nvshmem_free(void* pointer) {
  Meet();
  if (Live().taken.erase(OffsetOf(pointer)) == 0) Die("freed what was not allocated");
  Meet();
}

GUEST_API void* nvshmem_ptr(const void* pointer, int pe) {
  if (pe != Live().pe && *Env("FAKE_NVSHMEM_NO_PTR")) return nullptr;
  return reinterpret_cast<void*>(At(pointer, pe));
}

GUEST_API int nvshmem_team_split_strided(Team parent, int start, int stride, int size, const TeamConfig*, long,
                                         Team* made) {
  if (parent != 0 || start < 0 || stride < 1 || size < 1 || start + stride * (size - 1) >= Live().pes) return 1;
  Meet();
  std::vector<int> pes;
  for (int i = 0; i < size; ++i) pes.push_back(start + i * stride);
  const std::uint64_t key = (std::uint64_t{1} << 62) + ++Live().splits;
  *made = -1;
  for (const int pe : pes) {
    if (pe == Live().pe) *made = Join(key, pes);
  }
  Meet();
  return 0;
}

#if FAKE_NVSHMEM_MINOR >= 4
GUEST_API int nvshmemx_team_get_uniqueid(std::uint64_t* id) {
  static std::atomic<std::uint64_t> next{1};
  *id = (static_cast<std::uint64_t>(getpid()) << 20) + next++ + (std::uint64_t{1} << 61);
  return 0;
}

GUEST_API int nvshmemx_team_init(Team* made, TeamConfig* config, long mask, int size, int index) {
  if (config->version != (2 << 16) + 64 || mask != collc::nvshmem::TEAM_CONFIG_MASK_UNIQUEID) return 1;
  if (size > kMaxPes || index < 0 || index >= size) return 1;
  const Team team = Join(config->uniqueid, std::vector<int>(size, -1));
  SharedTeam& shared = Live().control->teams[team];
  shared.pes[index] = Live().pe;
  ++shared.members;
  Await([&] { return shared.members.load() >= size; });
  *made = team;
  return 0;
}
#endif

GUEST_API void nvshmem_team_destroy(Team team) {
  SharedTeam& shared = TeamAt(team);
  if (++shared.leavers == shared.size) shared.key = 0;
}
GUEST_API int nvshmem_team_n_pes(Team team) {
  return team >= 0 && team < kMaxTeams && Live().control->teams[team].key != 0 ? TeamAt(team).size : -1;
}
GUEST_API int nvshmem_team_my_pe(Team team) { return IndexIn(TeamAt(team)); }

GUEST_API void nvshmemx_putmem_on_stream(void* target, const void* source, std::size_t bytes, int pe, Stream stream) {
  Put(target, source, bytes, pe, stream, [] {});
}
GUEST_API void nvshmemx_getmem_on_stream(void* target, const void* source, std::size_t bytes, int pe, Stream stream) {
  Copy(stream, reinterpret_cast<std::uint64_t>(target), At(source, pe), bytes);
}
GUEST_API void nvshmemx_signal_op_on_stream(std::uint64_t* signal, std::uint64_t value, int op, int pe,
                                            Stream stream) {
  const std::uint64_t at = At(signal, pe);
  OnStream(stream, [=] { Wire::Own().Send([=] { Raise(at, value, op); }); });
}
GUEST_API void nvshmemx_putmem_signal_on_stream(void* target, const void* source, std::size_t bytes,
                                                std::uint64_t* signal, std::uint64_t value, int op, int pe,
                                                Stream stream) {
  const std::uint64_t at = At(signal, pe);
  Put(target, source, bytes, pe, stream, [=] { Raise(at, value, op); });
}
GUEST_API void nvshmemx_signal_wait_until_on_stream(std::uint64_t* signal, int compare, std::uint64_t value,
                                                    Stream stream) {
  if (compare != collc::nvshmem::CMP_GE) Die("a comparison that collc does not use");
  const std::uint64_t at = At(signal, Live().pe);
  Hold(Live().device, stream, [=] { return Word(at)->load() >= value; });
}
GUEST_API void nvshmemx_quiet_on_stream(Stream stream) {
  Hold(Live().device, stream, [] { return Wire::Own().IsEmpty(); });
}
GUEST_API int nvshmemx_barrier_on_stream(Team team, Stream stream) {
  BarrierOnStream(team, stream);
  return 0;
}
GUEST_API int nvshmemx_broadcastmem_on_stream(Team team, void* target, const void* source, std::size_t bytes, int root,
                                              Stream stream) {
  BarrierOnStream(team, stream);
  Copy(stream, At(target, Live().pe), At(source, TeamAt(team).pes[root]), bytes);
  BarrierOnStream(team, stream);
  return 0;
}
GUEST_API int nvshmemx_alltoallmem_on_stream(Team team, void* target, const void* source, std::size_t bytes,
                                             Stream stream) {
  const SharedTeam& shared = TeamAt(team);
  BarrierOnStream(team, stream);
  for (int i = 0; i < shared.size; ++i) {
    Copy(stream, At(target, Live().pe) + i * bytes, At(source, shared.pes[i]) + IndexIn(shared) * bytes, bytes);
  }
  BarrierOnStream(team, stream);
  return 0;
}
GUEST_API int nvshmemx_fcollectmem_on_stream(Team team, void* target, const void* source, std::size_t bytes,
                                             Stream stream) {
  const SharedTeam& shared = TeamAt(team);
  BarrierOnStream(team, stream);
  for (int i = 0; i < shared.size; ++i) {
    Copy(stream, At(target, Live().pe) + i * bytes, At(source, shared.pes[i]), bytes);
  }
  BarrierOnStream(team, stream);
  return 0;
}
