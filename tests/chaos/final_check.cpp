#include "chaos/final_check.hpp"

#include <thread>

#include "chaos/paths.hpp"
#include "conclave/client.hpp"
#include "conclave/queue.hpp"

namespace conclave::chaos {
namespace {

using namespace std::chrono_literals;

constexpr auto limit = 30s;

// Appends all descendants, children before their parents.
void list(client& zk, const std::string& path, std::vector<std::string>& all) {
  try {
    for (const auto& name : zk.children(path).names) {
      auto child = path;
      child.append("/").append(name);
      list(zk, child, all);
      all.push_back(std::move(child));
    }
  } catch (const error& e) {
    if (e.code() != errc::no_node) throw;  // deleted meanwhile
  }
}

// The parents of contenders are containers that the server removes later. The auxiliary nodes of a
// queue stay as long as the queue.
bool may_stay(client& zk, const std::string& path) {
  const auto stat = zk.exists(path);
  if (!stat) return true;
  for (const auto* parent : {mutex_path, shared_path, semaphore_path, election_path})
    if (path == parent || path == std::string{parent} + "/locks" ||
        path == std::string{parent} + "/leases")
      return true;
  for (const auto* queue : {queue_path, claims_path})
    if (path == queue || path.starts_with(std::string{queue} + ".conclave"))
      return stat->ephemeral_owner == 0;
  return false;
}

}  // namespace

void prepare(const std::string& servers) {
  client zk{servers};
  zk.create(root);
}

final_check::final_check(const std::string& servers, std::filesystem::path histories,
                         std::chrono::milliseconds sessions)
    : histories_{std::move(histories)} {
  client zk{servers};
  drain(zk);
  find_leftovers(zk, sessions);
}

std::filesystem::path final_check::add_process(const std::string& job) {
  process_record l;
  l.name = l.job = "driver-" + job;
  l.slot = static_cast<std::size_t>(-1);
  l.file = histories_ / l.name;
  processes_.push_back(l);
  return l.file;
}

void final_check::drain(client& zk) {
  // Calls attempt() until the queue is empty.
  const auto repeat = [&](queue& q, const char* path, auto attempt) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!q.empty())
      if (!attempt() && std::chrono::steady_clock::now() > end) {
        problems_.push_back("items of " + std::string{path} + " stay in the queue");
        return;
      }
  };
  {
    history log{add_process("pop")};
    queue q{zk, queue_path};
    repeat(q, queue_path, [&] {
      const auto item = q.pop_for(200ms);
      if (item) log.write("popped", {item->data});
      return item.has_value();
    });
  }
  history log{add_process("claim")};
  queue q{zk, claims_path};
  // Items that killed workers had claimed are available again when their sessions have expired.
  repeat(q, claims_path, [&] {
    auto claim = q.claim_for(200ms);
    if (!claim) return false;
    claim->complete();
    log.write("completed", {claim->data(), "done"});
    return true;
  });
}

void final_check::find_leftovers(client& zk, std::chrono::milliseconds sessions) {
  const auto end = std::chrono::steady_clock::now() + limit + 2 * sessions;
  std::string leftovers;
  do {
    zk.sync(root);
    std::vector<std::string> all;
    list(zk, root, all);
    leftovers.clear();
    for (const auto& path : all)
      if (!may_stay(zk, path)) leftovers += ' ' + path;
    if (leftovers.empty()) return;
    std::this_thread::sleep_for(100ms);
  } while (std::chrono::steady_clock::now() < end);
  problems_.push_back("left behind:" + leftovers);
}

}  // namespace conclave::chaos
