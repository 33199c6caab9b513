// The expected content of a store, and random batches that change it.
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

// The content of a copied store after its first start: no sessions and no ephemeral nodes.
row_model restored(row_model copy);

// The differences between the image and the model, or an empty string.
std::string difference(const row_model& expected, const server_impl::image& found);

// A batch together with the data that it points to.
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

// A few random changes of nodes and sessions that keep the tree consistent.
owned_batch random_batch(const row_model& before, std::mt19937_64& random);

}  // namespace conclave::testing
