#include "table.hpp"

#include <cstdio>

#include "first_session.hpp"
#include "harness/text.hpp"
#include "time_window.hpp"
#include "workloads.hpp"

namespace conclave::bench {
namespace {

enum class shown { median, spread };

struct column {
  const char* figure;
  const char* title;
  double scale;
  shown what;
};
constexpr column columns[] = {
    {figure::operations_per_second, "operations/s", 1, shown::spread},
    {figure::latency_us, "latency µs", 1, shown::median},
    {figure::latency_p99_us, "p99 µs", 1, shown::median},
    {figure::cpu_us_per_operation, "client µs/op", 1, shown::median},
    {figure::client_core_share, "% of a core", 100, shown::median},
    {figure::server_cpu_us_per_operation, "server µs/op", 1, shown::median},
    {figure::server_core_share, "% of a core", 100, shown::median},
    {figure::others_core_share, "others %", 100, shown::median},
    {figure::start_ms, "ms", 1, shown::spread},
    {figure::resident_kib, "MiB", 1.0 / 1024, shown::spread},
};

std::string cell(const column& c, const std::string& text) {
  return padded(text, c.what == shown::spread ? 25 : 14);
}

std::string cell(const column& c, const spread& s) {
  const spread scaled{s.median * c.scale, s.smallest * c.scale, s.largest * c.scale, 0, 0};
  return cell(c, c.what == shown::spread ? with_spread(scaled) : number(scaled.median));
}

void print_line(std::string line) {
  std::printf("%s\n", line.substr(0, line.find_last_not_of(' ') + 1).c_str());
}

std::string first_cell(const std::string& text) { return "  " + padded(text, 25); }

}  // namespace

void print_series(const series& s) {
  const auto& rounds = s.result.rounds.at(s.contenders.front());
  std::printf("\n%s, %zu rounds\n", s.title.c_str(), rounds.size());
  auto head = first_cell("");
  for (const auto& c : columns)
    if (rounds.front().contains(c.figure)) head += cell(c, c.title);
  print_line(head);
  for (const auto& who : s.contenders) {
    auto line = first_cell(who);
    for (const auto& c : columns)
      if (rounds.front().contains(c.figure)) line += cell(c, s.result.of(who, c.figure));
    print_line(line);
  }
}

}  // namespace conclave::bench
