// The disk of the simulated server, and the effect of power failures on it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "server/core/rows.hpp"

namespace conclave::simulated {

// Thrown by commit(). The storage must not be used until power_on().
struct power_failure {};

class storage {
 public:
  virtual ~storage() = default;

  // Returns a store with the surviving data, for a server that starts.
  virtual server_impl::store& power_on() = 0;
  // Loses all data that was not synced.
  virtual void power_off() = 0;
  // The power fails during the next commit. Either all or nothing of the commit survives.
  virtual void fail_in_next_commit(std::uint64_t seed) = 0;
  virtual void forget_fault() = 0;
};

// A map instead of a disk, because it is fast.
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
  std::map<std::string, server_impl::image::node> nodes_;  // sorted, as an image must be
  std::unordered_map<std::int64_t, server_impl::session_row> sessions_;
};

}  // namespace conclave::simulated
