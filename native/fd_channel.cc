// The descriptor channel's JavaScript side.
#include "fd_channel.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "convert.h"
#include "exports.h"
#include "handles.h"
#include "worker.h"

namespace collc {
namespace {

HandleTable<FdChannel>& Channels() {
  static auto* table = new HandleTable<FdChannel>("descriptor channel");
  return *table;
}

/// Owns a descriptor until JavaScript takes it: a result that never arrives must not leak it.
struct Received {
  bool ok = false;
  FdMessage message{};
  int fd = -1;
  Received() = default;
  Received(Received&& other) noexcept : ok(other.ok), message(other.message), fd(other.fd) { other.fd = -1; }
  Received& operator=(Received&&) = delete;
  ~Received() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

/// fdChannelOpen(path, secret)
Napi::Value FdChannelOpen(const Napi::CallbackInfo& info) {
  const Bytes secret = ToBytes(info[1], "secret");
  if (secret.size != kSecretBytes) throw Napi::RangeError::New(info.Env(), "secret must be 32 bytes");
  return FromHandle(info.Env(), Channels().Add(std::make_shared<FdChannel>(ToText(info[0], "path"), secret.data)));
}

/// fdChannelSend(channel, peerPath, sender, sequence, fd, timeoutMs): a promise.
Napi::Value FdChannelSend(const Napi::CallbackInfo& info) {
  // A duplicate, so that the caller may close its own at once.
  const int fd = fcntl(ToInt(info[4], "fd"), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) throw SystemError("fcntl", errno, "descriptor " + std::to_string(ToInt(info[4], "fd")));
  struct Owned {
    int fd = -1;
    ~Owned() {
      if (fd >= 0) close(fd);
    }
  };
  auto owned = std::make_shared<Owned>();
  owned->fd = fd;
  return RunAsync(
      info.Env(), "fdChannelSend",
      [channel = Channels().Get(ToSize(info[0], "channel")), peer = ToText(info[1], "peerPath"),
       sender = ToUnsigned(info[2], "sender"), sequence = ToUnsigned(info[3], "sequence"), owned,
       timeout_ms = ToTimeout(info[5])] {
        channel->Send(peer, sender, sequence, owned->fd, timeout_ms);
        return Done{};
      },
      NoValue);
}

/// fdChannelReceive(channel, timeoutMs): a promise of {sender, sequence, fd}, or of null when the time ran out.
Napi::Value FdChannelReceive(const Napi::CallbackInfo& info) {
  return RunAsync(
      info.Env(), "fdChannelReceive",
      [channel = Channels().Get(ToSize(info[0], "channel")), timeout_ms = ToTimeout(info[1])] {
        Received received;
        received.ok = channel->Receive(timeout_ms, received.message, received.fd);
        return received;
      },
      [](Napi::Env env, Received& received) -> Napi::Value {
        if (!received.ok) return env.Null();
        Napi::Object result = Napi::Object::New(env);
        result.Set("sender", received.message.sender);
        result.Set("sequence", received.message.sequence);
        result.Set("fd", received.fd);
        received.fd = -1;
        return result;
      });
}

/// fdChannelClose(channel): returns how many foreign or broken messages were dropped.
Napi::Value FdChannelClose(const Napi::CallbackInfo& info) {
  const std::shared_ptr<FdChannel> channel = Channels().Take(ToSize(info[0], "channel"));
  channel->Close();
  return Napi::Number::New(info.Env(), static_cast<double>(channel->Dropped()));
}

Napi::Value FdClose(const Napi::CallbackInfo& info) {
  const int fd = ToInt(info[0], "fd");
  // The standard streams are never ours.
  if (fd <= 2) throw Napi::RangeError::New(info.Env(), "not a descriptor to close");
  if (close(fd) != 0) throw SystemError("close", errno, "descriptor " + std::to_string(fd));
  return info.Env().Undefined();
}

}  // namespace collc
