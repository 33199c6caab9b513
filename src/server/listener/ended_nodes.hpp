// The ephemeral nodes that were removed last because their sessions ended.
//
// A watch event does not show whether a client has deleted a node, or whether its session has
// ended. A program that follows locks reads this list to distinguish losses from releases.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "server/core/core.hpp"

namespace conclave::server_impl {

class ended_nodes {
 public:
  // Adds nodes whose removal is not committed yet.
  void add(std::int64_t session, session_end why, const std::vector<std::string>& nodes);
  void commit();
  void discard_uncommitted() { uncommitted_.clear(); }

  // Returns the number of all nodes so far, and a line with number, session, reason and path for
  // each node in the list.
  std::string to_text() const;

 private:
  struct entry {
    std::uint64_t number;
    std::int64_t session;
    session_end why;
    std::string path;
  };
  static constexpr std::size_t max_entries = 1000;
  static constexpr std::size_t max_path_bytes = 256 * 1024;

  std::deque<entry> entries_, uncommitted_;
  std::size_t path_bytes_ = 0;  // of entries_
  std::uint64_t total_ = 0;
};

}  // namespace conclave::server_impl
