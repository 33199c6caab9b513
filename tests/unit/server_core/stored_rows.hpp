// A store in memory. It contains the rows of all batches, and the next core starts from them.
//
// It checks each batch: every node has a parent, no unchanged row is written, and no missing row is
// removed.
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

  // Applies the batch and returns the errors in it, one line each.
  std::vector<std::string> apply(const batch& changes);
  image load() const;
};

bool operator==(const node_row& a, const node_row& b);

}  // namespace conclave::server_impl
