#include "simulation/world/world.hpp"

#include <algorithm>
#include <utility>

namespace conclave::simulated {

world::world(const world_options& options)
    : options_{options},
      random_{options.seed},
      blocked_(options.server_addresses),
      server_{options.server, random_(),
              options.disk ? options.disk() : std::make_unique<memory_storage>()},
      direct_client_{server_, true} {
  server_.output = [this](server::connection_id id, std::string bytes, bool last) {
    const auto to = routes_.find(id);
    if (to == routes_.end()) return;
    auto* const c = to->second;
    if (last) routes_.erase(to);
    c->from_server(id, std::move(bytes), last);
  };
  server_.expired = [this](std::int64_t session) {
    if (expired) expired(session);
  };
  server_.failed = [this] {
    write_trace([] { return "the server's power fails in the middle of a commit"; });
    disconnect_all();
  };
  server_.start(now_);
  for (std::size_t i = 0; i < options.clients; ++i) add_client();
}

world::~world() { finish(); }

void world::finish() {
  expired = nullptr;
  trace = nullptr;
  server_.output = nullptr;
  server_.failed = nullptr;
  for (const auto& c : clients_) {
    c->prepare_to_finish();
    c->machine().close(c->now());
    c->machine().disconnected(connection_reset(), c->now());
    c->pump();
  }
}

simulated::client& world::add_client() {
  clients_.push_back(
      std::make_shared<simulated::client>(*this, clients_.size(), options_, random_()));
  clients_.back()->start();
  return *clients_.back();
}

instant world::draw_delay() {
  const auto least = instant{options_.least_delay};
  const auto most = instant{options_.most_delay};
  if (least >= most) return least;
  return least + instant{static_cast<std::int64_t>(
                     random_() % static_cast<std::uint64_t>((most - least).count() + 1))};
}

void world::schedule(instant when, event_kind what, std::size_t client, std::uint64_t which) {
  events_.push({when, ++order_, what, client, which});
}

void world::after(instant d, std::function<void()> f) {
  schedule(now_ + d, event_kind::call, 0, order_ + 1);
  calls_.emplace(order_, std::move(f));
}

void world::pump_pending_clients() {
  while (!pending_clients_.empty()) {
    const auto all = std::exchange(pending_clients_, {});
    for (auto* c : all) c->pump();
  }
  schedule_server_timer();
}

void world::schedule_server_timer() {
  const auto next = server_.next_deadline();
  if (next >= server_timer_) return;
  server_timer_ = std::max(next, now_);
  schedule(server_timer_, event_kind::server_timer, 0);
}

bool world::step(instant limit) {
  pump_pending_clients();
  if (events_.empty() || events_.top().at > limit) return false;
  const auto e = events_.top();
  events_.pop();
  now_ = e.at;
  server_.clock(now_);
  handle(e);
  pump_pending_clients();
  return true;
}

void world::handle(const event& e) {
  switch (e.kind) {
    case event_kind::server_timer:
      if (e.at != server_timer_) return;
      server_timer_ = instant::max();
      return serve([](auto&) {});
    case event_kind::call: {
      const auto f = calls_.extract(e.which);
      return f.mapped()();
    }
    default: break;
  }
  auto& c = *clients_[e.client];
  if (c.postpone(e.kind, e.which)) return;
  switch (e.kind) {
    case event_kind::to_server: return c.arrive_up(e.which);
    case event_kind::to_client: return c.arrive_down(e.which);
    case event_kind::connect: return c.connection_attempt(e.which);
    case event_kind::client_timer: return c.timer(e.which);
    default: return;
  }
}

void world::advance(instant d) {
  const auto until = now_ + d;
  while (step(until)) {
  }
  now_ = until;
  server_.clock(now_);
}

bool world::run_until(const std::function<bool()>& done, instant within) {
  const auto until = now_ + within;
  pump_pending_clients();
  while (!done())
    if (!step(until)) return done();
  return true;
}

bool world::wait_until_connected() {
  return run_until([&] {
    return std::all_of(clients_.begin(), clients_.end(), [](auto& c) { return c->is_connected(); });
  });
}

std::vector<std::string> world::leftover_watches() {
  std::vector<std::string> all;
  const auto& core = server_.core();
  for (const auto& [id, c] : routes_)
    if (const auto n = core.data_watches().count_of(id) + core.child_watches().count_of(id); n > 0)
      all.push_back(std::to_string(n) + " watches of " + c->name() + " are left on the server, " +
                    std::to_string(c->machine().watch_count()) + " in its session");
  return all;
}

void world::route(server::connection_id id, simulated::client* c) { routes_[id] = c; }

void world::serve(const std::function<void(server_impl::core&)>& work) {
  if (server_.up()) server_.turn(now_, work);
}

void world::stop_server() {
  if (!server_.up()) return;
  write_trace([] { return "the server stops"; });
  server_.crash();
  disconnect_all();
}

void world::disconnect_all() {
  routes_.clear();
  for (const auto& c : clients_) c->server_stopped();
}

void world::block_address(std::size_t address) {
  blocked_[address] = true;
  for (const auto& c : clients_) c->address_blocked(address);
}

void world::start_server() {
  write_trace([] { return "the server starts"; });
  server_.start(now_);
  server_timer_ = instant::max();
}

void world::set_counter(const std::string& path, std::int32_t next) {
  stop_server();
  server_.set_counter(path, next);
  start_server();
  // All clients notice the restart and reconnect.
  advance(2 * instant{options_.most_delay});
  wait_until_connected();
}

}  // namespace conclave::simulated
