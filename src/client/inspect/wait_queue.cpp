#include "client/inspect/wait_queue.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>
#include <tuple>

#include "recipes/describe.hpp"
#include "recipes/parent_record.hpp"
#include "recipes/sequence_number.hpp"

namespace conclave::client_impl {
namespace {

// The ten digits that the server appends to the name of a sequential node.
std::optional<std::int64_t> sequence_number(std::string_view node) {
  constexpr std::size_t digits = 10;
  if (node.size() < digits) return {};
  node.remove_prefix(node.size() - digits);
  std::int64_t number = 0;
  const auto [stop, ec] = std::from_chars(node.data(), node.data() + digits, number);
  if (ec != std::errc{} || stop != node.data() + digits) return {};
  return number;
}

}  // namespace

void sort_wait_queue(std::vector<listed_contender>& all) {
  recipes::number_range numbers;
  for (const auto& c : all) numbers.add(c.number);
  const bool by_age = numbers.ordered_by_age();
  std::sort(all.begin(), all.end(), [&](const listed_contender& a, const listed_contender& b) {
    const auto age =
        std::tie(a.info.fencing_token, a.info.node) < std::tie(b.info.fencing_token, b.info.node);
    return by_age || a.number == b.number ? age : a.number < b.number;
  });
}

void mark_holders(std::vector<listed_contender>& sorted) {
  bool only_readers = true;  // all contenders ahead of this one are readers
  for (auto& c : sorted) {
    const bool reads = c.info.role == layout::role::reader;
    c.info.holds = &c == sorted.data() || (reads && only_readers);
    only_readers = only_readers && reads;
  }
}

void describe(contender_info& info, const get_result& node) {
  recipes::describe(info, node.data, node.stat);
}

void estimate_grants(const get_result& lock, const std::vector<contender_info*>& contenders) {
  const auto& path = lock.stat;
  const auto served = recipes::parse_parent_record(lock.data, path).served;
  // If this contender's creation was the last change of the children, no contender has left since.
  std::optional<std::chrono::system_clock::time_point> nobody_left_since;
  for (const auto* const c : contenders)
    if (c->fencing_token == path.pzxid) nobody_left_since = c->since;
  for (auto* const c : contenders) {
    if (!c->holds) continue;
    auto& grant = c->granted.emplace();
    grant.earliest = c->since;
    const auto number = sequence_number(c->node);
    const bool follows_record = served && number && *served < *number;
    // The previous exclusive holder wrote the record when it released the lock.
    const bool waited_for_release = follows_record && path.mzxid > c->fencing_token;
    if (waited_for_release)
      grant.earliest = std::max(
          c->since, std::chrono::system_clock::time_point{std::chrono::milliseconds{path.mtime}});
    const bool was_next = number == 0 || (follows_record && *number == *served + 1);
    if (was_next || (waited_for_release && path.mzxid == path.pzxid))
      grant.latest = grant.earliest;
    else if (nobody_left_since)
      grant.latest = std::max(grant.earliest, *nobody_left_since);
  }
}

}  // namespace conclave::client_impl
