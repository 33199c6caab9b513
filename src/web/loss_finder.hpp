// Finds out which holds were lost: the server removed their nodes because the sessions had ended.
//
// A watch event shows that the node of a holder was removed, but not why. Conclave's server lists
// the nodes that it has removed with their sessions (four-letter word `ends`).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "web/moment.hpp"

namespace conclave::web {

enum class loss { expired, process_exited, closed };
inline constexpr std::size_t loss_reasons = 3;
// The text in metrics and JSON.
const char* to_string(loss reason);

using loss_counts = std::array<std::uint64_t, loss_reasons>;
using removed_nodes = std::map<std::string, loss, std::less<>>;  // by path

// Reads a reply to `ends` and adds its nodes. Returns false if it is not such a reply.
bool parse_session_ends(std::string_view reply, removed_nodes& into);

class loss_finder {
 public:
  // The node of a holder was removed at this time. A loss is counted in `counts`, which must exist
  // as long as this object.
  void add(const std::string& node, moment at, loss_counts& counts);
  bool is_waiting() const { return !ends_.empty(); }
  // Counts the losses among the nodes that were removed before the server was asked. The others
  // were released.
  void apply(const removed_nodes& removed, moment asked_at);
  void clear() { ends_.clear(); }

 private:
  static constexpr std::size_t max_waiting = 20'000;
  struct end {
    moment at;
    loss_counts* counts;
  };
  std::map<std::string, end> ends_;  // by node
};

}  // namespace conclave::web
