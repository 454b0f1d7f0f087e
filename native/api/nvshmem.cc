#include "api/nvshmem.h"

#include <dlfcn.h>

#include <atomic>
#include <mutex>

#include "dynlib.h"
#include "errors.h"

namespace collc::nvshmem {
namespace {

std::mutex open_mutex;
std::atomic<const Api*> open_api{nullptr};
std::string open_path;

/// nvshmemx_status_t, from nvshmemx_error.h.
const char* StatusName(int status) {
  static const char* const names[] = {
      "NVSHMEMX_SUCCESS",         "NVSHMEMX_ERROR_INVALID_VALUE",       "NVSHMEMX_ERROR_OUT_OF_MEMORY",
      "NVSHMEMX_ERROR_NOT_SUPPORTED", "NVSHMEMX_ERROR_SYMMETRY",        "NVSHMEMX_ERROR_GPU_NOT_SELECTED",
      "NVSHMEMX_ERROR_COLLECTIVE_LAUNCH_FAILED", "NVSHMEMX_ERROR_INTERNAL"};
  return status >= 0 && status < 8 ? names[status] : "NVSHMEMX_ERROR";
}

}  // namespace

std::string Open(const std::vector<std::string>& candidates) {
  std::lock_guard<std::mutex> lock(open_mutex);
  if (open_api.load()) return open_path;
  std::vector<std::string> attempts;
  // Its bootstrap plugins call back into it, but by function tables: no symbol has to be global.
  const DynamicLibrary library = DynamicLibrary::OpenShielded(candidates, attempts);
  if (!library.IsOpen()) {
    throw NativeError("nvshmem", "dlopen", 0, "DLOPEN_FAILED",
                      "no NVSHMEM host library could be opened:\n  " + Join(attempts, "\n  "));
  }
  auto* api = new Api;
  std::vector<SymbolSlot> slots;
#define COLLC_SLOT(result, name, symbol, ...) slots.push_back({symbol, reinterpret_cast<void**>(&api->name)});
  COLLC_NVSHMEM_SYMBOLS(COLLC_SLOT)
#undef COLLC_SLOT
  const std::vector<std::string> missing = Resolve(library, slots);
  if (!missing.empty()) {
    delete api;
    throw NativeError("nvshmem", "dlsym", 0, "SYMBOL_MISSING",
                      library.Path() + " lacks " + Join(missing, ", ") + ": NVSHMEM 3.0 or newer is needed");
  }
#define COLLC_FIND(result, name, symbol, ...) \
  api->name = reinterpret_cast<result (*)(__VA_ARGS__)>(library.Find(symbol));
  COLLC_NVSHMEM_OPTIONAL_SYMBOLS(COLLC_FIND)
#undef COLLC_FIND
  open_path = library.Path();
  open_api.store(api);
  return open_path;
}

const Api& Get() {
  const Api* api = open_api.load(std::memory_order_acquire);
  if (!api) throw UsageError("nvshmem", "NOT_OPEN", "NVSHMEM is not open: call openNvshmem first");
  return *api;
}

void Check(int status, const char* call) {
  if (status == 0) return;
  throw LibraryError("nvshmem", call, status, StatusName(status), "NVSHMEM says more on stderr with NVSHMEM_DEBUG=WARN");
}

}  // namespace collc::nvshmem
