#include "table.hpp"

#include <cstdio>
#include <string>

#include "harness/text.hpp"

namespace conclave::bench {
namespace {

struct row {
  const char* figure;
  const char* title;
};
constexpr row rows[] = {
    {figure::operations_per_second, "operations/s"},
    {figure::latency_us, "latency, µs"},
    {figure::latency_p99_us, "latency p99, µs"},
    {figure::cpu_us_per_operation, "client CPU, µs/op"},
    {figure::user_us_per_operation, "  in user mode"},
    {figure::system_us_per_operation, "  in the kernel"},
    {figure::switches_per_operation, "context switches/op"},
};

std::string in_columns(const std::vector<std::string>& cells) {
  std::string line = "  " + padded(cells.front(), 21);
  for (std::size_t i = 1; i < cells.size(); ++i) line += ' ' + padded(cells[i], i < 4 ? 22 : 6);
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

}  // namespace

void print_series(const series& s) {
  std::printf("\n%s: %zu rounds of %zu operations each\n", s.plan.title.c_str(), s.plan.rounds,
              s.plan.operations);
  std::printf("%s\n", in_columns({"", conclave_name, libzookeeper_name, tuned_libzookeeper_name,
                                  "ratio", "to tuned"})
                          .c_str());
  for (const auto& [figure, title] : rows) {
    if (!s.result.rounds.at(conclave_name).front().contains(figure)) continue;
    std::vector<std::string> cells{title};
    for (const auto* who : contestants) cells.push_back(with_spread(s.of(who, figure)));
    cells.push_back(number(s.ratio(figure)));
    cells.push_back(number(s.ratio(figure, tuned_libzookeeper_name)));
    std::printf("%s\n", in_columns(cells).c_str());
  }
}

void print_deep(const std::vector<deep_cost>& costs) {
  std::printf(
      "\nCosts of one operation, traced (a traced client is slow, so its batches are larger)\n");
  for (const auto& cost : costs) {
    std::printf("  %s %s %s system calls, %s instructions in user mode\n",
                padded(std::string(name_of(cost.what)), 14).c_str(),
                padded(cost.contestant, 18).c_str(), number(cost.system_calls).c_str(),
                number(cost.instructions).c_str());
    for (const auto& [name, count] : cost.by_name)
      if (count >= 0.005)
        std::printf("      %s %s\n", padded(name, 20).c_str(), number(count).c_str());
  }
}

}  // namespace conclave::bench
