#include "naive_server.hpp"

#include <algorithm>
#include <cstdio>
#include <set>

namespace conclave::server_impl {
namespace {

enum : std::int32_t { may_read = 1, may_write = 2, may_create = 4, may_remove = 8, may_admin = 16 };

expectation failed(errc e) {
  expectation x;
  x.error = e;
  return x;
}

}  // namespace

naive_server::naive_server(std::int64_t first_zxid, std::chrono::milliseconds reap_interval)
    : zxid_{first_zxid}, reap_interval_{reap_interval} {
  for (const auto path : {"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"})
    nodes_[path].data = "";
  nodes_["/zookeeper/config"].permissions = may_read;
  nodes_["/zookeeper/config"].stat.aversion = -1;
}

std::string naive_server::parent_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::vector<std::string> naive_server::children_of(const std::string& path) const {
  std::vector<std::string> names;
  for (const auto& [p, n] : nodes_)
    if (p != "/" && parent_of(p) == path) names.push_back(p.substr(p.rfind('/') + 1));
  return names;
}

node_stat naive_server::stat_of(const std::string& path) const {
  const auto& n = nodes_.at(path);
  auto s = n.stat;
  s.num_children = static_cast<std::int32_t>(children_of(path).size());
  s.cversion = 2 * n.creates - s.num_children;
  s.data_length = n.data ? static_cast<std::int32_t>(n.data->size()) : 0;
  return s;
}

// --- sessions

void naive_server::start_again() {
  for (auto& [id, s] : sessions_) {
    s.client = s.timeout_of_next_request = 0;
    s.process_bound = false;
    s.last_heard = now_;
  }
  watches_.clear();
  events_.clear();
  next_reap_ = now_ + reap_interval_;
}

void naive_server::new_session(std::int64_t id, std::int32_t timeout_ms, int client,
                               bool process_bound) {
  ++zxid_;
  sessions_[id] = {timeout_ms, now_, client, process_bound, 0};
}

void naive_server::reconnect(std::int64_t id, std::int32_t timeout_ms, int client,
                             bool process_bound) {
  disconnect(sessions_.at(id).client);
  const auto longer = std::max(timeout_ms, sessions_.at(id).timeout_ms);
  sessions_[id] = {longer, now_, client, process_bound, timeout_ms};
}

void naive_server::disconnect(int client) {
  if (client == 0) return;
  for (auto& [id, s] : sessions_) {
    if (s.client != client) continue;
    s.client = 0;
    if (s.process_bound) s.last_heard = now_;
    s.process_bound = false;
  }
  std::erase_if(watches_, [&](const watch& w) { return w.client == client; });
}

void naive_server::close_session(std::int64_t id) {
  const auto client = sessions_.at(id).client;
  end_session(id);
  disconnect(client);
}

void naive_server::end_session(std::int64_t id) {
  ++zxid_;
  auto before = nodes_;
  for (const auto& [path, n] : before)
    if (n.kind == node_kind::ephemeral && n.stat.ephemeral_owner == id) take_out(path);
  notify();
  sessions_.erase(id);
}

void naive_server::end_of_turn() {
  for (;;) {
    const auto late = std::find_if(sessions_.begin(), sessions_.end(), [&](const auto& s) {
      return !s.second.process_bound &&
             s.second.last_heard + std::chrono::milliseconds{s.second.timeout_ms} <= now_;
    });
    if (late == sessions_.end()) break;
    close_session(late->first);
  }
  if (now_ < next_reap_) return;
  next_reap_ = now_ + reap_interval_;
  // A container that becomes empty now is removed the next time.
  std::vector<std::string> reapable;
  for (const auto& [path, n] : nodes_) {
    const bool unused = n.kind == node_kind::container && n.creates > 0;
    const bool old = n.kind == node_kind::ttl && wall_ms_ - n.stat.mtime > n.ttl_ms;
    if ((unused || old) && children_of(path).empty()) reapable.push_back(path);
  }
  for (const auto& path : reapable) {
    ++zxid_;
    ++reaped;
    take_out(path);
    notify();
  }
}

time_point naive_server::next_deadline() const {
  auto first = time_point::max();
  for (const auto& [id, s] : sessions_)
    if (!s.process_bound)
      first = std::min(first, s.last_heard + std::chrono::milliseconds{s.timeout_ms});
  return first;
}

// --- requests

expectation naive_server::perform(std::int64_t session, const action& a) {
  auto& s = sessions_.at(session);
  s.last_heard = now_;
  if (s.timeout_of_next_request != 0) s.timeout_ms = std::exchange(s.timeout_of_next_request, 0);
  const auto before = *this;
  const auto back = [&] {
    nodes_ = before.nodes_;
    zxid_ = before.zxid_;
    changes_.clear();
  };
  expectation result;
  ++zxid_;
  if (a.kind == action::multi) {
    for (const auto& part : a.parts) {
      const bool failed_before = !result.parts.empty() && result.parts.back().error != errc{};
      result.parts.push_back(failed_before ? failed(errc::runtime_inconsistency)
                                           : step(session, part));
    }
    const bool all_done = result.parts.empty() || result.parts.back().error == errc{};
    if (!all_done || changes_.empty()) back();
    if (!all_done)
      for (auto& part : result.parts) part = failed(part.error);
  } else {
    result = step(session, a);
    const bool changed = result.error == errc{} && a.kind <= action::set_acl;
    if (!changed) back();
  }
  notify();
  result.zxid = zxid_;
  return result;
}

expectation naive_server::step(std::int64_t session, const action& a) {
  const auto client = sessions_.at(session).client;
  const auto at = nodes_.find(a.path);
  const bool there = at != nodes_.end();
  const auto may = [&](std::int32_t permission) {
    return (at->second.permissions & permission) != 0;
  };
  const auto add_watch = [&](watch_kind kind) {
    const watch w{client, a.path, kind};
    if (std::find(watches_.begin(), watches_.end(), w) == watches_.end()) watches_.push_back(w);
  };
  expectation done;
  switch (a.kind) {
    case action::create:
    case action::create2:
    case action::create_container:
    case action::create_ttl: return make(session, a);
    case action::remove: {
      const auto parent = nodes_.find(parent_of(a.path));
      if (parent == nodes_.end()) return failed(errc::no_node);
      if ((parent->second.permissions & may_remove) == 0) return failed(errc::no_auth);
      if (!there) return failed(errc::no_node);
      if (a.version != -1 && a.version != at->second.stat.version) return failed(errc::bad_version);
      if (!children_of(a.path).empty()) return failed(errc::not_empty);
      take_out(a.path);
      return done;
    }
    case action::set: {
      if (!there) return failed(errc::no_node);
      if (!may(may_write)) return failed(errc::no_auth);
      auto& n = at->second;
      if (a.version != -1 && a.version != n.stat.version) return failed(errc::bad_version);
      n.data = a.data;
      n.stat.mzxid = zxid_;
      n.stat.mtime = wall_ms_;
      ++n.stat.version;
      changes_.push_back({"changed", a.path, n.permissions, 0});
      done.stat = stat_of(a.path);
      return done;
    }
    case action::set_acl: {
      if (!there) return failed(errc::no_node);
      if (!may(may_admin)) return failed(errc::no_auth);
      auto& n = at->second;
      if (a.version != -1 && a.version != n.stat.aversion) return failed(errc::bad_version);
      n.permissions = a.permissions;
      ++n.stat.aversion;
      done.stat = stat_of(a.path);
      return done;
    }
    case action::check:
      if (!there) return failed(errc::no_node);
      if (!may(may_read)) return failed(errc::no_auth);
      if (a.version != -1 && a.version != at->second.stat.version) return failed(errc::bad_version);
      return done;
    case action::get:
      if (!there) return failed(errc::no_node);
      if (!may(may_read)) return failed(errc::no_auth);
      if (a.watch) add_watch(data);
      done.data = at->second.data;
      done.stat = stat_of(a.path);
      return done;
    case action::exists:
      if (a.watch) add_watch(data);
      if (!there) return failed(errc::no_node);
      done.stat = stat_of(a.path);
      return done;
    case action::children:
      if (!there) return failed(errc::no_node);
      if (!may(may_read)) return failed(errc::no_auth);
      if (a.watch) add_watch(child);
      done.names = children_of(a.path);
      done.stat = stat_of(a.path);
      return done;
    case action::ephemerals:
      for (const auto& [path, n] : nodes_)
        if (n.stat.ephemeral_owner == session) done.names.push_back(path);
      return done;
    case action::count: {
      if (!there) return failed(errc::no_node);
      if (!may(may_read)) return failed(errc::no_auth);
      const auto prefix = a.path == "/" ? a.path : a.path + "/";
      done.number =
          static_cast<std::int32_t>(std::count_if(nodes_.begin(), nodes_.end(), [&](const auto& n) {
            return n.first.starts_with(prefix) && n.first != "/";
          }));
      return done;
    }
    case action::watch_always: add_watch(persistent); return done;
    case action::watch_below: add_watch(recursive); return done;
    case action::unwatch: {
      const auto lost = [&](const watch& w) { return w.client == client && w.path == a.path; };
      if (std::erase_if(watches_, lost) == 0) return failed(errc::no_watcher);
      return done;
    }
    case action::multi: break;
  }
  return failed(errc::system_error);
}

expectation naive_server::make(std::int64_t session, const action& a) {
  const auto parent = nodes_.find(parent_of(a.path));
  if (parent == nodes_.end()) return failed(errc::no_node);
  if ((parent->second.permissions & may_create) == 0) return failed(errc::no_auth);
  auto path = a.path;
  if (a.flags == 2 || a.flags == 3 || a.flags == 6) {
    char number[16];
    std::snprintf(number, sizeof number, "%010d", parent->second.creates);
    path += number;
  }
  if (nodes_.contains(path)) return failed(errc::node_exists);
  if (parent->second.kind == node_kind::ephemeral) return failed(errc::no_children_for_ephemerals);

  auto& n = nodes_[path];
  n.data = a.data;
  n.permissions = a.permissions;
  n.stat.czxid = n.stat.mzxid = n.stat.pzxid = zxid_;
  n.stat.ctime = n.stat.mtime = wall_ms_;
  if (a.kind == action::create_container) n.kind = node_kind::container;
  if (a.kind == action::create_ttl) n.kind = node_kind::ttl, n.ttl_ms = a.ttl_ms;
  if (a.flags == 1 || a.flags == 3) {
    n.kind = node_kind::ephemeral;
    n.stat.ephemeral_owner = session;
  }
  ++parent->second.creates;
  parent->second.stat.pzxid = zxid_;
  changes_.push_back({"created", path, n.permissions, parent->second.permissions});
  expectation done;
  done.path = path;
  if (a.kind != action::create) done.stat = stat_of(path);
  return done;
}

void naive_server::take_out(const std::string& path) {
  auto& parent = nodes_.at(parent_of(path));
  parent.stat.pzxid = zxid_;
  changes_.push_back({"removed", path, nodes_.at(path).permissions, parent.permissions});
  nodes_.erase(path);
}

// --- events

void naive_server::notify() {
  for (const auto& c : std::exchange(changes_, {})) {
    std::vector<watch_kind> of_path{data, persistent};
    if (c.what == "removed") of_path.push_back(child);
    notify(c.what, c.path, (c.permissions & may_read) != 0, of_path, true);
    if (c.what != "changed")
      notify("children", parent_of(c.path), (c.parent_permissions & may_read) != 0,
             {child, persistent}, false);
  }
}

void naive_server::notify(const std::string& what, const std::string& path, bool readable,
                          const std::vector<watch_kind>& of_path, bool below) {
  std::set<int> audience;
  const auto concerns = [&](const watch& w) {
    if (w.kind == recursive)
      return below && (w.path == path || w.path == "/" || path.starts_with(w.path + "/"));
    return w.path == path && std::find(of_path.begin(), of_path.end(), w.kind) != of_path.end();
  };
  for (const auto& w : watches_)
    if (concerns(w)) audience.insert(w.client);
  std::erase_if(watches_, [&](const watch& w) { return w.kind <= child && concerns(w); });
  if (!readable) return;
  auto line = what;
  line.append(" ").append(path);
  for (const auto client : audience) events_[client].push_back(line);
}

}  // namespace conclave::server_impl
