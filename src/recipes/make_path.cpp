#include "recipes/make_path.hpp"

#include <algorithm>
#include <utility>

#include "recipes/error_class.hpp"
#include "recipes/request.hpp"

namespace conclave::recipes {

std::vector<path_level> levels_of(const requests::defaults& d, const std::string& path,
                                  std::size_t own_levels) {
  std::vector<path_level> all;
  for (auto end = path.find('/', 1);; end = path.find('/', end + 1)) {
    all.push_back({path.substr(0, end), d.ancestors_acl});
    if (end == std::string::npos) break;
  }
  for (std::size_t i = 1; i <= std::min(own_levels, all.size()); ++i) all[all.size() - i].acl = {};
  return all;
}

task<error_code> make_paths(std::shared_ptr<session_context> context, std::shared_ptr<void> owner,
                            std::vector<std::string> paths, std::size_t own_levels,
                            create_mode mode, std::string data) {
  for (;;) {
    std::vector<std::vector<pending_reply<create_result>>> making{paths.size()};
    {
      const single_write in_one_write{*context};
      for (std::size_t i = 0; i < paths.size(); ++i)
        for (auto& level : levels_of(context->defaults(), paths[i], own_levels)) {
          const create_options how{mode, std::move(level.acl)};
          const std::string content = level.path == paths[i] ? data : "";
          making[i].push_back(send(
              context, owner, requests::create(context->defaults(), level.path, content, how)));
        }
    }
    error_code ec;
    bool parent_removed = false;
    for (const auto& path : making) {
      // The first error of a path explains the later ones. But if a level exists, the levels above
      // it exist as well, even if this client is not permitted to create nodes there.
      error_code why;
      bool has_parent = false;
      for (const auto& each : path) {
        const auto made = co_await each;
        // The requests were not sent together, and the server has removed an empty container.
        parent_removed = parent_removed || (made.ec == errc::no_node && has_parent);
        has_parent = !made.ec || made.ec == errc::node_exists;
        if (!made.ec || made.ec == errc::node_exists)
          why = {};
        else if (!why)
          why = made.ec;
      }
      if (!ec) ec = why;
    }
    if (outcome_unknown(ec)) co_return error_code{};
    if (ec == errc::no_node && parent_removed) continue;
    if (ec != errc::unimplemented || mode == create_mode::persistent) co_return ec;
    mode = create_mode::persistent;  // a server before 3.5 has no containers
  }
}

task<error_code> make_path(std::shared_ptr<session_context> context, std::shared_ptr<void> owner,
                           std::string path, std::size_t own_levels, create_mode mode,
                           std::string data) {
  std::vector<std::string> one{std::move(path)};
  co_return co_await make_paths(std::move(context), std::move(owner), std::move(one), own_levels,
                                mode, std::move(data));
}

}  // namespace conclave::recipes
