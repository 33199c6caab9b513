// Who takes part: a library, and a way to use it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/contestant_process.hpp"

namespace conclave::bench {

enum class library { conclave, curator, kazoo, zookeeper };

struct variant {
  std::string name;
  const char* short_name;  // in the names of figures
  bench::library library;
  const char* mode;         // of flow.hpp
  const char* item_prefix;  // of the nodes' names
  bool claims;              // an item is claimed and completed, rather than removed at once
};

namespace variants {
extern const variant ours;
extern const variant asynchronous;
extern const variant zookeeper;
extern const variant curator;
extern const variant kazoo;
extern const variant claiming;
extern const variant claiming_asynchronously;
extern const variant kazoo_locking;
// In the order to show them.
extern const std::vector<const variant*> all;
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
