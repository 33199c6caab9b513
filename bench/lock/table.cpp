#include "table.hpp"

#include <algorithm>
#include <cstdio>

#include "harness/text.hpp"
#include "history.hpp"
#include "traffic.hpp"

namespace conclave::bench {
namespace {

enum class shown { median, spread };

struct column {
  const char* figure;
  const char* title;
  shown what;
};
constexpr column columns[] = {
    {figure::operations_per_second, "operations/s", shown::spread},
    {figure::lock_us, "lock µs", shown::median},
    {figure::latency_us, "latency µs", shown::median},
    {figure::latency_p90_us, "p90 µs", shown::median},
    {figure::latency_p99_us, "p99 µs", shown::median},
    {figure::requests, "requests", shown::median},
    {figure::replies, "replies", shown::median},
    {figure::events, "of them events", shown::median},
    {figure::frames, "frames", shown::median},
    {figure::bytes_to_server, "bytes sent", shown::median},
    {figure::bytes_to_client, "received", shown::median},
    {figure::bytes, "bytes", shown::median},
};

std::string cell(const column& c, const std::string& text) {
  return padded(text, c.what == shown::spread ? 25 : c.figure == figure::events ? 16 : 12);
}

void print_line(std::string line) {
  std::printf("%s\n", line.substr(0, line.find_last_not_of(' ') + 1).c_str());
}

std::string first_cell(const std::string& text) { return "  " + padded(text, 23); }

void print_series(const series& s) {
  if (s.contenders.empty()) return;
  const auto& rounds = s.result.rounds.at(s.contenders.front());
  std::printf("\n%s, %zu round%s\n", s.title.c_str(), rounds.size(), rounds.size() == 1 ? "" : "s");
  auto head = first_cell("");
  for (const auto& c : columns)
    if (rounds.front().contains(c.figure)) head += cell(c, c.title);
  print_line(head);
  for (const auto& who : s.contenders) {
    auto line = first_cell(who);
    for (const auto& c : columns) {
      if (!rounds.front().contains(c.figure)) continue;
      const auto value = s.result.of(who, c.figure);
      line += cell(c, c.what == shown::spread ? with_spread(value) : number(value.median));
    }
    print_line(line);
  }
}

// Who took part in any of the lines, in the order of the first one.
std::vector<std::string> waiters_contenders(const results& found) {
  std::vector<std::string> all;
  for (const auto waiters : waiter_counts)
    if (const auto* s = found.find(waiters_of(waiters)))
      for (const auto& who : s->contenders)
        if (std::find(all.begin(), all.end(), who) == all.end()) all.push_back(who);
  return all;
}

void print_waiters(const results& found, const char* title, const std::string& behind,
                   const char* figure) {
  constexpr std::size_t width = 28;
  std::printf("\n%s, by the number of waiters\n", title);
  auto head = first_cell("");
  for (const auto waiters : waiter_counts) head += padded(std::to_string(waiters), width);
  print_line(head);
  for (const auto& who : waiters_contenders(found)) {
    auto line = first_cell(who);
    for (const auto waiters : waiter_counts) {
      const auto name = waiters_of(waiters) + behind;
      const auto* rounds = found.rounds(name, who);
      line += padded(!rounds              ? "-"
                     : rounds->size() > 1 ? with_spread(found.find(name)->result.of(who, figure))
                                          : number(rounds->front().at(figure)),
                     width);
    }
    print_line(line);
  }
}

}  // namespace

void print_results(const results& found) {
  for (const auto& s : found.all)
    if (!s.name.starts_with(series_name::waiters)) print_series(s);
  if (waiters_contenders(found).empty()) return;
  print_waiters(found, "µs for each hand-off", "", figure::us_per_operation);
  print_waiters(found, "µs from unlock to the next lock, median", "", figure::latency_us);
  print_waiters(found, "99th percentile of the same", "", figure::latency_p99_us);
  print_waiters(found, "Frames for each hand-off", series_name::traffic, figure::frames);
  print_waiters(found, "Events for each hand-off", series_name::traffic, figure::events);
  print_waiters(found, "Bytes for each hand-off", series_name::traffic, figure::bytes);
}

}  // namespace conclave::bench
