#include "client/inspect/wait_queue.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <unordered_map>
#include <utility>

#include "recipes/contender_data.hpp"
#include "recipes/parent_record.hpp"
#include "recipes/wait/wait_queue.hpp"

namespace conclave::client_impl {
void sort_wait_queue(std::vector<listed_contender>& all) {
  std::vector<recipes::queued_contender> order;
  std::unordered_map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& info = all[i].info;
    order.push_back({info.node, info.role, all[i].number, info.fencing_token});
    index.emplace(info.node, i);
  }
  recipes::sort_contenders(order);
  std::vector<listed_contender> sorted;
  sorted.reserve(all.size());
  for (const auto& c : order) sorted.push_back(std::move(all[index.at(c.name)]));
  all = std::move(sorted);
}

void mark_holders(std::vector<listed_contender>& sorted) {
  bool only_readers = true;  // all contenders ahead of this one are readers
  for (auto& c : sorted) {
    const bool reads = c.info.role == layout::role::reader;
    c.info.holds = &c == sorted.data() || (reads && only_readers);
    only_readers = only_readers && reads;
  }
}

void mark_permit_holders(std::vector<listed_contender>& leases, std::optional<std::size_t> permits,
                         const std::vector<listed_contender>& waiting) {
  if (!permits) {
    const auto next = waiting.empty() ? 0 : waiting.front().info.session_id;  // 0 if unreadable
    const bool newest_waits =
        next != 0 && leases.size() > 1 && leases.back().info.session_id == next;
    permits = leases.size() - (newest_waits ? 1 : 0);
  }
  for (std::size_t i = 0; i < leases.size(); ++i) leases[i].info.holds = i < *permits;
}

void set_node_info(contender_info& info, const get_result& node) {
  recipes::set_node_info(info, node.data, node.stat);
}

void estimate_grants(const get_result& lock, std::vector<listed_contender>& contenders) {
  const auto& path = lock.stat;
  const auto served = recipes::parse_parent_record(lock.data, path).served;
  // If this contender's creation was the last change of the children, no contender has left since.
  std::optional<std::chrono::system_clock::time_point> nobody_left_since;
  for (const auto& c : contenders)
    if (c.info.readable && c.info.fencing_token == path.pzxid) nobody_left_since = c.info.since;
  for (auto& c : contenders) {
    auto& info = c.info;
    if (!info.holds || !info.readable) continue;
    auto& grant = info.granted.emplace();
    grant.earliest = info.since;
    const bool follows_record = served && *served < c.number;
    // The previous exclusive holder wrote the parent record when it released the lock.
    const bool waited_for_release = follows_record && path.mzxid > info.fencing_token;
    if (waited_for_release)
      grant.earliest = std::max(
          info.since, std::chrono::system_clock::time_point{std::chrono::milliseconds{path.mtime}});
    const bool was_next = c.number == 0 || (follows_record && c.number - 1 == *served);
    if (was_next || (waited_for_release && path.mzxid == path.pzxid))
      grant.latest = grant.earliest;
    else if (nobody_left_since)
      grant.latest = std::max(grant.earliest, *nobody_left_since);
  }
}

}  // namespace conclave::client_impl
