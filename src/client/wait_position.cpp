#include <algorithm>
#include <utility>

#include "client/contenders.hpp"
#include "client/inspect/read_many.hpp"
#include "client/inspect/wait_queue.hpp"
#include "conclave/contenders.hpp"
#include "recipes/semaphore_names.hpp"
#include "recipes/wait/wait_queue.hpp"

namespace conclave {
namespace {

using client_impl::get_all;
using contender_list = std::vector<recipes::queued_contender>;

std::vector<std::string> paths_of(const std::string& parent, const contender_list& all,
                                  std::size_t begin, std::size_t end) {
  std::vector<std::string> paths;
  for (auto i = begin; i < end; ++i) paths.push_back(parent + '/' + all[i].name);
  return paths;
}

// Returns the contenders in their order. Reads their nodes only if the sequence numbers do not
// order them.
contender_list list_contenders(client& c, const std::string& path,
                               const client_impl::name_parser& parse) {
  contender_list all;
  for (auto& name : client_impl::children_of(client_impl::core_access::of(c), path))
    if (const auto parsed = parse(name))
      all.push_back({std::move(name), parsed->role, parsed->number});
  if (recipes::ordered_by_creation(all)) {
    const auto nodes = get_all(c, paths_of(path, all, 0, all.size()));
    for (std::size_t i = 0; i < all.size(); ++i)
      if (!nodes[i].ec) all[i].czxid = nodes[i].value.stat.czxid;
    std::erase_if(all, [](const auto& each) { return each.czxid == 0; });
  }
  recipes::sort_contenders(all);
  return all;
}

// Returns the index of this session's contender, or all.size() if it has none. The contender is
// most likely one of the newest.
std::size_t find_own(client& c, const std::string& path, const contender_list& all) {
  constexpr std::size_t group_size = 32;
  const auto session = c.session_id();
  for (auto end = all.size(); end > 0;) {
    const auto begin = end - std::min(end, group_size);
    const auto nodes = get_all(c, paths_of(path, all, begin, end));
    for (; end > begin; --end) {
      const auto& node = nodes[end - 1 - begin];
      if (!node.ec && node.value.stat.ephemeral_owner == session) return end - 1;
    }
  }
  return all.size();
}

}  // namespace

wait_position_reader::wait_position_reader(client& c, std::string path, layout names)
    : client_{c}, wait_queue_{std::move(path)}, names_{std::move(names)} {}

wait_position_reader::wait_position_reader(client& c, const std::string& semaphore,
                                           std::size_t permits)
    : client_{c},
      wait_queue_{semaphore + '/' + std::string{recipes::locks_folder}},
      leases_{semaphore + '/' + std::string{recipes::leases_folder}},
      permits_{permits} {}

wait_position wait_position_reader::read() {
  const auto all = list_contenders(client_, wait_queue_,
                                   [&](std::string_view name) { return names_.parse(name); });
  auto own = std::find_if(all.begin(), all.end(),
                          [&](const auto& each) { return each.name == own_name_; });
  if (own == all.end()) {
    own = all.begin() + static_cast<std::ptrdiff_t>(find_own(client_, wait_queue_, all));
    own_name_ = own == all.end() ? std::string{} : own->name;
  }
  wait_position p;
  p.ahead = static_cast<std::size_t>(own - all.begin());
  if (leases_.empty()) {
    if (p.ahead > 0) p.holder = read_holder(wait_queue_, all.front());
    return p;
  }
  // The first waiter has a lease, too, while all permits are in use.
  const auto leases = list_contenders(client_, leases_, recipes::parse_lease);
  p.ahead += std::min(leases.size(), permits_);
  if (!leases.empty()) p.holder = read_holder(leases_, leases.front());
  return p;
}

// A holder's owner and the time of its grant do not change.
std::optional<contender_info> wait_position_reader::read_holder(
    const std::string& parent, const recipes::queued_contender& first) {
  const auto node = parent + '/' + first.name;
  if (holder_ && holder_->node == node) return holder_;
  holder_.reset();
  const auto replies = get_all(client_, {node, parent});
  if (replies[0].ec) return std::nullopt;
  std::vector<client_impl::listed_contender> listed(1);
  auto& info = listed.front().info;
  listed.front().number = first.number;
  info.node = node;
  info.role = first.role;
  info.holds = true;
  client_impl::set_node_info(info, replies[0].value);
  client_impl::estimate_grants(replies[1].value, listed);
  return holder_ = std::move(info);
}

}  // namespace conclave
