#include "server/listener/ended_nodes.hpp"

#include <array>
#include <cstdio>
#include <utility>

namespace conclave::server_impl {
namespace {

const char* to_string(session_end why) {
  switch (why) {
    case session_end::expired: return "expired";
    case session_end::closed: return "closed";
    case session_end::process_exited: break;
  }
  return "process";
}

}  // namespace

void ended_nodes::add(std::int64_t session, session_end why,
                      const std::vector<std::string>& nodes) {
  for (const auto& path : nodes) {
    uncommitted_.push_back({0, session, why, path});
    if (uncommitted_.size() > max_entries) {
      uncommitted_.pop_front();
      ++total_;
    }
  }
}

void ended_nodes::commit() {
  for (auto& e : uncommitted_) {
    e.number = ++total_;
    path_bytes_ += e.path.size();
    entries_.push_back(std::move(e));
  }
  uncommitted_.clear();
  while (entries_.size() > max_entries || path_bytes_ > max_path_bytes) {
    path_bytes_ -= entries_.front().path.size();
    entries_.pop_front();
  }
}

std::string ended_nodes::to_text() const {
  auto text = "ended with their sessions: " + std::to_string(total_) + "\n";
  for (const auto& e : entries_) {
    std::array<char, 64> head{};
    std::snprintf(head.data(), head.size(), "%llu 0x%llx ",
                  static_cast<unsigned long long>(e.number),
                  static_cast<unsigned long long>(e.session));
    text.append(head.data()).append(to_string(e.why)).append(" ").append(e.path).append("\n");
  }
  return text;
}

}  // namespace conclave::server_impl
