#include "simulation/ensemble/ensemble_client.hpp"

#include <algorithm>

#include "requests/requests.hpp"

namespace conclave::simulated {
namespace {

client_options options_with(std::chrono::milliseconds session_timeout) {
  client_options o;
  o.session_timeout = session_timeout;
  return o;
}

// Removes a watch from the server. The reply is ignored.
class watch_removal final : public session::operation {
 public:
  explicit watch_removal(requests::request<requests::nothing> r) : operation{r.type, r.rule} {
    frame = std::move(r.frame);
  }
  bool read_reply(const wire::reply_header&, wire::reader&) override { return true; }
  void complete(error_code) noexcept override {}
};

}  // namespace

ensemble_client::ensemble_client(ensemble& e, std::size_t server,
                                 std::chrono::milliseconds session_timeout, std::uint64_t seed)
    : session_context{std::make_shared<requests::defaults>(requests::defaults{{}, open_acl()})},
      ensemble_{e},
      server_{server},
      random_{seed},
      machine_{connect_string::parse("host:1"), options_with(session_timeout), 0} {}

void ensemble_client::start() {
  machine_.start(now());
  pump();
}

// --- session_context

void ensemble_client::submit(std::unique_ptr<session::operation> op) {
  if (const auto ec = machine_.submit(op, now()))
    refused_.emplace_back(std::move(op), ec);
  else if (corks_ == 0 && !pumping_)
    flush();
  request_pump();
}

void ensemble_client::forget_watch(const std::string& path, watch_kind kind, const watcher& w) {
  error_code ec;
  if (machine_.forget_watch(kind, path, w, ec) && !ec)
    submit(std::make_unique<watch_removal>(requests::remove_watch(defaults(), path, kind)));
  request_pump();
}

void ensemble_client::uncork() {
  if (--corks_ == 0 && !pumping_) flush();
}

ensemble_client::session_view ensemble_client::session() const {
  return {machine_.session_id(), is_connected(), machine_.end_reason(),
          machine_.session_deadline()};
}

void ensemble_client::wake_at(recipes::time_point when) {
  wake_ = std::min(wake_, when);
  request_pump();
}

// --- the driver

void ensemble_client::flush() {
  if (connection_ == 0) return;
  std::string bytes{machine_.output()};
  if (bytes.empty()) return;
  machine_.sent(bytes.size());
  ensemble_.send(connection_, std::move(bytes));
}

void ensemble_client::request_pump() {
  if (pumping_ || std::exchange(pump_requested_, true)) return;
  ensemble_.call_at(ensemble_.now(), [self = shared_from_this()] { self->pump(); });
}

void ensemble_client::pump() {
  pump_requested_ = false;
  if (pumping_) return;
  pumping_ = true;
  for (;;) {
    flush();
    const auto command = machine_.take_command();
    auto notices = machine_.take_notices();
    auto refused = std::exchange(refused_, {});
    if (command.index() == 0 && notices.empty() && refused.empty()) break;
    if (std::holds_alternative<session::machine::connect_to>(command)) {
      connection_ = ensemble_.connect(server_, [this](const std::string& bytes) {
        machine_.received(bytes, now());
        pump();
      });
      machine_.connected(now());
    }
    for (auto& n : notices) dispatch(n);
    for (auto& [op, why] : refused) op->complete(why);
  }
  pumping_ = false;
  schedule_timer();
}

void ensemble_client::dispatch(session::notice& n) {
  if (auto* done = std::get_if<session::completion>(&n))
    done->op->complete(done->ec);
  else if (const auto* fired = std::get_if<session::triggered_watch>(&n))
    for (const auto& w : fired->watchers) w(fired->event);
  else if (const auto* e = std::get_if<session_event>(&n))
    session_changed(*e);
}

void ensemble_client::schedule_timer() {
  const auto next = std::min(machine_.next_deadline(), wake_);
  if (next == recipes::time_point::max()) return;
  const auto when = std::max(next - recipes::time_point{std::chrono::hours{1}},
                             recipes::duration{ensemble_.now()});
  if (when >= timer_) return;
  timer_ = when;
  ensemble_.call_at(when, [self = shared_from_this(), when] { self->timer(when); });
}

void ensemble_client::timer(instant planned) {
  if (planned != timer_) return;  // replaced by an earlier timer
  timer_ = instant::max();
  if (machine_.next_deadline() <= now()) machine_.time_passed(now());
  if (wake_ <= now()) {
    wake_ = recipes::time_point::max();
    time_passed(now());
  }
  pump();
}

}  // namespace conclave::simulated
