// What real libraries do to signal handlers: NVRTC takes SIGINT and SIGTERM while it compiles, ends the process from its
// handler, and puts back what was there without its flags; NCCL and NVSHMEM, or transports that they load, set some for good.
#pragma once

#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

namespace takes_signals {

inline void End(int) { _exit(4); }

/// By the library's own calls, for as long as it lives.
class While {
 public:
  While() : interrupt_(signal(SIGINT, End)), terminate_(signal(SIGTERM, End)) {}
  ~While() {
    signal(SIGINT, interrupt_);
    signal(SIGTERM, terminate_);
  }

 private:
  void (*interrupt_)(int);
  void (*terminate_)(int);
};

/// By calls of a library that this one would have loaded, and never undone.
inline void ForGood() {
  struct sigaction action {};
  action.sa_handler = End;
  const auto set = reinterpret_cast<decltype(&sigaction)>(dlsym(RTLD_DEFAULT, "sigaction"));
  for (const int signal : {SIGINT, SIGTERM, SIGUSR2}) set(signal, &action, nullptr);
}

}  // namespace takes_signals
