// NVSHMEM's host library, opened at run time. It ends the process on many misuses, so everything is checked first, and
// it is not safe for threads, so one lock covers it: collective calls hold it on a worker, the JavaScript thread only
// tries it, because waiting would stop the event loop and with it every timeout.
#include "api/nvshmem.h"

#include <cstring>
#include <mutex>

#include "convert.h"
#include "exports.h"
#include "multicast.h"
#include "signals.h"
#include "stream.h"
#include "worker.h"

namespace collc {
namespace {

std::mutex& Lock() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

/// Where it was initialised, under Lock.
struct Session {
  int device = -1;
  int pes = 0;
};
Session session;

void RequireSession() {
  nvshmem::Get();
  if (session.device >= 0) return;
  throw UsageError("nvshmem", "NOT_INITIALISED", "NVSHMEM is not initialised in this process, or finalised");
}

/// The JavaScript thread's hold of the library.
class Held {
 public:
  Held() : lock_(Lock(), std::try_to_lock) {
    if (!lock_.owns_lock()) {
      throw UsageError("nvshmem", "BUSY", "a collective NVSHMEM call of this process is still waiting for its peers");
    }
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

/// The open stream, which must be of NVSHMEM's device.
cuda::CUstream Use(const Napi::Value& handle) {
  RequireSession();
  const std::shared_ptr<Stream> stream = UseStream(handle);
  if (stream->device != session.device) {
    throw UsageError("nvshmem", "WRONG_DEVICE", "the stream belongs to another device than NVSHMEM was initialised on");
  }
  return stream->stream;
}

int Pe(const Napi::Value& value) {
  const int pe = ToInt(value, "pe");
  if (pe < 0 || pe >= session.pes) throw Napi::RangeError::New(value.Env(), "pe out of range");
  return pe;
}

void* Address(const Napi::Value& value, const char* what) { return reinterpret_cast<void*>(ToPointer(value, what)); }
std::uint64_t* Signal(const Napi::Value& value) { return static_cast<std::uint64_t*>(Address(value, "signal")); }
std::uint64_t Value64(const Napi::Value& value) { return ToPointer(value, "value"); }
int SignalOp(const Napi::Value& add) { return add.ToBoolean().Value() ? nvshmem::SIGNAL_ADD : nvshmem::SIGNAL_SET; }

/// A team that NVSHMEM knows: it does not check itself.
nvshmem::Team TeamOf(const Napi::Value& value) {
  const nvshmem::Team team = ToInt(value, "team");
  if (team < 0 || nvshmem::Get().TeamNPes(team) <= 0) throw UsageError("nvshmem", "NO_TEAM", "there is no such team");
  return team;
}

/// Collective work on a worker, the library held and its device current.
template <typename Call, typename Convert>
Napi::Value Collective(const Napi::CallbackInfo& info, const char* name, Call call, Convert convert) {
  return RunCollective(
      info.Env(), name,
      [call] {
        std::lock_guard<std::mutex> lock(Lock());
        RequireSession();
        UseDevice(session.device);
        return call(nvshmem::Get());
      },
      convert);
}

}  // namespace

/// openNvshmem(paths[], multicast)
Napi::Value OpenNvshmem(const Napi::CallbackInfo& info) {
  ChooseMulticast(info[1], "NVSHMEM_DISABLE_NVLS", "1");
  const std::string path = nvshmem::Open(ToTexts(info[0], "paths"));
  const nvshmem::Api& api = nvshmem::Get();
  int major = 0, minor = 0, patch = 0;
  api.VendorVersion(&major, &minor, &patch);
  int specification[2] = {};
  api.SpecificationVersion(&specification[0], &specification[1]);
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("path", path);
  result.Set("version", major * 10000 + minor * 100 + patch);
  result.Set("specification", specification[0] * 100 + specification[1]);
  result.Set("memberTeams", Napi::Boolean::New(info.Env(), api.TeamInit && api.TeamGetUniqueId));
  return result;
}

Napi::Value NvshmemUniqueId(const Napi::CallbackInfo& info) {
  const Held held;
  const KeepSignals keep;  // loads a bootstrap
  nvshmem::UniqueId id{};
  id.version = nvshmem::VersionWord<nvshmem::UniqueId>(1);
  nvshmem::Check(nvshmem::Get().GetUniqueId(&id), "nvshmemx_get_uniqueid");
  Napi::Uint8Array bytes = Napi::Uint8Array::New(info.Env(), sizeof id);
  std::memcpy(bytes.Data(), &id, sizeof id);
  return bytes;
}

/// nvshmemInit(device, rank, world, uniqueId): a promise; every rank must be calling for it to settle.
Napi::Value NvshmemInit(const Napi::CallbackInfo& info) {
  nvshmem::Get();
  const int device = UseDevice(ToInt(info[0], "device")).ordinal;
  const int rank = ToInt(info[1], "rank");
  const int world = ToInt(info[2], "world");
  const Bytes bytes = ToBytes(info[3], "uniqueId");
  nvshmem::UniqueId id{};
  if (bytes.size != sizeof id) throw Napi::RangeError::New(info.Env(), "uniqueId must be 128 bytes");
  std::memcpy(&id, bytes.data, sizeof id);
  return RunCollective(
      info.Env(), "nvshmemInit",
      [device, rank, world, id] {
        std::lock_guard<std::mutex> lock(Lock());
        const nvshmem::Api& api = nvshmem::Get();
        if (session.device >= 0) throw UsageError("nvshmemInit", "INITIALISED", "NVSHMEM is initialised already");
        UseDevice(device);
        // What the headers' inline nvshmemx_init_attr does before it calls the library.
        nvshmem::InitAttr attr{};
        attr.version = nvshmem::VersionWord<nvshmem::InitAttr>(1);
        attr.args.version = nvshmem::VersionWord<nvshmem::InitArgs>(1);
        attr.args.uid_args.version = nvshmem::VersionWord<nvshmem::UniqueIdArgs>(1);
        nvshmem::Check(api.SetAttrUniqueIdArgs(rank, world, &id, &attr), "nvshmemx_set_attr_uniqueid_args");
        nvshmem::Check(api.HostlibInitAttr(nvshmem::INIT_WITH_UNIQUEID, &attr), "nvshmemx_hostlib_init_attr");
        const int status = api.InitStatus();
        if (status < nvshmem::STATUS_IS_INITIALIZED || api.MyPe() != rank || api.NPes() != world) {
          throw UsageError("nvshmemInit", "HALF_INITIALISED",
                           "NVSHMEM found its peers but no device: init status " + std::to_string(status));
        }
        session = {device, world};
        return Done{};
      },
      NoValue);
}

Napi::Value NvshmemFinalize(const Napi::CallbackInfo& info) {
  return Collective(
      info, "nvshmemFinalize",
      [](const nvshmem::Api& api) {
        api.HostlibFinalize();
        session = {};
        return Done{};
      },
      NoValue);
}

Napi::Value NvshmemAllocate(const Napi::CallbackInfo& info) {
  const std::uint64_t bytes = ToSize(info[0], "bytes");
  return Collective(
      info, "nvshmemAllocate",
      [bytes](const nvshmem::Api& api) { return reinterpret_cast<std::uint64_t>(api.Calloc(1, bytes)); },
      [](Napi::Env env, std::uint64_t& pointer) { return FromPointer(env, pointer); });
}

Napi::Value NvshmemFree(const Napi::CallbackInfo& info) {
  void* pointer = Address(info[0], "pointer");
  return Collective(
      info, "nvshmemFree",
      [pointer](const nvshmem::Api& api) {
        api.Free(pointer);
        return Done{};
      },
      NoValue);
}

Napi::Value NvshmemPeerPointer(const Napi::CallbackInfo& info) {
  const Held held;
  RequireSession();
  UseDevice(session.device);
  const void* pointer = nvshmem::Get().Ptr(Address(info[0], "pointer"), Pe(info[1]));
  return FromPointer(info.Env(), reinterpret_cast<std::uint64_t>(pointer));
}

/// nvshmemTeamSplit(parent, start, stride, size): all of the parent's members call; -1 for those outside.
Napi::Value NvshmemTeamSplit(const Napi::CallbackInfo& info) {
  const nvshmem::Team parent = ToInt(info[0], "parent");
  const int start = ToInt(info[1], "start"), stride = ToInt(info[2], "stride"), size = ToInt(info[3], "size");
  return Collective(
      info, "nvshmemTeamSplit",
      [=](const nvshmem::Api& api) {
        nvshmem::Team team = nvshmem::TEAM_INVALID;
        nvshmem::Check(api.TeamSplitStrided(parent, start, stride, size, nullptr, 0, &team),
                       "nvshmem_team_split_strided");
        return team;
      },
      [](Napi::Env env, nvshmem::Team& team) -> Napi::Value { return Napi::Number::New(env, team); });
}

Napi::Value NvshmemTeamUniqueId(const Napi::CallbackInfo& info) {
  const Held held;
  RequireSession();
  std::uint64_t id = 0;
  nvshmem::Check(nvshmem::Get().TeamGetUniqueId(&id), "nvshmemx_team_get_uniqueid");
  return Napi::BigInt::New(info.Env(), id);
}

/// nvshmemTeamCreate(uniqueId, size, index): only the members call.
Napi::Value NvshmemTeamCreate(const Napi::CallbackInfo& info) {
  const std::uint64_t id = ToPointer(info[0], "uniqueId");
  const int size = ToInt(info[1], "size"), index = ToInt(info[2], "index");
  return Collective(
      info, "nvshmemTeamCreate",
      [=](const nvshmem::Api& api) {
        nvshmem::TeamConfig config{};
        config.version = nvshmem::VersionWord<nvshmem::TeamConfig>(2);
        config.num_contexts = -1;
        config.uniqueid = id;
        nvshmem::Team team = nvshmem::TEAM_INVALID;
        nvshmem::Check(api.TeamInit(&team, &config, nvshmem::TEAM_CONFIG_MASK_UNIQUEID, size, index),
                       "nvshmemx_team_init");
        if (team < 0 || api.TeamNPes(team) != size || api.TeamMyPe(team) != index) {
          throw UsageError("nvshmemx_team_init", "NO_TEAM", "NVSHMEM made a team other than the one asked for");
        }
        return team;
      },
      [](Napi::Env env, nvshmem::Team& team) -> Napi::Value { return Napi::Number::New(env, team); });
}

Napi::Value NvshmemTeamDestroy(const Napi::CallbackInfo& info) {
  const nvshmem::Team team = ToInt(info[0], "team");
  return Collective(
      info, "nvshmemTeamDestroy",
      [team](const nvshmem::Api& api) {
        if (team > nvshmem::TEAM_WORLD && api.TeamNPes(team) > 0) api.TeamDestroy(team);
        return Done{};
      },
      NoValue);
}

Napi::Value NvshmemTeamSize(const Napi::CallbackInfo& info) {
  const Held held;
  RequireSession();
  return Napi::Number::New(info.Env(), nvshmem::Get().TeamNPes(TeamOf(info[0])));
}

/// nvshmemPut(stream, target, source, bytes, pe)
Napi::Value NvshmemPut(const Napi::CallbackInfo& info) {
  const Held held;
  const cuda::CUstream stream = Use(info[0]);
  nvshmem::Get().PutOnStream(Address(info[1], "target"), Address(info[2], "source"), ToSize(info[3], "bytes"),
                             Pe(info[4]), stream);
  return info.Env().Undefined();
}

/// nvshmemGet(stream, target, source, bytes, pe)
Napi::Value NvshmemGet(const Napi::CallbackInfo& info) {
  const Held held;
  const cuda::CUstream stream = Use(info[0]);
  nvshmem::Get().GetOnStream(Address(info[1], "target"), Address(info[2], "source"), ToSize(info[3], "bytes"),
                             Pe(info[4]), stream);
  return info.Env().Undefined();
}

/// nvshmemPutSignal(stream, target, source, bytes, signal, value, add, pe)
Napi::Value NvshmemPutSignal(const Napi::CallbackInfo& info) {
  const Held held;
  const cuda::CUstream stream = Use(info[0]);
  nvshmem::Get().PutSignalOnStream(Address(info[1], "target"), Address(info[2], "source"), ToSize(info[3], "bytes"),
                                   Signal(info[4]), Value64(info[5]), SignalOp(info[6]), Pe(info[7]), stream);
  return info.Env().Undefined();
}

/// nvshmemSignal(stream, signal, value, add, pe)
Napi::Value NvshmemSignal(const Napi::CallbackInfo& info) {
  const Held held;
  const cuda::CUstream stream = Use(info[0]);
  nvshmem::Get().SignalOnStream(Signal(info[1]), Value64(info[2]), SignalOp(info[3]), Pe(info[4]), stream);
  return info.Env().Undefined();
}

/// nvshmemWaitSignal(stream, signal, value): until the word is at least `value`.
Napi::Value NvshmemWaitSignal(const Napi::CallbackInfo& info) {
  const Held held;
  const cuda::CUstream stream = Use(info[0]);
  nvshmem::Get().SignalWaitOnStream(Signal(info[1]), nvshmem::CMP_GE, Value64(info[2]), stream);
  return info.Env().Undefined();
}

Napi::Value NvshmemQuiet(const Napi::CallbackInfo& info) {
  const Held held;
  const cuda::CUstream stream = Use(info[0]);
  nvshmem::Get().QuietOnStream(stream);
  return info.Env().Undefined();
}

Napi::Value NvshmemBarrier(const Napi::CallbackInfo& info) {
  const Held held;
  const cuda::CUstream stream = Use(info[0]);
  nvshmem::Check(nvshmem::Get().BarrierOnStream(TeamOf(info[1]), stream), "nvshmemx_barrier_on_stream");
  return info.Env().Undefined();
}

/// nvshmemBroadcast(stream, team, target, source, bytes, root)
Napi::Value NvshmemBroadcast(const Napi::CallbackInfo& info) {
  const Held held;
  const cuda::CUstream stream = Use(info[0]);
  const nvshmem::Api& api = nvshmem::Get();
  const nvshmem::Team team = TeamOf(info[1]);
  const int root = ToInt(info[5], "root");
  if (root < 0 || root >= api.TeamNPes(team)) throw Napi::RangeError::New(info.Env(), "root out of range");
  nvshmem::Check(api.BroadcastOnStream(team, Address(info[2], "target"), Address(info[3], "source"),
                                       ToSize(info[4], "bytes"), root, stream),
                 "nvshmemx_broadcastmem_on_stream");
  return info.Env().Undefined();
}

/// nvshmemAllToAll(stream, team, target, source, bytes a peer)
Napi::Value NvshmemAllToAll(const Napi::CallbackInfo& info) {
  const Held held;
  const cuda::CUstream stream = Use(info[0]);
  nvshmem::Check(nvshmem::Get().AllToAllOnStream(TeamOf(info[1]), Address(info[2], "target"),
                                                 Address(info[3], "source"), ToSize(info[4], "bytes"), stream),
                 "nvshmemx_alltoallmem_on_stream");
  return info.Env().Undefined();
}

/// nvshmemAllGather(stream, team, target, source, bytes a peer)
Napi::Value NvshmemAllGather(const Napi::CallbackInfo& info) {
  const Held held;
  const cuda::CUstream stream = Use(info[0]);
  nvshmem::Check(nvshmem::Get().AllGatherOnStream(TeamOf(info[1]), Address(info[2], "target"),
                                                  Address(info[3], "source"), ToSize(info[4], "bytes"), stream),
                 "nvshmemx_fcollectmem_on_stream");
  return info.Env().Undefined();
}

}  // namespace collc
