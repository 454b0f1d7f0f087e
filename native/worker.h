// The one way to do slow work: a thread of its own per call, and a promise.
#pragma once

#include <napi.h>

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "errors.h"
#include "signals.h"

namespace collc {

/// Machinery behind RunAsync, without types. A dedicated thread rather than libuv's pool of four: several ranks
/// in one process block at once (a collective NCCL initialisation needs every one of them running), and file
/// access must not wait behind them.
class PromiseWorker {
 public:
  using Work = std::function<void()>;
  using Settle = std::function<void(Napi::Env, Napi::Promise::Deferred&)>;

  /// Runs `work` on a new thread, then `settle` on the JavaScript thread. `work` must not touch JavaScript and
  /// must not throw. Both run at most once; if JavaScript shuts down first, `settle` does not run.
  /// A promise that `can_be_left` has a method `unref`, after which Node does not stay alive for it.
  static Napi::Promise Start(Napi::Env env, const char* name, Work work, Settle settle, bool can_be_left);
};

/// `execute() -> Result` runs on a worker thread on plain data only; `convert(env, Result&) -> Napi::Value` builds the
/// promise's value on the JavaScript thread. An exception of `execute` rejects the promise.
/// `keep` holds JavaScript values (a typed array being copied into) until then. `can_be_left`: for what waits for
/// peers without a bound; see PromiseWorker::Start.
template <typename Execute, typename Convert>
Napi::Promise RunAsync(Napi::Env env, const char* name, Execute execute, Convert convert,
                       std::shared_ptr<Napi::ObjectReference> keep = nullptr, bool can_be_left = false) {
  using Result = decltype(execute());
  struct State {
    std::optional<Result> result;
    std::exception_ptr error;
  };
  auto state = std::make_shared<State>();
  return PromiseWorker::Start(
      env, name,
      [state, execute = std::move(execute)]() mutable {
        try {
          state->result.emplace(execute());
        } catch (...) {
          state->error = std::current_exception();
        }
      },
      [state, keep, convert = std::move(convert)](Napi::Env env, Napi::Promise::Deferred& deferred) mutable {
        try {
          if (state->error) std::rethrow_exception(state->error);
          deferred.Resolve(convert(env, *state->result));
        } catch (const NativeError& error) {
          deferred.Reject(ToJs(env, error).Value());
        } catch (const Napi::Error& error) {
          deferred.Reject(error.Value());
        } catch (const std::exception& error) {
          deferred.Reject(Napi::Error::New(env, error.what()).Value());
        }
      },
      can_be_left);
}

/// RunAsync for a library's call that waits for peers, and that may load transports and plugins.
template <typename Execute, typename Convert>
Napi::Promise RunCollective(Napi::Env env, const char* name, Execute execute, Convert convert) {
  auto keeping = [execute = std::move(execute)]() mutable {
    const KeepSignals keep;
    return execute();
  };
  return RunAsync(env, name, std::move(keeping), std::move(convert), nullptr, true);
}

/// For work without a result.
struct Done {};
inline Napi::Value NoValue(Napi::Env env, Done&) { return env.Undefined(); }

/// For the addon's registration: the end of this process is a clean one also while threads of RunAsync are in libraries.
void EndCleanlyUnderWork(Napi::Env env);

/// Keeps a JavaScript object from being collected while the returned pointer lives. Drop it on the JavaScript
/// thread only; RunAsync's `keep` does.
std::shared_ptr<Napi::ObjectReference> KeepAlive(const Napi::Value& value);

}  // namespace collc
