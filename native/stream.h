// Streams and events, shared by the files that enqueue work.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "api/cuda.h"
#include "device.h"
#include "handles.h"

namespace collc {

/// A stream may be destroyed while a worker thread polls it, so every use from another thread holds `mutex`
/// and checks `stream`, which destruction sets to null.
struct Stream {
  int device;
  std::mutex mutex;
  cuda::CUstream stream = nullptr;
  bool is_borrowed = false;  ///< The caller's: it outlives its handle here.
};

struct Event {
  int device;
  std::mutex mutex;
  cuda::CUevent event = nullptr;
  ~Event();
};

HandleTable<Stream>& Streams();
HandleTable<Event>& Events();

/// The open stream with its device current on this thread.
std::shared_ptr<Stream> UseStream(const Napi::Value& value);

/// The executable graph behind a handle; its device becomes current.
cuda::CUgraphExec UseGraphExec(const Napi::Value& value);

/// An event of the device whose context is current.
std::shared_ptr<Event> NewEvent(int device, unsigned flags);

}  // namespace collc
