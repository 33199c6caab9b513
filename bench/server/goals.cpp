#include "goals.hpp"

#include "first_session.hpp"
#include "workloads.hpp"

namespace conclave::bench {
namespace {

const series* find(const std::vector<series>& all, const char* name) {
  for (const auto& s : all)
    if (s.name == name) return &s;
  return nullptr;
}

double rate_ratio(const series& s, const char* one, const char* other) {
  return s.result.ratio(figure::operations_per_second, one, other);
}

}  // namespace

std::vector<goal> judge(const std::vector<series>& all) {
  using enum wanted;
  std::vector<goal> goals;
  if (const auto* s = find(all, series_name::cycles_1))
    goals.push_back({"lock-cycles-1-session-ratio", rate_ratio(*s, ours, apache), at_least, 1.5});
  if (const auto* s = find(all, series_name::cycles_64)) {
    goals.push_back({"lock-cycles-64-sessions-ratio", rate_ratio(*s, ours, apache), at_least, 4});
    // As our clients connect on one machine; Apache's server has no such socket.
    if (s->result.rounds.contains(ours_socket))
      goals.push_back({"lock-cycles-64-sessions-unix-socket-ratio",
                       rate_ratio(*s, ours_socket, apache), at_least, 4});
  }
  if (const auto* s = find(all, series_name::start))
    goals.push_back(
        {"start-to-first-session-ms", s->result.of(ours, figure::start_ms).median, at_most, 50});
  if (const auto* s = find(all, series_name::memory))
    goals.push_back(
        {"memory-ratio", s->result.ratio(figure::resident_kib, ours, apache), at_most, 0.2});
  if (const auto* s = find(all, series_name::redis))
    goals.push_back({"redis-lock-cycles-ratio", rate_ratio(*s, ours, redis), at_least, 1});
  return goals;
}

std::vector<std::pair<std::string, double>> notes_on(const std::vector<series>& all) {
  std::vector<std::pair<std::string, double>> notes;
  if (const auto* s = find(all, series_name::cycles_8))
    notes.emplace_back("lock-cycles-8-sessions-ratio", rate_ratio(*s, ours, apache));
  if (const auto* s = find(all, series_name::creates))
    notes.emplace_back("pipelined-creates-ratio", rate_ratio(*s, ours, apache));
  if (const auto* s = find(all, series_name::start))
    notes.emplace_back("start-to-first-session-ratio",
                       s->result.ratio(figure::start_ms, ours, apache));
  if (const auto* s = find(all, series_name::redis)) {
    notes.emplace_back("redis-lock-cycles-ratio-delete-awaited",
                       rate_ratio(*s, ours_awaited, redis));
    notes.emplace_back("redis-lock-cycles-ratio-asynchronous",
                       rate_ratio(*s, ours_asynchronous, redis));
    if (s->result.rounds.contains(ours_socket))
      notes.emplace_back("redis-lock-cycles-ratio-unix-sockets",
                         rate_ratio(*s, ours_socket, redis_socket));
  }
  return notes;
}

}  // namespace conclave::bench
