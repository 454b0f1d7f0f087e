// Copies between typed arrays and device memory, between devices, and fills.
#include "convert.h"
#include "exports.h"
#include "gpu_wait.h"
#include "stream.h"
#include "worker.h"

namespace collc {
namespace {

void FinishCopy(const Device& device) { CU(StreamSynchronize, device.copy_stream); }

/// A promise that settles when what was enqueued on the stream so far is done, and holds `view` until then: the
/// driver may read or write its bytes until that moment.
Napi::Value HoldUntilDone(Napi::Env env, const Stream& stream, const Napi::Value& view) {
  const std::shared_ptr<Event> event = NewEvent(stream.device, cuda::EVENT_DISABLE_TIMING);
  CU(EventRecord, event->event, stream.stream);
  return RunAsync(
      env, "copyAsync",
      [event] {
        UseDevice(event->device);
        Poll(-1, [&] {
          const cuda::CUresult result = cuda::Get().EventQuery(event->event);
          if (result != cuda::ERROR_NOT_READY) cuda::Check(result, "cuEventQuery");
          return result;
        });
        return Done{};
      },
      NoValue, KeepAlive(view));
}

}  // namespace

/// copyToDevice(device, pointer, view): done when it returns; not ordered after work on any stream.
Napi::Value CopyToDevice(const Napi::CallbackInfo& info) {
  const Device& device = UseDevice(ToInt(info[0], "device"));
  const cuda::CUdeviceptr pointer = ToPointer(info[1], "pointer");
  const Bytes bytes = ToBytes(info[2], "source");
  if (bytes.size == 0) return info.Env().Undefined();
  CU(MemcpyHtoDAsync, pointer, bytes.data, bytes.size, device.copy_stream);
  FinishCopy(device);
  return info.Env().Undefined();
}

/// copyFromDevice(device, view, pointer)
Napi::Value CopyFromDevice(const Napi::CallbackInfo& info) {
  const Device& device = UseDevice(ToInt(info[0], "device"));
  const Bytes bytes = ToBytes(info[1], "target");
  const cuda::CUdeviceptr pointer = ToPointer(info[2], "pointer");
  if (bytes.size == 0) return info.Env().Undefined();
  CU(MemcpyDtoHAsync, bytes.data, pointer, bytes.size, device.copy_stream);
  FinishCopy(device);
  return info.Env().Undefined();
}

/// copyToDeviceAsync(stream, pointer, view)
Napi::Value CopyToDeviceAsync(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Stream> stream = UseStream(info[0]);
  const cuda::CUdeviceptr pointer = ToPointer(info[1], "pointer");
  const Bytes bytes = ToBytes(info[2], "source");
  if (bytes.size) CU(MemcpyHtoDAsync, pointer, bytes.data, bytes.size, stream->stream);
  return HoldUntilDone(info.Env(), *stream, info[2]);
}

/// copyFromDeviceAsync(stream, view, pointer)
Napi::Value CopyFromDeviceAsync(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Stream> stream = UseStream(info[0]);
  const Bytes bytes = ToBytes(info[1], "target");
  const cuda::CUdeviceptr pointer = ToPointer(info[2], "pointer");
  if (bytes.size) CU(MemcpyDtoHAsync, bytes.data, pointer, bytes.size, stream->stream);
  return HoldUntilDone(info.Env(), *stream, info[1]);
}

/// copyOnDevice(stream, target, source, bytes): enqueued. Also for memory of a peer that is mapped here.
Napi::Value CopyOnDevice(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Stream> stream = UseStream(info[0]);
  CU(MemcpyDtoDAsync, ToPointer(info[1], "target"), ToPointer(info[2], "source"), ToSize(info[3], "bytes"),
     stream->stream);
  return info.Env().Undefined();
}

/// copyRowsOnDevice(stream, target, targetPitch, source, sourcePitch, width, rows): enqueued; pitches and width in bytes.
Napi::Value CopyRowsOnDevice(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Stream> stream = UseStream(info[0]);
  cuda::CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = rows.dstMemoryType = cuda::MEMORYTYPE_UNIFIED;
  rows.dstDevice = ToPointer(info[1], "target");
  rows.dstPitch = ToSize(info[2], "targetPitch");
  rows.srcDevice = ToPointer(info[3], "source");
  rows.srcPitch = ToSize(info[4], "sourcePitch");
  rows.WidthInBytes = ToSize(info[5], "width");
  rows.Height = ToSize(info[6], "rows");
  CU(Memcpy2DAsync, &rows, stream->stream);
  return info.Env().Undefined();
}

/// copyPeer(stream, target, targetDevice, source, sourceDevice, bytes): enqueued.
Napi::Value CopyPeer(const Napi::CallbackInfo& info) {
  const cuda::CUcontext target = UseDevice(ToInt(info[2], "targetDevice")).context;
  const cuda::CUcontext source = UseDevice(ToInt(info[4], "sourceDevice")).context;
  const std::shared_ptr<Stream> stream = UseStream(info[0]);
  CU(MemcpyPeerAsync, ToPointer(info[1], "target"), target, ToPointer(info[3], "source"), source,
     ToSize(info[5], "bytes"), stream->stream);
  return info.Env().Undefined();
}

/// memorySet(device, pointer, value, bytes): done when it returns.
Napi::Value MemorySet(const Napi::CallbackInfo& info) {
  const Device& device = UseDevice(ToInt(info[0], "device"));
  const std::size_t bytes = ToSize(info[3], "bytes");
  if (bytes == 0) return info.Env().Undefined();
  CU(MemsetD8Async, ToPointer(info[1], "pointer"), static_cast<unsigned char>(ToInt(info[2], "value")), bytes,
     device.copy_stream);
  FinishCopy(device);
  return info.Env().Undefined();
}

/// memorySetAsync(stream, pointer, value, bytes): enqueued.
Napi::Value MemorySetAsync(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Stream> stream = UseStream(info[0]);
  CU(MemsetD8Async, ToPointer(info[1], "pointer"), static_cast<unsigned char>(ToInt(info[2], "value")),
     ToSize(info[3], "bytes"), stream->stream);
  return info.Env().Undefined();
}

/// memorySet32Async(stream, pointer, value, count): enqueued; `pointer` is a multiple of 4.
Napi::Value MemorySet32Async(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Stream> stream = UseStream(info[0]);
  CU(MemsetD32Async, ToPointer(info[1], "pointer"), ToUnsigned(info[2], "value"), ToSize(info[3], "count"),
     stream->stream);
  return info.Env().Undefined();
}

/// streamWriteValue32(stream, pointer, value): enqueued, after everything before it is visible to the whole system.
Napi::Value StreamWriteValue32(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Stream> stream = UseStream(info[0]);
  CU(StreamWriteValue32, stream->stream, ToPointer(info[1], "pointer"), ToUnsigned(info[2], "value"), 0);
  return info.Env().Undefined();
}

}  // namespace collc
