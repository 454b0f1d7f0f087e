#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>

#include "errors.h"
#include "fd_channel.h"

namespace collc {
namespace {

constexpr std::uint32_t kMagic = 0x63666463;  // "cdfc"
constexpr std::uint32_t kVersion = 1;
// Room to receive more descriptors than we ask for, so that a stranger's can be closed and not leak.
constexpr std::size_t kMaxFds = 16;

using Clock = std::chrono::steady_clock;

Clock::time_point Deadline(double timeout_ms) {
  if (timeout_ms < 0) return Clock::time_point::max();
  return Clock::now() + std::chrono::microseconds(static_cast<std::int64_t>(timeout_ms * 1000));
}

int RemainingMs(Clock::time_point deadline) {
  if (deadline == Clock::time_point::max()) return 60000;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return left <= 0 ? 0 : static_cast<int>(left < 60000 ? left + 1 : 60000);
}

sockaddr_un Address(const std::string& path, socklen_t& length) {
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof address.sun_path) throw SystemError("bind", ENAMETOOLONG, path);
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return address;
}

/// Compares in constant time: how far a guess of the secret is right must not show.
bool SameSecret(const std::array<std::uint8_t, kSecretBytes>& a, const std::array<std::uint8_t, kSecretBytes>& b) {
  unsigned difference = 0;
  for (std::size_t i = 0; i < kSecretBytes; ++i) difference |= a[i] ^ b[i];
  return difference == 0;
}

/// Whether the kernel says that this user, or root, sent a message.
bool IsOurs(msghdr& header) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS) continue;
    ucred sender{};
    std::memcpy(&sender, CMSG_DATA(c), sizeof sender);
    return sender.uid == geteuid() || sender.uid == 0;
  }
  return false;
}

/// Descriptors that came with a message; closes those not taken.
class ReceivedFds {
 public:
  explicit ReceivedFds(msghdr& header) {
    for (cmsghdr* c = CMSG_FIRSTHDR(&header); c; c = CMSG_NXTHDR(&header, c)) {
      if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t bytes = c->cmsg_len - CMSG_LEN(0);
      for (std::size_t i = 0; i + sizeof(int) <= bytes && count_ < kMaxFds; i += sizeof(int)) {
        std::memcpy(&fds_[count_++], CMSG_DATA(c) + i, sizeof(int));
      }
    }
  }
  ~ReceivedFds() {
    for (std::size_t i = 0; i < count_; ++i) close(fds_[i]);
  }
  std::size_t Count() const { return count_; }
  int TakeOnly() {
    count_ = 0;
    return fds_[0];
  }

 private:
  int fds_[kMaxFds] = {};
  std::size_t count_ = 0;
};

}  // namespace

FdChannel::FdChannel(std::string path, const std::uint8_t* secret) : path_(std::move(path)) {
  std::memcpy(secret_.data(), secret, kSecretBytes);
  socklen_t length = 0;
  const sockaddr_un address = Address(path_, length);
  socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ < 0) throw SystemError("socket", errno, path_);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) {
    const int error = errno;
    close(socket_);
    throw SystemError("eventfd", error, path_);
  }
  // With each message the kernel then says who sent it.
  const int on = 1;
  if (setsockopt(socket_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
    const int error = errno;
    close(socket_);
    close(wake_);
    throw SystemError("setsockopt", error, path_);
  }
  if (bind(socket_, reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    const int error = errno;
    close(socket_);
    close(wake_);
    throw SystemError("bind", error, path_);
  }
}

FdChannel::~FdChannel() {
  Close();
  close(socket_);
  close(wake_);
}

void FdChannel::Close() {
  if (closed_.exchange(true)) return;
  unlink(path_.c_str());
  const std::uint64_t one = 1;
  // Cannot fail on an eventfd at zero; and there is nobody to tell.
  if (write(wake_, &one, sizeof one) < 0) return;
}

void FdChannel::ThrowIfClosed(const char* call) const {
  if (closed_) throw UsageError(call, "CLOSED", "the descriptor channel " + path_ + " was closed");
}

void FdChannel::Send(const std::string& peer, std::uint32_t sender, std::uint32_t sequence, int fd,
                     double timeout_ms) {
  socklen_t length = 0;
  sockaddr_un address = Address(peer, length);
  FdMessage message{kMagic, kVersion, sender, sequence, secret_};
  iovec data{&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_name = &address;
  header.msg_namelen = length;
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  cmsghdr* rights = CMSG_FIRSTHDR(&header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(rights), &fd, sizeof(int));

  const Clock::time_point deadline = Deadline(timeout_ms);
  for (;;) {
    ThrowIfClosed("sendmsg");
    const ssize_t sent = sendmsg(socket_, &header, MSG_NOSIGNAL);
    if (sent == static_cast<ssize_t>(sizeof message)) return;
    const int error = sent < 0 ? errno : EMSGSIZE;
    // Not there yet, gone, or its queue is full: try again. ETOOMANYREFS: too many descriptors are under way.
    const bool again = error == ENOENT || error == ECONNREFUSED || error == EAGAIN || error == EINTR ||
                       error == ENOBUFS || error == ETOOMANYREFS;
    if (!again) throw SystemError("sendmsg", error, peer);
    if (Clock::now() >= deadline) {
      throw SystemError("sendmsg", ETIMEDOUT, peer + " (last: " + std::strerror(error) + ")");
    }
    pollfd wait{wake_, POLLIN, 0};
    poll(&wait, 1, 2);
  }
}

bool FdChannel::Receive(double timeout_ms, FdMessage& message, int& fd) {
  const Clock::time_point deadline = Deadline(timeout_ms);
  for (;;) {
    ThrowIfClosed("recvmsg");
    // One byte more than a message, to notice a longer one.
    char bytes[sizeof(FdMessage) + 1];
    iovec data{bytes, sizeof bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(kMaxFds * sizeof(int)) + CMSG_SPACE(sizeof(ucred))];
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    const ssize_t received = recvmsg(socket_, &header, MSG_CMSG_CLOEXEC);
    if (received >= 0) {
      ReceivedFds fds(header);
      const bool whole = received == static_cast<ssize_t>(sizeof(FdMessage)) &&
                         !(header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) && fds.Count() == 1;
      if (whole) std::memcpy(&message, bytes, sizeof message);
      if (whole && IsOurs(header) && message.magic == kMagic && message.version == kVersion && SameSecret(message.secret, secret_)) {
        fd = fds.TakeOnly();
        return true;
      }
      ++dropped_;
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) throw SystemError("recvmsg", errno, path_);
    const int wait_ms = RemainingMs(deadline);
    if (wait_ms == 0) return false;
    pollfd waits[2] = {{socket_, POLLIN, 0}, {wake_, POLLIN, 0}};
    if (poll(waits, 2, wait_ms) < 0 && errno != EINTR) throw SystemError("poll", errno, path_);
  }
}

}  // namespace collc
