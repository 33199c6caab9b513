#include "simulation/ensemble/ensemble.hpp"

#include <algorithm>
#include <utility>

#include "wire/opcodes.hpp"

namespace conclave::simulated {
namespace {

constexpr std::int64_t wall_begin_ms = 1'600'000'000'000;

bool is_write(wire::opcode type) {
  switch (type) {
    case wire::opcode::create:
    case wire::opcode::create2:
    case wire::opcode::create_container:
    case wire::opcode::create_ttl:
    case wire::opcode::remove:
    case wire::opcode::delete_container:
    case wire::opcode::set_data:
    case wire::opcode::set_acl:
    case wire::opcode::multi:
    case wire::opcode::sync:
    case wire::opcode::create_session:
    case wire::opcode::close_session: return true;
    default: return false;
  }
}

wire::opcode type_of(std::string_view frame) {
  wire::reader in{frame};
  in.read<std::int32_t>();  // the xid
  return static_cast<wire::opcode>(in.read<std::int32_t>());
}

}  // namespace

instant processor::run(instant now, std::chrono::nanoseconds work) {
  auto& core = *std::min_element(free_at_.begin(), free_at_.end());
  core = std::max(core, now) + work;
  return core;
}

server_load server_load::operator-(const server_load& before) const {
  return {cpu - before.cpu,
          disk - before.disk,
          requests - before.requests,
          writes - before.writes,
          flushes - before.flushes,
          events - before.events,
          bytes_sent - before.bytes_sent};
}

struct ensemble::connection {
  connection_id id = 0;
  std::size_t home = 0;  // the server to which the client is connected
  std::function<void(std::string)> received;
  wire::frame_splitter frames{std::size_t{1} << 26};
  bool handshake_seen = false;
  // Requests that wait for an earlier write. A write has an empty frame, because it is in the log.
  std::deque<std::string> waiting;
  // TCP keeps the order of packets, and the server keeps the order of requests.
  instant last_arrival{0}, last_processed{0}, last_delivery{0};
};

struct ensemble::replica {
  std::shared_ptr<processor> cpu;
  std::mt19937_64 random;
  std::unique_ptr<server_impl::core> core;
  std::vector<std::size_t> unflushed;  // entries that wait for the next flush
  bool flushing = false;
  instant last_apply{0};
  server_load load;
};

ensemble::ensemble(const ensemble_options& options, std::uint64_t seed) : options_{options} {
  if (options_.shared_cores > 0) shared_ = std::make_shared<processor>(options_.shared_cores);
  for (std::size_t i = 0; i < options_.servers; ++i) {
    auto& s = *servers_.emplace_back(std::make_unique<replica>());
    s.cpu = shared_ ? shared_ : std::make_shared<processor>(1);
    s.random.seed(seed);  // the same for all: session ids and passwords are part of the state
    server_impl::core_options o;
    o.max_sessions = o.max_sessions_per_peer = 10'000'000;
    o.max_watches_per_peer = o.max_watches = 100'000'000;
    o.max_watched_bytes_per_peer = o.max_watched_bytes = std::size_t{1} << 40;
    o.max_session_timeout = std::chrono::hours{1};
    o.random = [&s](char* into, std::size_t size) {
      for (std::size_t b = 0; b < size; ++b) into[b] = static_cast<char>(s.random());
    };
    const server_impl::moment start{server_impl::time_point{std::chrono::hours{1}}, wall_begin_ms};
    s.core = std::make_unique<server_impl::core>(o, server_impl::image{}, 1, start);
  }
}

ensemble::~ensemble() = default;

// --- time

void ensemble::call_at(instant when, std::function<void()> f) {
  events_.push({std::max(when, now_), ++order_, std::move(f)});
}

bool ensemble::run_until(const std::function<bool()>& done, instant within) {
  const auto limit = now_ + within;
  while (!done()) {
    if (events_.empty() || events_.top().at > limit) return false;
    now_ = events_.top().at;
    const auto f = std::move(const_cast<event&>(events_.top()).f);
    events_.pop();
    f();
  }
  return true;
}

void ensemble::advance(instant d) {
  const auto end = now_ + d;
  run_until([] { return false; }, d);
  now_ = end;
}

instant ensemble::run(std::size_t server, std::chrono::nanoseconds work) {
  auto& s = *servers_[server];
  s.load.cpu += work;
  return s.cpu->run(now_, work);
}

// --- from a client to its server

ensemble::connection_id ensemble::connect(std::size_t server,
                                          std::function<void(std::string)> received) {
  const auto id = ++last_connection_;
  auto& c = *connections_.emplace(id, std::make_unique<connection>()).first->second;
  c.id = id;
  c.home = server;
  c.received = std::move(received);
  return id;
}

void ensemble::send(connection_id id, std::string bytes) {
  auto& c = *connections_.at(id);
  c.last_arrival = std::max(c.last_arrival, now_ + options_.client_delay);
  call_at(c.last_arrival, [this, id, bytes = std::move(bytes)] { arrive(id, bytes); });
}

void ensemble::arrive(connection_id id, const std::string& bytes) {
  auto& c = *connections_.at(id);
  c.frames.feed(bytes);
  while (const auto frame = c.frames.next()) {
    ++servers_[c.home]->load.requests;
    c.last_processed = std::max(c.last_processed, run(c.home, options_.request_cpu));
    call_at(c.last_processed, [this, &c, f = std::string{*frame}] { process(c, f); });
  }
}

void ensemble::process(connection& c, std::string frame) {
  const bool handshake = !std::exchange(c.handshake_seen, true);
  const auto type = handshake ? wire::opcode::create_session : type_of(frame);
  if (!is_write(type)) {
    if (c.waiting.empty()) return execute(c.home, c, frame);
    return c.waiting.push_back(std::move(frame));
  }
  c.waiting.emplace_back();
  log_entry e{c.id, std::move(frame), type == wire::opcode::sync};
  const auto delay = c.home == leader ? instant{0} : options_.server_delay;
  call_at(now_ + delay, [this, e = std::move(e)] { order(e); });
}

// --- the log

void ensemble::order(log_entry e) {
  call_at(run(leader, options_.propose_cpu), [this, e = std::move(e)]() mutable {
    const auto index = log_.size();
    log_.push_back(std::move(e));
    for (std::size_t i = 0; i < servers_.size(); ++i)
      call_at(now_ + (i == leader ? instant{0} : options_.server_delay),
              [this, i, index] { log(i, index); });
  });
}

void ensemble::log(std::size_t server, std::size_t index) {
  servers_[server]->unflushed.push_back(index);
  if (!servers_[server]->flushing) start_flush(server);
}

void ensemble::start_flush(std::size_t server) {
  auto& s = *servers_[server];
  auto entries = std::exchange(s.unflushed, {});
  if (entries.empty()) return;
  const bool only_syncs = std::all_of(entries.begin(), entries.end(),
                                      [this](std::size_t i) { return log_[i].is_sync; });
  const auto time = only_syncs ? instant{0} : options_.flush;
  s.flushing = true;
  if (!only_syncs) ++s.load.flushes;
  s.load.disk += time;
  call_at(now_ + time, [this, server, entries = std::move(entries)] {
    servers_[server]->flushing = false;
    for (const auto index : entries)
      call_at(now_ + (server == leader ? instant{0} : options_.server_delay),
              [this, index] { acknowledge(index); });
    start_flush(server);
  });
}

void ensemble::acknowledge(std::size_t index) {
  ++log_[index].acknowledged;
  while (committed_ < log_.size() && log_[committed_].acknowledged * 2 > servers_.size()) {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      auto& s = *servers_[i];
      auto when = now_ + (i == leader ? instant{0} : options_.server_delay);
      if (i + 1 == servers_.size()) when += options_.lag;
      s.last_apply = std::max(s.last_apply, when);
      call_at(s.last_apply, [this, i, done = committed_] { apply(i, done); });
    }
    ++committed_;
  }
}

void ensemble::apply(std::size_t server, std::size_t index) {
  const bool concerns = !log_[index].is_sync || connections_.at(log_[index].from)->home == server;
  if (!concerns) return;
  auto& s = *servers_[server];
  const auto done = run(server, options_.apply_cpu);
  s.last_apply = std::max(s.last_apply, done);
  call_at(s.last_apply, [this, server, index] {
    const auto& e = log_[index];
    auto& c = *connections_.at(e.from);
    ++servers_[server]->load.writes;
    execute(server, c, e.frame);
    if (c.home != server) return;
    c.waiting.pop_front();
    execute_waiting_reads(c);
  });
}

// --- the tree

void ensemble::execute(std::size_t server, connection& c, std::string_view frame) {
  auto& core = *servers_[server]->core;
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now_).count();
  core.begin_turn({server_impl::time_point{std::chrono::hours{1} + now_}, wall_begin_ms + ms});
  if (core.session_of(c.id) == 0) core.connected(c.id, {});
  core.receive(c.id, frame);
  core.take_changes();
  deliver(server, c);
}

void ensemble::execute_waiting_reads(connection& c) {
  while (!c.waiting.empty() && !c.waiting.front().empty()) {
    const auto frame = std::move(c.waiting.front());
    c.waiting.pop_front();
    execute(c.home, c, frame);
  }
}

// Sends the output of a turn. Another server's client gets its reply from that server.
void ensemble::deliver(std::size_t server, connection& from) {
  auto& s = *servers_[server];
  for (const auto id : s.core->take_ready()) {
    auto bytes = std::exchange(s.core->output(id), {});
    auto& c = *connections_.at(id);
    if (c.home != server || bytes.empty()) continue;
    auto work = options_.kilobyte_cpu * static_cast<std::int64_t>(bytes.size()) / 1000;
    if (&c != &from) {
      ++s.load.events;
      work += options_.event_cpu;
    }
    s.load.bytes_sent += bytes.size();
    c.last_delivery = std::max(c.last_delivery, run(server, work) + options_.client_delay);
    // The client's thread wakes up. On one machine, it needs a core.
    call_at(c.last_delivery, [this, &c, bytes = std::move(bytes)] {
      const auto woken =
          shared_ ? shared_->run(now_, options_.client_cpu) : now_ + options_.client_cpu;
      c.last_delivery = std::max(c.last_delivery, woken);
      call_at(c.last_delivery, [&c, bytes] { c.received(bytes); });
    });
  }
}

// --- results

server_load ensemble::load(std::size_t server) const { return servers_[server]->load; }

const server_impl::tree& ensemble::nodes(std::size_t server) const {
  return servers_[server]->core->nodes();
}

bool ensemble::replicas_agree() const {
  return std::all_of(servers_.begin(), servers_.end(), [this](const auto& s) {
    return s->core->zxid() == servers_[leader]->core->zxid() &&
           s->core->nodes().size() == servers_[leader]->core->nodes().size();
  });
}

}  // namespace conclave::simulated
