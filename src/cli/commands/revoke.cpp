// `conclave revoke`: asks the holders of a lock to release it.
#include <condition_variable>
#include <iostream>
#include <mutex>

#include "cli/command.hpp"
#include "cli/connect/connection.hpp"
#include "cli/exit_code.hpp"
#include "cli/run/requested_lock.hpp"
#include "cli/show/contender.hpp"
#include "cli/show/duration.hpp"
#include "cli/show/text.hpp"
#include "conclave/contenders.hpp"
#include "conclave/inspect.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;
using time_point = std::chrono::steady_clock::time_point;

struct revoke_flags {
  connect_flags connect;
  std::string path, wait, layout;
  bool json = false;
};

std::vector<contender_info> holders_of(client& zk, const std::string& path,
                                       const inspect_options& options) {
  std::vector<contender_info> holders;
  const recipe_info* other_recipe = nullptr;
  const auto s = inspect(zk, {path}, options);
  for (const auto& r : s.recipes) {
    if (r.path != path) continue;
    if (r.what == recipe_info::kind::election || r.what == recipe_info::kind::queue) {
      other_recipe = &r;
      continue;
    }
    for (const auto& who : r.contenders)
      if (who.holds) holders.push_back(who);
  }
  if (holders.empty() && other_recipe != nullptr)
    throw failure{usage,
                  "revoke " + path + ": the path has " +
                      (other_recipe->what == recipe_info::kind::queue ? "a queue" : "an election") +
                      "; only holders of a lock can be asked to release it"};
  // If the lock's own path cannot be read, it may have holders. Other unreadable nodes belong to
  // other locks, below this path.
  for (const auto& u : s.unreadable)
    if (holders.empty() && u.path == path)
      throw failure{exit_code_of(u.why),
                    "revoke " + path + ": cannot read " + u.path + ": " + u.why.message()};
  return holders;
}

std::string name_of(const contender_info& who) {
  return printable(who.owner.empty() ? std::string{last_name(who.node)} : who.owner);
}

// Returns false if the node still exists at the time `until`.
bool wait_until_removed(client& zk, const std::string& node, time_point until) {
  struct shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool changed_since_read = false;
  };
  const auto state = std::make_shared<shared>();
  const watcher w{[state](const watch_event&) {
    const std::lock_guard lock{state->mutex};
    state->changed_since_read = true;
    state->changed.notify_all();
  }};
  while (zk.exists(node, w)) {
    std::unique_lock lock{state->mutex};
    if (!state->changed.wait_until(lock, until, [&] { return state->changed_since_read; }))
      return false;
    state->changed_since_read = false;
  }
  return true;
}

std::vector<contender_info> request_release(client& zk, std::vector<contender_info> holders) {
  std::erase_if(holders, [&](const contender_info& who) {
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

void show(const std::string& path, const std::vector<contender_info>& requested) {
  if (requested.empty()) std::cout << "nobody holds " << path << "\n";
  for (const auto& who : requested)
    std::cout << "asked " << name_of(who) << " to release " << path << ", held for "
              << held_for(who, std::chrono::system_clock::now()) << "\n";
  std::cout.flush();
}

json::object to_json(const std::string& path, const std::vector<contender_info>& requested) {
  json::array list;
  for (const auto& who : requested) {
    json::object o{{"node", who.node}, {"owner", who.owner}};
    add_number(o, "fencing_token", who.fencing_token);
    add_contender(o, who);
    list.push_back(std::move(o));
  }
  return {{"path", path}, {"asked", std::move(list)}};
}

int run(revoke_flags& f, const invocation&) {
  const auto path = node_path(f.path);
  inspect_options options;
  options.layouts = extra_layouts(f.layout);
  const auto limit = f.wait.empty() ? 0ms : parse_duration(f.wait);
  connection c{f.connect};
  auto& zk = c.zk();
  const auto started = std::chrono::steady_clock::now();
  const auto requested = request_release(zk, holders_of(zk, path, options));
  if (!f.json) show(path, requested);
  const contender_info* remaining = nullptr;
  const auto is_removed = [&](const contender_info& who) {
    return c.try_for(started + limit - std::chrono::steady_clock::now(), [&](auto left) {
      return wait_until_removed(zk, who.node, std::chrono::steady_clock::now() + left);
    });
  };
  if (!f.wait.empty())
    for (const auto& who : requested)
      if (remaining == nullptr && !is_removed(who)) remaining = &who;
  if (f.json) {
    auto o = to_json(path, requested);
    if (!f.wait.empty()) o["released"] = remaining == nullptr;
    print(o);
  } else if (remaining != nullptr) {
    std::cerr << "conclave: " << name_of(*remaining) << " still holds " << path << " after "
              << short_time(limit) << "\n";
  } else if (!f.wait.empty() && !requested.empty()) {
    std::cout << "released after " << short_time(std::chrono::steady_clock::now() - started)
              << "\n";
  }
  return remaining == nullptr ? ok : failed;
}

}  // namespace

void describe_revoke(CLI::App& app, invocation& call) {
  auto f = std::make_shared<revoke_flags>();
  app.description(
      "Ask the holders of a lock to release it. Programs that ignore the request keep the lock,\n"
      "for example `conclave lock` without --on-revoke term.");
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
      "Exit codes: 1 if --wait was given and the lock is still held; 77 if an ACL hides the "
      "holders.");
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
