// A history of commits that is played on a faulty disk, and the question afterwards: is everything
// there that was acknowledged, and the commit that was under way there as a whole or not at all?
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
    bool under_way = false;  // one more was tried, and its end is not known
    std::string stopped_by;  // empty: it came to its end
  };

  // From an empty disk: several runs of a server, closed in between, with emptyings of the log.
  progress play(faulty_disk& disk) const;
  // One run on top of what is there. Stops at the first error.
  void play_run(faulty_disk& disk, progress& done, std::size_t commits) const;

  // Opens what is left. What is wrong with it; empty: nothing.
  std::string complaint(faulty_disk& disk, progress& done) const;

  const server_impl::batch& commit(std::size_t i) const { return commits_[i].changes; }
  const row_model& state(std::size_t after) const { return states_[after]; }
  std::size_t size() const noexcept { return commits_.size(); }

  static server_impl::sqlite_store_options on(faulty_disk& disk) {
    return {.wal_bytes = 1 << 16, .custom_disk = &disk};  // emptied every 11 pages or so
  }

 private:
  std::deque<owned_batch> commits_;
  std::vector<row_model> states_;
};

}  // namespace conclave::testing
