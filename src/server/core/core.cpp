#include "server/core/core.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <utility>

#include <openssl/crypto.h>

#include "server/core/shrink.hpp"
#include "wire/frame.hpp"
#include "wire/keep_session.hpp"

namespace conclave::server_impl {
namespace {

using wire::opcode;

// Standalone servers do not support this request.
constexpr auto reconfig = static_cast<opcode>(16);

// Returns true for request types that Apache's server knows and may answer with "unimplemented".
bool is_known_type(opcode type) {
  return type == reconfig || type == opcode::create || type == opcode::create2 ||
         type == opcode::create_container || type == opcode::create_ttl;
}

// Returns true for requests whose first field is a path that must not be null. The functions for
// other requests check the path themselves.
bool needs_path(opcode type) {
  switch (type) {
    case opcode::remove:
    case opcode::exists:
    case opcode::get_data:
    case opcode::get_children:
    case opcode::get_children2:
    case opcode::get_acl:
    case opcode::get_all_children_number:
    case opcode::check_watches: return true;
    default: return false;
  }
}

bool password_matches(std::string_view password, const live_session& s) {
  return password.size() == s.row.password.size() &&
         CRYPTO_memcmp(password.data(), s.row.password.data(), s.row.password.size()) == 0;
}

}  // namespace

core::core(core_options options, image stored, std::int64_t first_zxid, moment now)
    : options_{std::move(options)},
      now_{now},
      zxid_{std::max(stored.zxid, first_zxid)},
      stored_zxid_{stored.zxid},
      tree_{std::move(stored.nodes)},
      sessions_{stored.sessions, now.now},
      next_reap_{now.now + options_.reap_interval} {}

void core::begin_serving(moment now) {
  now_ = now;
  sessions_.restart_timeouts(now.now);
}

void core::begin_turn(moment now) {
  now_ = now;
  long_checks_.clear();
}

void core::extend_sessions(std::chrono::steady_clock::duration silence) {
  sessions_.extend_sessions(silence);
}

void core::connected(connection_id id, peer from) {
  auto& c = connections_[id];
  c.id = id;
  c.from = &peers_.connected(from.id);
  c.process_binding = from.process_binding;
  if (!from.address.empty()) c.who.push_back({"ip", std::move(from.address)});
}

void core::receive(connection_id id, std::string_view frame) {
  const auto i = connections_.find(id);
  if (i == connections_.end() || i->second.is_closing()) return;
  auto& c = i->second;
  if (c.kept_session != nullptr)
    start_closing(c);  // a keeper connection must not send requests
  else if (c.current_stage == connection::stage::serving)
    serve(c, frame);
  else
    handle_handshake(c, frame);
}

void core::disconnected(connection_id id) {
  const auto i = connections_.find(id);
  if (i == connections_.end()) return;
  start_closing(i->second);
  event_bytes_ -= i->second.event_bytes;
  peers_.disconnected(*i->second.from);
  connections_.erase(i);
}

void core::record_activity(connection_id id) {
  const auto i = connections_.find(id);
  if (i != connections_.end() && i->second.session != nullptr)
    i->second.session->last_heard = now_.now;
}

void core::process_ended(std::int64_t id) {
  auto* s = sessions_.find(id);
  if (s == nullptr || s->attached != 0) return;
  s->owner_ended = true;
  if (s->keepers != 0 || !writable_) return;
  if (now_.now < s->keeper_deadline) return sessions_.expire_at(*s, s->keeper_deadline);
  log_session(id, "ended with its process");
  end_session(*s, session_end::process_exited);
}

void core::log_session(std::int64_t session, const char* what) const {
  if (!options_.log_session) return;
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "session 0x%llx %s",
                static_cast<unsigned long long>(session), what);
  options_.log_session(text.data());
}

void core::mark_ready(connection& c) {
  if (c.is_ready) return;
  c.is_ready = true;
  ready_.push_back(c.id);
}

// Stops serving this connection. Its further input is ignored, and the owner closes it.
void core::start_closing(connection& c, connection::stage next) {
  if (c.session != nullptr) {
    auto& s = *std::exchange(c.session, nullptr);
    s.attached = 0;
    update_expiry(s);
  }
  if (c.kept_session != nullptr) {
    auto& s = *std::exchange(c.kept_session, nullptr);
    --s.keepers;
    update_expiry(s);
  }
  data_watches_.remove_all(c.id);
  child_watches_.remove_all(c.id);
  c.current_stage = std::max(c.current_stage, next);
  mark_ready(c);
}

// Called when a connection that suspended the session's expiry has closed.
void core::update_expiry(live_session& s) {
  if (!s.expiry_suspended) return;
  const auto own = connections_.find(s.attached);
  s.expiry_suspended =
      s.keepers != 0 || (own != connections_.end() && own->second.is_process_bound());
  if (s.expiry_suspended) return;
  s.last_heard = now_.now;  // the session timeout starts now
  sessions_.queue_deadline(s);
  if (s.attached != 0 || !s.owner_ended || !writable_) return;
  log_session(s.row.id, "ended with the last process that kept it");
  end_session(s, session_end::process_exited);
}

bool core::awaits_reconnect(std::int64_t id) {
  const auto* s = sessions_.find(id);
  return s != nullptr && s->attached == 0;
}

// --- sessions

void core::handle_handshake(connection& c, std::string_view frame) {
  wire::reader in{frame};
  const auto request = in.read<wire::connect_request>();
  if (!in.ok()) return start_closing(c);
  if (request.protocol_version == wire::keep_session_version)
    return handle_keep_session(c, request);
  const bool has_flag = !in.at_end();
  // A client that has seen a later zxid would see older data here.
  if (request.last_zxid_seen > zxid_) return start_closing(c);

  c.current_stage = connection::stage::serving;
  if (request.protocol_version != c.process_binding) c.process_binding = 0;
  const auto timeout_ms = static_cast<std::int32_t>(
      std::clamp<std::int64_t>(request.timeout_ms, options_.min_session_timeout.count(),
                               options_.max_session_timeout.count()));
  if (request.session_id != 0) {
    auto* s = sessions_.find(request.session_id);
    if (s == nullptr || !password_matches(request.password, *s))
      return send_handshake_response(c, has_flag);
    if (const auto old = connections_.find(s->attached); old != connections_.end())
      start_closing(old->second);
    // A shorter timeout applies from the next request, because the client uses the old one until
    // the reply arrives.
    const bool is_shorter = timeout_ms < s->row.timeout_ms;
    s->shorter_timeout_ms = is_shorter && writable_ ? timeout_ms : 0;
    if (!is_shorter) set_timeout(*s, timeout_ms);
    c.session = s;
  } else {
    if (!writable_) {
      log_session(0, "refused: nothing can be stored");
      return start_closing(c);
    }
    if (const auto verdict = check_new_session(c); verdict != fair_share::verdict::admitted) {
      log_session(0, verdict == fair_share::verdict::peer_full
                         ? "refused: its address or user has too many"
                         : "refused: there are too many");
      return start_closing(c);
    }
    session_row row;
    row.timeout_ms = timeout_ms;
    do {
      options_.random(reinterpret_cast<char*>(&row.id), sizeof row.id);
      // Apache's server uses the highest byte of owners for TTL nodes.
      row.id &= 0x00ff'ffff'ffff'ffff;
    } while (row.id == 0 || sessions_.find(row.id) != nullptr);
    options_.random(row.password.data(), row.password.size());
    c.session = &sessions_.add(row, now_.now);
    log_session(row.id, "began");
    ++zxid_;
  }
  charge_session(*c.session, *c.from);
  c.session->attached = c.id;
  c.session->last_heard = now_.now;
  c.session->expiry_suspended = c.is_process_bound() || c.session->keepers != 0;
  c.session->owner_ended = false;
  sessions_.queue_deadline(*c.session);
  send_handshake_response(c, has_flag);
}

void core::set_timeout(live_session& s, std::int32_t timeout_ms) {
  if (s.row.timeout_ms == timeout_ms || !writable_) return;
  s.row.timeout_ms = timeout_ms;
  sessions_.mark_dirty(s);
}

fair_share::verdict core::check_new_session(const connection& c) const {
  const fair_share share{options_.max_sessions, options_.max_sessions_per_peer};
  return share.check(c.from->id.kind, c.from->sessions, sessions_.size(), 1);
}

// A session that reconnects is always accepted. So the peer that it has moved to may exceed its
// share, but the shares of other peers are not used up.
void core::charge_session(live_session& s, peer_usage& to) {
  peers_.session_began(to);
  if (s.charged_to != nullptr) peers_.session_ended(*s.charged_to);
  s.charged_to = &to;
}

void core::handle_keep_session(connection& c, const wire::connect_request& request) {
  c.current_stage = connection::stage::serving;
  auto* const s = sessions_.find(request.session_id);
  // Over TCP the server cannot see that the process has exited.
  if (c.process_binding == 0 || s == nullptr || !password_matches(request.password, *s))
    return send_handshake_response(c, false);
  c.kept_session = s;
  ++s->keepers;
  s->expiry_suspended = true;
  static constexpr session_password nothing{};
  wire::connect_response response;
  response.protocol_version = wire::keep_session_version;
  response.timeout_ms = s->row.timeout_ms;
  response.session_id = s->row.id;
  response.password = {nothing.data(), nothing.size()};
  wire::append_frame(c.out, response);
  mark_ready(c);
}

// A response without a session tells the client that its session has expired.
void core::send_handshake_response(connection& c, bool with_read_only_flag) {
  static constexpr session_password nothing{};
  wire::connect_response response;
  response.password = {nothing.data(), nothing.size()};
  if (c.session != nullptr) {
    const auto& row = c.session->row;
    if (c.is_process_bound()) response.protocol_version = c.process_binding;
    const auto shorter = c.session->shorter_timeout_ms;
    response.timeout_ms = shorter != 0 ? shorter : row.timeout_ms;
    response.session_id = row.id;
    response.password = {row.password.data(), row.password.size()};
  }
  if (with_read_only_flag)
    wire::append_frame(c.out, response, wire::read_only_flag{false});
  else
    wire::append_frame(c.out, response);
  mark_ready(c);
  if (c.session == nullptr) start_closing(c);
}

// Removes the session and its ephemeral nodes in one transaction.
void core::end_session(live_session& s, session_end why) {
  ++zxid_;
  const auto nodes = tree_.ephemerals_of(s.row.id);
  for (const auto& path : nodes) remove_node(*tree_.find(path));
  if (options_.on_session_end) options_.on_session_end(s.row.id, why, nodes);
  if (const auto c = connections_.find(s.attached); c != connections_.end())
    c->second.session = nullptr;
  if (s.keepers != 0)
    for (auto& [id, c] : connections_)
      if (c.kept_session == &s) {
        c.kept_session = nullptr;
        start_closing(c);
      }
  if (s.charged_to != nullptr) peers_.session_ended(*s.charged_to);
  sessions_.remove(s.row.id);
  complete();
}

void core::close_session(connection& c, std::int32_t xid) {
  if (writable_) {
    log_session(c.session->row.id, "was closed by its client");
    end_session(*c.session, session_end::closed);
  }
  if (c.is_closing()) return;  // its own watch events overflowed it
  const auto result = writable_ ? errc{} : errc::system_error;
  wire::append_frame(c.out, wire::reply_header{xid, zxid_, static_cast<std::int32_t>(result)});
  start_closing(c);
}

void core::expire() {
  if (!writable_) return;
  while (auto* s = sessions_.next_expired(now_.now)) {
    log_session(s->row.id, "expired");
    const auto attached = connections_.find(s->attached);
    end_session(*s, session_end::expired);
    if (attached != connections_.end()) start_closing(attached->second);
  }
  if (now_.now >= next_reap_) reap();
}

void core::reap() {
  next_reap_ = now_.now + options_.reap_interval;
  for (const auto& path : tree_.reapable(now_.wall_ms)) {
    ++zxid_;
    remove_node(*tree_.find(path));
    complete();
  }
}

time_point core::next_deadline() const {
  if (!writable_) return time_point::max();  // expiry and reaping wait until the disk has space
  auto when = tree_.anything_to_reap() ? next_reap_ : time_point::max();
  if (const auto first = sessions_.next_deadline()) when = std::min(when, *first);
  return when;
}

// --- requests

void core::serve(connection& c, std::string_view frame) {
  wire::reader in{frame};
  const auto header = in.read<wire::request_header>();
  if (!in.ok()) return start_closing(c);
  long_checks_.clear();
  c.session->last_heard = now_.now;
  if (c.session->shorter_timeout_ms != 0) {
    set_timeout(*c.session, std::exchange(c.session->shorter_timeout_ms, 0));
    sessions_.queue_deadline(*c.session);
  }
  mark_ready(c);

  switch (header.type) {
    case opcode::auth: return authenticate(c, header.xid, in);
    case opcode::sasl:
      wire::append_frame(c.out, wire::reply_header{header.xid, zxid_,
                                                   static_cast<std::int32_t>(errc::auth_failed)});
      return start_closing(c);
    default: break;
  }
  // Like Apache's server, this applies to pings and close requests, too.
  if (!is_authenticated(c)) {
    log_session(c.session->row.id, "sent a request before it authenticated");
    constexpr auto refusal = static_cast<std::int32_t>(errc::session_closed_require_sasl_auth);
    wire::append_frame(c.out, wire::reply_header{header.xid, 0, refusal});
    return start_closing(c);
  }
  if (header.type == opcode::close_session) return close_session(c, header.xid);

  body_.clear();
  const auto result = dispatch(c, header.type, in);
  if (c.is_closing()) return;  // no reply may follow discarded events
  const auto xid = header.type == opcode::ping ? wire::special_xid::ping : header.xid;
  const bool unknown = result == errc::unimplemented && !is_known_type(header.type);
  const auto zxid = unknown ? -1 : zxid_;
  const wire::reply_header reply{xid, zxid, static_cast<std::int32_t>(result)};
  if (result == errc{})
    wire::append_frame(c.out, reply, wire::encoded{body_});
  else
    wire::append_frame(c.out, reply);
  // Like Apache's server, close the connection after an unknown request.
  if (unknown) start_closing(c);
}

errc core::dispatch(connection& c, opcode type, wire::reader& in) {
  if (auto ahead = in; needs_path(type) && ahead.read<std::string_view>().data() == nullptr)
    return errc::marshalling_error;
  const auto path_and_watch = [&](auto operation) {
    const auto r = in.read<wire::path_watch_request>();
    return in.ok() ? operation(r) : errc::marshalling_error;
  };
  switch (type) {
    case opcode::ping: return errc{};
    case opcode::create:
    case opcode::create2:
    case opcode::create_container:
    case opcode::create_ttl:
    case opcode::remove:
    case opcode::set_data:
    case opcode::set_acl:
    case opcode::check:
    case opcode::multi: return write(c, type, in);
    case opcode::exists: return exists(c, in);
    case opcode::get_data:
      return path_and_watch([&](const auto& r) { return get_data(c, r.path, r.watch); });
    case opcode::get_children:
      return path_and_watch([&](const auto& r) { return get_children(c, r.path, r.watch, false); });
    case opcode::get_children2:
      return path_and_watch([&](const auto& r) { return get_children(c, r.path, r.watch, true); });
    case opcode::get_acl: return get_acl(c, in);
    case opcode::get_ephemerals: return get_ephemerals(c, in);
    case opcode::get_all_children_number: return get_all_children_number(c, in);
    case opcode::multi_read: return multi_read(c, in);
    case opcode::sync: {
      // On a single server all earlier writes are applied already.
      const auto r = in.read<wire::path_record>();
      if (!in.ok()) return errc::marshalling_error;
      wire::writer{body_}(r);
      return errc{};
    }
    case opcode::set_watches: return set_watches(c, in, false);
    case opcode::set_watches2: return set_watches(c, in, true);
    case opcode::add_watch: return add_watch(c, in);
    case opcode::check_watches: return remove_watches(c, in, true);
    case opcode::remove_watches: return remove_watches(c, in, false);
    case opcode::who_am_i: {
      wire::who_am_i_response response;
      for (const auto& i : c.who) {
        // Do not reveal the hash of the password.
        const auto user = std::string_view{i.id}.substr(0, i.id.find(':'));
        response.identities.push_back({i.scheme, i.scheme == "digest" ? user : i.id});
      }
      wire::writer{body_}(response);
      return errc{};
    }
    case opcode::delete_container: return errc::bad_arguments;  // only for servers
    default: return errc::unimplemented;
  }
}

void core::authenticate(connection& c, std::int32_t xid, wire::reader& in) {
  const auto request = in.read<wire::auth_request>();
  auto result = errc{};
  if (!in.ok()) return start_closing(c);
  if (options_.digest_auth && request.scheme == "digest" && request.auth.data() != nullptr) {
    auto digest = digest_of(request.auth);
    const auto& super = options_.super_digest;
    const bool is_super = digest.size() == super.size() &&
                          CRYPTO_memcmp(digest.data(), super.data(), super.size()) == 0;
    const bool is_added = (!is_super || add_identity(c.who, {"super", ""})) &&
                          add_identity(c.who, {"digest", std::move(digest)});
    if (!is_added) result = errc::auth_failed;
  } else if (request.scheme != "ip") {  // the "ip" identity was added when the client connected
    result = errc::auth_failed;
  }
  wire::append_frame(c.out, wire::reply_header{xid, 0, static_cast<std::int32_t>(result)});
  if (result != errc{}) start_closing(c);
}

bool core::is_authenticated(const connection& c) const {
  const auto& schemes = options_.required_auth;
  return schemes.empty() || std::any_of(c.who.begin(), c.who.end(), [&](const auto& i) {
           return std::find(schemes.begin(), schemes.end(), i.scheme) != schemes.end();
         });
}

// --- out

batch core::take_changes() {
  batch changes;
  changes.zxid = stored_zxid_ = zxid_;
  tree_.take_dirty(changes);
  sessions_.take_dirty(changes);
  return changes;
}

std::vector<connection_id> core::take_ready() {
  std::erase_if(ready_, [this](connection_id id) {
    const auto c = connections_.find(id);
    if (c == connections_.end()) return true;  // already disconnected
    c->second.is_ready = false;
    c->second.event_bytes = 0;
    return false;
  });
  event_bytes_ = 0;
  return std::exchange(ready_, {});
}

void core::shrink() {
  tree_.shrink();
  sessions_.shrink();
  data_watches_.shrink();
  child_watches_.shrink();
  server_impl::shrink(connections_);
  server_impl::shrink(events_);
  server_impl::shrink(watchers_);
  server_impl::shrink(body_);
}

std::string& core::output(connection_id id) { return connections_.at(id).out; }

bool core::is_closing(connection_id id) const { return connections_.at(id).is_closing(); }

bool core::overflowed(connection_id id) const {
  return connections_.at(id).current_stage == connection::stage::overflowed;
}

bool core::is_process_bound(connection_id id) const {
  const auto c = connections_.find(id);
  return c != connections_.end() && c->second.is_process_bound();
}

std::int64_t core::session_of(connection_id id) const {
  const auto c = connections_.find(id);
  return c == connections_.end() || c->second.session == nullptr ? 0 : c->second.session->row.id;
}

}  // namespace conclave::server_impl
