#include "differential/numbering.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace conclave::differential {
namespace {

std::int64_t wall_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::string numbering::last_before(std::int64_t zxid) const {
  const auto next = numbers_.upper_bound(zxid);
  if (next == numbers_.begin()) return "before all changes";
  return "#" + std::to_string(std::prev(next)->second);
}

std::string numbering::numbered(std::int64_t zxid) {
  if (const auto known = numbers_.find(zxid); known != numbers_.end())
    return "#" + std::to_string(known->second);
  const auto place = last_before(zxid);
  numbers_.emplace(zxid, by_number_.size());
  by_number_.push_back(zxid);
  return "#" + std::to_string(by_number_.size() - 1) + " (new, after " + place + ")";
}

std::string numbering::change(std::int64_t zxid) {
  const bool rises = zxid > highest_;
  highest_ = std::max(highest_, zxid);
  return numbered(zxid) + (rises ? "" : " NOT ABOVE WHAT WAS SEEN BEFORE");
}

std::string numbering::reached(std::int64_t zxid) {
  if (zxid <= 0) return std::to_string(zxid);
  highest_ = std::max(highest_, zxid);
  return "up to " + last_before(zxid);
}

std::string numbering::exactly(std::int64_t zxid) { return zxid == 0 ? "0" : numbered(zxid); }

std::string numbering::time(std::int64_t zxid, std::int64_t ms) {
  if (zxid == 0) return std::to_string(ms);
  const auto [known, is_new] = times_.emplace(zxid, ms);
  if (known->second != ms) return "ANOTHER TIME THAN BEFORE";
  constexpr std::int64_t day = 24LL * 60 * 60 * 1000;
  return std::abs(wall_ms() - ms) < day ? "then" : "NOT A TIME OF TODAY";
}

void numbering::add_session(std::int64_t id) { sessions_.emplace(id, sessions_.size()); }

std::string numbering::session(std::int64_t id) const {
  if (id == 0) return "none";
  const auto known = sessions_.find(id);
  return known == sessions_.end() ? "an unknown one" : "session " + std::to_string(known->second);
}

}  // namespace conclave::differential
