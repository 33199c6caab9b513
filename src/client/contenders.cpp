#include "conclave/contenders.hpp"

#include "client/call.hpp"
#include "client/contenders.hpp"
#include "client/inspect/wait_queue.hpp"
#include "conclave/inspect.hpp"
#include "recipes/contender_data.hpp"
#include "recipes/semaphore_names.hpp"

namespace conclave {

namespace client_impl {

std::vector<std::string> children_of(const core_pointer& core, const std::string& path) {
  try {
    return block("children " + path, core, &start_listing, path).names;
  } catch (const error& e) {
    if (e.code() == errc::no_node) return {};
    throw;
  }
}

namespace {

struct wait_queue_nodes {
  std::vector<listed_contender> sorted;
  get_result parent;  // read after the contenders
};

wait_queue_nodes read_wait_queue(const core_pointer& core, const std::string& path,
                                 const layout& names, const name_parser& parse) {
  wait_queue_nodes result;
  auto& listed = result.sorted;
  for (const auto& name : children_of(core, path)) {
    if (const auto parsed = parse(name)) {
      auto& c = listed.emplace_back();
      c.info.node = path + '/' + name;
      c.info.role = parsed->role;
      c.number = parsed->number;
    } else if (layout::in_known_layout(name)) {
      throw error{errc::layout_mismatch,
                  "contenders of " + path + " (" + names.explain_mismatch(name) + ")"};
    }
  }
  for (auto from = listed.begin(); from != listed.end();) {
    constexpr std::ptrdiff_t group_size = 500;
    read_group group;
    auto end = from;
    for (; end != listed.end() && end - from < group_size; ++end) group.get(end->info.node);
    if (end == listed.end()) group.get(path);
    for (auto& got : block("read", core, &detail::start_read, std::move(group))) {
      if (from == end) {
        if (!got.ec) result.parent = {std::move(got.data), got.stat};
        break;
      }
      auto& info = (from++)->info;
      if (got.ec == errc::no_node) continue;  // deleted since the listing
      if (got.ec) throw error{got.ec, "get " + info.node};
      set_node_info(info, {std::move(got.data), got.stat});
    }
  }
  std::erase_if(listed, [](const listed_contender& c) { return c.info.fencing_token == 0; });
  sort_wait_queue(listed);
  return result;
}

// Needs contender_info::holds of all contenders.
std::vector<contender_info> with_grants(wait_queue_nodes q) {
  estimate_grants(q.parent, q.sorted);
  std::vector<contender_info> all;
  all.reserve(q.sorted.size());
  for (auto& c : q.sorted) all.push_back(std::move(c.info));
  return all;
}

std::vector<contender_info> permits_in_use(const core_pointer& core, const std::string& path) {
  auto leases = read_wait_queue(core, path + '/' + std::string{recipes::leases_folder},
                                recipes::lease_layout(), recipes::parse_lease);
  if (leases.sorted.empty()) return {};
  const auto permits =
      recorded_permits(block("get " + path, core, &detail::start_get, path, watcher{}));
  wait_queue_nodes waiting;
  if (!permits) {
    const auto names = layout::curator();
    waiting = read_wait_queue(core, path + '/' + std::string{recipes::locks_folder}, names,
                              [&](std::string_view name) { return names.parse(name); });
  }
  mark_permit_holders(leases.sorted, permits, waiting.sorted);
  return with_grants(std::move(leases));
}

}  // namespace

std::vector<contender_info> contenders(const core_pointer& core, const std::string& path,
                                       const layout& names) {
  return contenders(core, path, names, [&](std::string_view name) { return names.parse(name); });
}

std::vector<contender_info> contenders(const core_pointer& core, const std::string& path,
                                       const layout& names, const name_parser& parse) {
  auto q = read_wait_queue(core, path, names, parse);
  mark_holders(q.sorted);
  return with_grants(std::move(q));
}

}  // namespace client_impl

std::vector<contender_info> contenders(client& c, const std::string& path, const layout& names) {
  return client_impl::contenders(client_impl::core_access::of(c), path, names);
}

std::vector<contender_info> permits_in_use(client& c, const std::string& path) {
  return client_impl::permits_in_use(client_impl::core_access::of(c), path);
}

void ask_to_release(client& c, const std::string& node) {
  while (true) {
    const auto found = c.get(node);
    try {
      c.set(node, recipes::ask_to_release(found.data), found.stat.version);
      return;
    } catch (const error& e) {
      if (e.code() != errc::bad_version) throw;  // another client wrote the node
    }
  }
}

}  // namespace conclave
