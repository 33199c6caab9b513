#include <stdexcept>
#include <string>
#include <utility>

#include "sessions.hpp"
#include "time_window.hpp"
#include "unawaited_deletes.hpp"
#include "workloads.hpp"

namespace conclave::bench {
namespace {

// The path of the node. The create is answered first, so that one wait is enough for both.
std::string acquire(client& zk, const std::string& parent) {
  error_code created = errc::connection_loss;
  std::string node;
  {
    const auto batch = zk.begin_batch();
    zk.async_create(parent + "/lock-", lock_token, create_mode::ephemeral_sequential,
                    [&](error_code ec, create_result made) {
                      created = ec;
                      node = std::move(made.path);
                    });
    zk.get(parent);
  }
  if (created) throw error(created, "create");
  return node;
}

}  // namespace

figures run_blocking_lock(const assignment& a, bool delete_awaited) {
  client zk(a.servers);
  await_connection(zk);
  zk.create(a.root);
  unawaited_deletes deletes(zk);
  time_window window(a);
  for (auto begun = time_window::clock::now();; begun = time_window::clock::now()) {
    auto node = acquire(zk, a.root);
    if (delete_awaited)
      zk.remove(std::move(node));
    else
      deletes.start(std::move(node));
    if (!window.ended(begun)) break;
  }
  if (deletes.finish() != 0) throw std::runtime_error("deletes failed");
  zk.remove(a.root);  // fails if a lock's node is left
  return window.result();
}

}  // namespace conclave::bench
