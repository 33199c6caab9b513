#include "cli/doctor/ensemble.hpp"

#include <algorithm>
#include <set>

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
      untold_ = untold_ || (h.reached() && h.serving && !h.silent && h.mode.empty());
      if (!h.reached() || h.mode.empty()) continue;
      // Two names of one server count once.
      if (!h.identity.empty() && !seen.insert(h.identity).second) continue;
      unidentified_ = unidentified_ || h.identity.empty();
      (h.mode == "leader" ? leaders_ : h.mode == "standalone" ? alone_ : others_).push_back(&h);
    }
  }

  void check(checkup& to) const {
    if (leaders_.empty() && alone_.empty() && others_.empty() && !untold_)
      return to.add({mark::skipped, "ensemble", "no server serves requests", "", {}});
    if (leaders_.empty() && alone_.empty() && others_.empty())
      return to.add({mark::skipped,
                     "ensemble",
                     "the servers do not report their state",
                     "allow four-letter words: 4lw.commands.whitelist=srvr,mntr,conf,envi",
                     {}});
    if (split(to)) return;
    if (!alone_.empty()) return to.add({mark::ok, "ensemble", "a single server", "", {}});
    if (leaders_.empty())
      to.add({mark::warning,
              "ensemble",
              "none of the servers that answer is the leader",
              "name all servers of the ensemble, including the leader",
              {}});
    else
      check_members(to, *leaders_.front());
    check_versions(to);
  }

 private:
  // Clients of different servers do not exclude each other. This is the worst misconfiguration.
  bool split(checkup& to) const {
    const auto separate = alone_.size() + leaders_.size() + (others_.empty() ? 0 : 1);
    const bool mixed =
        alone_.size() > 1 || leaders_.size() > 1 || (!alone_.empty() && separate > 1);
    if (!mixed) return false;
    const bool sure = !unidentified_ || leaders_.size() > 1 || alone_.size() != separate;
    to.add({sure ? mark::failed : mark::warning,
            "ensemble",
            sure ? "the connect string names servers of different ensembles"
                 : "the connect string names " +
                       number(static_cast<std::int64_t>(alone_.size()), "server") +
                       " without an ensemble, or one server by several names",
            "locks on one server do not exclude clients of the others; name only the servers of "
            "one ensemble",
            {}});
    return true;
  }

  void check_members(checkup& to, const host_facts& leader) const {
    const auto size = leader.figure("zk_quorum_size");
    const auto synced = leader.figure("zk_synced_followers");
    const auto name = to_string(leader.at);
    if (size == 0)
      return to.add({mark::ok,
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
      to.add({mark::failed, "ensemble", state,
              spare > 0
                  ? "start the missing servers; the ensemble tolerates " + std::to_string(spare) +
                        " more failures"
                  : "start the missing servers; without one more, the ensemble has no majority",
              values});
    } else {
      to.add({mark::ok, "ensemble", state, "", values});
    }
    if (static_cast<std::int64_t>(listed_) < size)
      to.add(
          {mark::warning,
           "list",
           "the connect string names " + std::to_string(listed_) + " of " + number(size, "server"),
           "name all servers, so that clients can use another one after a failure",
           {}});
    for (const auto* f : others_)
      if (f->zxid >> 32 == leader.zxid >> 32 && leader.zxid - f->zxid > far_behind)
        to.add({mark::warning,
                "lag",
                to_string(f->at) + " is " + number(leader.zxid - f->zxid, "change") +
                    " behind its leader",
                "check its load and its disk",
                {}});
  }

  void check_versions(checkup& to) const {
    std::set<std::string> versions;
    for (const auto* list : {&leaders_, &others_})
      for (const auto* h : *list) versions.insert(h->version);
    versions.erase("");
    if (versions.size() < 2) return;
    std::string text;
    for (const auto& v : versions) text += (text.empty() ? "" : ", ") + v;
    to.add({mark::warning,
            "versions",
            "the servers have different versions: " + text,
            "upgrade them to the same version",
            {}});
  }

  const std::size_t listed_;
  bool unidentified_ = false;
  bool untold_ = false;  // a server serves but does not report its mode
  std::vector<const host_facts*> leaders_, alone_, others_;
};

}  // namespace

void check_ensemble(checkup& to, const std::vector<host_facts>& hosts) {
  ensemble{hosts}.check(to);
}

}  // namespace conclave::cli
