// The wait loop behind every promise that waits for a GPU.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "api/cuda.h"

namespace collc {

/// Polls `query` (cuStreamQuery or cuEventQuery: a CUresult, success or not ready) until done, with growing pauses.
/// False when `timeout_ms` ran out; a negative timeout waits for ever.
template <typename Query>
bool Poll(double timeout_ms, Query query) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  // Short kernels first: yield for 200 us, then sleep longer and longer. Each query takes a lock in the driver that
  // launches of the main thread want too, so do not hammer it.
  int pause_us = 0;
  for (;;) {
    const cuda::CUresult result = query();
    if (result == cuda::SUCCESS) return true;
    const double elapsed_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    if (timeout_ms >= 0 && elapsed_us >= timeout_ms * 1000) return false;
    if (elapsed_us < 200) {
      std::this_thread::yield();
      continue;
    }
    pause_us = std::min(500, pause_us == 0 ? 10 : pause_us * 2);
    std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
  }
}

}  // namespace collc
