#include "test_server.hpp"

#include <ostream>
#include <stdexcept>

#include <gtest/gtest.h>

namespace conclave {

std::ostream& operator<<(std::ostream& out, errc e) {
  return out << error_code{e}.message() << " (" << static_cast<int>(e) << ")";
}

namespace server_impl {

using wire::opcode;

namespace {

std::vector<std::string> owned(const std::vector<std::string_view>& views) {
  return {views.begin(), views.end()};
}

void read_fields(opcode type, wire::reader& in, outcome& o);

void read_parts(wire::reader& in, outcome& o) {
  while (in.ok()) {
    const auto header = in.read<wire::multi_header>();
    if (header.done) {
      EXPECT_EQ(header.type, opcode::error);
      EXPECT_EQ(header.error, -1);
      return;
    }
    auto& part = o.parts.emplace_back();
    part.answered_as = header.type;
    if (header.type == opcode::error) {
      part.error = static_cast<errc>(in.read<std::int32_t>());
      EXPECT_EQ(header.error, static_cast<std::int32_t>(part.error));
    } else {
      EXPECT_EQ(header.error, 0);
      read_fields(header.type, in, part);
    }
  }
}

void read_fields(opcode type, wire::reader& in, outcome& o) {
  const auto take_stat = [&] { o.stat = in.read<wire::stat_record>().value; };
  const auto take_names = [&] { o.names = owned(in.read<std::vector<std::string_view>>()); };
  switch (type) {
    case opcode::sync:
    case opcode::create: o.path = in.read<std::string>(); return;
    case opcode::create2:
    case opcode::create_container:
    case opcode::create_ttl: o.path = in.read<std::string>(); return take_stat();
    case opcode::exists:
    case opcode::set_data:
    case opcode::set_acl: return take_stat();
    case opcode::get_data:
      if (const auto data = in.read<std::string_view>(); data.data() != nullptr) o.data = data;
      return take_stat();
    case opcode::get_acl:
      for (const auto& e : in.read<std::vector<wire::acl_record>>())
        o.acl.push_back({e.permissions, std::string{e.scheme}, std::string{e.id}});
      return take_stat();
    case opcode::get_children:
    case opcode::get_ephemerals: return take_names();
    case opcode::get_children2: take_names(); return take_stat();
    case opcode::get_all_children_number:
    case opcode::add_watch: o.number = in.read<std::int32_t>(); return;
    case opcode::who_am_i:
      for (const auto& e : in.read<std::vector<wire::identity_record>>())
        o.acl.push_back({0, std::string{e.scheme}, std::string{e.id}});
      return;
    case opcode::multi:
    case opcode::multi_read: return read_parts(in, o);
    default: return;  // only a header
  }
}

std::string describe(const wire::watcher_event& e) {
  static constexpr std::string_view names[] = {"none", "created", "removed", "changed", "children"};
  EXPECT_GE(e.type, 1);
  EXPECT_LE(e.type, 4);
  EXPECT_EQ(e.state, 3);
  return std::string{names[e.type >= 1 && e.type <= 4 ? e.type : 0]} + " " + std::string{e.path};
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const outcome& o) { return out << o.error; }

// --- client

void client::send_bytes(std::string_view payload) {
  const auto work = [&] {
    // The buffer has the exact size, so that a sanitizer detects reads beyond the end.
    const std::vector<char> exact{payload.begin(), payload.end()};
    server_.core().receive(id_, {exact.data(), exact.size()});
  };
  server_.in_turn() ? work() : server_.turn(work);
}

void client::send(const request& r) {
  const auto xid = r.xid != 0 ? r.xid : ++xid_;
  std::string payload;
  wire::writer{payload}(xid, r.type, wire::encoded{r.body});
  asked_.emplace_back(xid, r.type);
  send_bytes(payload);
}

outcome client::ask(const request& r) {
  EXPECT_FALSE(server_.in_turn()) << "the reply arrives after the turn";
  EXPECT_TRUE(answers_.empty()) << "an older reply was not read";
  send(r);
  return next_reply();
}

outcome client::next_reply() {
  outcome o;
  o.error = unanswered;
  if (answers_.empty()) return o;
  o = std::move(answers_.front());
  answers_.pop_front();
  return o;
}

lines client::take_events() {
  auto all = take_journal();
  std::erase_if(all,
                [](const auto& line) { return line == "greeted" || line.starts_with("answer"); });
  return all;
}

void client::disconnect() {
  if (closed_) return;
  close();
  const auto work = [&] { server_.core().disconnected(id_); };
  server_.in_turn() ? work() : server_.turn(work);
}

void client::close() {
  closed_ = true;
  asked_.clear();
}

void client::receive(std::string_view frame) {
  wire::reader in{frame};
  if (!handshake_) {
    const auto r = in.read<wire::connect_response>();
    handshake_ = {r.timeout_ms, r.session_id, std::string{r.password}, std::nullopt,
                  r.protocol_version};
    if (!in.at_end()) handshake_->read_only = in.read<bool>();
    EXPECT_TRUE(in.ok() && in.at_end()) << "a malformed reply to the handshake";
    EXPECT_EQ(r.password.size(), 16u);
    journal_.emplace_back("greeted");
    return;
  }
  const auto header = in.read<wire::reply_header>();
  if (header.xid == wire::special_xid::watch_event) {
    EXPECT_EQ(header.zxid, -1);
    EXPECT_EQ(header.error, 0);
    journal_.push_back(describe(in.read<wire::watcher_event>()));
    EXPECT_TRUE(in.ok() && in.at_end()) << "a malformed event";
    return;
  }
  ASSERT_FALSE(asked_.empty()) << "a reply without a request, xid " << header.xid;
  const auto [xid, type] = asked_.front();
  asked_.pop_front();
  EXPECT_EQ(header.xid, xid) << "replies out of order";
  const auto error = static_cast<errc>(header.error);
  if (type != opcode::auth && error != errc::unimplemented) {  // these replies have no zxid
    EXPECT_GE(header.zxid, last_zxid_) << "a zxid decreased";
    last_zxid_ = header.zxid;
  }
  auto& o = answers_.emplace_back();
  o.error = error;
  o.zxid = header.zxid;
  o.body_size = in.remaining();
  if (o.error == ok) read_fields(type, in, o);
  EXPECT_TRUE(in.ok() && in.at_end()) << "a malformed reply to " << static_cast<int>(type);
  journal_.push_back("answer " + std::to_string(xid));
}

// --- server

core_options default_options() {
  core_options o;
  o.super_digest = digest_of("super:secret");
  return o;
}

test_server::test_server(core_options options, std::uint64_t seed)
    : options_{std::move(options)}, random_{seed} {
  options_.random = [this](char* into, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) into[i] = static_cast<char>(random_());
  };
  core_ = std::make_unique<server_impl::core>(options_, image{}, 1000, moment{now_, wall_ms()});
  turn();
}

std::chrono::milliseconds test_server::elapsed() const {
  return std::chrono::duration_cast<std::chrono::milliseconds>(now_.time_since_epoch());
}

client& test_server::connect(peer from) {
  const auto id = ++last_id_;
  const auto binding = from.process_binding;
  const auto work = [&] { core_->connected(id, std::move(from)); };
  in_turn_ ? work() : turn(work);
  return *clients_.emplace(id, std::unique_ptr<client>{new client{*this, id, binding}})
              .first->second;
}

void test_server::handshake(client& c, const connect_parameters& h) {
  std::string payload;
  wire::writer out{payload};
  out(wire::connect_request{h.process_binding.value_or(c.process_binding_), h.seen_zxid,
                            static_cast<std::int32_t>(h.timeout.count()), h.session, h.password});
  if (h.read_only) out(*h.read_only);
  c.send_bytes(payload);
}

client& test_server::open_session(std::chrono::milliseconds timeout, peer from) {
  auto& c = connect(std::move(from));
  connect_parameters h;
  h.timeout = timeout;
  handshake(c, h);
  return c;
}

client& test_server::reconnect(const client& before, std::chrono::milliseconds timeout, peer from) {
  auto& c = connect(std::move(from));
  connect_parameters h;
  h.timeout = timeout;
  h.seen_zxid = before.last_zxid();
  h.session = before.handshake().value().session;
  h.password = before.handshake().value().password;
  handshake(c, h);
  return c;
}

void test_server::begin() {
  EXPECT_FALSE(in_turn_);
  in_turn_ = true;
  core_->begin_turn({now_, wall_ms()});
}

void test_server::end() {
  core_->expire();
  if (core_->has_changes()) commit();
  in_turn_ = false;
  EXPECT_GE(stored_.zxid, core_->zxid()) << "a client received a zxid that is not stored";
  deliver();
  EXPECT_GT(core_->next_deadline(), now_) << "the deadline is in the past";
}

void test_server::commit() {
  ++commits_;
  const auto changes = core_->take_changes();
  EXPECT_FALSE(core_->has_changes()) << "take_changes() left changes";
  last_batch_.clear();
  for (const auto& path : changes.removed_nodes) last_batch_.push_back("-" + path);
  for (const auto& n : changes.nodes) last_batch_.emplace_back(n.path);
  for (const auto& p : changes.parents) last_batch_.push_back("+" + std::string{p.path});
  for (const auto& line : last_batch_) transcript_ += line + "\n";
  for (const auto& error : stored_.apply(changes)) ADD_FAILURE() << "a bad batch: " << error;
}

void test_server::deliver() {
  for (const auto id : core_->take_ready()) {
    const auto bytes = std::exchange(core_->output(id), {});
    transcript_ += std::to_string(id) + ": " + bytes + "\n";
    auto& c = *clients_.at(id);
    wire::frame_splitter frames{1 << 22};
    frames.feed(bytes);
    while (const auto frame = frames.next()) c.receive(*frame);
    EXPECT_FALSE(frames.failed());
    EXPECT_TRUE(frames.rest().empty()) << "half a frame";
    if (core_->is_closing(id)) {
      EXPECT_EQ(core_->session_of(id), 0);
      c.close();
      core_->disconnected(id);
    } else {
      EXPECT_TRUE(c.asked_.empty()) << "a request was not answered";
    }
  }
  EXPECT_GE(core_->zxid(), highest_zxid_) << "a zxid decreased";
  highest_zxid_ = core_->zxid();
}

void test_server::pass(std::chrono::milliseconds d) {
  for (const auto until = now_ + d; now_ < until;) {
    const auto next = core_->next_deadline();
    if (next <= now_) throw std::runtime_error{"the deadline is in the past"};
    now_ = std::min(until, next);
    turn();
  }
}

void test_server::stall(std::chrono::milliseconds d) { now_ += d; }

void test_server::crash() {
  in_turn_ = false;
  for (auto& [id, c] : clients_) c->close();
  core_ = std::make_unique<server_impl::core>(options_, stored_.load(), 0, moment{now_, wall_ms()});
  EXPECT_FALSE(core_->has_changes()) << "what was loaded is stored already";
  EXPECT_EQ(core_->zxid(), stored_.zxid);
}

}  // namespace server_impl
}  // namespace conclave
