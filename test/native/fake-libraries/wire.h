// What a fake library has sent and nobody has yet: each thing is on its way for a time of its own, so things arrive in any order.
//
//   FAKE_NVSHMEM_LATE_US=2000   most of that time
#pragma once

#include <condition_variable>
#include <mutex>
#include <queue>
#include <random>
#include <vector>

#include "guest.h"

namespace guest {

/// Of this process. One thread delivers.
class Wire {
 public:
  static Wire& Own() {
    static auto* wire = new Wire;
    return *wire;
  }

  void Send(std::function<void()> deliver) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!is_running_) std::thread([this] { Run(); }).detach();
    is_running_ = true;
    const char* most = Env("FAKE_NVSHMEM_LATE_US");
    const int us = std::uniform_int_distribution<int>(0, *most ? std::atoi(most) : 2000)(random_);
    ++under_way_;
    queue_.push({Clock::now() + std::chrono::microseconds(us), std::move(deliver)});
    changed_.notify_one();
  }

  bool IsEmpty() const { return under_way_ == 0; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Item {
    Clock::time_point due;
    std::function<void()> deliver;
    bool operator<(const Item& other) const { return due > other.due; }
  };

  void Run() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      if (queue_.empty()) {
        changed_.wait(lock);
      } else if (const auto due = queue_.top().due; due > Clock::now()) {
        changed_.wait_until(lock, due);
      } else {
        const auto deliver = queue_.top().deliver;
        queue_.pop();
        deliver();
        --under_way_;
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::priority_queue<Item> queue_;
  std::atomic<int> under_way_{0};
  bool is_running_ = false;
  std::mt19937 random_{static_cast<unsigned>(getpid())};
};

}  // namespace guest
