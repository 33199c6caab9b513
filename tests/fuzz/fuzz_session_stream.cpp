// A session with a server that may send anything. After the handshake, with operations in flight,
// the input controls the server, the network, the clock and the user. Every operation must complete
// exactly once, and all must complete when the client is closed.

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "require.hpp"
#include "session/machine.hpp"

namespace conclave::session {
namespace {

using namespace std::chrono_literals;

class fuzz_operation final : public operation {
 public:
  fuzz_operation(wire::opcode type, on_disconnect rule, int& completed, int& alive)
      : operation{type, rule}, completed_{completed}, alive_{alive} {
    ++alive_;
  }
  ~fuzz_operation() override {
    REQUIRE(done_);
    --alive_;
  }

  bool read_reply(const wire::reply_header& header, wire::reader& body) override {
    if (header.error != 0) return true;
    if (type() == wire::opcode::get_data) body.read<wire::get_data_response>();
    if (type() == wire::opcode::get_children2) body.read<wire::get_children2_response>();
    if (type() == wire::opcode::set_data) body.read<wire::stat_response>();
    return body.ok();
  }

  void complete(error_code) noexcept override {
    REQUIRE(!done_);
    done_ = true;
    ++completed_;
  }

 private:
  int& completed_;
  int& alive_;
  bool done_ = false;
};

class fuzz_session {
 public:
  explicit fuzz_session(FuzzedDataProvider& input)
      : input_{input},
        machine_{connect_string::parse("one,two/app"),
                 options(input.ConsumeIntegral<std::uint8_t>()), 0} {
    machine_.start(now_);
    pump();
    reconnect();
    for (int i = 0; i < 5; ++i) submit();
  }

  void run() {
    for (int step = 0; step < 500 && input_.remaining_bytes() > 0; ++step) act();
    machine_.close(now_);
    pump();
    pass(std::chrono::hours{24 * 30});  // a server may grant a session timeout of 24 days
    REQUIRE(machine_.finished());
    REQUIRE(machine_.outstanding() == 0 && machine_.watch_count() == 0);
    REQUIRE(completed_ == submitted_ && alive_ == 0);
  }

 private:
  static client_options options(std::uint8_t bits) {
    client_options o;
    o.session_timeout = 9s;
    o.reconnect = [](unsigned) { return 100ms; };
    o.renew_expired = (bits & 1) != 0;
    o.max_outstanding = (bits & 2) != 0 ? 8 : 1000;
    o.max_reply_bytes = 10'000;
    if ((bits & 4) != 0) o.credentials.emplace_back("digest", secret::from_memory("u:p"));
    if ((bits & 8) != 0) o.log = [](log_level, std::string_view) {};
    return o;
  }

  void act() {
    switch (input_.ConsumeIntegralInRange(0, 11)) {
      case 0: return receive(input_.ConsumeRandomLengthString(100));
      case 1: return frame(input_.ConsumeRandomLengthString(100));
      case 2:  // probably the reply to the oldest request
        return answer(next_answer_++, input_.ConsumeRandomLengthString(100));
      case 3:
        return answer(input_.ConsumeIntegralInRange(-10, 30), input_.ConsumeRandomLengthString(20));
      case 4: return event();
      case 5: return submit();
      case 6: machine_.cancel(first_id_ + input_.ConsumeIntegralInRange(0u, 40u)); return pump();
      case 7: return pass(std::chrono::milliseconds{input_.ConsumeIntegralInRange(0, 10'000)});
      case 8: socket_takes_ = input_.ConsumeIntegralInRange<std::size_t>(0, 200); return pump();
      case 9:
        if (connected_) {
          connected_ = false;
          machine_.disconnected(errc::protocol_error, now_);
          pump();
        }
        return;
      case 10: return forget();
      default: return reconnect();
    }
  }

  void submit() {
    static constexpr std::string_view paths[] = {"/app", "/app/a", "/app/a/b"};
    const auto path = paths[input_.ConsumeIntegralInRange(0, 2)];
    const int what = input_.ConsumeIntegralInRange(0, 6);
    std::unique_ptr<operation> op;
    const auto make = [&](wire::opcode type, on_disconnect rule, const auto& body,
                          std::int32_t xid = 0) {
      op = std::make_unique<fuzz_operation>(type, rule, completed_, alive_);
      wire::append_frame(op->frame, wire::request_header{xid, type}, body);
    };
    const auto watched = [&](watch_slot slot) {
      op->watch = operation::wanted_watch{slot, std::string{path}, watcher_};
    };
    switch (what) {
      case 0:
        make(wire::opcode::set_data, on_disconnect::fail, wire::set_data_request{path, "x", -1});
        break;
      case 1:
        make(wire::opcode::get_data, on_disconnect::repeat, wire::path_watch_request{path, true});
        watched(watch_slot::data);
        break;
      case 2:
        make(wire::opcode::get_children2, on_disconnect::repeat,
             wire::path_watch_request{path, true});
        watched(watch_slot::child);
        break;
      case 3:
        make(wire::opcode::exists, on_disconnect::repeat, wire::path_watch_request{path, true});
        watched(watch_slot::exist);
        break;
      case 4:
        make(wire::opcode::add_watch, on_disconnect::repeat, wire::path_type_request{path, 1});
        watched(watch_slot::recursive);
        break;
      case 5:
        make(wire::opcode::remove_watches, on_disconnect::succeed,
             wire::path_type_request{path, 3});
        break;
      default:
        make(wire::opcode::auth, on_disconnect::repeat, wire::auth_request{0, "digest", "u:p"}, -4);
    }
    if (submitted_ == 0) first_id_ = op->id();
    ++submitted_;
    if (const auto ec = machine_.submit(op, now_)) {
      REQUIRE(op != nullptr);
      op->complete(ec);
    } else {
      REQUIRE(op == nullptr);
    }
    op.reset();
    pump();
  }

  void forget() {
    error_code ec;
    const auto kind = static_cast<watch_kind>(input_.ConsumeIntegralInRange(1, 3));
    machine_.forget_watch(kind, "/app/a", input_.ConsumeBool() ? watcher_ : watcher{}, ec);
  }

  void reconnect() {
    if (!wanted_) return;
    wanted_ = false;
    connected_ = true;
    socket_takes_ = 100'000;
    machine_.connected(now_);
    pump();
    static constexpr std::int64_t sessions[] = {7, 7, 7, 8, 0};
    const int which = submitted_ == 0 ? 0 : input_.ConsumeIntegralInRange(0, 5);
    if (which == 5) return;  // the input contains the handshake reply
    std::string bytes;
    wire::append_frame(
        bytes, wire::connect_response{0, which == 4 ? 0 : 9000, sessions[which], "password"},
        wire::read_only_flag{});
    receive(bytes);
  }

  void frame(std::string_view payload) {
    std::string bytes;
    wire::writer{bytes}(static_cast<std::int32_t>(payload.size()));
    receive(bytes + std::string{payload});
  }

  void answer(std::int32_t xid, std::string_view body) {
    const auto error = input_.ConsumeBool() ? 0 : -input_.ConsumeIntegralInRange(1, 130);
    std::string payload;
    wire::writer{payload}(wire::reply_header{xid, input_.ConsumeIntegral<std::int64_t>(), error});
    frame(payload + std::string{body});
  }

  void event() {
    std::string payload;
    const auto path =
        input_.ConsumeBool() ? std::string{"/app/a"} : input_.ConsumeRandomLengthString(20);
    wire::writer{payload}(wire::reply_header{-1, -1, 0},
                          wire::watcher_event{input_.ConsumeIntegralInRange(-1, 7), 3, path});
    frame(payload);
  }

  // In up to three pieces, each exactly as large as its buffer.
  void receive(std::string_view bytes) {
    if (!connected_) return;
    for (int pieces = input_.ConsumeIntegralInRange(0, 2); pieces >= 0; --pieces) {
      const auto n =
          pieces == 0 ? bytes.size() : input_.ConsumeIntegralInRange<std::size_t>(0, bytes.size());
      const std::vector<char> exact{bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n)};
      bytes.remove_prefix(n);
      machine_.received({exact.data(), exact.size()}, now_);
      pump();
      if (!connected_) return;
    }
  }

  void pass(duration d) {
    const auto until = now_ + d;
    for (int steps = 0; steps < 100 && machine_.next_deadline() <= until; ++steps) {
      now_ = std::max(now_, machine_.next_deadline());
      machine_.time_passed(now_);
      pump();
    }
    now_ = until;
  }

  void pump() {
    const auto command = machine_.take_command();
    if (!std::holds_alternative<std::monostate>(command)) {
      connected_ = false;
      wanted_ = std::holds_alternative<machine::connect_to>(command);
    }
    if (connected_) {
      const auto n = std::min(machine_.output().size(), socket_takes_);
      socket_takes_ -= n;
      machine_.sent(n);
    }
    for (auto& n : machine_.take_notices()) {
      if (auto* done = std::get_if<completion>(&n)) done->op->complete(done->ec);
      if (auto* fired = std::get_if<triggered_watch>(&n))
        for (const auto& w : fired->watchers) w(fired->event);
    }
    REQUIRE(machine_.session_deadline() <= now_ + std::chrono::milliseconds{INT32_MAX});
  }

  FuzzedDataProvider& input_;
  int submitted_ = 0;
  int completed_ = 0;
  int alive_ = 0;
  std::uint64_t first_id_ = 0;
  std::int32_t next_answer_ = 1;
  bool wanted_ = false;
  bool connected_ = false;
  std::size_t socket_takes_ = 100'000;
  time_point now_{1h};
  watcher watcher_ = [](const watch_event& e) { REQUIRE(e.type != watch_event::kind{}); };
  machine machine_;
};

}  // namespace
}  // namespace conclave::session

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzedDataProvider input{data, size};
  conclave::session::fuzz_session{input}.run();
  return 0;
}
