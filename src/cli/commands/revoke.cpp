// `conclave revoke`: asks the holders of a lock to release it.
#include <condition_variable>
#include <iostream>
#include <mutex>

#include "cli/commands/commands.hpp"
#include "cli/connect/connection.hpp"
#include "cli/exit_code.hpp"
#include "cli/inventory/inventory.hpp"
#include "cli/show/contender.hpp"
#include "cli/show/duration.hpp"
#include "cli/show/text.hpp"
#include "conclave/contenders.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;
using time_point = std::chrono::steady_clock::time_point;

struct revoke_flags {
  connect_flags connect;
  std::string path, wait, layout;
  bool json = false;
};

std::vector<participant> holders_of(client& zk, const std::string& path, const known_names& names) {
  std::vector<participant> holders;
  const recipe* other = nullptr;
  const auto s = take_inventory(zk, {path}, names, false);
  for (const auto& r : s.recipes) {
    if (r.path != path) continue;
    if (r.what == recipe::kind::election || r.what == recipe::kind::queue) {
      other = &r;
      continue;
    }
    for (const auto& who : r.line)
      if (who.holds) holders.push_back(who);
  }
  if (holders.empty() && other != nullptr)
    throw failure{usage, "revoke " + path + ": the path has " +
                             (other->what == recipe::kind::queue ? "a queue" : "an election") +
                             "; only holders of a lock can be asked to release it"};
  return holders;
}

std::string name_of(const participant& who) {
  return printable(who.owner.empty() ? std::string{last_name(who.node)} : who.owner);
}

// Returns false if the node still exists at that time.
bool wait_until_gone(client& zk, const std::string& node, time_point until) {
  struct shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool stirred = false;
  };
  const auto state = std::make_shared<shared>();
  const watcher w{[state](const watch_event&) {
    const std::lock_guard lock{state->mutex};
    state->stirred = true;
    state->changed.notify_all();
  }};
  while (zk.exists(node, w)) {
    std::unique_lock lock{state->mutex};
    if (!state->changed.wait_until(lock, until, [&] { return state->stirred; })) return false;
    state->stirred = false;
  }
  return true;
}

std::vector<participant> ask(client& zk, std::vector<participant> holders) {
  std::erase_if(holders, [&](const participant& who) {
    try {
      ask_to_release(zk, who.node);
      return false;
    } catch (const error& e) {
      if (e.code() == errc::no_node) return true;  // released already
      throw;
    }
  });
  return holders;
}

void show(const std::string& path, const std::vector<participant>& asked) {
  if (asked.empty()) std::cout << "nobody holds " << path << "\n";
  for (const auto& who : asked)
    std::cout << "asked " << name_of(who) << " to release " << path << ", held for "
              << held_for(who, std::chrono::system_clock::now()) << "\n";
  std::cout.flush();
}

json::object to_json(const std::string& path, const std::vector<participant>& asked) {
  json::array whom;
  for (const auto& who : asked) {
    json::object o{{"node", who.node}, {"owner", who.owner}};
    add_number(o, "fencing_token", who.fencing_token);
    add_contender(o, who);
    whom.push_back(std::move(o));
  }
  return {{"path", path}, {"asked", std::move(whom)}};
}

int run(revoke_flags& f, const invocation&) {
  const auto path = node_path(f.path);
  const known_names names{f.layout};
  const auto limit = f.wait.empty() ? 0ms : parse_duration(f.wait);
  connection c{f.connect};
  auto& zk = c.zk();
  const auto begun = std::chrono::steady_clock::now();
  const auto asked = ask(zk, holders_of(zk, path, names));
  if (!f.json) show(path, asked);
  const participant* stays = nullptr;
  if (!f.wait.empty())
    for (const auto& who : asked)
      if (stays == nullptr && !wait_until_gone(zk, who.node, begun + limit)) stays = &who;
  if (f.json) {
    auto o = to_json(path, asked);
    if (!f.wait.empty()) o["released"] = stays == nullptr;
    print(o);
  } else if (stays != nullptr) {
    std::cerr << "conclave: " << name_of(*stays) << " still holds " << path << " after "
              << short_time(limit) << "\n";
  } else if (!f.wait.empty() && !asked.empty()) {
    std::cout << "released after " << short_time(std::chrono::steady_clock::now() - begun) << "\n";
  }
  return stays == nullptr ? ok : failed;
}

}  // namespace

void describe_revoke(CLI::App& app, invocation& call) {
  auto f = std::make_shared<revoke_flags>();
  app.description(
      "Ask the holders of a lock to release it. Programs that ignore the request keep the lock. "
      "One\n"
      "of them is `conclave lock` without --on-revoke term.");
  app.footer(
      "Examples:\n"
      "  conclave revoke backups/db\n"
      "  conclave revoke backups/db --wait 30 && echo free\n"
      "\n"
      "Programs with revocable locks of Curator are also notified. For holders of other "
      "libraries,\n"
      "the request replaces the data of the node. Then `conclave status` shows the name of the "
      "node\n"
      "instead of the owner.\n"
      "Exit code: 1 if --wait was given and the lock is still held.");
  app.add_option("PATH", f->path, "path of the lock; without a leading /, it is below /conclave")
      ->required();
  app.add_option("-w,--wait", f->wait,
                 "wait until these holders have released the lock, at most this long")
      ->type_name("SECONDS");
  app.add_option("--layout", f->layout,
                 "also recognise contenders by this prefix of their node names")
      ->type_name("L");
  app.add_flag("--json", f->json, "one line of JSON");
  add_connect_flags(app, f->connect);
  when_used(app, call, f, run);
}

}  // namespace conclave::cli
