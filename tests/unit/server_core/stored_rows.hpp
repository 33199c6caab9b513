// A store that is two maps: what the batches leave behind is what the next core starts from.
//
// It is strict about what it is handed: every node has a parent, nothing is written that is on disk
// already, and nothing is removed that is not.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/core/rows.hpp"

namespace conclave::server_impl {

struct stored_rows {
  struct stored_node {
    node_row row;
    children_row children;
  };

  std::int64_t zxid = 0;
  std::map<std::string, stored_node> nodes;
  std::map<std::int64_t, session_row> sessions;

  // What is wrong with the batch, one line for each; it is applied all the same.
  std::vector<std::string> apply(const batch& changes);
  image load() const;
};

bool operator==(const node_row& a, const node_row& b);

}  // namespace conclave::server_impl
