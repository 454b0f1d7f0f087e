#include "dynlib.h"

#include <dlfcn.h>

#include "signals.h"

namespace collc {

DynamicLibrary DynamicLibrary::Open(const std::vector<std::string>& candidates, int flags,
                                    std::vector<std::string>& attempts) {
  DynamicLibrary library;
  for (const std::string& path : candidates) {
    dlerror();
    if (void* handle = dlopen(path.c_str(), flags)) {
      library.handle_ = handle;
      library.path_ = path;
      return library;
    }
    const char* reason = dlerror();
    std::string text = reason ? reason : "unknown reason";
    // The loader usually repeats the path; say it once.
    if (text.rfind(path, 0) != 0) text = path + ": " + text;
    attempts.push_back(text);
  }
  return library;
}

DynamicLibrary DynamicLibrary::OpenShielded(const std::vector<std::string>& candidates,
                                            std::vector<std::string>& attempts) {
  const KeepSignals keep;
  DynamicLibrary library = Open(candidates, RTLD_NOW | RTLD_LOCAL, attempts);
  ShieldSignals(library.handle_);
  return library;
}

void* DynamicLibrary::Find(const char* symbol) const {
  return handle_ ? dlsym(handle_, symbol) : nullptr;
}

std::vector<std::string> Resolve(const DynamicLibrary& library, const std::vector<SymbolSlot>& slots) {
  std::vector<std::string> missing;
  for (const SymbolSlot& slot : slots) {
    *slot.address = library.Find(slot.symbol);
    if (!*slot.address) missing.push_back(slot.symbol);
  }
  return missing;
}

std::string Join(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

}  // namespace collc
