#include "history.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "server/store/store_error.hpp"

namespace conclave::testing {

using namespace server_impl;

history::history(std::uint64_t seed, std::size_t commits) : states_(1) {
  std::mt19937_64 random{seed};
  for (std::size_t i = 0; i < commits; ++i) {
    commits_.push_back(i == 0 ? first_batch(1000) : random_batch(states_.back(), random));
    auto next = states_.back();
    next.apply(commits_.back().changes);
    states_.push_back(std::move(next));
  }
}

void history::play_run(faulty_disk& disk, progress& done, std::size_t commits) const {
  const auto end = std::min(done.acknowledged + commits, size());
  try {
    sqlite_store store{"/data", on(disk)};
    while (done.acknowledged < end) {
      done.under_way = true;
      store.commit(commit(done.acknowledged));
      done.under_way = false;
      ++done.acknowledged;
    }
  } catch (const store_error& error) {
    done.stopped_by = error.what();
  }
}

history::progress history::play(faulty_disk& disk) const {
  progress done;
  while (done.acknowledged < size() && done.stopped_by.empty()) {
    play_run(disk, done, (size() + 1) / 2);
  }
  return done;
}

std::string history::find_error(faulty_disk& disk, progress& done) const {
  try {
    const auto found = sqlite_store{"/data", on(disk)}.load();
    auto what = difference(state(done.acknowledged), found);
    if (!what.empty() && done.under_way &&
        difference(state(done.acknowledged + 1), found).empty()) {
      ++done.acknowledged;
      what.clear();
    }
    done.under_way = false;
    done.stopped_by.clear();
    return what;
  } catch (const store_error& error) {
    return error.what();
  }
}

}  // namespace conclave::testing
