#include "cli/doctor/session_checks.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>

#include "cli/nodes/acl_text.hpp"
#include "cli/show/duration.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

constexpr auto home = "/conclave";

double ms(std::chrono::nanoseconds t) { return static_cast<double>(t.count()) / 1e6; }

std::string text_of(std::chrono::nanoseconds t) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g ms", ms(t));
  return text.data();
}

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

// The parent of the test node. It is created if it is missing, and then removed at the end.
class workplace {
 public:
  explicit workplace(client& zk) : zk_{zk} {
    if (zk_.exists(home)) return;
    try {
      zk_.create(home, {}, {create_mode::container, open_acl()});
    } catch (const error& e) {
      if (e.code() == errc::node_exists) return;
      if (e.code() != errc::unimplemented) throw;
      // For servers before ZooKeeper 3.5.
      zk_.create(home, {}, {create_mode::persistent, open_acl()});
    }
    ours_ = true;
  }
  ~workplace() {
    if (ours_) try {
        zk_.remove(home);
      } catch (const error&) {
        // Another client already uses the node.
      }
  }
  workplace(const workplace&) = delete;
  workplace& operator=(const workplace&) = delete;

 private:
  client& zk_;
  bool ours_ = false;
};

void check_clock(checkup& to, std::chrono::milliseconds before, std::chrono::milliseconds server,
                 std::chrono::milliseconds after) {
  auto difference = 0ms;
  if (server < before) difference = server - before;
  if (server > after) difference = server - after;
  json::object values{{"difference_ms", difference.count()}};
  if (difference < 1s && difference > -1s)
    return to.add(
        {mark::ok, "clock", "the clocks of the server and of this machine agree", "", values});
  to.add({mark::warning, "clock",
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

constexpr auto open_it = "conclave znode acl /conclave --set world:anyone:cdrwa";

}  // namespace

void check_timeout(checkup& to, connection& c, bool bound) {
  const auto asked = c.at().options.session_timeout, given = c.zk().session_timeout();
  json::object values{{"asked_ms", asked.count()}, {"given_ms", given.count()}};
  const auto text = "requested " + short_time(asked) + ", granted " + short_time(given);
  const auto found = [&](mark m, const std::string& more, const char* advice) {
    to.add({m, "timeout", text + more, advice, values});
  };
  if (bound)
    found(mark::ok,
          "; it only applies to restarts of the server, which otherwise sees processes end", "");
  else if (given < 4s)
    found(mark::warning, ": a pause of this length in the program or the network loses all locks",
          "10s to 30s are usual: --session-timeout, and the server's maxSessionTimeout");
  else if (given > 60s)
    found(mark::warning, ": the locks of a crashed machine stay held for this time",
          "10s to 30s are usual: --session-timeout, and the server's minSessionTimeout");
  else if (given != asked)
    found(mark::warning, ": the requested timeout is outside the server's limits",
          "request the granted timeout, or change its minSessionTimeout and maxSessionTimeout");
  else
    found(mark::ok, "", "");
}

void check_round_trip(checkup& to, client& zk) {
  zk.exists("/");  // the first request is slower because caches are cold
  const auto [median, longest] = timed(20, [&] { zk.exists("/"); });
  finding f{mark::ok,
            "round trip",
            "median " + text_of(median) + ", longest " + text_of(longest),
            "",
            {{"median_ms", ms(median)}, {"longest_ms", ms(longest)}}};
  if (longest * 3 > zk.session_timeout()) {
    f.how = mark::failed;
    f.advice = "the longest is near the session timeout; sessions can expire";
  } else if (median > 50ms) {
    f.how = mark::warning;
    f.advice = "the server is far away or overloaded; a lock needs at least one round trip";
  }
  to.add(std::move(f));
}

void check_write(checkup& to, client& zk) {
  try {
    const workplace made{zk};
    const auto before = wall_clock();
    auto last = zk.create(std::string{home} + "/doctor-", {}, create_mode::ephemeral_sequential);
    const auto after = wall_clock();
    const std::chrono::milliseconds server{last.stat.ctime};
    zk.remove(last.path);
    const auto [median, longest] = timed(5, [&] {
      last = zk.create(std::string{home} + "/doctor-", {}, create_mode::ephemeral_sequential);
      zk.remove(last.path);
    });
    finding f{mark::ok,
              "write",
              "create and delete: median " + text_of(median) + ", longest " + text_of(longest),
              "",
              {{"median_ms", ms(median)}, {"longest_ms", ms(longest)}}};
    if (median > 200ms) {
      f.how = mark::warning;
      f.advice = "every lock needs two writes; check whether the server's disk is slow or shared";
    }
    to.add(std::move(f));
    check_clock(to, before, server, after);
  } catch (const error& e) {
    if (e.code() == errc::no_auth)
      to.add({mark::failed,
              "write",
              std::string{"no permission to create nodes below "} + home +
                  ", so locks and queues there do not work",
              std::string{"pass credentials with --auth-file, or ask its owner to run: "} + open_it,
              {}});
    else if (e.code() == errc::not_read_only)
      to.add({mark::failed,
              "write",
              "the server is read-only",
              "the server has no connection to a majority of its ensemble",
              {}});
    else
      to.add({mark::failed, "write", e.what(), "look at the server's log", {}});
  }
}

void check_access(checkup& to, connection& c) {
  const auto& at = c.at();
  const bool shown = !at.options.credentials.empty();
  const bool has_home = c.zk().exists(home).has_value();
  const auto path = has_home ? home : "/";
  acl_result node;
  try {
    node = c.zk().get_acl(path);
  } catch (const error& e) {
    return to.add({mark::skipped, "access", e.what(), "", {}});
  }
  std::string text = shown ? "credentials are used" : "no credentials are used";
  text += "; ";
  text += path;
  text += " has the ACL";
  for (const auto& e : node.acl) text += " " + to_text(e);
  if (has_home && belongs_to_its_first_user(node))
    to.add({mark::failed,
            "access",
            text + ": other users cannot create locks or queues there",
            std::string{open_it} + " (or, to keep it private: --set auth::cdrwa)",
            {}});
  else if (at.on_this_machine)
    to.add({mark::ok, "access", "the socket's permissions apply; " + text, "", {}});
  else if (anybody_may_change(node.acl) && !shown)
    to.add({mark::warning,
            "access",
            text + ": every client of the server can change these locks and queues",
            "pass credentials with --auth-file; only they give access to locks and queues created "
            "with them",
            {}});
  else
    to.add({mark::ok, "access", text, "", {}});
  if (shown && !at.on_this_machine && !at.options.tls)
    to.add({mark::warning,
            "secrecy",
            "the credentials are sent without encryption",
            "use --tls and the TLS port of the servers",
            {}});
}

}  // namespace conclave::cli
