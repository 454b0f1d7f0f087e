// NCCL communicators, shared by the files that use them.
#pragma once

#include "api/nccl.h"
#include "handles.h"

namespace collc {

struct Communicator {
  int device;
  nccl::ncclComm_t comm = nullptr;
};

HandleTable<Communicator>& Communicators();

}  // namespace collc
