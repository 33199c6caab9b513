#include "recipes/make_path.hpp"

#include <utility>

#include "recipes/asking.hpp"
#include "recipes/outcome.hpp"
#include "recipes/together.hpp"

namespace conclave::recipes {

task<error_code> make_paths(std::shared_ptr<port> p, std::shared_ptr<void> asker,
                            std::vector<std::string> paths, create_mode mode) {
  for (;;) {
    std::vector<std::vector<asking<create_result>>> making{paths.size()};
    {
      const together in_one_write{*p};
      for (std::size_t i = 0; i < paths.size(); ++i)
        for (auto end = paths[i].find('/', 1);; end = paths[i].find('/', end + 1)) {
          making[i].push_back(
              ask(p, asker, requests::create(p->defaults(), paths[i].substr(0, end), {}, mode)));
          if (end == std::string::npos) break;
        }
    }
    error_code ec;
    for (const auto& path : making) {
      // The first thing that went wrong is why the rest did. But nodes that are there may lie under
      // one that we may not write to.
      error_code why;
      for (const auto& each : path) {
        const auto made = co_await each;
        if (!made.ec || made.ec == errc::node_exists)
          why = {};
        else if (!why)
          why = made.ec;
      }
      if (!ec) ec = why;
    }
    if (outcome_unknown(ec)) co_return error_code{};
    if (ec != errc::unimplemented || mode == create_mode::persistent) co_return ec;
    mode = create_mode::persistent;  // a server before 3.5
  }
}

task<error_code> make_path(std::shared_ptr<port> p, std::shared_ptr<void> asker, std::string path,
                           create_mode mode) {
  std::vector<std::string> one{std::move(path)};
  co_return co_await make_paths(std::move(p), std::move(asker), std::move(one), mode);
}

}  // namespace conclave::recipes
