// Write requests. Each one is checked, applied and reported to watchers before its reply is
// written. The owner sends events and replies after the commit.
#include <algorithm>
#include <array>
#include <cstdio>

#include "base/valid_path.hpp"
#include "server/core/core.hpp"
#include "server/core/node_path.hpp"

namespace conclave::server_impl {
namespace {

using wire::opcode;

constexpr std::size_t short_acl_entries = 8;
constexpr std::int64_t max_ttl_ms = 0x00ff'ffff'ffff;

std::optional<std::string> to_optional(std::string_view data) {
  if (data.data() == nullptr) return std::nullopt;
  return std::string{data};
}

bool version_mismatch(std::int32_t wanted, std::int32_t present) {
  return wanted != -1 && wanted != present;
}

bool is_creation(opcode type) {
  return type == opcode::create || type == opcode::create2 || type == opcode::create_container ||
         type == opcode::create_ttl;
}

enum create_flags : std::int32_t {
  ephemeral = 1,
  sequential = 2,
  container = 4,
  with_ttl = 5,
  sequential_with_ttl = 6,
};

bool has_ttl(std::int32_t flags) { return flags == with_ttl || flags == sequential_with_ttl; }

bool is_same(const acl& stored, const std::vector<wire::acl_record>& sent) {
  return std::equal(stored.begin(), stored.end(), sent.begin(), sent.end(),
                    [](const auto& x, const auto& y) {
                      return x.permissions == y.permissions && x.scheme == y.scheme && x.id == y.id;
                    });
}

// In a multi, Apache's server looks at the flags of a create and not at its opcode. So a create2
// gets the reply of a create, without a stat. Returns false for parts that are not valid in a
// multi.
bool normalize(wire::multi_part& part) {
  if (auto* ttl_part = std::get_if<wire::create_ttl_request>(&part.body)) {
    const auto r = *ttl_part;
    if (r.path.data() == nullptr) return false;
    if (has_ttl(r.flags)) return true;
    part.body = wire::create_request{r.path, r.data, r.acl, r.flags};
  }
  if (const auto* r = std::get_if<wire::create_request>(&part.body)) {
    part.type = r->flags == container ? opcode::create_container : opcode::create;
    return r->path.data() != nullptr;
  }
  if (const auto* r = std::get_if<wire::set_data_request>(&part.body))
    return r->path.data() != nullptr;
  if (const auto* r = std::get_if<wire::path_version_request>(&part.body))
    return r->path.data() != nullptr;
  return false;  // a read request
}

}  // namespace

errc core::write(connection& c, opcode type, wire::reader& in) {
  if (!writable_) return errc::system_error;
  expanded_acl_bytes_ = 0;
  if (type == opcode::multi) return multi(c, in);

  ++zxid_;  // decremented again if the request fails
  node* n = nullptr;
  auto result = errc::marshalling_error;
  if (type == opcode::create_ttl) {
    const auto r = in.read<wire::create_ttl_request>();
    if (in.ok()) result = create(c, type, {r.path, r.data, r.acl, r.flags, r.ttl_ms}, n);
  } else if (is_creation(type)) {
    const auto r = in.read<wire::create_request>();
    if (in.ok()) result = create(c, type, {r.path, r.data, r.acl, r.flags, -1}, n);
  } else if (type == opcode::remove) {
    const auto r = in.read<wire::path_version_request>();
    if (in.ok()) result = remove(c, r);
  } else if (type == opcode::set_data) {
    const auto r = in.read<wire::set_data_request>();
    if (in.ok()) result = set_data(c, r, n);
  } else if (type == opcode::set_acl) {
    const auto r = in.read<wire::set_acl_request>();
    if (in.ok()) result = set_acl(c, r, n);
  } else {
    const auto r = in.read<wire::path_version_request>();
    if (in.ok()) result = check(c, r);
  }
  if (result != errc{} || type == opcode::check) {
    --zxid_;
    return result;
  }

  wire::writer out{body_};
  if (is_creation(type)) out(n->path);
  if (n != nullptr && type != opcode::create) out(wire::stat_record{stat_of(*n)});
  complete();
  return errc{};
}

errc core::multi(connection& c, wire::reader& in) {
  std::vector<wire::multi_part> parts;
  if (!wire::read_multi_request(in, parts) || !std::all_of(parts.begin(), parts.end(), normalize))
    return errc::marshalling_error;

  struct part_result {
    opcode type;
    std::string path;
    node_stat stat;
  };
  std::vector<part_result> replies;
  replies.reserve(parts.size());
  ++zxid_;  // one zxid for all parts
  auto result = errc{};
  for (const auto& part : parts) {
    node* n = nullptr;
    if (const auto* create_part = std::get_if<wire::create_request>(&part.body)) {
      const auto& r = *create_part;
      result = create(c, part.type, {r.path, r.data, r.acl, r.flags, -1}, n);
    } else if (const auto* ttl_part = std::get_if<wire::create_ttl_request>(&part.body)) {
      const auto& r = *ttl_part;
      result = create(c, part.type, {r.path, r.data, r.acl, r.flags, r.ttl_ms}, n);
    } else if (const auto* set_part = std::get_if<wire::set_data_request>(&part.body)) {
      result = set_data(c, *set_part, n);
    } else if (const auto* path_part = std::get_if<wire::path_version_request>(&part.body)) {
      result = part.type == opcode::check ? check(c, *path_part) : remove(c, *path_part);
    }
    if (result != errc{}) break;
    auto& reply = replies.emplace_back(part_result{part.type, {}, {}});
    if (n == nullptr) continue;
    reply.path = n->path;
    reply.stat = stat_of(*n);
  }

  wire::writer out{body_};
  if (result == errc{}) {
    for (const auto& a : replies) {
      const bool with_stat = is_creation(a.type) && a.type != opcode::create;
      out(wire::multi_header{with_stat ? opcode::create2 : a.type, false, 0});
      if (is_creation(a.type)) out(a.path);
      if (with_stat || a.type == opcode::set_data) out(wire::stat_record{a.stat});
    }
    if (events_.empty()) --zxid_;  // a multi with only checks changes nothing
    complete();
  } else {
    // Parts before the failed part report success. Parts after it report runtime_inconsistency.
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto code = i < replies.size()    ? errc{}
                        : i == replies.size() ? result
                                              : errc::runtime_inconsistency;
      const auto number = static_cast<std::int32_t>(code);
      out(wire::multi_header{opcode::error, false, number}, number);
    }
    tree_.rollback();
    events_.clear();
    --zxid_;
  }
  out(wire::multi_end);
  return errc{};
}

errc core::create(connection& c, opcode type, const creation& what, node*& created) {
  if (what.flags < 0 || what.flags > sequential_with_ttl) return errc::bad_arguments;
  if (has_ttl(what.flags) && !options_.ttl_nodes) return errc::unimplemented;
  if (has_ttl(what.flags) != (type == opcode::create_ttl)) return errc::bad_arguments;
  if (type == opcode::create_ttl && (what.ttl_ms <= 0 || what.ttl_ms > max_ttl_ms))
    return errc::bad_arguments;

  if (what.path.data() == nullptr) return errc::marshalling_error;
  const auto slash = what.path.rfind('/');
  if (slash == std::string_view::npos || what.path.find('\0') != std::string_view::npos)
    return errc::bad_arguments;
  if (!is_permitted_acl(what.acl, c.who)) return errc::invalid_acl;
  auto* parent = tree_.find(parent_path(what.path));
  if (parent == nullptr) return errc::no_node;
  if (!is_allowed(c, parent->row.access, permission::create)) return errc::no_auth;

  std::string path{what.path};
  const bool is_sequential = what.flags == sequential_with_ttl ||
                             (what.flags < container && (what.flags & sequential) != 0);
  if (is_sequential) {
    std::array<char, 16> number{};
    const int length = std::snprintf(number.data(), number.size(), "%010d",
                                     static_cast<int>(parent->counters.creates));
    path.append(number.data(), static_cast<std::size_t>(length));
  }
  if (!valid_path(path)) return errc::bad_arguments;
  if (tree_.find(path) != nullptr) return errc::node_exists;
  if (parent->row.kind == node_kind::ephemeral) return errc::no_children_for_ephemerals;

  auto access = stored_acl(what.acl, c.who);
  if (access == nullptr) return errc::invalid_acl;
  node_row row;
  row.data = to_optional(what.data);
  row.access = std::move(access);
  row.czxid = row.mzxid = zxid_;
  row.ctime_ms = row.mtime_ms = now_.wall_ms;
  if (type == opcode::create_container) {
    row.kind = node_kind::container;
  } else if (type == opcode::create_ttl) {
    row.kind = node_kind::ttl;
    row.ttl_ms = what.ttl_ms;
  } else if (what.flags < container && (what.flags & ephemeral) != 0) {
    row.kind = node_kind::ephemeral;
    row.owner = c.session->row.id;
  }
  created = &tree_.create(*parent, std::move(path), std::move(row));
  events_.push_back(
      {event_type::created, std::string{created->path}, created->row.access, parent->row.access});
  return errc{};
}

errc core::remove(connection& c, const wire::path_version_request& what) {
  if (what.path.rfind('/') == std::string_view::npos ||
      what.path.find('\0') != std::string_view::npos || is_system_node(what.path))
    return errc::bad_arguments;
  const auto* parent = tree_.find(parent_path(what.path));
  if (parent == nullptr) return errc::no_node;
  if (!is_allowed(c, parent->row.access, permission::remove)) return errc::no_auth;
  auto* n = tree_.find(what.path);
  if (n == nullptr) return errc::no_node;
  if (version_mismatch(what.version, n->row.version)) return errc::bad_version;
  if (!n->children.empty()) return errc::not_empty;
  remove_node(*n);
  return errc{};
}

errc core::set_data(connection& c, const wire::set_data_request& what, node*& changed) {
  if (!valid_path(what.path)) return errc::bad_arguments;
  auto* n = tree_.find(what.path);
  if (n == nullptr) return errc::no_node;
  if (!is_allowed(c, n->row.access, permission::write)) return errc::no_auth;
  if (version_mismatch(what.version, n->row.version)) return errc::bad_version;
  tree_.set_data(*n, to_optional(what.data), zxid_, now_.wall_ms);
  events_.push_back({event_type::data_changed, std::string{n->path}, n->row.access, nullptr});
  changed = n;
  return errc{};
}

errc core::set_acl(connection& c, const wire::set_acl_request& what, node*& changed) {
  if (!valid_path(what.path)) return errc::bad_arguments;
  if (!is_permitted_acl(what.acl, c.who)) return errc::invalid_acl;
  auto* n = tree_.find(what.path);
  if (n == nullptr) return errc::no_node;
  if (!is_allowed(c, n->row.access, permission::admin)) return errc::no_auth;
  if (version_mismatch(what.version, n->row.aversion)) return errc::bad_version;
  auto access = stored_acl(what.acl, c.who);
  if (access == nullptr) return errc::invalid_acl;
  tree_.set_acl(*n, std::move(access));
  changed = n;
  return errc{};
}

errc core::check(connection& c, const wire::path_version_request& what) {
  if (!valid_path(what.path)) return errc::bad_arguments;
  const auto* n = tree_.find(what.path);
  if (n == nullptr) return errc::no_node;
  if (!is_allowed(c, n->row.access, permission::read)) return errc::no_auth;
  return version_mismatch(what.version, n->row.version) ? errc::bad_version : errc{};
}

bool core::is_allowed(const connection& c, const std::shared_ptr<const acl>& access,
                      std::int32_t permissions) {
  if (access->size() <= short_acl_entries) return allowed(*access, permissions, c.who);
  const auto [check, is_new] = long_checks_.try_emplace({c.id, access, permissions});
  if (is_new) check->second = allowed(*access, permissions, c.who);
  return check->second;
}

// Like Apache's server, this is checked before the node and its permissions. The ACL is expanded
// only after those checks, so that a refused request costs little.
bool core::is_permitted_acl(const std::vector<wire::acl_record>& sent,
                            const identities& who) const {
  if (recent_acl_ != nullptr && is_same(*recent_acl_, sent)) return true;
  const auto is_digest = [](const auto& entry) { return entry.scheme == "digest"; };
  if (!options_.digest_auth && std::any_of(sent.begin(), sent.end(), is_digest)) return false;
  return is_valid_acl(sent, who);
}

// Returns null if the request expands too many ACLs.
std::shared_ptr<const acl> core::stored_acl(const std::vector<wire::acl_record>& sent,
                                            const identities& who) {
  if (recent_acl_ != nullptr && is_same(*recent_acl_, sent)) return recent_acl_;
  auto stored = std::make_shared<const acl>(expand_acl(sent, who));
  const bool is_auth = std::any_of(sent.begin(), sent.end(),
                                   [](const auto& entry) { return entry.scheme == "auth"; });
  if (is_auth) {
    expanded_acl_bytes_ += size_in_bytes(*stored);
    if (expanded_acl_bytes_ > max_expanded_acl_bytes) return nullptr;
  } else if (stored->size() == sent.size()) {
    recent_acl_ = stored;  // not for "auth" entries, whose meaning depends on the sender
  }
  return stored;
}

void core::remove_node(node& n) {
  events_.push_back({event_type::removed, std::string{n.path}, n.row.access, n.parent->row.access});
  tree_.remove(n, zxid_);
}

// Ends a successful transaction and notifies the watchers.
void core::complete() {
  tree_.commit();
  for (const auto& e : events_) notify(e);
  events_.clear();
}

}  // namespace conclave::server_impl
