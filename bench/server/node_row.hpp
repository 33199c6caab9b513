// Many children of one node, with 100 bytes of data each.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <conclave/client.hpp>

namespace conclave::bench {

// How many requests are under way in pipelined work.
inline constexpr std::size_t in_flight = 256;

class node_row {
 public:
  explicit node_row(std::string parent) : parent_(std::move(parent)) {}

  std::string path(std::size_t number) const { return parent_ + "/n" + std::to_string(number); }
  static std::string data() { return std::string(100, 'x'); }

  // Pipelined, and waited for. Throws std::runtime_error if one of them fails.
  void create(client& zk, std::size_t count) const;
  void remove(client& zk, std::size_t count) const;

 private:
  std::string parent_;
};

}  // namespace conclave::bench
