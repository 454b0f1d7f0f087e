// Streams, events, copies, capture and graphs.
#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "driver.h"

namespace fake {
namespace {

// Never destroyed: threads may still ask while the process exits.
std::set<Stream*>& streams = *new std::set<Stream*>;
std::set<Event*>& events = *new std::set<Event*>;
std::map<void*, std::shared_ptr<Graph>>& graphs = *new std::map<void*, std::shared_ptr<Graph>>;
std::map<void*, std::shared_ptr<Graph>>& execs = *new std::map<void*, std::shared_ptr<Graph>>;
std::uintptr_t next_graph = 0x1000;
/// Nodes of graphs that are alive: which graph, and the operation's number.
std::map<void*, std::pair<std::weak_ptr<Graph>, std::size_t>>& nodes = *new std::map<void*, std::pair<std::weak_ptr<Graph>, std::size_t>>;
/// CU_DEVICE_ATTRIBUTE_MAX_PITCH of today's devices.
constexpr std::size_t kMostPitch = 0x7fffffff;

Stream* Of(CUstream stream) { return reinterpret_cast<Stream*>(stream); }
Event* Of(CUevent event) { return reinterpret_cast<Event*>(event); }
bool IsEvent(CUevent event) { return events.count(Of(event)) > 0; }

int Copy(CUstream stream, void* target, const void* source, std::size_t bytes) {
  return Enqueue(Of(stream), [=] { std::memcpy(target, source, bytes); });
}

}  // namespace

bool IsStream(CUstream stream) { return streams.count(Of(stream)) > 0; }

void WaitIdle() {
  for (;; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
    std::lock_guard<std::recursive_mutex> lock(S().mutex);
    bool idle = true;
    for (Stream* each : streams) {
      Advance(each);
      idle = idle && (each->device != Current() || !each->until);
    }
    if (idle || S().sticky) return;
  }
}

static void Run(Stream* stream, const Op& op) {
  S().running = stream;
  op();
}

int Enqueue(Stream* stream, Op op) {
  if (stream->capturing) {
    stream->is_joined = false;
    stream->capture->ops.push_back(std::move(op));
    return 0;
  }
  Advance(stream);
  if (stream->until) {
    stream->queue.push_back(std::move(op));
  } else {
    Run(stream, op);
  }
  return 0;
}

int Advance(Stream* stream) {
  // Streams that wait for events of each other come back here; the outer call goes on.
  if (stream->advancing) return kNotReady;
  struct Guard {
    bool& flag;
    explicit Guard(bool& f) : flag(f) { flag = true; }
    ~Guard() { flag = false; }
  } guard(stream->advancing);
  while (stream->until) {
    const std::function<bool()> until = stream->until;
    if (!until()) return kNotReady;
    stream->until = nullptr;
    std::vector<Op> queue = std::move(stream->queue);
    stream->queue.clear();
    for (std::size_t i = 0; i < queue.size(); ++i) {
      Run(stream, queue[i]);
      if (!stream->until) continue;
      stream->queue.assign(queue.begin() + i + 1, queue.end());
      break;
    }
  }
  return 0;
}

}  // namespace fake

using namespace fake;

#define FAKE_STREAM(call)                        \
  FAKE_CONTEXT(call);                            \
  if (!IsStream(stream)) return kInvalidHandle

FAKE_API cuStreamCreate(CUstream* stream, unsigned flags) {
  FAKE_CONTEXT("cuStreamCreate");
  if (flags != STREAM_NON_BLOCKING) return kInvalidValue;
  auto* made = new Stream;
  made->device = Current();
  streams.insert(made);
  *stream = reinterpret_cast<CUstream>(made);
  ++S().live[kStreams];
  return 0;
}

FAKE_API cuStreamDestroy_v2(CUstream stream) {
  FAKE_STREAM("cuStreamDestroy");
  streams.erase(Of(stream));
  delete Of(stream);
  --S().live[kStreams];
  return 0;
}

FAKE_API cuStreamQuery(CUstream stream) {
  FAKE_STREAM("cuStreamQuery");
  if (Of(stream)->capturing) {
    S().capture_broken = true;
    return kCaptureUnsupported;
  }
  // A stream may wait for another of this process.
  for (Stream* each : streams) Advance(each);
  return Of(stream)->until ? kNotReady : S().sticky;
}

FAKE_API cuStreamIsCapturing(CUstream stream, int* status) {
  FAKE_STREAM("cuStreamIsCapturing");
  *status = Of(stream)->capturing ? 1 : 0;
  return 0;
}

FAKE_API cuStreamSynchronize(CUstream stream) {
  // Without the lock between two looks, so that other threads get on.
  while (IsBlocking() && cuStreamQuery(stream) == kNotReady) std::this_thread::sleep_for(std::chrono::microseconds(100));
  FAKE_STREAM("cuStreamSynchronize");
  // Would hang for real; tests must notice.
  return Advance(Of(stream)) ? kIllegalState : S().sticky;
}

FAKE_API cuCtxSynchronize() {
  WaitIdle();
  FAKE_CONTEXT("cuCtxSynchronize");
  return 0;
}

FAKE_API cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  FAKE_STREAM("cuStreamWaitEvent");
  if (!IsEvent(event) || flags != 0) return kInvalidHandle;
  Trace("wait " + Shown(stream) + " " + Shown(event));
  // A capture may wait only for what it recorded itself; its operations are replayed one by one, which is one of its orders.
  if (Of(stream)->capturing) {
    if (!Of(event)->in_capture) return kCaptureIsolation;
    if (streams.count(Of(event)->recorded_on)) Of(event)->recorded_on->is_joined = true;
    return 0;
  }
  if (Of(event)->in_capture && S().capturing) {
    // The stream becomes part of the capture, until that ends.
    Of(stream)->capturing = Of(stream)->is_side = true;
    Of(stream)->is_joined = false;
    Of(stream)->capture = S().capturing->capture;
    return 0;
  }
  const std::shared_ptr<Event::Point> point = Of(event)->point;
  if (!point || point->done) return 0;
  return Enqueue(Of(stream), [point] {
    S().running->until = [point] {
      if (!point->done && streams.count(point->on)) Advance(point->on);
      return point->done || !streams.count(point->on);
    };
  });
}

FAKE_API cuEventCreate(CUevent* event, unsigned) {
  FAKE_CONTEXT("cuEventCreate");
  auto* made = new Event;
  made->device = Current();
  events.insert(made);
  *event = reinterpret_cast<CUevent>(made);
  ++S().live[kEvents];
  return 0;
}

FAKE_API cuEventDestroy_v2(CUevent event) {
  FAKE_ENTER("cuEventDestroy");
  if (!events.erase(Of(event))) return kInvalidHandle;
  delete Of(event);
  --S().live[kEvents];
  return 0;
}

FAKE_API cuEventRecord(CUevent event, CUstream stream) {
  FAKE_STREAM("cuEventRecord");
  if (!IsEvent(event) || Of(event)->device != Of(stream)->device) return kInvalidHandle;
  Trace("record " + Shown(event) + " " + Shown(stream));
  Event* record = Of(event);
  record->in_capture = Of(stream)->capturing;
  record->recorded_on = Of(stream);
  if (record->in_capture) return 0;
  record->point = std::make_shared<Event::Point>(Event::Point{Of(stream)});
  return Enqueue(Of(stream), [point = record->point] {
    point->done = true;
    point->ms = NowMs();
  });
}

FAKE_API cuEventQuery(CUevent event) {
  FAKE_CONTEXT("cuEventQuery");
  if (!IsEvent(event)) return kInvalidHandle;
  for (Stream* stream : streams) Advance(stream);
  return !Of(event)->point || Of(event)->point->done ? 0 : kNotReady;
}

FAKE_API cuEventSynchronize(CUevent event) {
  FAKE_CONTEXT("cuEventSynchronize");
  return IsEvent(event) ? 0 : kInvalidHandle;
}

FAKE_API cuEventElapsedTime(float* ms, CUevent start, CUevent end) {
  FAKE_CONTEXT("cuEventElapsedTime");
  if (!IsEvent(start) || !IsEvent(end)) return kInvalidHandle;
  const auto from = Of(start)->point, to = Of(end)->point;
  if (!from || !to || !from->done || !to->done) return kNotReady;
  *ms = static_cast<float>(to->ms - from->ms);
  return 0;
}

FAKE_API cuMemcpyHtoDAsync_v2(CUdeviceptr target, const void* source, std::size_t bytes, CUstream stream) {
  FAKE_STREAM("cuMemcpyHtoDAsync");
  if (!Accessible(target, bytes, Current())) return kInvalidValue;
  return Copy(stream, reinterpret_cast<void*>(target), source, bytes);
}

FAKE_API cuMemcpyDtoHAsync_v2(void* target, CUdeviceptr source, std::size_t bytes, CUstream stream) {
  FAKE_STREAM("cuMemcpyDtoHAsync");
  if (!Accessible(source, bytes, Current())) return kInvalidValue;
  return Copy(stream, target, reinterpret_cast<void*>(source), bytes);
}

FAKE_API cuMemcpyDtoDAsync_v2(CUdeviceptr target, CUdeviceptr source, std::size_t bytes, CUstream stream) {
  FAKE_STREAM("cuMemcpyDtoDAsync");
  Trace("copy " + Shown(stream) + " " + std::to_string(target) + " " + std::to_string(source) + " " + std::to_string(bytes));
  if (!Accessible(source, bytes, Current()) || !Accessible(target, bytes, Current())) return kInvalidValue;
  return Copy(stream, reinterpret_cast<void*>(target), reinterpret_cast<void*>(source), bytes);
}

FAKE_API cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* rows, CUstream stream) {
  FAKE_STREAM("cuMemcpy2DAsync");
  const CUDA_MEMCPY2D r = *rows;
  Trace("rows " + Shown(stream) + " " + std::to_string(r.dstDevice) + " " + std::to_string(r.dstPitch) + " " + std::to_string(r.srcDevice) + " " +
        std::to_string(r.srcPitch) + " " + std::to_string(r.WidthInBytes) + " " + std::to_string(r.Height));
  if (r.srcMemoryType != MEMORYTYPE_UNIFIED || r.dstMemoryType != MEMORYTYPE_UNIFIED || r.srcXInBytes || r.srcY ||
      r.dstXInBytes || r.dstY || r.WidthInBytes > r.srcPitch || r.WidthInBytes > r.dstPitch ||
      r.srcPitch > kMostPitch || r.dstPitch > kMostPitch)
    return kInvalidValue;
  if (!r.Height || !r.WidthInBytes) return 0;
  if (!Accessible(r.srcDevice, (r.Height - 1) * r.srcPitch + r.WidthInBytes, Current()) ||
      !Accessible(r.dstDevice, (r.Height - 1) * r.dstPitch + r.WidthInBytes, Current()))
    return kInvalidValue;
  return Enqueue(Of(stream), [r] {
    for (std::size_t i = 0; i < r.Height; ++i)
      std::memcpy(reinterpret_cast<char*>(r.dstDevice + i * r.dstPitch),
                  reinterpret_cast<const char*>(r.srcDevice + i * r.srcPitch), r.WidthInBytes);
  });
}

FAKE_API cuMemcpyPeerAsync(CUdeviceptr target, CUcontext to, CUdeviceptr source, CUcontext from, std::size_t bytes,
                           CUstream stream) {
  FAKE_STREAM("cuMemcpyPeerAsync");
  const int target_device = static_cast<int>(reinterpret_cast<std::uintptr_t>(to)) - 1;
  const int source_device = static_cast<int>(reinterpret_cast<std::uintptr_t>(from)) - 1;
  if (!Accessible(source, bytes, source_device) || !Accessible(target, bytes, target_device)) return kInvalidValue;
  return Copy(stream, reinterpret_cast<void*>(target), reinterpret_cast<void*>(source), bytes);
}

FAKE_API cuMemsetD8Async(CUdeviceptr target, unsigned char byte, std::size_t bytes, CUstream stream) {
  FAKE_STREAM("cuMemsetD8Async");
  if (!Accessible(target, bytes, Current())) return kInvalidValue;
  return Enqueue(Of(stream), [=] {
    // Huge blocks stay sparse: whole pages of shared memory are given back instead of written.
    auto* at = reinterpret_cast<char*>(target);
    const std::size_t whole = bytes >= (1u << 30) && target % 4096 == 0 && byte == 0 ? bytes / 4096 * 4096 : 0;
    const bool removed = whole > 0 && madvise(at, whole, MADV_REMOVE) == 0;
    std::memset(at + (removed ? whole : 0), byte, bytes - (removed ? whole : 0));
  });
}

FAKE_API cuMemsetD32Async(CUdeviceptr target, unsigned value, std::size_t count, CUstream stream) {
  FAKE_STREAM("cuMemsetD32Async");
  if (target % 4 || !Accessible(target, count * 4, Current())) return kInvalidValue;
  return Enqueue(Of(stream), [=] {
    for (std::size_t i = 0; i < count; ++i) reinterpret_cast<volatile std::uint32_t*>(target)[i] = value;
  });
}

FAKE_API cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr target, std::uint32_t value, unsigned flags) {
  FAKE_STREAM("cuStreamWriteValue32");
  if (flags || target % 4 || !Accessible(target, 4, Current())) return kInvalidValue;
  return Enqueue(Of(stream), [=] { *reinterpret_cast<volatile std::uint32_t*>(target) = value; });
}

FAKE_API cuStreamBeginCapture_v2(CUstream stream, int mode) {
  FAKE_STREAM("cuStreamBeginCapture");
  if (mode != CAPTURE_MODE_THREAD_LOCAL || Of(stream)->capturing) return kIllegalState;
  if (S().capturing) return kIllegalState;
  Of(stream)->capturing = true;
  S().capturing = Of(stream);
  S().capture_broken = false;
  Of(stream)->capture = std::make_shared<Graph>();
  return 0;
}

FAKE_API cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  FAKE_STREAM("cuStreamEndCapture");
  if (!Of(stream)->capturing || Of(stream)->is_side) return kUnmatched;
  Of(stream)->capturing = false;
  S().capturing = nullptr;
  bool unjoined = false;
  for (Stream* each : streams) {
    if (!each->is_side) continue;
    unjoined = unjoined || !each->is_joined;
    each->capturing = each->is_side = false;
    each->capture = nullptr;
  }
  if (unjoined) return kUnjoined;
  if (S().capture_broken) return kCaptureInvalidated;
  void* key = reinterpret_cast<void*>(next_graph += 16);
  graphs[key] = std::move(Of(stream)->capture);
  *graph = static_cast<CUgraph>(key);
  ++S().live[kGraphs];
  return 0;
}

FAKE_API cuStreamGetCaptureInfo_v2(CUstream stream, int* status, std::uint64_t* id, CUgraph* graph, const CUgraphNode** last,
                                   std::size_t* count) {
  FAKE_STREAM("cuStreamGetCaptureInfo");
  static CUgraphNode node;
  *status = Of(stream)->capturing ? 1 : 0;
  if (count) *count = 0;
  if (id) *id = 1;
  if (graph) *graph = nullptr;
  if (!last || !Of(stream)->capturing || Of(stream)->capture->ops.empty()) return 0;
  const std::size_t number = Of(stream)->capture->ops.size() - 1;
  void* key = reinterpret_cast<void*>(next_graph += 16);
  nodes[key] = {Of(stream)->capture, number};
  node = static_cast<CUgraphNode>(key);
  *last = &node;
  *count = 1;
  return 0;
}

FAKE_API cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const KernelNodeParams* params) {
  FAKE_CONTEXT("cuGraphExecKernelNodeSetParams");
  if (!execs.count(exec)) return kInvalidHandle;
  const auto found = nodes.find(node);
  if (found == nodes.end()) return kInvalidValue;
  // The node is the graph's, which must still be there, and the executable one of it.
  const std::shared_ptr<Graph> graph = found->second.first.lock();
  bool alive = false;
  for (const auto& each : graphs) alive = alive || each.second == graph;
  if (!graph || !alive || execs[exec]->made_of.lock() != graph) return kInvalidValue;
  Op& op = execs[exec]->ops[found->second.second];
  return KernelOp(params, &op);
}

FAKE_API cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count) {
  FAKE_CONTEXT("cuGraphGetNodes");
  if (!graphs.count(graph) || nodes) return kInvalidValue;
  *count = graphs[graph]->ops.size();
  return 0;
}

FAKE_API cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  FAKE_CONTEXT("cuGraphInstantiateWithFlags");
  if (!graphs.count(graph) || flags) return kInvalidValue;
  void* key = reinterpret_cast<void*>(next_graph += 16);
  execs[key] = std::make_shared<Graph>(*graphs[graph]);
  execs[key]->made_of = graphs[graph];
  *exec = static_cast<CUgraphExec>(key);
  ++S().live[kExecs];
  return 0;
}

FAKE_API cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  FAKE_STREAM("cuGraphLaunch");
  if (!execs.count(exec)) return kInvalidHandle;
  for (const Op& op : execs[exec]->ops) Enqueue(Of(stream), op);
  return 0;
}

FAKE_API cuGraphDestroy(CUgraph graph) {
  FAKE_ENTER("cuGraphDestroy");
  if (!graphs.erase(graph)) return kInvalidHandle;
  --S().live[kGraphs];
  return 0;
}

FAKE_API cuGraphExecDestroy(CUgraphExec exec) {
  FAKE_ENTER("cuGraphExecDestroy");
  if (!execs.erase(exec)) return kInvalidHandle;
  --S().live[kExecs];
  return 0;
}
