// Handles given to JavaScript: small integers from one counter, looked up on every use.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "errors.h"

namespace collc {

/// Numbers are never used twice, so a stale handle, a double free, or a handle of another kind always throws
/// instead of reaching the driver. JavaScript keeps numbers exact up to 2^53.
inline std::uint64_t NextHandle() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

/// Open objects of one kind. Objects are shared, so that a worker thread may outlive the handle.
template <typename T>
class HandleTable {
 public:
  explicit HandleTable(const char* kind) : kind_(kind) {}

  std::uint64_t Add(std::shared_ptr<T> object) {
    const std::uint64_t handle = NextHandle();
    std::lock_guard<std::mutex> lock(mutex_);
    objects_.emplace(handle, std::move(object));
    return handle;
  }

  std::shared_ptr<T> Get(std::uint64_t handle) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) throw NotOpen(handle);
    return found->second;
  }

  /// Removes and returns the object: the second free of a handle throws here.
  std::shared_ptr<T> Take(std::uint64_t handle) {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = objects_.find(handle);
    if (found == objects_.end()) throw NotOpen(handle);
    std::shared_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

 private:
  NativeError NotOpen(std::uint64_t handle) const {
    return UsageError(kind_, "NOT_OPEN",
                      std::string(kind_) + " " + std::to_string(handle) +
                          " is not open: it was freed before, or is a handle of another kind");
  }

  const char* kind_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<T>> objects_;
};

}  // namespace collc
