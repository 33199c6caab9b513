#include "sessions.hpp"

#include <stdexcept>

#include "assignment.hpp"

namespace conclave::bench {

void await_connection(client& zk) {
  if (!zk.wait_connected(time_limit)) throw std::runtime_error("no connection");
}

std::vector<std::unique_ptr<client>> open_sessions(context& shared, const std::string& servers,
                                                   std::size_t count) {
  std::vector<std::unique_ptr<client>> result;
  for (std::size_t i = 0; i < count; ++i)
    result.push_back(std::make_unique<client>(shared, servers));
  for (auto& zk : result) await_connection(*zk);
  return result;
}

}  // namespace conclave::bench
