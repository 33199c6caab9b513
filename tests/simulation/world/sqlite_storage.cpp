#include "simulation/world/sqlite_storage.hpp"

#include "server/store/store_error.hpp"

namespace conclave::simulated {

using outcome = testing::faulty_disk::outcome;

server_impl::store& sqlite_storage::power_on() {
  server_impl::sqlite_store_options o;
  o.custom_disk = &disk_;
  o.wal_bytes = 64 << 10;
  o.shrink_pages = 2;
  store_ = std::make_unique<server_impl::sqlite_store>("/data", o);
  return *this;
}

void sqlite_storage::power_off() {
  disk_.plan = [](const auto&) { return outcome::power_off; };
  lose_what_was_not_synced();
}

void sqlite_storage::fail_in_next_commit(std::uint64_t seed) {
  const auto last = disk_.steps() + 1 + seed % 8;
  disk_.plan = [last](const testing::faulty_disk::step& s) {
    return s.number >= last ? outcome::power_off : outcome::done;
  };
}

server_impl::image sqlite_storage::load() { return store_->load(); }

void sqlite_storage::commit(const server_impl::batch& changes) {
  try {
    store_->commit(changes);
    // Shrinks after every commit. The power can also fail after the commit: during this step or
    // during a checkpoint.
    if (!disk_.is_off()) store_->shrink();
    if (!disk_.is_off()) return;
  } catch (const server_impl::store_error&) {
  }
  lose_what_was_not_synced();
  throw power_failure{};
}

void sqlite_storage::lose_what_was_not_synced() {
  store_.reset();
  disk_.plan = nullptr;
  disk_.power_cycle(++cycles_);
}

}  // namespace conclave::simulated
