// The current device and host functions on a stream, which the fake libraries of ../fake-libraries are built on.
#include "driver.h"

using namespace fake;

FAKE_API cuCtxGetDevice(int* device) {
  FAKE_CONTEXT("cuCtxGetDevice");
  *device = Current();
  return 0;
}

FAKE_API cuLaunchHostFunc(CUstream stream, void (*function)(void*), void* data) {
  FAKE_CONTEXT("cuLaunchHostFunc");
  if (!IsStream(stream)) return kInvalidHandle;
  return Enqueue(reinterpret_cast<Stream*>(stream), [=] { function(data); });
}
