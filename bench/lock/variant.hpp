// Who takes part: a library, and a way to use it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/contestant_process.hpp"

namespace conclave::bench {

enum class library { conclave, curator, kazoo, zookeeper };

struct variant {
  std::string name;
  bench::library library;
  const char* mode;          // of ours; the others have one
  std::size_t most_waiters;  // that are tried
  bool session_each;         // cannot have two contenders in one session
  bool has_line;             // its contenders are the children of the lock's node
};

namespace variants {
extern const variant ours;
extern const variant asynchronous;
extern const variant without_tickets;
extern const variant named;
extern const variant naive;
extern const variant curator;
extern const variant kazoo;
extern const variant write_lock;
}  // namespace variants

// Two processes of each library, started when they are first needed.
class cast {
 public:
  explicit cast(std::optional<int> cpu) : cpu_(cpu) {}
  static constexpr std::size_t processes = 2;

  contestant_process& member(library l, std::size_t number);

 private:
  std::optional<int> cpu_;
  std::map<std::pair<library, std::size_t>, std::unique_ptr<contestant_process>> all_;
};

// Names and versions of the peers.
std::string peers();

}  // namespace conclave::bench
