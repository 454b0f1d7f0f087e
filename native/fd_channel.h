// File descriptors between processes of one machine, over UNIX datagram sockets.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace collc {

constexpr std::size_t kSecretBytes = 32;

/// What travels beside a descriptor. Fixed size, this machine's byte order: both ends are on it.
struct FdMessage {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint32_t sender;    ///< Rank that sent it.
  std::uint32_t sequence;  ///< Which exchange it belongs to.
  std::array<std::uint8_t, kSecretBytes> secret;
};

/// A bound socket. Several threads may send and receive on it; Close wakes them, and the socket itself is
/// closed when the last of them is done.
class FdChannel {
 public:
  /// Binds a new socket file. Throws when the path exists, is too long for a socket, or its folder is missing.
  FdChannel(std::string path, const std::uint8_t* secret);
  ~FdChannel();
  FdChannel(const FdChannel&) = delete;
  FdChannel& operator=(const FdChannel&) = delete;

  /// Sends `fd` to the socket at `peer`, retrying while the peer is not there yet or its queue is full.
  /// Throws ETIMEDOUT at the deadline. The descriptor stays the caller's.
  void Send(const std::string& peer, std::uint32_t sender, std::uint32_t sequence, int fd, double timeout_ms);

  /// The next message of a process of this user with our secret and one descriptor, which becomes the caller's. Anything else is dropped, its
  /// descriptors closed. False when the time ran out.
  bool Receive(double timeout_ms, FdMessage& message, int& fd);

  /// Removes the socket file and wakes waiting threads, which then throw. Safe to call twice.
  void Close();

  std::uint64_t Dropped() const { return dropped_; }

 private:
  void ThrowIfClosed(const char* call) const;

  std::string path_;
  std::array<std::uint8_t, kSecretBytes> secret_;
  int socket_ = -1;
  int wake_ = -1;  // eventfd: readable once closed
  std::atomic<bool> closed_{false};
  std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace collc
