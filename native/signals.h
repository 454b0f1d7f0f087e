// Signal handlers belong to the program: Node's own, and those that its users set. Foreign libraries change them: NVRTC
// takes SIGINT and SIGTERM for as long as it compiles, ends the process from its handler, and puts Node's handler back
// without SA_RESETHAND, after which Node's way of dying from a signal is a loop without an end.
#pragma once

namespace collc {

/// Makes `signal` and `sigaction` in an open library (a handle of dlopen) leave everything as it is: they answer what
/// is set, and change nothing. Calls of its dependencies are their own; KeepSignals sees to those.
void ShieldSignals(void* library);

/// While one lives, and once more as it goes, handlers are those that the program had set when the first of them came.
/// For calls that may load libraries of their own, such as transports and plugins. Any thread, nested or side by side.
/// What the program itself sets meanwhile stays.
class KeepSignals {
 public:
  KeepSignals();
  ~KeepSignals();
  KeepSignals(const KeepSignals&) = delete;
  KeepSignals& operator=(const KeepSignals&) = delete;
};

}  // namespace collc
