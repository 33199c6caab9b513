// Watches: adding, removing and notifying.
#include <utility>

#include "server/core/core.hpp"
#include "server/core/node_path.hpp"
#include "wire/frame.hpp"

namespace conclave::server_impl {
namespace {

constexpr std::int32_t connected_state = 3;  // SyncConnected

}  // namespace

bool core::has_room_for_watches(const connection& c, std::size_t more) const {
  const fair_share watches{options_.max_watches, options_.max_watches_per_peer};
  const fair_share bytes{options_.max_watched_bytes, options_.max_watched_bytes_per_peer};
  return data_watches_.count_of(c.id) + child_watches_.count_of(c.id) + more <=
             options_.max_watches_per_connection &&
         data_watches_.bytes_of(c.id) + child_watches_.bytes_of(c.id) <=
             options_.max_watched_bytes_per_connection &&
         watches.check(c.from->id.kind, c.from->watches,
                       data_watches_.count() + child_watches_.count(),
                       more) == fair_share::verdict::admitted &&
         bytes.check(c.from->id.kind, c.from->watched_bytes,
                     data_watches_.bytes() + child_watches_.bytes(),
                     0) == fair_share::verdict::admitted;
}

// A reconnecting client sends its watches and the last zxid it has seen. The server sends the
// missed events now and adds the other watches.
errc core::set_watches(connection& c, wire::reader& in, bool is_version2) {
  wire::set_watches2_request r;
  if (is_version2) {
    in(r);
  } else {
    const auto first = in.read<wire::set_watches_request>();
    r.relative_zxid = first.relative_zxid;
    r.data = first.data;
    r.exist = first.exist;
    r.child = first.child;
  }
  if (!in.ok()) return errc::marshalling_error;
  if (!has_room_for_watches(c, r.data.size() + r.exist.size() + r.child.size() +
                                   2 * (r.persistent.size() + r.recursive.size())))
    return errc::quota_exceeded;

  for (const auto path : r.data) {
    if (const auto* n = tree_.find(path); n == nullptr)
      send_event(c, event_type::removed, path);
    else if (n->row.mzxid > r.relative_zxid)
      notify(c, event_type::data_changed, path, n->row.access);
    else
      data_watches_.add(path, c.as_watcher(), watch_mode::once);
  }
  for (const auto path : r.exist) {
    if (const auto* n = tree_.find(path); n != nullptr)
      notify(c, event_type::created, path, n->row.access);
    else
      data_watches_.add(path, c.as_watcher(), watch_mode::once);
  }
  for (const auto path : r.child) {
    if (const auto* n = tree_.find(path); n == nullptr)
      send_event(c, event_type::removed, path);
    else if (n->counters.pzxid > r.relative_zxid)
      notify(c, event_type::children_changed, path, n->row.access);
    else
      child_watches_.add(path, c.as_watcher(), watch_mode::once);
  }
  for (auto* table : {&data_watches_, &child_watches_}) {
    for (const auto path : r.persistent) table->add(path, c.as_watcher(), watch_mode::persistent);
    for (const auto path : r.recursive) table->add(path, c.as_watcher(), watch_mode::recursive);
  }
  return errc{};
}

errc core::add_watch(connection& c, wire::reader& in) {
  const auto r = in.read<wire::path_type_request>();
  if (!in.ok()) return errc::marshalling_error;
  if (r.type != 0 && r.type != 1) return errc::marshalling_error;  // like Apache's server
  if (!has_room_for_watches(c, 2)) return errc::quota_exceeded;
  const auto mode = r.type == 0 ? watch_mode::persistent : watch_mode::recursive;
  data_watches_.add(r.path, c.as_watcher(), mode);
  child_watches_.add(r.path, c.as_watcher(), mode);
  wire::writer{body_}(std::int32_t{0});  // an ErrorResponse with code 0
  return errc{};
}

errc core::remove_watches(connection& c, wire::reader& in, bool check_only) {
  const auto r = in.read<wire::path_type_request>();
  if (!in.ok()) return errc::marshalling_error;
  enum : std::int32_t { children = 1, data = 2, any = 3 };
  if (r.type < children || r.type > any) return errc::marshalling_error;
  const auto apply = [&](watch_table& table) {
    return check_only ? table.contains(r.path, c.id) : table.remove(r.path, c.id);
  };
  bool found = false;
  if (r.type != data) found = apply(child_watches_);
  if (r.type != children) found = apply(data_watches_) || found;
  return found ? errc{} : errc::no_watcher;
}

void core::notify(const event& e) {
  const auto notify_watchers = [&](event_type type, std::string_view path,
                                   const std::shared_ptr<const acl>& access) {
    for (const auto id : watchers_)
      if (const auto c = connections_.find(id); c != connections_.end())
        notify(c->second, type, path, access);
  };
  watchers_.clear();
  data_watches_.trigger(e.path, e.type, watchers_);
  // A removal notifies child watches, too. trigger() skips connections that are already in the
  // list.
  if (e.type == event_type::removed) child_watches_.trigger(e.path, e.type, watchers_);
  notify_watchers(e.type, e.path, e.access);
  if (e.type == event_type::data_changed) return;

  watchers_.clear();
  const auto parent = parent_path(e.path);
  child_watches_.trigger(parent, event_type::children_changed, watchers_);
  notify_watchers(event_type::children_changed, parent, e.parent_access);
}

// Connections without read permission get no events.
void core::notify(connection& c, event_type type, std::string_view path,
                  const std::shared_ptr<const acl>& access) {
  if (!is_allowed(c, access, permission::read)) return;
  mark_ready(c);
  send_event(c, type, path);
}

// One small transaction can cause thousands of events for each of thousands of connections, so
// their bytes are limited. A closed client gets the missed events when it reconnects and sends
// set_watches.
void core::send_event(connection& c, event_type type, std::string_view path) {
  if (c.is_closing()) return;
  const auto before = c.out.size();
  wire::append_frame(c.out, wire::reply_header{wire::special_xid::watch_event, -1, 0},
                     wire::watcher_event{static_cast<std::int32_t>(type), connected_state, path});
  c.event_bytes += c.out.size() - before;
  event_bytes_ += c.out.size() - before;
  if (c.event_bytes <= options_.max_event_bytes_per_connection &&
      event_bytes_ <= options_.max_event_bytes)
    return;
  event_bytes_ -= std::exchange(c.event_bytes, 0);
  c.out = {};
  start_closing(c, connection::stage::overflowed);
}

}  // namespace conclave::server_impl
