// Runs a history of commits on a faulty disk. Afterwards all acknowledged commits must exist, and
// an interrupted commit must exist completely or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "faulty_disk/faulty_disk.hpp"
#include "row_model.hpp"
#include "server/store/sqlite_store.hpp"

namespace conclave::testing {

class history {
 public:
  history(std::uint64_t seed, std::size_t commits);

  struct progress {
    std::size_t acknowledged = 0;
    bool under_way = false;  // one more commit was tried, and its outcome is unknown
    std::string stopped_by;  // the error, or empty
  };

  // Starts with an empty disk: several runs of a server with checkpoints, closed in between.
  progress play(faulty_disk& disk) const;
  // One run with the existing files. Stops at the first error.
  void play_run(faulty_disk& disk, progress& done, std::size_t commits) const;

  // Opens the store and returns the difference from the expected rows, or an empty string.
  std::string find_error(faulty_disk& disk, progress& done) const;

  const server_impl::batch& commit(std::size_t i) const { return commits_[i].changes; }
  const row_model& state(std::size_t after) const { return states_[after]; }
  std::size_t size() const noexcept { return commits_.size(); }

  static server_impl::sqlite_store_options on(faulty_disk& disk) {
    return {.wal_bytes = 1 << 16, .custom_disk = &disk};  // a checkpoint after about 11 pages
  }

 private:
  std::deque<owned_batch> commits_;
  std::vector<row_model> states_;
};

}  // namespace conclave::testing
