// Deletes that nobody waits for, until the end of the round.
//
// start() is for one thread. Their number is bounded: beyond that, start() waits.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>

#include <conclave/client.hpp>

namespace conclave::bench {

class unawaited_deletes {
 public:
  explicit unawaited_deletes(client& zk) : zk_(zk) {}
  unawaited_deletes(const unawaited_deletes&) = delete;
  unawaited_deletes& operator=(const unawaited_deletes&) = delete;

  void start(std::string path) {
    until_at_most(most - 1);
    outstanding_.fetch_add(1);
    zk_.async_remove(std::move(path), any_version, [this](error_code ec) {
      if (ec) failed_.fetch_add(1);
      outstanding_.fetch_sub(1);
      outstanding_.notify_all();
    });
  }

  // Waits for all of them; how many failed.
  std::size_t finish() {
    until_at_most(0);
    return failed_;
  }

 private:
  static constexpr std::size_t most = 64;

  void until_at_most(std::size_t limit) {
    for (auto now = outstanding_.load(); now > limit; now = outstanding_.load())
      outstanding_.wait(now);
  }

  client& zk_;
  std::atomic<std::size_t> outstanding_{0};
  std::atomic<std::size_t> failed_{0};
};

}  // namespace conclave::bench
