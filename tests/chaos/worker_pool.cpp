#include "chaos/worker_pool.hpp"

#include <algorithm>
#include <array>
#include <csignal>

namespace conclave::chaos {
namespace {

using namespace std::chrono_literals;

// The first eight are one of each.
constexpr std::array<const char*, 18> jobs{
    "mutex",       "shared", "semaphore", "election",  "push",      "pop",
    "push-claims", "claim",  "mutex",     "shared",    "semaphore", "election",
    "claim",       "mutex",  "shared",    "semaphore", "election",  "pop"};

}  // namespace

worker_pool::worker_pool(const options& o, const std::vector<std::uint16_t>& server_ports,
                         std::filesystem::path store)
    : options_{o}, store_{std::move(store)}, slots_(o.workers), status_{o.workers} {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    auto& s = slots_[i];
    s.job = jobs.at(i % jobs.size());
    s.session = i % 2 == 0 ? o.session : o.session * 4 / 3;
    for (const auto port : server_ports) {
      s.links.push_back(std::make_unique<testing::link_proxy>(port));
      s.address += (s.address.empty() ? "" : ",") + s.links.back()->connect_string();
    }
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) start(i);
}

void worker_pool::start(std::size_t i) {
  auto& s = slots_.at(i);
  process_record l;
  l.job = s.job;
  l.slot = i;
  l.session = s.session;
  l.name = s.job + '-' + std::to_string(i) + '.' + std::to_string(s.started++);
  l.file = options_.report / "histories" / l.name;
  testing::child_options child{{options_.worker, s.job, s.address,
                                std::to_string(s.session.count()), l.file.string(), store_.string(),
                                l.name, std::to_string(options_.seed + processes_.size())}};
  if (options_.careless) child.argv.emplace_back("careless");
  s.process = std::make_unique<testing::child_process>(child);
  s.down = false;
  s.current = processes_.size();
  status_.follow(i, l.file);
  processes_.push_back(std::move(l));
}

nanoseconds worker_pool::kill(std::size_t i) {
  auto& s = slots_.at(i);
  s.down = true;
  const auto at = now();
  s.process->kill(SIGKILL);
  processes_.at(s.current).killed = at;
  s.process->wait(10s);
  status_.gone(i);
  return at;
}

nanoseconds worker_pool::pause(std::size_t i) {
  const auto at = now();
  slots_.at(i).process->pause();
  return at;
}

void worker_pool::resume(std::size_t i) { slots_.at(i).process->resume(); }

void worker_pool::finish(std::chrono::seconds limit) {
  for (auto& s : slots_) s.process->kill(SIGTERM);
  const auto end = std::chrono::steady_clock::now() + limit;
  for (auto& s : slots_) {
    const auto& l = processes_.at(s.current);
    if (s.down) continue;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (!s.process->wait(std::max(left, 0ms)))
      problems_.push_back(l.name + " does not end on SIGTERM");
  }
  look();
  for (auto& s : slots_) {
    auto& killed = processes_.at(s.current).killed;
    if (!killed) killed = now();  // if it has not ended
    s.process.reset();
    s.down = true;
  }
}

std::vector<testing::link_proxy*> worker_pool::links(std::size_t i) const {
  std::vector<testing::link_proxy*> all;
  for (const auto& l : slots_.at(i).links) all.push_back(l.get());
  return all;
}

std::vector<std::size_t> worker_pool::connected_to(std::size_t server) const {
  std::vector<std::size_t> those;
  for (std::size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].links.at(server)->links() > 0) those.push_back(i);
  return those;
}

void worker_pool::look() {
  status_.look();
  for (auto& s : slots_) {
    if (s.down || !s.process) continue;
    const auto ended = s.process->wait(0ms);
    if (!ended) continue;
    s.down = true;
    if (ended->code != 0)
      problems_.push_back(processes_.at(s.current).name + " ended by itself, with " +
                          (ended->signal != 0 ? "signal " + std::to_string(ended->signal)
                                              : "code " + std::to_string(ended->code)));
  }
}

}  // namespace conclave::chaos
