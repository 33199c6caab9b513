// Where the simulated server keeps what it knows, and what becomes of that when the power fails.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "server/core/rows.hpp"

namespace conclave::simulated {

// Thrown by a commit: nothing works any more until power_on().
struct power_failure {};

class storage {
 public:
  virtual ~storage() = default;

  // What survived, in the hands of a server that starts.
  virtual server_impl::store& power_on() = 0;
  // What was not synced is gone.
  virtual void power_off() = 0;
  // The power fails during the next commit, of which all or nothing survives.
  virtual void fail_in_next_commit(std::uint64_t seed) = 0;
  virtual void forget_fault() = 0;
};

// A map in the place of a disk: fast.
class memory_storage final : public storage, public server_impl::store {
 public:
  server_impl::store& power_on() override { return *this; }
  void power_off() override { failing_ = false; }
  void fail_in_next_commit(std::uint64_t seed) override {
    failing_ = true;
    survives_ = seed % 2 == 0;
  }
  void forget_fault() override { failing_ = false; }

  server_impl::image load() override;
  void commit(const server_impl::batch& changes) override;

 private:
  void apply(const server_impl::batch& changes);

  bool failing_ = false;
  bool survives_ = false;
  std::int64_t zxid_ = 0;
  std::unordered_map<std::string, server_impl::image::node> nodes_;
  std::unordered_map<std::int64_t, server_impl::session_row> sessions_;
};

}  // namespace conclave::simulated
