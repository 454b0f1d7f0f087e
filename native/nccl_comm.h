// NCCL communicators, shared by the files that use them.
#pragma once

#include <atomic>
#include <shared_mutex>

#include "api/nccl.h"
#include "handles.h"

namespace collc {

struct Communicator {
  int device;
  std::atomic<nccl::ncclComm_t> comm{nullptr};  ///< Null once it is destroyed or aborted: windows outlive their communicator here.
  /// Shared by calls for a window, held alone as `comm` goes. Abortion, which ends calls that hang, does not wait.
  std::shared_mutex mutex;
};

/// The communicator for a call on one of its windows. Throws when it is gone, or going.
class LiveCommunicator {
 public:
  explicit LiveCommunicator(Communicator& communicator)
      : lock_(communicator.mutex, std::try_to_lock), comm_(lock_ ? communicator.comm.load() : nullptr) {
    if (!comm_) throw UsageError("nccl", "NOT_OPEN", "the window's communicator was destroyed");
  }
  nccl::ncclComm_t Get() const { return comm_; }

 private:
  std::shared_lock<std::shared_mutex> lock_;
  nccl::ncclComm_t comm_;
};

HandleTable<Communicator>& Communicators();

}  // namespace collc
