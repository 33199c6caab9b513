// The real store on a disk that keeps only synced data after a power failure.
#pragma once

#include <memory>

#include "faulty_disk/faulty_disk.hpp"
#include "server/store/sqlite_store.hpp"
#include "simulation/world/storage.hpp"

namespace conclave::simulated {

class sqlite_storage final : public storage, public server_impl::store {
 public:
  explicit sqlite_storage(std::uint64_t seed) : disk_{seed}, cycles_{seed} {}

  server_impl::store& power_on() override;
  void power_off() override;
  void fail_in_next_commit(std::uint64_t seed) override;
  void forget_fault() override { disk_.plan = nullptr; }

  server_impl::image load() override;
  void commit(const server_impl::batch& changes) override;

 private:
  void lose_what_was_not_synced();

  testing::faulty_disk disk_;
  std::uint64_t cycles_;
  std::unique_ptr<server_impl::sqlite_store> store_;
};

}  // namespace conclave::simulated
