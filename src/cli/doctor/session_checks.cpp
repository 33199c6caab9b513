#include <algorithm>
#include <functional>

#include "cli/doctor/checks.hpp"
#include "cli/nodes/acl_text.hpp"
#include "cli/show/duration.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

double ms(std::chrono::nanoseconds t) { return static_cast<double>(t.count()) / 1e6; }

struct times {
  std::chrono::nanoseconds median, longest;
};

times timed(int n, const std::function<void()>& f) {
  std::vector<std::chrono::nanoseconds> all;
  for (int i = 0; i < n; ++i) {
    const auto begin = steady::now();
    f();
    all.push_back(steady::now() - begin);
  }
  std::sort(all.begin(), all.end());
  return {all[all.size() / 2], all.back()};
}

// The parent of the test node. If it is missing, it is created and removed again at the end.
class root_node {
 public:
  explicit root_node(client& zk) : zk_{zk} {
    if (zk_.exists(root_path)) return;
    try {
      zk_.create(root_path, {}, {create_mode::container, open_acl()});
    } catch (const error& e) {
      if (e.code() == errc::node_exists) return;
      if (e.code() != errc::unimplemented) throw;
      // For servers before ZooKeeper 3.5.
      zk_.create(root_path, {}, {create_mode::persistent, open_acl()});
    }
    created_ = true;
  }
  ~root_node() {
    if (created_) try {
        zk_.remove(root_path);
      } catch (const error&) {
        // Another client already uses the node.
      }
  }
  root_node(const root_node&) = delete;
  root_node& operator=(const root_node&) = delete;

 private:
  client& zk_;
  bool created_ = false;
};

void check_clock(checkup& report, std::chrono::milliseconds before,
                 std::chrono::milliseconds server, std::chrono::milliseconds after) {
  auto difference = 0ms;
  if (server < before) difference = server - before;
  if (server > after) difference = server - after;
  json::object values{{"difference_ms", difference.count()}};
  if (difference < 1s && difference > -1s)
    return report.add(
        {mark::ok, "clock", "the clocks of the server and of this machine agree", "", values});
  report.add({mark::warning, "clock",
              "the server's clock is " + short_time(difference < 0s ? -difference : difference) +
                  (difference < 0s ? " behind this machine" : " ahead of this machine"),
              "shown ages are wrong, but locks do not depend on clocks; run NTP on both machines",
              values});
}

std::chrono::milliseconds wall_clock() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

bool anybody_may_change(const acl& list) {
  return std::any_of(list.begin(), list.end(), [](const acl_entry& e) {
    return e.scheme == "world" && (e.permissions & ~permission::read) != 0;
  });
}

// Only the creator of the node can create nodes below it, and its ACL was never changed. So this is
// an accident and not a decision.
bool belongs_to_its_first_user(const acl_result& node) {
  const auto may_create = [](const acl_entry& e) {
    return (e.permissions & permission::create) != 0;
  };
  return node.stat.aversion == 0 && !anybody_may_change(node.acl) &&
         std::count_if(node.acl.begin(), node.acl.end(), may_create) <= 1;
}

std::string open_command() {
  return std::string{"conclave znode acl "} + root_path + " --set world:anyone:cdrwa";
}

}  // namespace

void check_timeout(checkup& report, connection& c, bool bound_to_processes) {
  const auto requested = c.at().options.session_timeout, granted = c.zk().session_timeout();
  json::object values{{"asked_ms", requested.count()}, {"given_ms", granted.count()}};
  const auto text = "requested " + short_time(requested) + ", granted " + short_time(granted);
  const auto found = [&](mark m, const std::string& more, const char* advice) {
    report.add({m, "timeout", text + more, advice, values});
  };
  if (bound_to_processes)
    found(mark::ok,
          "; it only matters if the server restarts, because the server sees when a process exits",
          "");
  else if (granted < 4s)
    found(mark::warning, ": a pause of this length in the program or the network loses all locks",
          "10s to 30s are usual: --session-timeout, and the server's maxSessionTimeout");
  else if (granted > 60s)
    found(mark::warning, ": the locks of a crashed machine stay held for this time",
          "10s to 30s are usual: --session-timeout, and the server's minSessionTimeout");
  else if (granted != requested)
    found(mark::warning, ": the requested timeout is outside the server's limits",
          "request the granted timeout, or change its minSessionTimeout and maxSessionTimeout");
  else
    found(mark::ok, "", "");
}

void check_round_trip(checkup& report, client& zk) {
  zk.exists("/");  // the first request is slower because caches are cold
  const auto [median, longest] = timed(20, [&] { zk.exists("/"); });
  finding f{mark::ok,
            "round trip",
            "median " + milliseconds_text(median) + ", longest " + milliseconds_text(longest),
            "",
            {{"median_ms", ms(median)}, {"longest_ms", ms(longest)}}};
  if (longest * 3 > zk.session_timeout()) {
    f.how = mark::failed;
    f.advice = "the longest is near the session timeout; sessions can expire";
  } else if (median > 50ms) {
    f.how = mark::warning;
    f.advice = "the server is far away or overloaded; a lock needs at least one round trip";
  }
  report.add(std::move(f));
}

void check_write(checkup& report, client& zk) {
  try {
    const root_node made{zk};
    const auto before = wall_clock();
    auto last =
        zk.create(std::string{root_path} + "/doctor-", {}, create_mode::ephemeral_sequential);
    const auto after = wall_clock();
    const std::chrono::milliseconds server{last.stat.ctime};
    zk.remove(last.path);
    const auto [median, longest] = timed(5, [&] {
      last = zk.create(std::string{root_path} + "/doctor-", {}, create_mode::ephemeral_sequential);
      zk.remove(last.path);
    });
    finding f{mark::ok,
              "write",
              "create and delete: median " + milliseconds_text(median) + ", longest " +
                  milliseconds_text(longest),
              "",
              {{"median_ms", ms(median)}, {"longest_ms", ms(longest)}}};
    if (median > 200ms) {
      f.how = mark::warning;
      f.advice = "every lock needs two writes; check whether the server's disk is slow or shared";
    }
    report.add(std::move(f));
    check_clock(report, before, server, after);
  } catch (const error& e) {
    if (e.code() == errc::no_auth)
      report.add({mark::failed,
                  "write",
                  std::string{"no permission to create nodes below "} + root_path +
                      ", so locks and queues there do not work",
                  std::string{"pass credentials with --auth-file, or ask its owner to run: "} +
                      open_command(),
                  {}});
    else if (e.code() == errc::not_read_only)
      report.add({mark::failed,
                  "write",
                  "the server is read-only",
                  "the server has no connection to a majority of its ensemble",
                  {}});
    else
      report.add({mark::failed, "write", e.what(), "see the server's log", {}});
  }
}

void check_access(checkup& report, connection& c) {
  const auto& at = c.at();
  const bool has_credentials = !at.options.credentials.empty();
  const bool has_root = c.zk().exists(root_path).has_value();
  const auto path = has_root ? root_path : "/";
  acl_result node;
  try {
    node = c.zk().get_acl(path);
  } catch (const error& e) {
    return report.add({mark::skipped, "access", e.what(), "", {}});
  }
  std::string text = has_credentials ? "credentials are used" : "no credentials are used";
  text += "; ";
  text += path;
  text += " has the ACL";
  for (const auto& e : node.acl) text += " " + to_text(e);
  if (has_root && belongs_to_its_first_user(node))
    report.add({mark::failed,
                "access",
                text + ": other users cannot create locks or queues there",
                open_command() + " (or, to keep it private: --set auth::cdrwa)",
                {}});
  else if (at.on_this_machine)
    report.add({mark::ok, "access", "the socket's permissions apply; " + text, "", {}});
  else if (anybody_may_change(node.acl) && !has_credentials)
    report.add(
        {mark::warning,
         "access",
         text + ": every client of the server can change these locks and queues",
         "pass credentials with --auth-file; only they give access to locks and queues created "
         "with them",
         {}});
  else
    report.add({mark::ok, "access", text, "", {}});
  if (has_credentials && !at.on_this_machine && !at.options.tls)
    report.add({mark::warning,
                "secrecy",
                "the credentials are sent without encryption",
                "use --tls and the TLS port of the servers",
                {}});
}

}  // namespace conclave::cli
