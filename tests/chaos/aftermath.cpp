#include "chaos/aftermath.hpp"

#include <thread>

#include "chaos/paths.hpp"
#include "conclave/client.hpp"
#include "conclave/queue.hpp"

namespace conclave::chaos {
namespace {

using namespace std::chrono_literals;

constexpr auto limit = 30s;

// Every node below, the deepest first.
void list(client& zk, const std::string& path, std::vector<std::string>& all) {
  try {
    for (const auto& name : zk.children(path).names) {
      auto child = path;
      child.append("/").append(name);
      list(zk, child, all);
      all.push_back(std::move(child));
    }
  } catch (const error& e) {
    if (e.code() != errc::no_node) throw;  // gone meanwhile
  }
}

// Parents of contenders stay for a while, until the server removes them; what a queue needs beside
// itself stays as long as the queue.
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

aftermath::aftermath(const std::string& servers, std::filesystem::path histories,
                     std::chrono::milliseconds sessions)
    : histories_{std::move(histories)} {
  client zk{servers};
  drain(zk);
  look_for_rests(zk, sessions);
}

std::filesystem::path aftermath::begin_life(const std::string& job) {
  life l;
  l.name = l.job = "driver-" + job;
  l.slot = static_cast<std::size_t>(-1);
  l.file = histories_ / l.name;
  lives_.push_back(l);
  return l.file;
}

void aftermath::drain(client& zk) {
  {
    history story{begin_life("pop")};
    queue q{zk, queue_path};
    while (const auto item = q.pop_for(200ms)) story.say("popped", {item->data});
  }
  history story{begin_life("claim")};
  queue q{zk, claims_path};
  const auto end = std::chrono::steady_clock::now() + limit;
  // Those of killed workers are there again when their sessions have ended.
  while (!q.empty()) {
    if (auto claim = q.claim_for(200ms)) {
      claim->complete();
      story.say("completed", {claim->data(), "done"});
    } else if (std::chrono::steady_clock::now() > end) {
      problems_.push_back("items of " + std::string{claims_path} + " cannot be claimed");
      return;
    }
  }
}

void aftermath::look_for_rests(client& zk, std::chrono::milliseconds sessions) {
  const auto end = std::chrono::steady_clock::now() + limit + 2 * sessions;
  std::string rests;
  do {
    zk.sync(root);
    std::vector<std::string> all;
    list(zk, root, all);
    rests.clear();
    for (const auto& path : all)
      if (!may_stay(zk, path)) rests += ' ' + path;
    if (rests.empty()) return;
    std::this_thread::sleep_for(100ms);
  } while (std::chrono::steady_clock::now() < end);
  problems_.push_back("left behind:" + rests);
}

}  // namespace conclave::chaos
