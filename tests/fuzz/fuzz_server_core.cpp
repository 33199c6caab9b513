// The core of the server with arbitrary clients, network, clock and disk.
//
// The input is a script, so that the corpus is readable. A letter selects a command. The next
// characters are its arguments, as character codes modulo the number of choices. Other characters
// are skipped. C and S are connections.
//
//   c C      connect C with a new session
//   a C S    connect C with the session of S
//   d C      disconnect C
//   p S      the process of S has ended
//   r C      a request, see request()
//   m C N    a transaction of N requests
//   b C T N  a request of type T with the next N bytes as its body
//   f C N    a frame of the next N bytes
//   g N      the same as the first frame of a new connection
//   e        end the turn
//   t N      end the turn, and let time pass
//   x        crash the server; uncommitted changes are lost
//   w        the disk becomes full, or has space again
//
// Every request must be answered exactly once and in order, unless its connection is closed.
// Replies and events must be well-formed, zxids must not decrease, and the stored rows must form a
// tree.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../unit/server_core/requests.hpp"
#include "../unit/server_core/stored_rows.hpp"
#include "require.hpp"
#include "server/core/core.hpp"
#include "wire/frame.hpp"

namespace conclave::server_impl {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

class fuzz_server {
 public:
  explicit fuzz_server(std::string_view script) : script_{script} {
    start(1000);
    open_session(0, 0, false);
    open_session(1, 0, true);
    end_turn();
  }

  void run() {
    while (!script_.empty()) act(next());
    end_turn();
    // The next server must load the state of this one.
    const auto nodes = core_->nodes().size();
    const auto bytes = core_->nodes().data_size();
    const auto sessions = core_->sessions().size();
    start(0);
    REQUIRE(core_->zxid() == disk_.zxid);
    REQUIRE(core_->nodes().size() == nodes);
    REQUIRE(core_->nodes().data_size() == bytes);
    REQUIRE(core_->sessions().size() == sessions);
    REQUIRE(!core_->has_changes());
  }

 private:
  struct client_slot {
    connection_id id = 0;
    bool open = false;
    bool greeted = false;
    std::int64_t session = 0;
    std::string password;
    std::int64_t zxid = 0;
    std::size_t read = 0;  // bytes of the output that were checked in this turn
    std::int32_t xid = 0;
  };

  // --- the script

  unsigned next() {
    if (script_.empty()) return 0;
    const auto c = static_cast<unsigned char>(script_.front());
    script_.remove_prefix(1);
    return c;
  }
  unsigned next(unsigned below) { return next() % below; }
  std::string_view take(std::size_t n) {
    const auto bytes = script_.substr(0, n);
    script_.remove_prefix(bytes.size());
    return bytes;
  }

  void act(unsigned command) {
    switch (command) {
      case 'c': {
        const auto c = next(4);
        return open_session(c, 0, c == 1);
      }
      case 'a': {
        const auto c = next(4);
        return open_session(c, slots_[next(4)].session, c == 1);
      }
      case 'd': return disconnect(slots_[next(4)]);
      case 'p': return core_->process_ended(slots_[next(4)].session);
      case 'r': return ask(slots_[next(4)], make_request());
      case 'm': {
        auto& s = slots_[next(4)];
        std::vector<request> parts;
        for (auto n = next(8); n > 0; --n) parts.push_back(make_request());
        return ask(s, next(4) == 0 ? multi_read(parts) : multi(parts));
      }
      case 'b': {
        auto& s = slots_[next(4)];
        const auto type = static_cast<opcode>(static_cast<std::int32_t>(next()) - 11);
        return ask(s, {type, std::string{take(next())}});
      }
      case 'f': {
        auto& s = slots_[next(4)];
        return send(s, take(next()));
      }
      case 'g': {
        auto& s = slots_[next(4)];
        connect(s, false);
        return send(s, take(next()));
      }
      case 'e': return end_turn();
      case 't':
        end_turn();
        now_ += 500ms * static_cast<int>(next(64));
        core_->begin_turn({now_, wall_ms()});
        if (next(8) == 0) core_->extend_sessions(5s);
        return end_turn();
      case 'x': return start(0);
      case 'w':
        end_turn();
        writable_ = !writable_;
        return core_->set_writable(writable_);
      default: return;
    }
  }

  std::string path() {
    static constexpr std::string_view paths[] = {
        "/",
        "/a",
        "/b",
        "/a/x",
        "/a/y",
        "/a/x/1",
        "/a/",
        "/b/s-",
        "/.",
        "/zookeeper",
        "/a/s-0000000001",
        "/b/\xc3\xa9",
        "",
        "none",
    };
    return std::string{paths[next(std::size(paths))]};
  }

  request make_request() {
    static const acl lists[] = {world(31),
                                world(1),
                                world(30),
                                {},
                                {{31, "auth", ""}},
                                {{31, "digest", "ann:x"}, {1, "world", "anyone"}},
                                {{31, "ip", "10.0.0.0/8"}}};
    const auto kind = next(32);
    const auto p = path();
    const auto value = next();
    const auto version = static_cast<std::int32_t>(value % 5) - 1;
    const bool watch = value % 2 != 0;
    const auto& access = lists[value % std::size(lists)];
    const std::string data(value % 16, 'x');
    switch (kind) {
      case 0: return create(p, data, static_cast<std::int32_t>(value % 8), access);
      case 1: return create2(p, data, static_cast<std::int32_t>(value % 4));
      case 2: return create(p);
      case 3: return create_ephemeral(p);
      case 4: return create_sequential(p);
      case 5: return create_container(p);
      case 6: return create_ttl(p, value * 100, static_cast<std::int32_t>(4 + value % 3));
      case 7:
      case 8: return remove(p, value < 200 ? any_version : version);
      case 9:
      case 10: return set(p, data, value < 200 ? any_version : version);
      case 11: return set_acl(p, access, value < 200 ? any_version : version);
      case 12: return check(p, version);
      case 13: return exists(p, watch);
      case 14: return get(p, watch);
      case 15: return children(p, watch);
      case 16: return children2(p, watch);
      case 17: return get_acl(p);
      case 18: return get_ephemerals(p);
      case 19: return get_all_children_number(p);
      case 20: return sync(p);
      case 21: return ping();
      case 22: return who_am_i();
      case 23: return watch ? add_persistent_watch(p) : add_recursive_watch(p);
      case 24: return remove_watches(p, static_cast<std::int32_t>(value % 5));
      case 25: return check_watches(p, static_cast<std::int32_t>(value % 5));
      case 26: return set_watches(disk_.zxid - value % 8, {p}, {p, "/a"}, {p});
      case 27: return set_watches2(disk_.zxid - value % 8, {p}, {}, {p}, {"/a", p}, {p});
      case 28: return auth(value % 8 == 0 ? "ip" : "digest", watch ? "ann:secret" : "super:secret");
      case 29: return value % 8 == 0 ? close_session() : ping();
      case 30: return {opcode::sasl, data};
      default: return {static_cast<opcode>(value), data};
    }
  }

  // --- the server

  void start(std::int64_t first_zxid) {
    for (auto& s : slots_) s.open = false;
    core_options o;
    o.max_sessions = 6;
    o.max_watches_per_connection = 10;
    o.reap_interval = 10s;
    o.super_digest = digest_of("super:secret");
    o.random = [this](char* into, std::size_t size) {
      for (std::size_t i = 0; i < size; ++i)
        into[i] = static_cast<char>(++random_ * 0x9e3779b1u >> 24);
    };
    core_ = std::make_unique<core>(std::move(o), disk_.load(), first_zxid, moment{now_, wall_ms()});
    writable_ = true;
  }

  std::int64_t wall_ms() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(now_.time_since_epoch()).count();
  }

  static constexpr std::int32_t socket_binding = 4711;

  void connect(client_slot& s, bool process_bound) {
    disconnect(s);
    s.id = ++last_id_;
    s.open = true;
    s.greeted = false;
    s.zxid = s.read = 0;
    core_->connected(s.id, {process_bound ? "" : "10.1.2.3", process_bound ? socket_binding : 0});
  }

  void disconnect(client_slot& s) {
    if (s.open) core_->disconnected(s.id);
    s.open = false;
  }

  void open_session(unsigned at, std::int64_t session, bool process_bound) {
    auto& s = slots_[at];
    // Uses the password of the session's client.
    std::string password(16, '\0');
    for (const auto& other : slots_)
      if (other.session == session && session != 0) password = other.password;
    connect(s, process_bound);
    std::string greeting;
    wire::writer{greeting}(
        wire::connect_request{process_bound ? socket_binding : 0, 0,
                              static_cast<std::int32_t>(4000 + 1000 * next(8)), session, password},
        false);
    send(s, greeting);
  }

  void ask(client_slot& s, const request& r) {
    std::string payload;
    wire::writer{payload}(r.xid != 0 ? r.xid : ++s.xid, r.type, wire::encoded{r.body});
    send(s, payload);
  }

  void send(client_slot& s, std::string_view payload) {
    if (!s.open || core_->is_closing(s.id)) return;
    const std::vector<char> exact{payload.begin(), payload.end()};
    read_events(s);
    const bool was_greeted = s.greeted;
    core_->receive(s.id, {exact.data(), exact.size()});
    if (!was_greeted) return read_greeting(s);
    auto header = wire::reader{payload}.read<wire::request_header>();
    if (header.type == opcode::ping) header.xid = wire::special_xid::ping;
    const bool answered = read_answer(s, header.xid);
    REQUIRE(answered || core_->is_closing(s.id));
    REQUIRE(s.read == core_->output(s.id).size());  // exactly one reply
  }

  // --- output

  std::string_view next_frame(client_slot& s) {
    const auto rest = std::string_view{core_->output(s.id)}.substr(s.read);
    wire::reader in{rest};
    const auto length = static_cast<std::size_t>(in.read<std::int32_t>());
    REQUIRE(in.ok() && length <= in.remaining());
    s.read += 4 + length;
    return rest.substr(4, length);
  }
  bool at_end(const client_slot& s) { return s.read == core_->output(s.id).size(); }

  void read_greeting(client_slot& s) {
    if (at_end(s)) {
      REQUIRE(core_->is_closing(s.id));
      return;
    }
    wire::reader in{next_frame(s)};
    const auto r = in.read<wire::connect_response>();
    REQUIRE(in.ok() && in.remaining() <= 1 && at_end(s));
    REQUIRE((r.session_id == 0) == core_->is_closing(s.id));
    REQUIRE(r.session_id == core_->session_of(s.id));
    if (r.session_id == 0) return;
    REQUIRE(r.timeout_ms >= 4000 && r.timeout_ms <= 40'000);
    s.greeted = true;
    s.session = r.session_id;
    s.password = r.password;
    for (auto& other : slots_)
      if (&other != &s && other.session == s.session)
        REQUIRE(!other.open || core_->is_closing(other.id));
  }

  // Checks the events before the reply. Returns false if there is no reply.
  bool read_answer(client_slot& s, std::int32_t xid) {
    while (!at_end(s)) {
      const auto frame = next_frame(s);
      if (is_event(frame)) continue;
      wire::reader in{frame};
      const auto header = in.read<wire::reply_header>();
      REQUIRE(in.ok() && header.xid == xid);
      REQUIRE(header.zxid <= core_->zxid());
      if (header.zxid > 0) {
        REQUIRE(header.zxid >= s.zxid);
        s.zxid = header.zxid;
      }
      REQUIRE(header.error == 0 || in.at_end());
      return true;
    }
    return false;
  }

  void read_events(client_slot& s) {
    while (!at_end(s)) REQUIRE(is_event(next_frame(s)));
  }

  static bool is_event(std::string_view frame) {
    wire::reader in{frame};
    const auto header = in.read<wire::reply_header>();
    REQUIRE(in.ok());
    if (header.xid != wire::special_xid::watch_event || header.zxid != -1 || header.error != 0)
      return false;  // a client may also use the xid -1
    const auto e = in.read<wire::watcher_event>();
    REQUIRE(in.ok() && in.at_end());
    REQUIRE(e.type >= 1 && e.type <= 4 && e.state == 3);
    return true;
  }

  void end_turn() {
    core_->expire();
    if (core_->has_changes()) {
      REQUIRE(writable_);
      const auto complaints = disk_.apply(core_->take_changes());
      for (const auto& c : complaints) std::fprintf(stderr, "a bad batch: %s\n", c.c_str());
      REQUIRE(complaints.empty());
    }
    REQUIRE(disk_.zxid == core_->zxid() || !writable_);
    REQUIRE(!core_->has_changes());
    for (const auto id : core_->take_ready()) {
      auto& s = *std::find_if(slots_.begin(), slots_.end(), [&](auto& x) { return x.id == id; });
      REQUIRE(s.open);
      read_events(s);
      core_->output(id).clear();
      s.read = 0;
      if (core_->is_closing(id)) disconnect(s);
    }
    for (const auto& s : slots_) REQUIRE(!s.open || core_->output(s.id).empty());
    REQUIRE(disk_.nodes.size() == core_->nodes().size() || !writable_);
    REQUIRE(core_->next_deadline() > now_);
    core_->begin_turn({now_, wall_ms()});
  }

  std::string_view script_;
  stored_rows disk_;
  std::unique_ptr<core> core_;
  std::array<client_slot, 4> slots_;
  connection_id last_id_ = 0;
  time_point now_{1h};
  std::uint32_t random_ = 0;
  bool writable_ = true;
};

}  // namespace
}  // namespace conclave::server_impl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  conclave::server_impl::fuzz_server{{reinterpret_cast<const char*>(data), size}}.run();
  return 0;
}
