// GPUs and their primary contexts.
#pragma once

#include "api/cuda.h"

namespace collc {

struct Device {
  int ordinal;
  cuda::CUdevice handle;
  cuda::CUcontext context;
  /// For copies that must be complete when the call returns. A stream of our own: the legacy default stream would
  /// synchronise with others and is forbidden during capture.
  cuda::CUstream copy_stream;
};

/// The device with its primary context current on this thread. Retains the context at the first use and keeps
/// it until the process ends. Other libraries change the current context, so every call sets it anew.
const Device& UseDevice(int ordinal);

}  // namespace collc
