#include "worker.h"

#include <atomic>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "process_exit.h"

namespace collc {
namespace {

/// What the thread and the JavaScript side share. `closed` is set by the finalizer, on the JavaScript thread, also
/// when Node shuts down while the thread still works: from then on the thread must not touch `function`.
struct Link {
  std::mutex mutex;
  bool closed = false;
  napi_threadsafe_function function = nullptr;
};

/// Threads that are at work in this process.
std::atomic<int> working{0};

/// An end of the process takes libraries down under those threads, which crashes. Without destructors it does not.
void EndUnderWork(int code, void*) {
  if (working.load() > 0) EndAtOnce(code);
}

/// The JavaScript side; created, used and deleted on the JavaScript thread.
struct Job {
  Napi::Promise::Deferred deferred;
  PromiseWorker::Settle settle;
  std::shared_ptr<Link> link;
};

void CallJs(napi_env env, napi_value, void* context, void*) {
  if (!env) return;  // shutting down
  auto* job = static_cast<Job*>(context);
  const Napi::Env js(env);
  const Napi::HandleScope scope(js);
  PromiseWorker::Settle settle = std::move(job->settle);
  job->settle = nullptr;
  try {
    if (settle) settle(js, job->deferred);
  } catch (...) {
    // The thread is being terminated: there is nobody to tell, and an exception must not reach Node's C.
  }
}

void Finalize(napi_env, void*, void* context) {
  auto* job = static_cast<Job*>(context);
  {
    std::lock_guard<std::mutex> lock(job->link->mutex);
    job->link->closed = true;
  }
  delete job;
}

}  // namespace

Napi::Promise PromiseWorker::Start(Napi::Env env, const char* name, Work work, Settle settle, bool can_be_left) {
  auto link = std::make_shared<Link>();
  auto* job = new Job{Napi::Promise::Deferred::New(env), std::move(settle), link};
  const Napi::Promise promise = job->deferred.Promise();
  const napi_status status =
      napi_create_threadsafe_function(env, nullptr, nullptr, Napi::String::New(env, name), 0, 1, nullptr, Finalize,
                                      job, CallJs, &link->function);
  if (status != napi_ok) {
    delete job;
    throw UsageError(name, "NO_WORKER", std::string(name) + ": no thread-safe function could be made");
  }
  if (can_be_left) {
    const auto unref = [link](const Napi::CallbackInfo& info) {
      std::lock_guard<std::mutex> lock(link->mutex);
      if (!link->closed) napi_unref_threadsafe_function(info.Env(), link->function);
    };
    promise.Set("unref", Napi::Function::New(env, unref, "unref"));
  }
  try {
    ++working;
    std::thread([link, work = std::move(work)]() mutable {
      work();
      work = nullptr;  // drop shared objects before JavaScript hears of the end
      --working;
      std::lock_guard<std::mutex> lock(link->mutex);
      if (link->closed) return;
      // napi_closing: the function is no longer this thread's to release.
      if (napi_call_threadsafe_function(link->function, nullptr, napi_tsfn_nonblocking) != napi_closing) {
        napi_release_threadsafe_function(link->function, napi_tsfn_release);
      }
    }).detach();
  } catch (const std::system_error& error) {
    --working;
    napi_release_threadsafe_function(link->function, napi_tsfn_abort);
    throw UsageError(name, "NO_WORKER", std::string(name) + ": no thread could be started: " + error.what());
  }
  return promise;
}

void EndCleanlyUnderWork(Napi::Env env) {
  // Registered as the process is about to end, so newer than what libraries registered, and called before that. Hooks
  // of Node-API would be too late: process.exit() calls none.
  const auto at_exit = [](const Napi::CallbackInfo&) { on_exit(EndUnderWork, nullptr); };
  Napi::Object process = env.Global().Get("process").As<Napi::Object>();
  process.Get("once").As<Napi::Function>().Call(
      process, {Napi::String::New(env, "exit"), Napi::Function::New(env, at_exit, "endCleanlyUnderWork")});
}

std::shared_ptr<Napi::ObjectReference> KeepAlive(const Napi::Value& value) {
  return std::make_shared<Napi::ObjectReference>(Napi::Persistent(value.As<Napi::Object>()));
}

}  // namespace collc
