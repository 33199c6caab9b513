// What a store should hold, and random histories that bring it there.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "server/core/rows.hpp"

namespace conclave::testing {

struct row_model {
  std::int64_t zxid = 0;
  std::map<std::string, server_impl::node_row> nodes;
  std::map<std::string, server_impl::children_row> children;
  std::map<std::int64_t, server_impl::session_row> sessions;

  void apply(const server_impl::batch& changes);
};

// What is left of a copy when it is opened: neither sessions nor ephemeral nodes.
row_model restored(row_model copy);

// What an image has other than the model; empty: nothing.
std::string difference(const row_model& expected, const server_impl::image& found);

// A batch together with what it points to.
struct owned_batch {
  owned_batch() = default;
  owned_batch(owned_batch&&) = default;  // a copy would point into the first one

  server_impl::batch changes;
  std::deque<std::pair<std::string, server_impl::node_row>> rows;

  void put(std::string path, server_impl::node_row row);
};

server_impl::node_row plain_node(std::int64_t zxid, std::string data = "");

// The root, which every first batch has, and one more node.
owned_batch first_batch(std::int64_t zxid);

// A few changes that keep the tree whole: nodes and sessions come, change and go.
owned_batch random_batch(const row_model& before, std::mt19937_64& random);

}  // namespace conclave::testing
