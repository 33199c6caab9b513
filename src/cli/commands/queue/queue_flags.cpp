#include "cli/commands/queue/queue_flags.hpp"

#include <array>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/show/duration.hpp"
#include "conclave/inspect.hpp"

namespace conclave::cli {

using namespace std::chrono_literals;

namespace {

constexpr std::array layouts{queue_layout::zookeeper, queue_layout::kazoo,
                             queue_layout::kazoo_locking};

std::vector<std::string> layout_names() {
  std::vector<std::string> names;
  for (const auto l : layouts) names.emplace_back(to_string(l));
  return names;
}

}  // namespace

queue_options queue_flags::options() const {
  queue_options o;
  for (const auto l : layouts)
    if (layout == to_string(l)) o.layout = l;
  return o;
}

void add_queue_flags(CLI::App& app, queue_flags& f) {
  app.add_option("PATH", f.path, "path of the queue; without a leading /, it is below /conclave")
      ->required();
  app.add_option("--layout", f.layout,
                 "names of nodes; all programs that use the queue must use the same: zookeeper "
                 "(DistributedQueue, and Curator's SimpleDistributedQueue), kazoo (Queue), "
                 "kazoo-locking (LockingQueue)")
      ->check(CLI::IsMember(layout_names()))
      ->type_name("L")
      ->capture_default_str();
  add_connect_flags(app, f.connect);
}

void require_layout(client& zk, const queue_flags& f) {
  const auto in_use = find_queue_layout(zk, f.node());
  if (in_use && *in_use != f.options().layout)
    throw failure{disagrees, "queue " + f.path + ": it has another layout; use --layout " +
                                 to_string(*in_use)};
}

std::optional<std::chrono::milliseconds> parse_wait(const std::string& text) {
  if (text == "forever") return {};
  return parse_duration(text);
}

}  // namespace conclave::cli
