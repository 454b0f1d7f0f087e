// Stream capture and graphs.
#include "convert.h"
#include "exports.h"
#include "stream.h"

namespace collc {
namespace {

struct Graph {
  int device;
  cuda::CUgraph graph = nullptr;
};
struct GraphExec {
  int device;
  cuda::CUgraphExec exec = nullptr;
  /// Made by the caller, who destroys it, too.
  bool is_borrowed = false;
};

HandleTable<Graph>& Graphs() {
  static auto* table = new HandleTable<Graph>("graph");
  return *table;
}
HandleTable<GraphExec>& GraphExecs() {
  static auto* table = new HandleTable<GraphExec>("graph executable");
  return *table;
}

}  // namespace

cuda::CUgraphExec UseGraphExec(const Napi::Value& value) {
  const std::shared_ptr<GraphExec> exec = GraphExecs().Get(ToSize(value, "graph executable"));
  UseDevice(exec->device);
  return exec->exec;
}

/// captureBegin(stream). Thread-local mode: worker threads polling other streams do not disturb the capture.
Napi::Value CaptureBegin(const Napi::CallbackInfo& info) {
  CU(StreamBeginCapture, UseStream(info[0])->stream, cuda::CAPTURE_MODE_THREAD_LOCAL);
  return info.Env().Undefined();
}

/// Ends the capture, also when it failed, and returns the graph.
Napi::Value CaptureEnd(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Stream> stream = UseStream(info[0]);
  auto graph = std::make_shared<Graph>();
  graph->device = stream->device;
  CU(StreamEndCapture, stream->stream, &graph->graph);
  if (!graph->graph) throw UsageError("captureEnd", "NO_GRAPH", "the capture was invalidated and gave no graph");
  return FromHandle(info.Env(), Graphs().Add(graph));
}

/// captureNode(stream): what was enqueued last on a stream that is being captured, as a node of its graph; 0n for nothing.
Napi::Value CaptureNode(const Napi::CallbackInfo& info) {
  int status = 0;
  std::uint64_t id = 0;
  cuda::CUgraph graph = nullptr;
  const cuda::CUgraphNode* nodes = nullptr;
  std::size_t count = 0;
  CU(StreamGetCaptureInfo, UseStream(info[0])->stream, &status, &id, &graph, &nodes, &count);
  // What comes next depends on it alone.
  const auto node = count == 1 ? reinterpret_cast<std::uint64_t>(nodes[0]) : 0;
  return FromPointer(info.Env(), node);
}

Napi::Value GraphNodeCount(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Graph> graph = Graphs().Get(ToSize(info[0], "graph"));
  UseDevice(graph->device);
  std::size_t count = 0;
  CU(GraphGetNodes, graph->graph, nullptr, &count);
  return Napi::Number::New(info.Env(), static_cast<double>(count));
}

Napi::Value GraphInstantiate(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Graph> graph = Graphs().Get(ToSize(info[0], "graph"));
  UseDevice(graph->device);
  auto exec = std::make_shared<GraphExec>();
  exec->device = graph->device;
  CU(GraphInstantiateWithFlags, &exec->exec, graph->graph, 0);
  return FromHandle(info.Env(), GraphExecs().Add(exec));
}

/// graphExecBorrow(device, pointer): a CUgraphExec of the caller's. `graphExecDestroy` forgets it.
Napi::Value GraphExecBorrow(const Napi::CallbackInfo& info) {
  auto exec = std::make_shared<GraphExec>();
  exec->device = UseDevice(ToInt(info[0], "device")).ordinal;
  exec->exec =
      reinterpret_cast<cuda::CUgraphExec>(static_cast<std::uintptr_t>(ToPointer(info[1], "graph executable")));
  exec->is_borrowed = true;
  return FromHandle(info.Env(), GraphExecs().Add(exec));
}

Napi::Value GraphExecPointer(const Napi::CallbackInfo& info) {
  return FromPointer(info.Env(), reinterpret_cast<std::uintptr_t>(UseGraphExec(info[0])));
}

Napi::Value GraphDestroy(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Graph> graph = Graphs().Take(ToSize(info[0], "graph"));
  UseDevice(graph->device);
  CU(GraphDestroy, graph->graph);
  return info.Env().Undefined();
}

/// graphLaunch(exec, stream): enqueued.
Napi::Value GraphLaunch(const Napi::CallbackInfo& info) {
  const std::shared_ptr<GraphExec> exec = GraphExecs().Get(ToSize(info[0], "graph executable"));
  CU(GraphLaunch, exec->exec, UseStream(info[1])->stream);
  return info.Env().Undefined();
}

Napi::Value GraphExecDestroy(const Napi::CallbackInfo& info) {
  const std::shared_ptr<GraphExec> exec = GraphExecs().Take(ToSize(info[0], "graph executable"));
  UseDevice(exec->device);
  if (!exec->is_borrowed) CU(GraphExecDestroy, exec->exec);
  return info.Env().Undefined();
}

}  // namespace collc
