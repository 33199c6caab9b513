#include "simulation/world/client.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "simulation/world/message_text.hpp"
#include "simulation/world/world.hpp"

namespace conclave::simulated {
namespace {

client_options options_of(const world_options& o) {
  client_options c;
  c.session_timeout = o.session_timeout;
  c.connect_wait = o.connect_wait;
  c.renew_expired = o.renew_expired;
  c.metrics = o.metrics;
  c.max_request_bytes = o.max_request_bytes;
  c.reconnect = [](unsigned n) { return std::chrono::milliseconds{std::min(100 * n, 1000u)}; };
  return c;
}

// "host:1,host:2,..."
std::string connect_string_of(std::size_t addresses) {
  std::string all = "host:1";
  for (std::size_t i = 2; i <= addresses; ++i) all += ",host:" + std::to_string(i);
  return all;
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

client::client(world& w, std::size_t index, const world_options& options, std::uint64_t seed)
    : session_context{std::make_shared<requests::defaults>(requests::defaults{{}, open_acl()})},
      world_{w},
      index_{index},
      clock_rate_{
          1000 + (options.drift == 0
                      ? 0
                      : static_cast<std::int64_t>(seed % (2 * options.drift + 1)) - options.drift)},
      random_{seed},
      machine_{connect_string::parse(connect_string_of(options.server_addresses)),
               options_of(options), options.server_addresses == 1 ? 0 : seed} {
  observe(options.metrics, nullptr);
  if (seed % 2 == 0)
    listings.most_in_flight = 1;  // so that listings are shared even with few contenders
}

client::~client() = default;

void client::start() {
  machine_.start(now());
  pump();
}

void client::close() {
  machine_.close(now());
  request_pump();
}

std::vector<std::string> client::leftovers() const {
  std::vector<std::string> all;
  if (!registered_nodes.empty()) all.push_back("a node is still registered");
  if (machine_.watch_count() > 0) all.push_back("a watch was not removed");
  if (machine_.outstanding() > 0) all.push_back("a request has not completed");
  return all;
}

// --- session_context

void client::submit(std::unique_ptr<session::operation> op) {
  if (const auto ec = machine_.submit(op, now())) {
    refused_operations_.push_back(std::move(op));
    refusals_.push_back(ec);
  } else if (corks_ == 0 && !pumping_) {
    flush();
  }
  request_pump();
}

void client::forget_watch(const std::string& path, watch_kind kind, const watcher& w) {
  error_code ec;
  if (machine_.forget_watch(kind, path, w, ec) && !ec)
    submit(std::make_unique<watch_removal>(requests::remove_watch(defaults(), path, kind)));
  request_pump();
}

void client::uncork() {
  if (--corks_ == 0 && !pumping_) flush();
}

client::session_view client::session() const {
  return {machine_.session_id(), is_connected(), machine_.end_reason(),
          machine_.session_deadline()};
}

recipes::time_point client::now() const { return own_time(world_.now()); }

recipes::time_point client::own_time(instant t) const {
  return recipes::time_point{std::chrono::hours{1} + t / 1000 * clock_rate_ +
                             t % 1000 * clock_rate_ / 1000};
}

// The first moment at which the client's clock shows `t`.
instant client::world_time(recipes::time_point t) const {
  const auto own = t - recipes::time_point{std::chrono::hours{1}};
  if (clock_rate_ == 1000) return own;
  auto when = own / clock_rate_ * 1000;
  while (own_time(when) < t) when += instant{1000};
  return when;
}

void client::wake_at(recipes::time_point when) {
  wake_ = std::min(wake_, when);
  request_pump();
}

// --- the driver

void client::request_pump() {
  if (pumping_ || std::exchange(pump_requested_, true)) return;
  world_.request_pump(*this);
}

// The part of the machine's output that the socket accepts now.
std::string_view client::accepted_output() {
  const auto all = machine_.output();
  if (!frames_accepted_) return all;
  std::size_t end = 0;
  for (; end < all.size() && *frames_accepted_ > 0; --*frames_accepted_) {
    wire::reader in{all.substr(end)};
    end += wire::frame_prefix + static_cast<std::size_t>(in.read<std::int32_t>());
  }
  return all.substr(0, end);
}

void client::flush() {
  auto* l = current();
  if (paused_ || killed_ || l == nullptr) return;
  std::string bytes{accepted_output()};
  if (bytes.empty()) return;
  machine_.sent(bytes.size());
  world_.write_trace([&] { return name() + " sends " + requests_text(bytes, l->handshake_sent); });
  count_up(*l, bytes);
  send(*l, direction::up, {std::move(bytes)});
}

void client::pump() {
  pump_requested_ = false;
  if (paused_ || killed_ || pumping_) return;
  pumping_ = true;
  for (;;) {
    flush();
    const auto command = machine_.take_command();
    auto notices = machine_.take_notices();
    auto refused = std::exchange(refused_operations_, {});
    const auto why = std::exchange(refusals_, {});
    if (command.index() == 0 && notices.empty() && refused.empty()) break;
    apply(command);
    for (auto& n : notices) dispatch(n);
    for (std::size_t i = 0; i < refused.size(); ++i) refused[i]->complete(why[i]);
  }
  pumping_ = false;
  schedule_timer();
}

void client::apply(const session::machine::command& command) {
  if (command.index() == 0) return;
  connecting_ = false;
  if (auto* l = current()) close_at_client(*l);
  const auto* to = std::get_if<session::machine::connect_to>(&command);
  if (to == nullptr) return;
  address_ = to->host.port - 1u;
  connecting_ = true;
  world_.schedule(world_.now() + world_.draw_delay(), event_kind::connect, index_, ++attempt_);
}

void client::dispatch(session::notice& n) {
  if (auto* done = std::get_if<session::completion>(&n))
    done->op->complete(done->ec);
  else if (const auto* fired = std::get_if<session::triggered_watch>(&n))
    for (const auto& w : fired->watchers) w(fired->event);
  else if (const auto* e = std::get_if<session_event>(&n)) {
    if (is_connected()) connected_since_ = world_.now();
    suspension_reported_ = e->type == session_event::kind::suspended;
    session_changed(*e);
  }
}

void client::schedule_timer() {
  const auto next = std::min(machine_.next_deadline(), wake_);
  if (next == recipes::time_point::max()) return;
  const auto when = next <= now() ? world_.now() : std::max(world_time(next), world_.now());
  if (when >= timer_) return;
  timer_ = when;
  world_.schedule(when, event_kind::client_timer, index_, static_cast<std::uint64_t>(when.count()));
}

void client::timer(std::uint64_t which) {
  if (which != static_cast<std::uint64_t>(timer_.count())) return;  // replaced by an earlier timer
  timer_ = instant::max();
  if (machine_.next_deadline() <= now()) machine_.time_passed(now());
  if (wake_ <= now()) {
    wake_ = recipes::time_point::max();
    time_passed(now());
  }
  pump();
}

// --- the link

client::link* client::find(std::uint64_t id) {
  const auto i = links_.find(id);
  return i == links_.end() ? nullptr : &i->second;
}

client::link* client::current() { return current_ == 0 ? nullptr : find(current_); }

void client::connection_attempt(std::uint64_t attempt) {
  if (!connecting_ || attempt != attempt_) return;
  connecting_ = false;
  if (refused_ || !world_.server().up() || !world_.is_reachable(address_)) {
    machine_.disconnected({ECONNREFUSED, boost::system::system_category()}, now());
    return pump();
  }
  current_ = world_.server().new_connection();
  auto& l = links_[current_];
  l.id = current_;
  l.address = address_;
  l.in_up.set_limit(accepted_bytes_);
  world_.route(l.id, this);
  world_.serve([&](server_impl::core& c) { c.connected(l.id, {}); });
  machine_.connected(now());
  pump();
}

void client::send(link& l, direction d, packet p) {
  auto& last = d == direction::up ? l.last_up : l.last_down;
  last = std::max(last, world_.now() + world_.draw_delay());
  (d == direction::up ? l.up : l.down).push_back(std::move(p));
  world_.schedule(last, d == direction::up ? event_kind::to_server : event_kind::to_client, index_,
                  l.id);
}

void client::from_server(server::connection_id id, std::string bytes, bool last) {
  auto* l = find(id);
  if (l == nullptr) return;
  if (last) l->open_at_server = false;
  if (!l->open_at_client) {
    if (last) links_.erase(id);
    return;
  }
  if (!bytes.empty())
    world_.write_trace([&] {
      return "  server answers " + name() + ": " +
             replies_text(bytes, std::exchange(l->handshake_reply_traced, true));
    });
  if (!bytes.empty() || last) send(*l, direction::down, {std::move(bytes), last});
}

void client::arrive_up(std::uint64_t id) {
  auto* l = find(id);
  if (l == nullptr || l->up.empty()) return;
  auto p = std::move(l->up.front());
  l->up.pop_front();
  if (!l->open_at_server) return;
  const bool after_handshake = l->handshake_arrived;
  const auto struck = apply_fault(*l, direction::up, p.bytes);
  if (!p.bytes.empty())
    world_.write_trace([&] {
      return "  server receives " + name() + ": " + requests_text(p.bytes, after_handshake);
    });
  l->in_up.feed(p.bytes);
  world_.serve([&](server_impl::core& c) {
    while (const auto frame = l->in_up.next()) c.receive(id, *frame);
  });
  l = find(id);
  if (l == nullptr) return;
  if (struck || l->in_up.failed()) {
    l->up.clear();  // TCP has no gaps: later bytes never arrive
    return end_link(*l, struck.value_or(disconnect_style{}));
  }
  if (p.last) close_at_server(*l);
}

void client::arrive_down(std::uint64_t id) {
  auto* l = find(id);
  if (l == nullptr || l->down.empty() || !l->open_at_client) return;
  auto p = std::move(l->down.front());
  l->down.pop_front();
  const bool after_handshake = l->handshake_reply_counted;
  const auto struck = apply_fault(*l, direction::down, p.bytes);
  if (!p.bytes.empty())
    world_.write_trace(
        [&] { return name() + " receives " + replies_text(p.bytes, after_handshake); });
  if (!p.bytes.empty()) machine_.received(p.bytes, now());
  if (struck || p.last) {
    if (!struck || !struck->before_notices) pump();
    l = find(id);
    if (l != nullptr && l->open_at_client) end_link(*l, struck.value_or(disconnect_style{}));
  }
  pump();
}

// The client closes the connection. Bytes already sent still arrive, followed by the FIN.
void client::close_at_client(link& l) {
  if (l.id == current_) current_ = 0;
  l.open_at_client = false;
  l.down.clear();
  if (l.open_at_server)
    send(l, direction::up, {{}, true});
  else
    links_.erase(l.id);
}

void client::close_at_server(link& l) {
  const auto id = l.id;
  const bool gone = !l.open_at_client;
  if (std::exchange(l.open_at_server, false))
    world_.serve([&](server_impl::core& c) { c.disconnected(id); });
  if (gone) links_.erase(id);
}

void client::end_link(link& l, disconnect_style how) {
  const bool was_current = l.id == current_;
  if (how.requests_arrive) {
    close_at_client(l);
  } else {
    if (was_current) current_ = 0;
    l.open_at_client = false;
    l.up.clear();
    close_at_server(l);
  }
  if (was_current && !paused_ && !killed_) {
    machine_.disconnected(connection_reset(), now());
    request_pump();
  } else if (was_current) {
    end_unseen_ = true;
  }
}

void client::address_blocked(std::size_t address) {
  auto* l = current();
  if (l != nullptr && l->address == address) end_link(*l, {});
}

void client::server_stopped() {
  for (auto i = links_.begin(); i != links_.end();) {
    auto& l = (i++)->second;
    l.up.clear();
    l.open_at_server = false;
    if (l.open_at_client)
      send(l, direction::down, {{}, true});
    else
      links_.erase(l.id);
  }
}

}  // namespace conclave::simulated
