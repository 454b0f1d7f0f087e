// Shared libraries opened at run time.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace collc {

/// An open shared library. Stays open for the life of the process: drivers do not survive dlclose.
class DynamicLibrary {
 public:
  /// Opens the first candidate that loads. `attempts` receives "path: reason" for each one that did not.
  /// Returns a library that is not open if none did.
  static DynamicLibrary Open(const std::vector<std::string>& candidates, int flags,
                             std::vector<std::string>& attempts);

  bool IsOpen() const { return handle_ != nullptr; }
  const std::string& Path() const { return path_; }

  /// The same for a library that changes signal handlers: its own attempts have no effect from here on, and what it
  /// did as it was loaded is undone. See signals.h.
  static DynamicLibrary OpenShielded(const std::vector<std::string>& candidates, std::vector<std::string>& attempts);

  /// Address of a symbol, or null.
  void* Find(const char* symbol) const;

 private:
  void* handle_ = nullptr;
  std::string path_;
};

/// A place for a symbol's address: one row of an API table.
struct SymbolSlot {
  const char* symbol;
  void** address;
};

/// Fills every slot; returns the names of those not found.
std::vector<std::string> Resolve(const DynamicLibrary& library, const std::vector<SymbolSlot>& slots);

/// "a, b and c".
std::string Join(const std::vector<std::string>& parts, const char* separator);

}  // namespace collc
