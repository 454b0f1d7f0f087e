#include "worker.h"

#include <system_error>
#include <thread>

namespace collc {
namespace {

/// What the thread and the JavaScript side share. `closed` is set by the finalizer, on the JavaScript thread, also
/// when Node shuts down while the thread still works: from then on the thread must not touch `function`.
struct Link {
  std::mutex mutex;
  bool closed = false;
  napi_threadsafe_function function = nullptr;
};

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
  if (settle) settle(js, job->deferred);
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
    std::thread([link, work = std::move(work)]() mutable {
      work();
      work = nullptr;  // drop shared objects before JavaScript hears of the end
      std::lock_guard<std::mutex> lock(link->mutex);
      if (link->closed) return;
      napi_call_threadsafe_function(link->function, nullptr, napi_tsfn_nonblocking);
      napi_release_threadsafe_function(link->function, napi_tsfn_release);
    }).detach();
  } catch (const std::system_error& error) {
    napi_release_threadsafe_function(link->function, napi_tsfn_abort);
    throw UsageError(name, "NO_WORKER", std::string(name) + ": no thread could be started: " + error.what());
  }
  return promise;
}

std::shared_ptr<Napi::ObjectReference> KeepAlive(const Napi::Value& value) {
  return std::make_shared<Napi::ObjectReference>(Napi::Persistent(value.As<Napi::Object>()));
}

}  // namespace collc
