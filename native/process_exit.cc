// The end of a process whose libraries cannot be taken down: see src/runtime/end-at-once.ts.
#include "process_exit.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "exports.h"

namespace collc {
namespace {

void End(int code, void*) { EndAtOnce(code); }

}  // namespace

void EndAtOnce(int code) {
  std::fflush(stdout);
  std::fflush(stderr);
  _exit(code);
}

/// Handlers of exit() run newest first, so this one, registered when the process is about to call it, is before all
/// destructors. Node's own work comes before exit() and is not cut short.
Napi::Value SkipDestructors(const Napi::CallbackInfo& info) {
  static const int failed = on_exit(End, nullptr);
  (void)failed;  // no memory for one handler: then the destructors run
  return info.Env().Undefined();
}

}  // namespace collc
