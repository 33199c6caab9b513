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

std::vector<contender_info> contenders(const core_pointer& core, const std::string& path,
                                       const layout& names) {
  return contenders(core, path, names, [&](std::string_view name) { return names.parse(name); });
}

std::vector<contender_info> contenders(const core_pointer& core, const std::string& path,
                                       const layout& names, const name_parser& parse) {
  std::vector<listed_contender> listed;
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
  get_result lock;  // the lock's path, read after the contenders' nodes
  for (auto from = listed.begin(); from != listed.end();) {
    constexpr std::ptrdiff_t group_size = 500;
    read_group group;
    auto end = from;
    for (; end != listed.end() && end - from < group_size; ++end) group.get(end->info.node);
    if (end == listed.end()) group.get(path);
    for (auto& got : block("read", core, &detail::start_read, std::move(group))) {
      if (from == end) {
        if (!got.ec) lock = {std::move(got.data), got.stat};
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
  mark_holders(listed);
  std::vector<contender_info> all;
  all.reserve(listed.size());
  for (auto& c : listed) all.push_back(std::move(c.info));
  std::vector<contender_info*> each;
  each.reserve(all.size());
  for (auto& info : all) each.push_back(&info);
  estimate_grants(lock, each);
  return all;
}

}  // namespace client_impl

std::vector<contender_info> contenders(client& c, const std::string& path, const layout& names) {
  return client_impl::contenders(client_impl::core_access::of(c), path, names);
}

std::vector<contender_info> permits_in_use(client& c, const std::string& path) {
  const auto& core = client_impl::core_access::of(c);
  auto all = client_impl::contenders(core, path + '/' + std::string{recipes::leases_folder},
                                     recipes::lease_layout(), recipes::parse_lease);
  if (all.empty()) return all;
  const auto permits = recorded_permits(
      client_impl::block("get " + path, core, &detail::start_get, path, watcher{}));
  for (std::size_t i = 0; i < all.size(); ++i) all[i].holds = !permits || i < *permits;
  return all;
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
