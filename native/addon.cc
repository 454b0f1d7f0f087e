// The export table. Registers only: what each function does is documented in src/runtime/native.ts.
#include <napi.h>

#include "errors.h"
#include "exports.h"
#include "worker.h"

namespace collc {
namespace {

Napi::Object Register(Napi::Env env, Napi::Object exports) {
#define COLLC_REGISTER(name, function) exports.Set(name, Napi::Function::New<Guard<function>>(env, name));
#define COLLC_REGISTER_PROMISE(name, function) \
  exports.Set(name, Napi::Function::New<GuardPromise<function>>(env, name));
  COLLC_EXPORTS(COLLC_REGISTER, COLLC_REGISTER_PROMISE)
#undef COLLC_REGISTER
#undef COLLC_REGISTER_PROMISE
  EndCleanlyUnderWork(env);
  // src/runtime/native.ts refuses another number: an addon built before an update is told, not met as a crash.
  exports.Set("interfaceVersion", Napi::Number::New(env, 2));
  return exports;
}

}  // namespace
}  // namespace collc

static Napi::Object Init(Napi::Env env, Napi::Object exports) { return collc::Register(env, exports); }
NODE_API_MODULE(collc, Init)
