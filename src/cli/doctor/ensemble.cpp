#include <algorithm>
#include <set>

#include "cli/doctor/checks.hpp"

namespace conclave::cli {
namespace {

// A busy server processes some thousand changes between two requests.
constexpr std::int64_t far_behind = 10'000;

std::string number(std::int64_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

class ensemble {
 public:
  explicit ensemble(const std::vector<host_facts>& hosts) : listed_{hosts.size()} {
    std::set<std::string> seen;
    for (const auto& h : hosts) {
      const bool replies = h.reply == srvr_reply::normal || h.reply == srvr_reply::not_zookeeper;
      has_unknown_mode_ = has_unknown_mode_ || (h.reached() && replies && h.mode.empty());
      if (!h.reached() || h.mode.empty()) continue;
      // A server with two names counts once.
      if (!h.identity.empty() && !seen.insert(h.identity).second) continue;
      has_unidentified_ = has_unidentified_ || h.identity.empty();
      (h.mode == "leader"       ? leaders_
       : h.mode == "standalone" ? standalone_
                                : others_)
          .push_back(&h);
    }
  }

  void check(checkup& report) const {
    if (leaders_.empty() && standalone_.empty() && others_.empty() && !has_unknown_mode_)
      return report.add({mark::skipped, "ensemble", "no server serves requests", "", {}});
    if (leaders_.empty() && standalone_.empty() && others_.empty())
      return report.add({mark::skipped,
                         "ensemble",
                         "the servers do not report their state",
                         "allow four-letter words: 4lw.commands.whitelist=srvr,mntr,conf,envi",
                         {}});
    if (split(report)) return;
    if (!standalone_.empty()) return report.add({mark::ok, "ensemble", "a single server", "", {}});
    if (leaders_.empty())
      report.add({mark::warning,
                  "ensemble",
                  "none of the servers that answer is the leader",
                  "name all servers of the ensemble, including the leader",
                  {}});
    else
      check_members(report, *leaders_.front());
    check_versions(report);
  }

 private:
  // Clients of different servers do not exclude each other. This is the worst misconfiguration.
  bool split(checkup& report) const {
    const auto separate = standalone_.size() + leaders_.size() + (others_.empty() ? 0 : 1);
    const bool mixed =
        standalone_.size() > 1 || leaders_.size() > 1 || (!standalone_.empty() && separate > 1);
    if (!mixed) return false;
    const bool certain =
        !has_unidentified_ || leaders_.size() > 1 || standalone_.size() != separate;
    report.add(
        {certain ? mark::failed : mark::warning,
         "ensemble",
         certain ? "the connect string names servers of different ensembles"
                 : "the connect string names " +
                       number(static_cast<std::int64_t>(standalone_.size()), "server") +
                       " without an ensemble, or one server by several names",
         "locks on one server do not exclude clients of the others; name only the servers of "
         "one ensemble",
         {}});
    return true;
  }

  void check_members(checkup& report, const host_facts& leader) const {
    const auto size = leader.figure("zk_quorum_size");
    const auto synced = leader.figure("zk_synced_followers");
    const auto name = to_string(leader.at);
    if (size == 0)
      return report.add({mark::ok,
                         "ensemble",
                         name + " leads; it does not report its followers",
                         "allow four-letter words: 4lw.commands.whitelist=srvr,mntr",
                         {}});
    const auto up = std::min(size, synced + 1);
    json::object values{{"leader", name}, {"size", size}, {"in_sync", up}};
    const auto state =
        name + " leads, " + std::to_string(up) + " of " + number(size, "server") + " in sync";
    if (up < size) {
      const auto spare = up - (size / 2 + 1);
      report.add({mark::failed, "ensemble", state,
                  spare > 0 ? "start the missing servers; the ensemble tolerates " +
                                  number(spare, "more failure")
                            : "start the missing servers; if one more fails, there is no majority",
                  values});
    } else {
      report.add({mark::ok, "ensemble", state, "", values});
    }
    if (static_cast<std::int64_t>(listed_) < size)
      report.add(
          {mark::warning,
           "list",
           "the connect string names " + std::to_string(listed_) + " of " + number(size, "server"),
           "name all servers, so that clients can use another one after a failure",
           {}});
    for (const auto* f : others_)
      if (f->zxid >> 32 == leader.zxid >> 32 && leader.zxid - f->zxid > far_behind)
        report.add({mark::warning,
                    "lag",
                    to_string(f->at) + " is " + number(leader.zxid - f->zxid, "change") +
                        " behind its leader",
                    "check its load and its disk",
                    {}});
  }

  void check_versions(checkup& report) const {
    std::set<std::string> versions;
    for (const auto* list : {&leaders_, &others_})
      for (const auto* h : *list) versions.insert(h->version);
    versions.erase("");
    if (versions.size() < 2) return;
    std::string text;
    for (const auto& v : versions) text += (text.empty() ? "" : ", ") + v;
    report.add({mark::warning,
                "versions",
                "the servers have different versions: " + text,
                "upgrade them to the same version",
                {}});
  }

  const std::size_t listed_;
  bool has_unidentified_ = false;
  bool has_unknown_mode_ = false;  // a server serves but does not report its mode
  std::vector<const host_facts*> leaders_, standalone_, others_;
};

}  // namespace

void check_ensemble(checkup& report, const std::vector<host_facts>& hosts) {
  ensemble{hosts}.check(report);
}

}  // namespace conclave::cli
