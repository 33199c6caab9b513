#include "nodes.hpp"

#include <span>
#include <vector>

#include "harness/pipeline.hpp"
#include "workload.hpp"

namespace conclave::bench {
namespace {

constexpr std::size_t removal_window = 256;

void remove_next(client& zk, pipeline& progress, std::span<const std::string> paths) {
  const auto number = progress.next();
  if (!number) return;
  zk.async_remove(paths[*number], any_version, [&zk, &progress, paths](error_code ec) {
    remove_next(zk, progress, paths);
    progress.completed(!ec);
  });
}

}  // namespace

nodes::nodes(const std::string& servers) : client_(servers) {
  client_.create(root_path);
  client_.create(node_path, node_data());
}

std::string nodes::new_parent() {
  return std::string(root_path) + "/round-" + std::to_string(++parents_);
}

void nodes::remove_with_children(const std::string& parent) {
  std::vector<std::string> paths;
  for (const auto& name : client_.children(parent).names) paths.push_back(parent + '/' + name);
  pipeline progress(paths.size());
  for (std::size_t i = 0; i < removal_window; ++i) remove_next(client_, progress, paths);
  progress.wait(time_limit);
  client_.remove(parent);
}

}  // namespace conclave::bench
