// Streams, events, copies, capture and graphs.
#include <cstring>

#include "driver.h"

namespace fake {
namespace {

std::set<Stream*> streams;
std::set<Event*> events;
std::map<void*, std::shared_ptr<Graph>> graphs;
std::map<void*, std::shared_ptr<Graph>> execs;
std::uintptr_t next_graph = 0x1000;

Stream* Of(CUstream stream) { return reinterpret_cast<Stream*>(stream); }
Event* Of(CUevent event) { return reinterpret_cast<Event*>(event); }
bool IsEvent(CUevent event) { return events.count(Of(event)) > 0; }

int Copy(CUstream stream, void* target, const void* source, std::size_t bytes) {
  return Enqueue(Of(stream), [=] { std::memcpy(target, source, bytes); });
}

}  // namespace

bool IsStream(CUstream stream) { return streams.count(Of(stream)) > 0; }

int Enqueue(Stream* stream, Op op) {
  if (stream->capturing) {
    stream->capture->ops.push_back(std::move(op));
    return 0;
  }
  Advance(stream);
  if (stream->hung_on) {
    stream->queue.push_back(std::move(op));
  } else {
    op();
  }
  return 0;
}

int Advance(Stream* stream) {
  while (stream->hung_on) {
    if (*stream->hung_on == 0) return kNotReady;
    stream->hung_on = nullptr;
    std::vector<Op> queue = std::move(stream->queue);
    stream->queue.clear();
    for (std::size_t i = 0; i < queue.size(); ++i) {
      queue[i]();
      if (!stream->hung_on) continue;
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
  if (const int busy = Advance(Of(stream))) return busy;
  return S().sticky;
}

FAKE_API cuStreamSynchronize(CUstream stream) {
  FAKE_STREAM("cuStreamSynchronize");
  // Would hang for real; tests must notice.
  return Advance(Of(stream)) ? kIllegalState : S().sticky;
}

FAKE_API cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  FAKE_STREAM("cuStreamWaitEvent");
  return IsEvent(event) && flags == 0 ? 0 : kInvalidHandle;
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
  Event* record = Of(event);
  record->recorded = true;
  record->done = false;
  return Enqueue(Of(stream), [record] {
    record->done = true;
    record->ms = NowMs();
  });
}

FAKE_API cuEventQuery(CUevent event) {
  FAKE_CONTEXT("cuEventQuery");
  if (!IsEvent(event)) return kInvalidHandle;
  for (Stream* stream : streams) Advance(stream);
  return Of(event)->done || !Of(event)->recorded ? 0 : kNotReady;
}

FAKE_API cuEventSynchronize(CUevent event) {
  FAKE_CONTEXT("cuEventSynchronize");
  return IsEvent(event) ? 0 : kInvalidHandle;
}

FAKE_API cuEventElapsedTime(float* ms, CUevent start, CUevent end) {
  FAKE_CONTEXT("cuEventElapsedTime");
  if (!IsEvent(start) || !IsEvent(end)) return kInvalidHandle;
  if (!Of(start)->done || !Of(end)->done) return kNotReady;
  *ms = static_cast<float>(Of(end)->ms - Of(start)->ms);
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
  if (!Accessible(source, bytes, Current()) || !Accessible(target, bytes, Current())) return kInvalidValue;
  return Copy(stream, reinterpret_cast<void*>(target), reinterpret_cast<void*>(source), bytes);
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
  return Enqueue(Of(stream), [=] { std::memset(reinterpret_cast<void*>(target), byte, bytes); });
}

FAKE_API cuStreamBeginCapture_v2(CUstream stream, int mode) {
  FAKE_STREAM("cuStreamBeginCapture");
  if (mode != CAPTURE_MODE_THREAD_LOCAL || Of(stream)->capturing) return kIllegalState;
  Of(stream)->capturing = true;
  Of(stream)->capture = std::make_shared<Graph>();
  return 0;
}

FAKE_API cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  FAKE_STREAM("cuStreamEndCapture");
  if (!Of(stream)->capturing) return kUnmatched;
  Of(stream)->capturing = false;
  void* key = reinterpret_cast<void*>(next_graph += 16);
  graphs[key] = std::move(Of(stream)->capture);
  *graph = static_cast<CUgraph>(key);
  ++S().live[kGraphs];
  return 0;
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
  execs[key] = graphs[graph];
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
