#include "differential/avoidance.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace conclave::differential {
namespace {

using wire::opcode;

enum class watch_kind { once, persistent, recursive };

std::uint64_t hash(std::string_view s, std::uint64_t seed) {  // FNV-1a
  std::uint64_t h = 0xcbf29ce484222325 ^ seed;
  for (const char c : s) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h ^ (h >> 32);
}

// One mode per path and session. Before 3.9 Apache's server keeps only the mode that was asked for
// last: a getData with a watch turns the session's persistent watch into a one-shot one. Clients
// lose events by it (ZOOKEEPER-4466). So each session uses one mode for a path, always.
watch_kind kind_for(const caller& by, const std::string& path) {
  switch (hash(path, by.salt * 16 + by.slot) % 5) {
    case 0: return watch_kind::persistent;
    case 1: return watch_kind::recursive;
    default: return watch_kind::once;
  }
}

// checkWatches looks at other sessions: in Apache's server it says yes if anybody watches the path
// (WatchManager.containsWatcher). So paths that end in /p0, /p1... are watched by that session
// only, and only those are asked for.
bool is_private(const std::string& path) {
  return path.size() >= 3 && path.substr(path.size() - 3, 2) == "/p";
}
bool may_watch(const caller& by, const std::string& path) {
  return !is_private(path) || path.back() == static_cast<char>('0' + by.slot);
}

// Java reads bytes that are not UTF-8 as U+FFFD, and that is what Apache's server would send back
// or compare with; characters above U+FFFF it sends back as surrogates, which is not UTF-8 either.
// They are shown to writes only, which refuse them.
bool changes_on_its_way(const std::string& s) {
  return s.find_first_of("\xff\xf0") != std::string::npos;
}

// Apache's server has its root under "/" and, for its own use, under "": reading "" reads the root.
// Clients cannot send it.
bool is_second_root(const std::string& s) { return s.empty(); }

// Quotas are not implemented by ours: nodes with these names switch them on.
bool sets_quota(const std::string& path) {
  return path.find("/zookeeper_limits") != std::string::npos ||
         path.find("/zookeeper_stats") != std::string::npos;
}

void avoid_odd_nodes(operation& o) {
  auto& path = o.path.name;
  if (path && !is_change(o.type) && (changes_on_its_way(*path) || is_second_root(*path)))
    *path = "/missing";
  if (path && sets_quota(*path)) *path = "/missing/too";
  // A null scheme or id is an invalid ACL to Apache's server, or a failure inside, depending on the
  // other entries. To ours it is invalid.
  std::erase_if(o.acl, [](const acl_entry& a) { return !a.scheme || !a.id; });
  // A node with a TTL whose flags say it has none, and a TTL below zero that would be right for
  // that: Apache's server takes it, fails to apply it, and dies.
  if (o.type == opcode::create_ttl && o.ttl_ms < 0 && (o.flags < 5 || o.flags > 6)) o.ttl_ms = 1;
  for (auto& part : o.parts) {
    avoid_odd_nodes(part);
    // In a transaction it goes by the flags, and fails inside where they say TTL and the request
    // has none.
    const bool has_ttl = part.flags == 5 || part.flags == 6;
    if (is_creation(part.type) && has_ttl) part.type = opcode::create_ttl;
  }
}

// Two requests are not sent at all, so that they need no care here. createSession is for a server's
// own use; Apache's makes a new session of it. sasl is answered with nothing by a server without
// SASL, and the client must find out by itself; ours refuses it.

}  // namespace

bool may_be_secret(const std::string& path) { return path.find("/s") != std::string::npos; }

operation comparable(operation o, const caller& by) {
  avoid_odd_nodes(o);
  if ((o.watch || o.type == opcode::check_watches) && o.path.name && is_private(*o.path.name))
    o.path.name->back() = static_cast<char>('0' + by.slot);
  const auto path = o.path.name.value_or("");
  const auto kind = kind_for(by, path);
  const bool allowed = may_watch(by, path);

  o.watch = o.watch && allowed && kind == watch_kind::once;
  switch (o.type) {
    case opcode::check:
      // Outside of a transaction, and if it passes: Apache's server dies of the answer.
      o.version.number = -2;
      break;
    case opcode::add_watch:
      // With a watch on null, Apache's server fails to forget the connection when it ends.
      if (!o.path.name || !allowed || kind == watch_kind::once) {
        o.type = opcode::exists;
        o.watch = allowed;
      } else if (o.number == 0 || o.number == 1) {
        o.number = kind == watch_kind::persistent ? 0 : 1;
      }
      break;
    case opcode::check_watches:
      if (!is_private(path)) o.type = opcode::exists;
      break;
    case opcode::set_watches:
    case opcode::set_watches2:
      for (std::size_t i = 0; i < o.lists.size(); ++i) {
        std::erase_if(o.lists[i], [&](const path_ref& p) {
          const auto name = p.name.value_or("");
          const auto wanted = i == persistent_list  ? watch_kind::persistent
                              : i == recursive_list ? watch_kind::recursive
                                                    : watch_kind::once;
          // When watches are set again, Apache's server tells of nodes that one may not read. It
          // checks READ for the events of changes only (since the fix of CVE-2024-23944, which
          // Debian's 3.8.0 has).
          // A null path makes it fail in the middle, with half of the watches set.
          return !p.name || kind_for(by, name) != wanted || !may_watch(by, name) ||
                 changes_on_its_way(name) || is_second_root(name) || may_be_secret(name);
        });
      }
      break;
    default: break;
  }
  return o;
}

// Apache's server judges what follows a setACL at once by the old ACL.
bool may_be_followed(const operation& o) { return o.type != opcode::set_acl; }

}  // namespace conclave::differential
