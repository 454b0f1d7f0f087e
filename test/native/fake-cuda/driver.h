// A CUDA driver over host memory, for tests on machines without a GPU. Memory is real (physical memory is a memfd, so
// descriptors cross processes), streams are ordered, graphs replay, and every handle and range is checked, mostly more
// strictly than the real driver does. Kernels are a few built-in ones, listed by a fake cubin.
//
// Environment, read on the thread that called cuInit:
//   FAKE_CUDA_DEVICES=4            number of devices
//   FAKE_CUDA_VERSION=13000
//   FAKE_CUDA_FAIL=call[:n[:code]],…   the n-th (default first) call from now on fails with code (default 999)
//   FAKE_CUDA_ATTRIBUTES=102=0,…   overrides device attributes
//   FAKE_CUDA_NO_PEER=1            no device reaches another
//   FAKE_CUDA_LOG=file             one JSON line a launch
//   FAKE_CUDA_TRACE=file           one line a call that a launch is made of: launches, copies, records of events and waits for them
//   FAKE_CUDA_BLOCKING=1           cuStreamSynchronize waits, as the real one does; else it is an error where it would hang Node
// Device attributes 9000 and up count live objects: see Live.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "api/cuda.h"

namespace fake {

using namespace collc::cuda;

constexpr int kInvalidValue = 1, kOutOfMemory = 2, kInvalidContext = 201, kInvalidDevice = 101, kInvalidImage = 200,
              kInvalidHandle = 400, kNotFound = 500, kIllegalAddress = 700, kTooLarge = 720, kNotReady = 600,
              kCaptureUnsupported = 900, kCaptureIsolation = 905, kCaptureInvalidated = 901, kUnmatched = 903, kUnjoined = 904, kIllegalState = 401, kNotInitialized = 3;
constexpr std::size_t kGranularity = 2 << 20;

/// What device attributes 9000… count.
enum Live { kAllocations, kPhysical, kReservations, kMappings, kStreams, kEvents, kGraphs, kExecs, kModules, kHost,
            kLaunches, kLiveKinds };

struct Range {
  std::size_t bytes;
  std::set<int> devices;  ///< That may access it; host memory lists all.
};

using Op = std::function<void()>;

struct Graph {
  std::vector<Op> ops;
  std::weak_ptr<Graph> made_of;  ///< Of an executable: the graph.
};

struct Stream {
  int device;
  bool capturing = false;
  std::shared_ptr<Graph> capture;
  /// Joined a capture that another stream began, and whether that stream has waited for all it recorded since.
  bool is_side = false;
  bool is_joined = false;
  /// A kernel or a wait that is not done: the stream goes on when this gives true. What was enqueued since is in `queue`.
  std::function<bool()> until;
  std::vector<Op> queue;
  bool advancing = false;
};

struct Stream;

struct Event {
  int device;
  bool in_capture = false;
  Stream* recorded_on = nullptr;  ///< In a capture.
  /// One recording. Who waits for it is not held up by a later one.
  struct Point {
    Stream* on;
    bool done = false;
    double ms = 0;
  };
  std::shared_ptr<Point> point;  ///< The last one; null before the first.
};

struct Function {
  int device;
  std::string name;
  std::vector<std::size_t> parameters;
  std::vector<std::string> names;  ///< Of the parameters, where the compiler gave them.
  int registers = 32;
  int max_dynamic_shared = 48 << 10;
  bool noop = false;  ///< Does nothing if it is none of the built-in ones.
};

/// Everything, behind one lock. Entry points begin with FAKE_ENTER.
struct State {
  std::recursive_mutex mutex;
  bool initialised = false;
  std::vector<int> retains;
  std::map<CUdeviceptr, Range> ranges;  ///< Accessible memory: allocations, mappings, host.
  long live[kLiveKinds] = {};
  int sticky = 0;  ///< A kernel died: every later call says so.
  Stream* running = nullptr;  ///< Whose operation runs now: a captured one runs on the stream of the replay.
  Stream* capturing = nullptr;
  bool capture_broken = false;
};

State& S();
int DeviceCount();
/// Of each device.
int Multiprocessors();
/// Whether a call may wait for a stream.
bool IsBlocking();
/// The error that FAKE_CUDA_FAIL orders for this call, the sticky one, or 0.
int Ordered(const char* call);
void Log(const std::string& line);
/// Says that a call was made, when it is made: what is captured, too.
void Trace(const std::string& line);
/// A stream or an event in the trace.
std::string Shown(const void* handle);
/// Device of the thread's current context, or -1.
int Current();
bool Accessible(CUdeviceptr pointer, std::size_t bytes, int device);
/// Runs now, records into the capture, or queues behind a hung kernel.
int Enqueue(Stream* stream, Op op);
/// Lets a hung stream go on if it may. Returns 0 or kNotReady.
int Advance(Stream* stream);
bool IsStream(CUstream stream);
/// Blocks until the current device is idle, as calls do that the driver runs behind all work. Call it without the lock.
void WaitIdle();
double NowMs();
/// What a kernel node with these parameters does. Returns an error, or 0.
int KernelOp(const KernelNodeParams* params, Op* op);
/// What a built-in kernel does; null for an unknown name. `arguments` are the parameters' bytes.
using Arguments = std::vector<std::vector<std::uint8_t>>;
Op BuiltIn(const std::string& name, int device, const Arguments& arguments);
/// What a compiled all-reduce of f32 does; null for other kernels.
Op Collective(const Function& function, const Arguments& arguments);

}  // namespace fake

#define FAKE_API extern "C" __attribute__((visibility("default"))) int
#define FAKE_ENTER(call)                                             \
  std::lock_guard<std::recursive_mutex> fake_lock(::fake::S().mutex); \
  if (const int fake_error = ::fake::Ordered(call)) return fake_error
#define FAKE_CONTEXT(call) \
  FAKE_ENTER(call);        \
  if (::fake::Current() < 0) return ::fake::kInvalidContext
/// A call that no thread-local capture survives.
#define FAKE_UNSAFE(call)                     \
  FAKE_CONTEXT(call);                         \
  if (::fake::S().capturing) {                \
    ::fake::S().capture_broken = true;        \
    return ::fake::kCaptureUnsupported;       \
  }
