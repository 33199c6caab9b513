#include "table.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "harness/text.hpp"
#include "variant.hpp"

namespace conclave::bench {
namespace {

constexpr std::size_t width = 30;

struct column {
  std::string title;
  std::string series;
};

void print_line(std::string line) {
  std::printf("%s\n", line.substr(0, line.find_last_not_of(' ') + 1).c_str());
}

std::string first_cell(const std::string& text) { return "  " + padded(text, 25); }

std::string cell(const results& found, const std::string& series, const std::string& who,
                 const char* figure) {
  const auto* rounds = found.rounds(series, who);
  if (!rounds) return "-";
  return rounds->size() > 1 ? with_spread(found.find(series)->result.of(who, figure))
                            : number(rounds->front().at(figure)) + " (1 round)";
}

// Only what was measured.
void print_table(const results& found, const char* title, std::vector<column> columns,
                 const char* figure) {
  std::erase_if(columns, [&](const column& c) { return !found.find(c.series); });
  if (columns.empty()) return;
  std::printf("\n%s\n", title);
  auto head = first_cell("");
  for (const auto& c : columns) head += padded(c.title, width);
  print_line(head);
  for (const auto* who : variants::all) {
    auto line = first_cell(who->name);
    for (const auto& c : columns) line += padded(cell(found, c.series, who->name, figure), width);
    print_line(line);
  }
}

}  // namespace

void print_results(const results& found) {
  std::vector<column> flows;
  for (const auto side : sides) {
    const auto n = std::to_string(side);
    flows.push_back({n + " x " + n, flow_of(side)});
  }
  print_table(found, "Items a second, producers x consumers", flows, figure::operations_per_second);
  for (const auto consumers : consumer_counts) {
    std::vector<column> drains;
    for (const auto length : lengths)
      drains.push_back({std::to_string(length), drain_of(consumers, length)});
    const auto title =
        "µs for each item, by how many are there already; consumers: " + std::to_string(consumers);
    print_table(found, title.c_str(), drains, figure::us_per_item);
  }
}

}  // namespace conclave::bench
