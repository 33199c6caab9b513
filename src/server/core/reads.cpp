// Read requests.
#include <algorithm>

#include "server/core/core.hpp"

namespace conclave::server_impl {
namespace {

// A small request can name one large node thousands of times.
constexpr std::size_t max_multi_read_reply = 4u << 20;  // the default limit of Java clients
// Less than the listener accepts as unsent output of all clients together.
constexpr std::size_t max_listing = 256u << 20;

bool is_printable(char c) { return static_cast<unsigned char>(c) > ' '; }

}  // namespace

errc core::exists(connection& c, wire::reader& in) {
  const auto r = in.read<wire::path_watch_request>();
  if (!in.ok()) return errc::marshalling_error;
  if (r.path.find('\0') != std::string_view::npos) return errc::bad_arguments;
  if (r.watch) {
    if (!has_room_for_watches(c, 1)) return errc::quota_exceeded;
    data_watches_.add(r.path, c.as_watcher(),
                      watch_mode::once);  // also if the node does not exist yet
  }
  const auto* n = tree_.find(r.path);
  if (n == nullptr) return errc::no_node;
  wire::writer{body_}(wire::stat_response{{stat_of(*n)}});
  return errc{};
}

errc core::get_data(connection& c, std::string_view path, bool watch) {
  const auto* n = tree_.find(path);
  if (n == nullptr) return errc::no_node;
  if (!is_allowed(c, n->row.access, permission::read)) return errc::no_auth;
  if (watch) {
    if (!has_room_for_watches(c, 1)) return errc::quota_exceeded;
    data_watches_.add(path, c.as_watcher(), watch_mode::once);
  }
  wire::get_data_response response;
  if (n->row.data) response.data = *n->row.data;
  response.stat.value = stat_of(*n);
  wire::writer{body_}(response);
  return errc{};
}

errc core::get_children(connection& c, std::string_view path, bool watch, bool with_stat) {
  const auto* n = tree_.find(path);
  if (n == nullptr) return errc::no_node;
  if (!is_allowed(c, n->row.access, permission::read)) return errc::no_auth;
  if (watch) {
    if (!has_room_for_watches(c, 1)) return errc::quota_exceeded;
    child_watches_.add(path, c.as_watcher(), watch_mode::once);
  }
  wire::writer out{body_};
  out(static_cast<std::int32_t>(n->children.size()));
  for (const auto name : n->children) {
    out(name);
    if (body_.size() > max_listing) return errc::quota_exceeded;
  }
  if (with_stat) out(wire::stat_record{stat_of(*n)});
  return errc{};
}

errc core::get_acl(connection& c, wire::reader& in) {
  const auto r = in.read<wire::path_record>();
  if (!in.ok()) return errc::marshalling_error;
  const auto* n = tree_.find(r.path);
  if (n == nullptr) return errc::no_node;
  const auto& access = *n->row.access;
  if (!allowed(access, permission::read | permission::admin, c.who)) return errc::no_auth;
  const bool whole = allowed(access, permission::admin, c.who);
  wire::get_acl_response response;
  std::vector<std::string> masked;
  masked.reserve(access.size());
  for (const auto& entry : access) {
    std::string_view id = entry.id;
    if (!whole && entry.scheme == "digest") id = masked.emplace_back(masked_digest(id));
    response.acl.push_back({entry.permissions, entry.scheme, id});
  }
  response.stat.value = stat_of(*n);
  wire::writer{body_}(response);
  return errc{};
}

errc core::get_ephemerals(connection& c, wire::reader& in) {
  const auto r = in.read<wire::path_record>();
  if (!in.ok()) return errc::marshalling_error;
  const auto all = tree_.ephemerals_of(c.session->row.id);
  // Like Apache's server, ignore leading and trailing spaces and control characters.
  const auto begin = std::find_if(r.path.begin(), r.path.end(), is_printable);
  const auto end = std::find_if(r.path.rbegin(), r.path.rend(), is_printable).base();
  const bool is_all = begin >= end || (end - begin == 1 && *begin == '/');
  wire::names_response response;
  for (const auto& path : all)
    if (is_all || path.starts_with(r.path)) response.names.emplace_back(path);
  wire::writer{body_}(response);
  return errc{};
}

errc core::get_all_children_number(connection& c, wire::reader& in) {
  const auto r = in.read<wire::path_record>();
  if (!in.ok()) return errc::marshalling_error;
  const auto* n = tree_.find(r.path);
  if (n == nullptr) return errc::no_node;
  if (!is_allowed(c, n->row.access, permission::read)) return errc::no_auth;
  wire::writer{body_}(
      wire::get_all_children_number_response{static_cast<std::int32_t>(tree_.count_below(r.path))});
  return errc{};
}

errc core::multi_read(connection& c, wire::reader& in) {
  std::vector<wire::multi_part> parts;
  if (!wire::read_multi_request(in, parts)) return errc::marshalling_error;
  std::string replies;
  wire::writer out{replies};
  for (const auto& part : parts) {
    const auto* r = std::get_if<wire::path_watch_request>(&part.body);
    if (r == nullptr || r->path.data() == nullptr) return errc::marshalling_error;
    if (replies.size() > max_multi_read_reply) return errc::quota_exceeded;
    body_.clear();
    // Like Apache's server, ignore the watch flags of a multi-read.
    const auto result = part.type == wire::opcode::get_data
                            ? get_data(c, r->path, false)
                            : get_children(c, r->path, false, false);
    if (result == errc{}) {
      out(wire::multi_header{part.type, false, 0});
      replies += body_;
    } else {
      const auto code = static_cast<std::int32_t>(result);
      out(wire::multi_header{wire::opcode::error, false, code}, code);
    }
  }
  out(wire::multi_end);
  body_.swap(replies);
  return errc{};
}

}  // namespace conclave::server_impl
