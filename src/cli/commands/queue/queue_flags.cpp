#include "cli/commands/queue/queue_flags.hpp"

#include "cli/exit_code.hpp"
#include "cli/show/duration.hpp"
#include "conclave/inspect.hpp"

namespace conclave::cli {

using namespace std::chrono_literals;

namespace {

const char* name_of(queue_layout l) {
  switch (l) {
    case queue_layout::zookeeper: return "zookeeper";
    case queue_layout::kazoo: return "kazoo";
    case queue_layout::kazoo_locking: return "kazoo-locking";
  }
  return "";
}

}  // namespace

queue_options queue_flags::options() const {
  queue_options o;
  if (layout == "kazoo") o.layout = queue_layout::kazoo;
  if (layout == "kazoo-locking") o.layout = queue_layout::kazoo_locking;
  return o;
}

void add_queue_flags(CLI::App& app, queue_flags& f) {
  app.add_option("PATH", f.path, "path of the queue; without a leading /, it is below /conclave")
      ->required();
  app.add_option("--layout", f.layout,
                 "names of nodes; all programs that use the queue must use the same: zookeeper "
                 "(DistributedQueue, and Curator's SimpleDistributedQueue), kazoo (Queue), "
                 "kazoo-locking (LockingQueue)")
      ->check(CLI::IsMember({"zookeeper", "kazoo", "kazoo-locking"}))
      ->type_name("L")
      ->capture_default_str();
  add_connect_flags(app, f.connect);
}

void require_layout(client& zk, const queue_flags& f) {
  const auto in_use = find_queue_layout(zk, f.node());
  const char* const found = in_use ? name_of(*in_use) : nullptr;
  if (found != nullptr && f.layout != found)
    throw failure{disagrees, "queue " + f.path + ": it has another layout; use --layout " + found};
}

std::optional<std::chrono::milliseconds> parse_wait(const std::string& text) {
  if (text == "forever") return {};
  return parse_duration(text);
}

}  // namespace conclave::cli
