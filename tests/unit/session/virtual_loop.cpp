#include "virtual_loop.hpp"

#include <algorithm>
#include <utility>

#include <boost/system/errc.hpp>
#include <gtest/gtest.h>

namespace conclave::session {
namespace {

constexpr std::string_view password = "sixteen letters!";

std::string name_of(wire::opcode type) {
  switch (type) {
    case wire::opcode::get_data: return "get";
    case wire::opcode::exists: return "exists";
    case wire::opcode::get_children2: return "children";
    case wire::opcode::set_data: return "set";
    case wire::opcode::add_watch: return "add_watch";
    case wire::opcode::remove_watches: return "remove_watches";
    case wire::opcode::auth: return "auth";
    case wire::opcode::set_watches: return "set_watches";
    case wire::opcode::set_watches2: return "set_watches2";
    case wire::opcode::ping: return "ping";
    case wire::opcode::close_session: return "close";
    default: return "request " + std::to_string(static_cast<int>(type));
  }
}

std::string name_of(const error_code& ec) {
  if (!ec) return "ok";
  if (ec == error_code{errc::connection_loss}) return "connection_loss";
  if (ec == error_code{errc::session_expired}) return "session_expired";
  if (ec == error_code{errc::closed}) return "closed";
  if (ec == error_code{errc::auth_failed}) return "auth_failed";
  if (ec == error_code{errc::not_connected}) return "not_connected";
  if (ec == boost::system::errc::operation_canceled) return "aborted";
  return ec.message();
}

const char* name_of(watch_event::kind k) {
  switch (k) {
    case watch_event::kind::created: return "created";
    case watch_event::kind::deleted: return "deleted";
    case watch_event::kind::changed: return "changed";
    case watch_event::kind::children_changed: return "children_changed";
    case watch_event::kind::session_ended: return "session_ended";
    case watch_event::kind::possibly_missed: return "possibly_missed";
    case watch_event::kind::watch_lost: return "watch_lost";
  }
  return "?";
}

template <class Record>
test_operation_ptr make(wire::opcode type, on_disconnect rule, std::string_view path,
                        const Record& body, std::int32_t xid = 0) {
  auto op = std::make_unique<test_operation>(type, rule);
  op->path = path;
  wire::append_frame(op->frame, wire::request_header{xid, type}, body);
  return op;
}

test_operation_ptr read(wire::opcode type, std::string_view path, watch_slot slot, watcher w) {
  auto op =
      make(type, on_disconnect::repeat, path, wire::path_watch_request{path, static_cast<bool>(w)});
  if (w) op->watch = operation::wanted_watch{slot, std::string{path}, std::move(w)};
  return op;
}

}  // namespace

// --- operations

test_operation::~test_operation() {
  if (submitted && state->completions == 0)
    ADD_FAILURE() << "an operation on " << path << " was dropped without a completion";
}

bool test_operation::read_reply(const wire::reply_header& header, wire::reader& body) {
  state->server_error = header.error;
  while (!body.at_end()) state->body.push_back(static_cast<char>(body.read<std::uint8_t>()));
  return !malformed_reply;
}

void test_operation::complete(error_code ec) noexcept {
  EXPECT_EQ(++state->completions, 1) << "an operation on " << path << " completed again";
  state->ec = ec;
}

test_operation_ptr get(std::string_view path, watcher w) {
  return read(wire::opcode::get_data, path, watch_slot::data, std::move(w));
}

test_operation_ptr exists(std::string_view path, watcher w) {
  auto op = read(wire::opcode::exists, path, watch_slot::exist, std::move(w));
  op->result = errc::no_node;
  return op;
}

test_operation_ptr children(std::string_view path, watcher w) {
  return read(wire::opcode::get_children2, path, watch_slot::child, std::move(w));
}

test_operation_ptr add_watch(std::string_view path, watch_mode mode, watcher w) {
  auto op = make(wire::opcode::add_watch, on_disconnect::repeat, path,
                 wire::path_type_request{path, static_cast<std::int32_t>(mode)});
  op->watch = operation::wanted_watch{
      mode == watch_mode::persistent ? watch_slot::persistent : watch_slot::recursive,
      std::string{path}, std::move(w)};
  return op;
}

test_operation_ptr set(std::string_view path, std::string_view data) {
  return make(wire::opcode::set_data, on_disconnect::fail, path,
              wire::set_data_request{path, data, -1});
}

test_operation_ptr remove_watches(std::string_view path) {
  return make(wire::opcode::remove_watches, on_disconnect::succeed, path,
              wire::path_type_request{path, 3});
}

test_operation_ptr add_auth(std::string_view scheme, std::string_view auth) {
  auto op = make(wire::opcode::auth, on_disconnect::repeat, {}, wire::auth_request{0, scheme, auth},
                 wire::special_xid::auth);
  op->new_credentials.emplace(std::string{scheme}, secret::from_memory(auth));
  return op;
}

std::string request::path() const {
  wire::reader in{body};
  return in.read<std::string>();
}

client_options nine_seconds() {
  client_options o;
  o.session_timeout = std::chrono::seconds{9};
  o.reconnect = [](unsigned n) { return std::chrono::milliseconds{1000} * n; };
  return o;
}

// --- the user

virtual_loop::virtual_loop(const client_options& options, std::string_view where,
                           std::uint64_t seed)
    : machine_{connect_string::parse(where), options, seed} {
  machine_.start(now_);
  pump();
}

virtual_loop::~virtual_loop() {
  close();
  advance(std::chrono::hours{24 * 30});
  EXPECT_TRUE(machine_.finished());
  EXPECT_EQ(machine_.outstanding(), 0u);
}

std::shared_ptr<operation_state> virtual_loop::submit(test_operation_ptr op) {
  auto state = op->state;
  state->id = op->id();
  op->submitted = true;
  std::unique_ptr<operation> moved = std::move(op);
  const auto ec = machine_.submit(moved, now_);
  EXPECT_FALSE(ec) << ec.message();
  EXPECT_EQ(moved == nullptr, !ec);
  pump();
  return state;
}

error_code virtual_loop::refused(test_operation_ptr op) {
  std::unique_ptr<operation> kept = std::move(op);
  const auto ec = machine_.submit(kept, now_);
  EXPECT_TRUE(ec);
  EXPECT_NE(kept, nullptr);
  pump();
  return ec;
}

void virtual_loop::cancel(const std::shared_ptr<operation_state>& op) {
  machine_.cancel(op->id);
  pump();
}

void virtual_loop::close() {
  machine_.close(now_);
  pump();
}

watcher virtual_loop::journal_watcher(std::string name) {
  return [this, name = std::move(name)](const watch_event& e) {
    journal_.push_back(name + ' ' + name_of(e.type) + ' ' + e.path);
  };
}

// --- the network

void virtual_loop::pump() {
  const auto command = machine_.take_command();
  if (const auto* to = std::get_if<machine::connect_to>(&command)) {
    close_connection();
    requested_ = to->host;
    commands_.push_back("connect " + to_string(to->host));
  } else if (std::holds_alternative<machine::disconnect>(command)) {
    close_connection();
    commands_.emplace_back("disconnect");
  }
  if (connected_) {
    auto bytes = machine_.output();
    if (socket_capacity_) bytes = bytes.substr(0, std::min(*socket_capacity_, bytes.size()));
    if (socket_capacity_) *socket_capacity_ -= bytes.size();
    stream_ += bytes;
    received_bytes_ += bytes.size();
    machine_.sent(bytes.size());
    read_stream();
  }
  for (auto& n : machine_.take_notices()) deliver_notice(std::move(n));
}

void virtual_loop::read_stream() {
  for (;;) {
    wire::reader in{stream_};
    const auto length = in.read<std::int32_t>();
    if (!in.ok() || length < 0 || in.remaining() < static_cast<std::size_t>(length)) return;
    wire::reader frame{std::string_view{stream_}.substr(4, static_cast<std::size_t>(length))};
    if (!handshake_received_) {
      const auto r = frame.read<wire::connect_request>();
      handshake_ = {r.protocol_version, r.last_zxid_seen,        r.timeout_ms,
                    r.session_id,       std::string{r.password}, {}};
      if (!frame.at_end()) handshake_.read_only = frame.read<bool>();
      EXPECT_TRUE(frame.ok() && frame.at_end()) << "a malformed handshake";
      handshake_received_ = true;
    } else {
      const auto header = frame.read<wire::request_header>();
      EXPECT_TRUE(frame.ok()) << "a frame without a header";
      requests_.push_back({header.xid, header.type, stream_.substr(12, length - 8u)});
    }
    stream_.erase(0, 4 + static_cast<std::size_t>(length));
  }
}

void virtual_loop::close_connection() {
  requested_.reset();
  connected_ = false;
  handshake_received_ = false;
  stream_.clear();
  requests_.clear();
}

void virtual_loop::accept() {
  for (int pauses = 0; !requested_ && pauses < 10 && machine_.next_deadline() != time_point::max();
       ++pauses)
    advance(machine_.next_deadline() - now_);
  ASSERT_TRUE(requested_) << "no connection was requested";
  requested_.reset();
  connected_ = true;
  ++connections_;
  machine_.connected(now_);
  pump();
}

void virtual_loop::refuse() {
  ASSERT_TRUE(requested_) << "no connection was requested";
  requested_.reset();
  machine_.disconnected(
      boost::system::errc::make_error_code(boost::system::errc::connection_refused), now_);
  pump();
}

void virtual_loop::lose_connection() {
  ASSERT_TRUE(connected_) << "there is no connection";
  close_connection();
  machine_.disconnected(boost::system::errc::make_error_code(boost::system::errc::connection_reset),
                        now_);
  pump();
}

void virtual_loop::limit_socket(std::optional<std::size_t> bytes) {
  socket_capacity_ = bytes;
  pump();
}

// --- the server

void virtual_loop::accept_session(std::int64_t session_id, std::int32_t timeout_ms,
                                  std::optional<bool> read_only) {
  const wire::connect_response response{0, timeout_ms, session_id, password};
  if (read_only)
    send_frame(response, wire::read_only_flag{*read_only});
  else
    send_frame(response);
}

request virtual_loop::take_request() {
  if (requests_.empty()) {
    ADD_FAILURE() << "there is no request";
    return {};
  }
  auto first = std::move(requests_.front());
  requests_.pop_front();
  return first;
}

std::vector<std::string> virtual_loop::take_list() {
  std::vector<std::string> list;
  for (; has_request();) {
    const auto r = take_request();
    const bool about_a_path = r.type != wire::opcode::ping && r.type != wire::opcode::auth &&
                              r.type != wire::opcode::set_watches &&
                              r.type != wire::opcode::set_watches2 &&
                              r.type != wire::opcode::close_session;
    list.push_back(name_of(r.type) + (about_a_path ? ' ' + r.path() : ""));
  }
  return list;
}

void virtual_loop::answer_error(const request& r, errc e) {
  send_frame(wire::reply_header{r.xid, ++zxid_, static_cast<std::int32_t>(e)});
}

void virtual_loop::answer_all() {
  while (has_request()) answer(take_request());
}

void virtual_loop::event(watch_event::kind type, std::string_view path) {
  event(static_cast<std::int32_t>(type), path);
}

void virtual_loop::event(std::int32_t type, std::string_view path) {
  send_frame(wire::reply_header{wire::special_xid::watch_event, -1, 0},
             wire::watcher_event{type, 3, path});
}

void virtual_loop::deliver(std::string_view bytes) {
  const std::vector<char> exact{bytes.begin(), bytes.end()};  // freed after the call
  machine_.received({exact.data(), exact.size()}, now_);
  pump();
}

// --- time

void virtual_loop::advance(duration d) {
  const auto until = now_ + d;
  for (int steps = 0; machine_.next_deadline() <= until; ++steps) {
    if (steps == 100'000) {
      ADD_FAILURE() << "the machine's deadlines do not advance";
      break;
    }
    now_ = std::max(now_, machine_.next_deadline());
    machine_.time_passed(now_);
    pump();
  }
  now_ = until;
}

void virtual_loop::stop_for(duration d) {
  now_ += d;
  machine_.time_passed(now_);
  pump();
}

std::chrono::milliseconds virtual_loop::clock() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(now_.time_since_epoch() -
                                                               std::chrono::hours{1});
}

void virtual_loop::deliver_notice(notice n) {
  if (auto* done = std::get_if<completion>(&n)) {
    const auto& op = static_cast<const test_operation&>(*done->op);
    journal_.push_back("done " + name_of(op.type()) + (op.path.empty() ? "" : ' ' + op.path) +
                       ": " + name_of(done->ec));
    done->op->complete(done->ec);
  } else if (const auto* fired = std::get_if<triggered_watch>(&n)) {
    for (const auto& w : fired->watchers) w(fired->event);
  } else if (const auto* event = std::get_if<session_event>(&n)) {
    journal_.emplace_back(to_string(event->type));
    events_.push_back(*event);
  } else if (auto* line = std::get_if<log_line>(&n)) {
    log_.push_back(std::move(*line));
  } else {
    ++discarded_;
  }
}

}  // namespace conclave::session
