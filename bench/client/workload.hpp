// What is measured: the workloads, and their figures.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "contestant.hpp"
#include "harness/figures.hpp"

namespace conclave::bench {

enum class kind { creates, gets, blocking_gets };

std::string_view name_of(kind k);
kind kind_named(std::string_view name);  // throws std::runtime_error

inline constexpr const char* root_path = "/bench";
inline constexpr const char* node_path = "/bench/node";  // what the gets read
inline constexpr std::size_t data_size = 32;
std::string node_data();

// One round: `warm_up` operations that do not count, then `operations` that do. Creates go below
// `parent`, which the round makes.
struct round_plan {
  kind what{kind::creates};
  std::size_t operations{0};
  std::size_t warm_up{0};
  std::size_t window{0};
  std::string parent;
};
figures run_round(contestant& who, const round_plan& plan);

}  // namespace conclave::bench
