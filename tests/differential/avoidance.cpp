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

// Before version 3.9, Apache's server keeps only the last watch mode of a path. A getData with a
// watch turns the persistent watch of the session into a one-shot watch, and clients lose events
// (ZOOKEEPER-4466). So each session uses only one mode for a path.
watch_kind kind_for(const caller& by, const std::string& path) {
  switch (hash(path, by.salt * 16 + by.slot) % 5) {
    case 0: return watch_kind::persistent;
    case 1: return watch_kind::recursive;
    default: return watch_kind::once;
  }
}

// In Apache's server, checkWatches succeeds if any session watches the path
// (WatchManager.containsWatcher). So paths that end in /p0, /p1, ... are watched only by that
// session, and checkWatches uses only these paths.
bool is_private(const std::string& path) {
  return path.size() >= 3 && path.substr(path.size() - 3, 2) == "/p";
}
bool may_watch(const caller& by, const std::string& path) {
  return !is_private(path) || path.back() == static_cast<char>('0' + by.slot);
}

// Java decodes invalid UTF-8 as U+FFFD, and Apache's server would return or compare that. It
// returns characters above U+FFFF as surrogates, which is invalid UTF-8, too. So only writes use
// such text. Both servers refuse them.
bool changes_on_its_way(const std::string& s) {
  return s.find_first_of("\xff\xf0") != std::string::npos;
}

// In Apache's server, "" is an internal name of the root. Client libraries refuse this path.
bool is_second_root(const std::string& s) { return s.empty(); }

// Nodes with these names enable quotas, which the embedded server does not implement.
bool sets_quota(const std::string& path) {
  return path.find("/zookeeper_limits") != std::string::npos ||
         path.find("/zookeeper_stats") != std::string::npos;
}

void avoid_odd_nodes(operation& o) {
  auto& path = o.path.name;
  if (path && !is_change(o.type) && (changes_on_its_way(*path) || is_second_root(*path)))
    *path = "/missing";
  if (path && sets_quota(*path)) *path = "/missing/too";
  // For a null scheme or id, Apache's server returns InvalidACL or an internal error, depending on
  // the other entries. The embedded server returns InvalidACL.
  std::erase_if(o.acl, [](const acl_entry& a) { return !a.scheme || !a.id; });
  // Apache's server accepts a createTTL whose flags have no TTL and whose TTL is negative. It then
  // fails to apply the transaction and exits.
  if (o.type == opcode::create_ttl && o.ttl_ms < 0 && (o.flags < 5 || o.flags > 6)) o.ttl_ms = 1;
  for (auto& part : o.parts) {
    avoid_odd_nodes(part);
    // In a transaction, Apache's server uses the flags. It returns an internal error if they say
    // TTL but the request has none.
    const bool has_ttl = part.flags == 5 || part.flags == 6;
    if (is_creation(part.type) && has_ttl) part.type = opcode::create_ttl;
  }
}

// Two requests are never sent. createSession is internal, but Apache's server creates a session for
// it. Apache's server without SASL answers sasl with an empty reply. The embedded server refuses
// it.

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
      // Outside of a transaction, Apache's server exits when it answers a check that succeeds.
      o.version.number = -2;
      break;
    case opcode::add_watch:
      // With a watch on a null path, Apache's server cannot remove the connection when it ends.
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
          // For setWatches, Apache's server sends events of nodes that the session may not read.
          // Since the fix of CVE-2024-23944, which Debian's 3.8.0 contains, it checks READ only for
          // events of later changes. A null path makes it fail after setting some of the watches.
          return !p.name || kind_for(by, name) != wanted || !may_watch(by, name) ||
                 changes_on_its_way(name) || is_second_root(name) || may_be_secret(name);
        });
      }
      break;
    default: break;
  }
  return o;
}

// Apache's server checks requests that directly follow a setACL against the old ACL.
bool may_be_followed(const operation& o) { return o.type != opcode::set_acl; }

}  // namespace conclave::differential
