// What a store should hold, and random histories that bring it there.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "server/core/kept.hpp"

namespace conclave::testing {

struct kept_model {
  std::int64_t zxid = 0;
  std::map<std::string, embedded::node_row> nodes;
  std::map<std::string, embedded::children_row> children;
  std::map<std::int64_t, embedded::session_row> sessions;

  void apply(const embedded::batch& changes);
};

// What is left of a copy when it is opened: neither sessions nor ephemeral nodes.
kept_model restored(kept_model copy);

// What an image has other than the model; empty: nothing.
std::string difference(const kept_model& expected, const embedded::image& found);

// A batch together with what it points to.
struct owned_batch {
  owned_batch() = default;
  owned_batch(owned_batch&&) = default;  // a copy would point into the first one

  embedded::batch changes;
  std::deque<std::pair<std::string, embedded::node_row>> rows;

  void put(std::string path, embedded::node_row row);
};

embedded::node_row plain_node(std::int64_t zxid, std::string data = "");

// The root, which every first batch has, and one more node.
owned_batch first_batch(std::int64_t zxid);

// A few changes that keep the tree whole: nodes and sessions come, change and go.
owned_batch random_batch(const kept_model& before, std::mt19937_64& random);

}  // namespace conclave::testing
