#include "api/nccl.h"

#include <dlfcn.h>

#include <atomic>
#include <mutex>

#include "dynlib.h"
#include "errors.h"

namespace collc::nccl {
namespace {

std::mutex open_mutex;
std::atomic<const Api*> open_api{nullptr};
std::string open_path;

const char* ResultName(ncclResult_t result) {
  static const char* const names[] = {"ncclSuccess",         "ncclUnhandledCudaError", "ncclSystemError",
                                      "ncclInternalError",   "ncclInvalidArgument",    "ncclInvalidUsage",
                                      "ncclRemoteError",     "ncclInProgress",         "ncclTimeout"};
  return result >= 0 && result < 9 ? names[result] : "ncclUnrecognized";
}

}  // namespace

std::string Open(const std::vector<std::string>& candidates) {
  std::lock_guard<std::mutex> lock(open_mutex);
  if (open_api.load()) return open_path;
  std::vector<std::string> attempts;
  const DynamicLibrary library = DynamicLibrary::OpenShielded(candidates, attempts);
  if (!library.IsOpen()) {
    throw NativeError("nccl", "dlopen", 0, "DLOPEN_FAILED",
                      "no NCCL library could be opened:\n  " + Join(attempts, "\n  "));
  }
  auto* api = new Api;
  std::vector<SymbolSlot> slots;
#define COLLC_SLOT(name, symbol, ...) slots.push_back({symbol, reinterpret_cast<void**>(&api->name)});
  COLLC_NCCL_SYMBOLS(COLLC_SLOT)
#undef COLLC_SLOT
  slots.push_back({"ncclGetErrorString", reinterpret_cast<void**>(&api->GetErrorString)});
  const std::vector<std::string> missing = Resolve(library, slots);
  if (!missing.empty()) {
    delete api;
    throw NativeError("nccl", "dlsym", 0, "SYMBOL_MISSING",
                      library.Path() + " lacks " + Join(missing, ", ") + ": NCCL 2.10 or newer is needed");
  }
  // Only since 2.13, and only for messages.
  api->GetLastError = reinterpret_cast<const char* (*)(ncclComm_t)>(library.Find("ncclGetLastError"));
#define COLLC_FIND(name, symbol, ...) \
  api->name = reinterpret_cast<ncclResult_t (*)(__VA_ARGS__)>(library.Find(symbol));
  COLLC_NCCL_OPTIONAL_SYMBOLS(COLLC_FIND)
#undef COLLC_FIND
  open_path = library.Path();
  open_api.store(api);
  return open_path;
}

const Api& Get() {
  const Api* api = open_api.load(std::memory_order_acquire);
  if (!api) throw UsageError("nccl", "NOT_OPEN", "NCCL is not open: call openNccl first");
  return *api;
}

void RefuseMissing(const char* symbol, const char* since) {
  throw NativeError("nccl", symbol, 0, "SYMBOL_MISSING",
                    open_path + " lacks " + symbol + ": NCCL " + since + " or newer is needed");
}

void Check(ncclResult_t result, const char* call) {
  if (result == SUCCESS) return;
  const Api& api = Get();
  const char* text = api.GetErrorString(result);
  std::string message = text ? text : "";
  if (api.GetLastError) {
    const char* last = api.GetLastError(nullptr);
    if (last && *last) message += std::string("; ") + last;
  }
  throw LibraryError("nccl", call, result, ResultName(result), message);
}

}  // namespace collc::nccl
