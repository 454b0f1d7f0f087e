// Launches. A launch is prepared once, parameters and all, and then costs two look-ups and the driver's call.
#include <cstring>
#include <vector>

#include "convert.h"
#include "device.h"
#include "exports.h"
#include "program.h"
#include "stream.h"

namespace collc {
namespace {

struct Launch {
  std::shared_ptr<Function> function;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  bool cooperative;
  bool early;
  /// The packed parameters, in 8-byte words so that the block is aligned; never resized, `pointers` points in.
  std::vector<std::uint64_t> block_words;
  std::size_t block_bytes;
  std::vector<void*> pointers;

  std::uint8_t* Parameters() { return reinterpret_cast<std::uint8_t*>(block_words.data()); }
};

HandleTable<Launch>& Launches() {
  static auto* table = new HandleTable<Launch>("prepared launch");
  return *table;
}

void ToTriple(const Napi::Value& value, const char* what, unsigned (&out)[3]) {
  if (!value.IsArray() || value.As<Napi::Array>().Length() != 3) {
    throw Napi::TypeError::New(value.Env(), std::string(what) + " must be an array of three numbers");
  }
  for (std::uint32_t i = 0; i < 3; ++i) out[i] = ToUnsigned(value.As<Napi::Array>().Get(i), what);
}

/// Whether graphs keep what a captured launch says of the one before it: since CUDA 12.3.
bool KeepsEarlyLaunches() {
  int version = 0;
  CU(DriverGetVersion, &version);
  return version >= 12030;
}

}  // namespace

/// launchPrepare(function, grid[3], block[3], sharedBytes, cooperative, parameters, offsets[], early)
Napi::Value LaunchPrepare(const Napi::CallbackInfo& info) {
  auto launch = std::make_shared<Launch>();
  launch->function = UseFunction(info[0]);
  ToTriple(info[1], "grid", launch->grid);
  ToTriple(info[2], "block", launch->block);
  launch->shared_bytes = ToUnsigned(info[3], "sharedBytes");
  launch->cooperative = info[4].ToBoolean().Value();
  launch->early = info[7].ToBoolean().Value() && KeepsEarlyLaunches();
  const Bytes parameters = ToBytes(info[5], "parameters");
  launch->block_bytes = parameters.size;
  launch->block_words.resize((parameters.size + 7) / 8 + 1);
  if (parameters.size) std::memcpy(launch->Parameters(), parameters.data, parameters.size);
  if (!info[6].IsArray()) throw Napi::TypeError::New(info.Env(), "offsets must be an array");
  const Napi::Array offsets = info[6].As<Napi::Array>();
  for (std::uint32_t i = 0; i < offsets.Length(); ++i) {
    const std::size_t offset = ToSize(offsets.Get(i), "offset");
    if (offset >= parameters.size) throw Napi::RangeError::New(info.Env(), "offset beyond the parameters");
    launch->pointers.push_back(launch->Parameters() + offset);
  }
  return FromHandle(info.Env(), Launches().Add(launch));
}

/// launchUpdate(launch, offset, bytes): overwrites part of the parameters. The driver copies them at every launch, so
/// earlier launches, and graphs that captured them, keep the old values.
Napi::Value LaunchUpdate(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Launch> launch = Launches().Get(ToSize(info[0], "launch"));
  const std::size_t offset = ToSize(info[1], "offset");
  const Bytes bytes = ToBytes(info[2], "bytes");
  if (offset > launch->block_bytes || bytes.size > launch->block_bytes - offset) {
    throw Napi::RangeError::New(info.Env(), "update beyond the parameters");
  }
  if (bytes.size) std::memcpy(launch->Parameters() + offset, bytes.data, bytes.size);
  return info.Env().Undefined();
}

/// launchPrepared(launch, stream): enqueued.
Napi::Value LaunchPrepared(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Launch> launch = Launches().Get(ToSize(info[0], "launch"));
  const std::shared_ptr<Stream> stream = UseStream(info[1]);
  if (!launch->function->module->module) {
    throw UsageError("launchPrepared", "NOT_OPEN", "the function's module was unloaded");
  }
  if (launch->function->module->device != stream->device) {
    throw UsageError("launchPrepared", "WRONG_DEVICE", "the stream and the function belong to different devices");
  }
  cuda::LaunchAttribute attributes[2] = {};
  cuda::LaunchConfig config = {};
  std::memcpy(config.grid, launch->grid, sizeof config.grid);
  std::memcpy(config.block, launch->block, sizeof config.block);
  config.shared_bytes = launch->shared_bytes;
  config.stream = stream->stream;
  config.attributes = attributes;
  const auto set = [&](unsigned id) {
    attributes[config.attribute_count].id = id;
    attributes[config.attribute_count++].value = 1;
  };
  if (launch->cooperative) set(cuda::LAUNCH_ATTRIBUTE_COOPERATIVE);
  if (launch->early) set(cuda::LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  CU(LaunchKernelEx, &config, launch->function->function, launch->pointers.data(), nullptr);
  return info.Env().Undefined();
}

/// launchIntoGraph(launch, graphExec, node): the node launches with the parameters that the launch has now, from the next replay on.
/// The graph that the executable was made of must be alive, for the node is its.
Napi::Value LaunchIntoGraph(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Launch> launch = Launches().Get(ToSize(info[0], "launch"));
  cuda::CUgraphExec exec = UseGraphExec(info[1]);
  const auto node = reinterpret_cast<cuda::CUgraphNode>(ToPointer(info[2], "node"));
  cuda::KernelNodeParams params = {};
  params.func = launch->function->function;
  std::memcpy(params.grid, launch->grid, sizeof params.grid);
  std::memcpy(params.block, launch->block, sizeof params.block);
  params.shared_bytes = launch->shared_bytes;
  params.parameters = launch->pointers.data();
  CU(GraphExecKernelNodeSetParams, exec, node, &params);
  return info.Env().Undefined();
}

/// tensorMapEncode(type, address, sizes[], strides[], box[]): the 128 bytes of a tensor map. Innermost dimension first; strides
/// in bytes, of all dimensions but that one. Boxes are swizzled by 128 bytes, and zero beyond the tensor.
Napi::Value TensorMapEncode(const Napi::CallbackInfo& info) {
  const int type = ToInt(info[0], "type");
  const std::uint64_t address = ToPointer(info[1], "address");
  std::uint64_t sizes[cuda::kMostTensorDimensions] = {}, strides[cuda::kMostTensorDimensions] = {};
  std::uint32_t box[cuda::kMostTensorDimensions] = {}, steps[cuda::kMostTensorDimensions] = {};
  const auto list = [&](int i, const char* what) {
    if (!info[i].IsArray()) throw Napi::TypeError::New(info.Env(), std::string(what) + " must be an array");
    return info[i].As<Napi::Array>();
  };
  const Napi::Array size_list = list(2, "sizes"), stride_list = list(3, "strides"), box_list = list(4, "box");
  const std::uint32_t rank = size_list.Length();
  if (rank == 0 || rank > cuda::kMostTensorDimensions || box_list.Length() != rank || stride_list.Length() + 1 != rank) {
    throw Napi::RangeError::New(info.Env(), "a tensor map has 1 to 5 dimensions, a box as many, strides one less");
  }
  for (std::uint32_t d = 0; d < rank; ++d) {
    sizes[d] = ToSize(size_list.Get(d), "size");
    box[d] = ToUnsigned(box_list.Get(d), "box");
    steps[d] = 1;
    if (d + 1 < rank) strides[d] = ToSize(stride_list.Get(d), "stride");
  }
  cuda::CUtensorMap map = {};
  CU(TensorMapEncodeTiled, &map, type, rank, reinterpret_cast<void*>(address), sizes, strides, box, steps,
     cuda::TENSOR_MAP_INTERLEAVE_NONE, cuda::TENSOR_MAP_SWIZZLE_128B, cuda::TENSOR_MAP_L2_PROMOTION_L2_256B,
     cuda::TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  Napi::Uint8Array bytes = Napi::Uint8Array::New(info.Env(), sizeof map);
  std::memcpy(bytes.Data(), &map, sizeof map);
  return bytes;
}

Napi::Value LaunchRelease(const Napi::CallbackInfo& info) {
  Launches().Take(ToSize(info[0], "launch"));
  return info.Env().Undefined();
}

}  // namespace collc
