#include "simulation/ensemble/ensemble_workloads.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "recipes/lock_kinds.hpp"
#include "recipes/lock_object.hpp"
#include "requests/requests.hpp"
#include "simulation/ensemble/ensemble_client.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using role = layout::role;

// Long enough that no session expires, even in an overloaded model.
constexpr auto long_timeout = std::chrono::milliseconds{3'000'000};
// Clients start and enqueue one after the other, so that they do not overload the servers.
constexpr auto stagger = 2ms;

std::chrono::nanoseconds quantile(std::vector<std::chrono::nanoseconds>& all, double q) {
  if (all.empty()) return 0ns;
  const auto at =
      all.begin() + static_cast<std::ptrdiff_t>(q * static_cast<double>(all.size() - 1));
  std::nth_element(all.begin(), at, all.end());
  return *at;
}

// The model, its clients, and the recorded latencies.
class run {
 public:
  run(const ensemble_options& o, std::size_t clients, std::chrono::milliseconds timeout)
      : servers{o} {
    for (std::size_t i = 0; i < clients; ++i) {
      all.push_back(std::make_shared<ensemble_client>(servers, i % o.servers, timeout, i + 1));
      servers.call_at(stagger * static_cast<int>(i), [c = all.back()] { c->start(); });
    }
    const auto connected = [&] {
      return std::all_of(all.begin() + static_cast<std::ptrdiff_t>(connected_), all.end(),
                         [&](const auto& c) { return c->is_connected() && ++connected_ > 0; });
    };
    if (!servers.run_until(connected)) throw std::runtime_error{"not all clients are connected"};
  }

  void begin() {
    begin_ = servers.now();
    for (std::size_t i = 0; i < servers.options().servers; ++i) before_.push_back(servers.load(i));
    at = phase::measuring;
  }
  void record(const ensemble_client& c, std::chrono::nanoseconds latency) {
    if (at != phase::measuring) return;
    latencies.push_back(latency);
    if (c.server() + 1 == servers.options().servers) at_last_.push_back(latency);
  }
  workload_figures end() {
    workload_figures f;
    f.operations = latencies.size();
    f.time = servers.now() - begin_;
    f.median = quantile(latencies, 0.5);
    f.p99 = quantile(latencies, 0.99);
    f.median_at_last_server = quantile(at_last_, 0.5);
    for (std::size_t i = 0; i < before_.size(); ++i)
      f.servers.push_back(servers.load(i) - before_[i]);
    at = phase::ended;
    if (!servers.run_until([&] { return servers.replicas_agree(); }))
      throw std::logic_error{"the servers have different trees"};
    return f;
  }
  void run_until_recorded(std::size_t operations) {
    if (!servers.run_until([&] { return latencies.size() >= operations; }))
      throw std::runtime_error{"the clients make no progress"};
  }

  ensemble servers;
  std::vector<std::shared_ptr<ensemble_client>> all;
  std::vector<std::chrono::nanoseconds> latencies;
  // After the end, the clients make no more calls.
  enum class phase { preparing, measuring, ended };
  phase at = phase::preparing;

 private:
  std::size_t connected_ = 0;
  instant begin_{0};
  std::vector<server_load> before_;
  std::vector<std::chrono::nanoseconds> at_last_;
};

class read_of_root final : public session::operation {
 public:
  read_of_root(requests::request<get_result> r, std::function<void()> completed)
      : operation{r.type, r.rule}, completed_{std::move(completed)} {
    frame = std::move(r.frame);
  }
  bool read_reply(const wire::reply_header&, wire::reader&) override { return true; }
  void complete(error_code) noexcept override { completed_(); }

 private:
  std::function<void()> completed_;
};

// A lock object with one caller at a time.
class lock_user {
 public:
  lock_user(std::shared_ptr<ensemble_client> c, const std::string& path)
      : client{std::move(c)},
        lock_{std::make_shared<recipes::lock_object>(
            client, recipes::lock_of({path}, layout::curator(), role::exclusive), std::nullopt,
            lock_options{})} {}

  void acquire(std::function<void()> granted) {
    const auto caller = std::make_shared<recipes::lock_object::caller>();
    caller->complete = [granted = std::move(granted)](error_code ec) {
      if (ec) throw std::runtime_error{"a lock call failed: " + ec.message()};
      granted();
    };
    const recipes::session_context::scope inside{*client};
    lock_->acquire(caller);
  }
  void release() {
    const recipes::session_context::scope inside{*client};
    lock_->release(role::exclusive);
  }

  std::shared_ptr<ensemble_client> client;

 private:
  std::shared_ptr<recipes::lock_object> lock_;
};

std::vector<std::unique_ptr<lock_user>> users_of(
    run& r, const std::function<std::string(std::size_t)>& path) {
  std::vector<std::unique_ptr<lock_user>> users;
  for (std::size_t i = 0; i < r.all.size(); ++i)
    users.push_back(std::make_unique<lock_user>(r.all[i], path(i)));
  return users;
}

}  // namespace

double workload_figures::per_second() const {
  return static_cast<double>(operations) / std::chrono::duration<double>(time).count();
}

double workload_figures::cpu_share(std::size_t server) const {
  return std::chrono::duration<double>(servers.at(server).cpu) / time;
}

double workload_figures::disk_share(std::size_t server) const {
  return std::chrono::duration<double>(servers.at(server).disk) / time;
}

workload_figures run_contended_lock(const ensemble_options& o, std::size_t clients,
                                    std::size_t operations) {
  run r{o, clients, long_timeout};
  auto users = users_of(r, [](std::size_t) { return std::string{"/lock"}; });
  instant released{0};
  std::function<void(lock_user&)> use = [&](lock_user& u) {
    u.acquire([&] {
      r.record(*u.client, r.servers.now() - released);
      if (r.at == run::phase::ended) return;
      const auto release = [&] {
        released = r.servers.now();
        u.release();
        use(u);
      };
      if (r.at == run::phase::measuring) return release();
      // The first holder keeps the lock until all clients wait.
      const auto all_wait = r.servers.now() + stagger * static_cast<int>(clients) + 1s;
      r.servers.call_at(all_wait, [&, release] {
        r.begin();
        release();
      });
    });
  };
  for (std::size_t i = 0; i < users.size(); ++i)
    r.servers.call_at(r.servers.now() + stagger * static_cast<int>(i), [&, i] { use(*users[i]); });
  r.run_until_recorded(operations);
  return r.end();
}

workload_figures run_own_locks(const ensemble_options& o, std::size_t clients,
                               std::size_t operations) {
  run r{o, clients, long_timeout};
  auto users = users_of(r, [](std::size_t i) { return "/lock-" + std::to_string(i); });
  std::size_t rounds = 0;  // of all clients, before the measurement
  std::function<void(lock_user&)> use = [&](lock_user& u) {
    u.acquire([&, called = r.servers.now()] {
      r.record(*u.client, r.servers.now() - called);
      if (r.at == run::phase::ended) return;
      if (r.at == run::phase::preparing && ++rounds == 3 * clients) r.begin();
      u.release();
      use(u);
    });
  };
  for (auto& u : users) use(*u);
  r.run_until_recorded(operations);
  return r.end();
}

workload_figures run_reads(const ensemble_options& o, std::size_t clients, std::size_t operations) {
  run r{o, clients, long_timeout};
  std::function<void(ensemble_client&)> use = [&](ensemble_client& c) {
    c.submit(std::make_unique<read_of_root>(requests::get(c.defaults(), "/", {}),
                                            [&, called = r.servers.now()] {
                                              r.record(c, r.servers.now() - called);
                                              if (r.at == run::phase::measuring) use(c);
                                            }));
  };
  r.begin();
  for (auto& c : r.all) use(*c);
  r.run_until_recorded(operations);
  return r.end();
}

workload_figures run_idle_sessions(const ensemble_options& o, std::size_t clients) {
  run r{o, clients, 30s};
  r.begin();
  r.servers.advance(60s);
  return r.end();
}

}  // namespace conclave::simulated
