#include "stream.h"

#include "convert.h"
#include "exports.h"
#include "gpu_wait.h"
#include "worker.h"

namespace collc {

HandleTable<Stream>& Streams() {
  static auto* table = new HandleTable<Stream>("stream");
  return *table;
}

HandleTable<Event>& Events() {
  static auto* table = new HandleTable<Event>("event");
  return *table;
}

Event::~Event() {
  if (event) cuda::Get().EventDestroy(event);
}

std::shared_ptr<Stream> UseStream(const Napi::Value& value) {
  std::shared_ptr<Stream> stream = Streams().Get(ToSize(value, "stream"));
  UseDevice(stream->device);
  return stream;
}

std::shared_ptr<Event> NewEvent(int device, unsigned flags) {
  auto event = std::make_shared<Event>();
  event->device = device;
  CU(EventCreate, &event->event, flags);
  return event;
}

namespace {

/// Done or not; other failures, and a stream destroyed meanwhile, throw.
cuda::CUresult QueryStream(Stream& stream) {
  std::lock_guard<std::mutex> lock(stream.mutex);
  if (!stream.stream) throw UsageError("streamSynchronize", "NOT_OPEN", "the stream was destroyed while waited for");
  const cuda::CUresult result = cuda::Get().StreamQuery(stream.stream);
  if (result != cuda::ERROR_NOT_READY) cuda::Check(result, "cuStreamQuery");
  return result;
}

}  // namespace

Napi::Value StreamCreate(const Napi::CallbackInfo& info) {
  const Device& device = UseDevice(ToInt(info[0], "device"));
  auto stream = std::make_shared<Stream>();
  stream->device = device.ordinal;
  CU(StreamCreate, &stream->stream, cuda::STREAM_NON_BLOCKING);
  return FromHandle(info.Env(), Streams().Add(stream));
}

/// streamBorrow(device, pointer): a handle of a CUstream that something else made and destroys.
Napi::Value StreamBorrow(const Napi::CallbackInfo& info) {
  auto stream = std::make_shared<Stream>();
  stream->device = UseDevice(ToInt(info[0], "device")).ordinal;
  stream->stream = reinterpret_cast<cuda::CUstream>(static_cast<std::uintptr_t>(ToPointer(info[1], "stream")));
  stream->is_borrowed = true;
  // The driver knows its streams; asking disturbs no capture.
  int status = 0;
  CU(StreamIsCapturing, stream->stream, &status);
  return FromHandle(info.Env(), Streams().Add(stream));
}

/// Whether somebody records what is enqueued on the stream.
Napi::Value StreamIsCapturing(const Napi::CallbackInfo& info) {
  int status = 0;
  CU(StreamIsCapturing, UseStream(info[0])->stream, &status);
  return Napi::Boolean::New(info.Env(), status != 0);
}

Napi::Value StreamDestroy(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Stream> stream = Streams().Take(ToSize(info[0], "stream"));
  UseDevice(stream->device);
  std::lock_guard<std::mutex> lock(stream->mutex);
  const cuda::CUstream handle = stream->stream;
  stream->stream = nullptr;
  if (!stream->is_borrowed) CU(StreamDestroy, handle);
  return info.Env().Undefined();
}

Napi::Value StreamQuery(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Stream> stream = UseStream(info[0]);
  return Napi::Boolean::New(info.Env(), QueryStream(*stream) == cuda::SUCCESS);
}

/// streamSynchronize(stream, timeoutMs): a promise of true, or of false when the time ran out.
Napi::Value StreamSynchronize(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const std::shared_ptr<Stream> stream = UseStream(info[0]);
  const double timeout_ms = ToTimeout(info[1]);
  return RunAsync(
      env, "streamSynchronize",
      [stream, timeout_ms] {
        UseDevice(stream->device);
        return Poll(timeout_ms, [&] { return QueryStream(*stream); });
      },
      [](Napi::Env env, bool& done) -> Napi::Value { return Napi::Boolean::New(env, done); });
}

/// Waits on the JavaScript thread, for benchmarks where nothing else should happen. Bounded, like every wait.
Napi::Value StreamSynchronizeBlocking(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Stream> stream = UseStream(info[0]);
  return Napi::Boolean::New(info.Env(),
                            Poll(ToTimeout(info[1]), [&] { return QueryStream(*stream); }));
}

/// The raw CUstream, for libraries outside this addon.
Napi::Value StreamPointer(const Napi::CallbackInfo& info) {
  return FromPointer(info.Env(), reinterpret_cast<std::uintptr_t>(UseStream(info[0])->stream));
}

Napi::Value StreamWaitEvent(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Stream> stream = UseStream(info[0]);
  CU(StreamWaitEvent, stream->stream, Events().Get(ToSize(info[1], "event"))->event, 0);
  return info.Env().Undefined();
}

Napi::Value EventCreate(const Napi::CallbackInfo& info) {
  const Device& device = UseDevice(ToInt(info[0], "device"));
  const bool timing = !info[1].IsBoolean() || info[1].As<Napi::Boolean>().Value();
  return FromHandle(info.Env(), Events().Add(NewEvent(device.ordinal, timing ? cuda::EVENT_DEFAULT
                                                                             : cuda::EVENT_DISABLE_TIMING)));
}

Napi::Value EventDestroy(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Event> event = Events().Take(ToSize(info[0], "event"));
  UseDevice(event->device);
  const cuda::CUevent handle = event->event;
  event->event = nullptr;
  CU(EventDestroy, handle);
  return info.Env().Undefined();
}

Napi::Value EventRecord(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Event> event = Events().Get(ToSize(info[0], "event"));
  CU(EventRecord, event->event, UseStream(info[1])->stream);
  return info.Env().Undefined();
}

Napi::Value EventQuery(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Event> event = Events().Get(ToSize(info[0], "event"));
  UseDevice(event->device);
  const cuda::CUresult result = cuda::Get().EventQuery(event->event);
  if (result != cuda::ERROR_NOT_READY) cuda::Check(result, "cuEventQuery");
  return Napi::Boolean::New(info.Env(), result == cuda::SUCCESS);
}

/// Milliseconds between two completed events of one device.
Napi::Value EventElapsedMs(const Napi::CallbackInfo& info) {
  const std::shared_ptr<Event> start = Events().Get(ToSize(info[0], "start"));
  const std::shared_ptr<Event> end = Events().Get(ToSize(info[1], "end"));
  UseDevice(start->device);
  float milliseconds = 0;
  CU(EventElapsedTime, &milliseconds, start->event, end->event);
  return Napi::Number::New(info.Env(), milliseconds);
}

}  // namespace collc
