#include "simulation/world/world.hpp"

#include <algorithm>
#include <utility>

namespace conclave::simulated {

world::world(const world_options& options)
    : options_{options},
      random_{options.seed},
      closed_(options.doors),
      server_{options.server, random_(),
              options.disk ? options.disk() : std::make_unique<memory_storage>()},
      hand_{server_, true} {
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
    tell([] { return "the server's power fails in the middle of a commit"; });
    everybody_is_cut_off();
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
    c->come_to_an_end();
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

void world::plan(instant when, happening what, std::size_t client, std::uint64_t which) {
  events_.push({when, ++order_, what, client, which});
}

void world::after(instant d, std::function<void()> f) {
  plan(now_ + d, happening::call, 0, order_ + 1);
  calls_.emplace(order_, std::move(f));
}

void world::settle() {
  while (!attention_.empty()) {
    const auto all = std::exchange(attention_, {});
    for (auto* c : all) c->pump();
  }
  plan_server_timer();
}

void world::plan_server_timer() {
  const auto next = server_.next_deadline();
  if (next >= server_timer_) return;
  server_timer_ = std::max(next, now_);
  plan(server_timer_, happening::server_timer, 0);
}

bool world::step(instant limit) {
  settle();
  if (events_.empty() || events_.top().at > limit) return false;
  const auto e = events_.top();
  events_.pop();
  now_ = e.at;
  server_.clock(now_);
  handle(e);
  settle();
  return true;
}

void world::handle(const event& e) {
  switch (e.kind) {
    case happening::server_timer:
      if (e.at != server_timer_) return;
      server_timer_ = instant::max();
      return serve([](auto&) {});
    case happening::call: {
      const auto f = calls_.extract(e.which);
      return f.mapped()();
    }
    default: break;
  }
  auto& c = *clients_[e.client];
  if (c.postpones(e.kind, e.which)) return;
  switch (e.kind) {
    case happening::to_server: return c.arrive_up(e.which);
    case happening::to_client: return c.arrive_down(e.which);
    case happening::connect: return c.connection_attempt(e.which);
    case happening::client_timer: return c.timer(e.which);
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
  settle();
  while (!done())
    if (!step(until)) return done();
  return true;
}

bool world::attach_all() {
  return run_until([&] {
    return std::all_of(clients_.begin(), clients_.end(), [](auto& c) { return c->attached(); });
  });
}

std::vector<std::string> world::watches_left() {
  std::vector<std::string> all;
  const auto& core = server_.core();
  for (const auto& [id, c] : routes_)
    if (const auto n = core.data_watches().count_of(id) + core.child_watches().count_of(id); n > 0)
      all.push_back(std::to_string(n) + " watches of " + c->name() +
                    " stay behind at the server, " + std::to_string(c->machine().watch_count()) +
                    " in its session");
  return all;
}

void world::route(server::connection_id id, simulated::client* c) { routes_[id] = c; }

void world::serve(const std::function<void(server_impl::core&)>& work) {
  if (server_.up()) server_.turn(now_, work);
}

void world::stop_server() {
  if (!server_.up()) return;
  tell([] { return "the server stops"; });
  server_.crash();
  everybody_is_cut_off();
}

void world::everybody_is_cut_off() {
  routes_.clear();
  for (const auto& c : clients_) c->server_stopped();
}

void world::close_door(std::size_t door) {
  closed_[door] = true;
  for (const auto& c : clients_) c->thrown_out(door);
}

void world::start_server() {
  tell([] { return "the server starts"; });
  server_.start(now_);
  server_timer_ = instant::max();
}

void world::set_counter(const std::string& path, std::int32_t next) {
  stop_server();
  server_.set_counter(path, next);
  start_server();
  // Everybody notices that, and comes back.
  advance(2 * instant{options_.most_delay});
  attach_all();
}

}  // namespace conclave::simulated
