// The result of an inspection as a human-readable tree, and as JSON.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "cli/inventory/hand_off_rates.hpp"
#include "cli/show/json.hpp"
#include "cli/show/text.hpp"
#include "conclave/inspect.hpp"

namespace conclave::cli {

enum class inventory_order {
  path,          // as a tree
  rate,          // most hand-offs per second first
  longest_wait,  // longest wait first
  waiters,       // most waiters first
};

struct inventory_view {
  std::size_t most = 0;  // show up to this many waiters or claims of each recipe; 0 means all
  std::chrono::system_clock::time_point now = std::chrono::system_clock::now();
  const hand_off_rates* rates = nullptr;  // if set, shows rates and the longest waits
  inventory_order order = inventory_order::path;
};

// Returns the lines, without trailing newline characters.
std::vector<std::string> inventory_lines(const inspection& s, const std::vector<std::string>& roots,
                                         const output_format& p, const inventory_view& view);

json::object inventory_json(const inspection& s, const std::vector<std::string>& roots,
                            const inventory_view& view = {});
// Returns the recipes in this order. Recipes that are equal in it are ordered by path.
std::vector<const recipe_info*> ordered(const inspection& s, const inventory_view& view);

}  // namespace conclave::cli
