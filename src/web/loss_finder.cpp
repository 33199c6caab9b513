#include "web/loss_finder.hpp"

#include <algorithm>
#include <optional>

namespace conclave::web {
namespace {

constexpr std::string_view head = "ended with their sessions: ";

std::optional<loss> reason_named(std::string_view name) {
  for (const auto reason : {loss::expired, loss::process_exited, loss::closed})
    if (name == to_string(reason)) return reason;
  return {};
}

// Removes the text up to the next space from `line` and returns it.
std::string_view take_word(std::string_view& line) {
  const auto end = std::min(line.find(' '), line.size());
  const auto word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

}  // namespace

const char* to_string(loss reason) {
  switch (reason) {
    case loss::expired: return "expired";
    case loss::process_exited: return "process";
    case loss::closed: break;
  }
  return "closed";
}

// A line is "NUMBER SESSION REASON PATH". A path may contain spaces.
bool parse_session_ends(std::string_view reply, removed_nodes& into) {
  if (!reply.starts_with(head)) return false;
  reply.remove_prefix(std::min(reply.find('\n'), reply.size() - 1) + 1);
  while (!reply.empty()) {
    const auto end = std::min(reply.find('\n'), reply.size());
    auto line = reply.substr(0, end);
    reply.remove_prefix(std::min(end + 1, reply.size()));
    take_word(line);
    take_word(line);
    const auto reason = reason_named(take_word(line));
    if (reason && line.starts_with('/')) into.insert_or_assign(std::string{line}, *reason);
  }
  return true;
}

void loss_finder::add(const std::string& node, moment at, loss_counts& counts) {
  if (ends_.size() < max_waiting) ends_.insert_or_assign(node, end{at, &counts});
}

void loss_finder::apply(const removed_nodes& removed, moment asked_at) {
  std::erase_if(ends_, [&](const auto& entry) {
    const auto& [node, e] = entry;
    if (e.at >= asked_at) return false;
    if (const auto found = removed.find(node); found != removed.end())
      ++(*e.counts)[static_cast<std::size_t>(found->second)];
    return true;
  });
}

}  // namespace conclave::web
