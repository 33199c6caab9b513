// The driver of the chaos run: real processes and servers with injected faults. See docs/testing.md
// and --help.
#include <algorithm>
#include <csignal>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "chaos/fault_log.hpp"
#include "chaos/fenced_store.hpp"
#include "chaos/final_check.hpp"
#include "chaos/judge.hpp"
#include "chaos/options.hpp"
#include "chaos/progress.hpp"
#include "chaos/report.hpp"
#include "chaos/server_faults.hpp"
#include "chaos/servers.hpp"
#include "chaos/worker_faults.hpp"
#include "chaos/worker_pool.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::chaos {
namespace {

using namespace std::chrono_literals;

constexpr auto step = 4ms;
constexpr auto success_timeout = 60 * second;  // until every worker must have succeeded once

volatile std::sig_atomic_t interrupted = 0;

class run {
 public:
  explicit run(options o) : options_{std::move(o)} {}

  verdict make() {
    // Files of an earlier run would be read as files of this run.
    for (const auto* old : {"histories", "report.md", "report.json"})
      std::filesystem::remove_all(options_.report / old);
    std::filesystem::create_directories(options_.report / "histories");
    record_.asked = options_;
    record_.machine = this_machine();
    progress_.print("chaos: " + std::string{options_.server_name()} + ", seed " +
                    std::to_string(options_.seed));
    servers_ = std::make_unique<servers>(options_);
    record_.server_version = servers_->version();
    prepare(servers_->connect_string());
    workers_ = std::make_unique<worker_pool>(options_, servers_->ports(), store_socket());
    if (!all_succeeded_since(now()))
      throw std::runtime_error{"not every worker succeeds even without faults"};
    faults();
    wait_until_all_succeed();
    end();
    return judge_and_report();
  }

 private:
  std::filesystem::path store_socket() const { return folder_.path() / "store"; }
  nanoseconds session() const { return std::chrono::nanoseconds{options_.session}.count(); }

  void faults() {
    const auto begin = now();
    const auto end = begin + static_cast<nanoseconds>(options_.minutes * 60 * second);
    worker_faults of_workers{*workers_, log_, options_.seed};
    server_faults of_servers{*servers_, *workers_, log_, options_.seed + 1, session()};
    const auto limit = begin + 8 * (end - begin);
    while ((now() < end || (now() < limit && !is_covered())) && interrupted == 0) {
      workers_->look();
      of_workers.step();
      show(std::max(end - now(), nanoseconds{0}));
      std::this_thread::sleep_for(step);
    }
    of_workers.heal_all();
    of_servers.finish();
    record_.seconds_of_faults = static_cast<double>(now() - begin) / second;
  }

  // On a busy machine, a short run may see few faults. So it continues until it has seen the rarest
  // events that it needs.
  bool is_covered() const {
    const auto& s = workers_->status();
    return options_.careless ? s.two_holders_seen()
                             : s.losses() > 0 && s.stale_refused() > 0 && s.local_grants() > 0;
  }

  void show(nanoseconds left) {
    for (const auto& f : log_.since(seen_faults_)) {
      ++seen_faults_;
      for (const auto slot : f.slots)
        if (workers_->status().holds(slot) || f.kind == "kill -9") {
          ++hits_;
          break;
        }
    }
    progress_.show(left, workers_->status(), seen_faults_, hits_, workers_->problems().size());
  }

  bool all_succeeded_since(nanoseconds since) {
    const auto end = since + success_timeout;
    while (now() < end) {
      workers_->look();
      bool all = true;
      for (std::size_t i = 0; i < workers_->size(); ++i)
        all = all && workers_->status().last_success(i) > since;
      if (all) return true;
      std::this_thread::sleep_for(step);
    }
    return false;
  }

  void wait_until_all_succeed() {
    progress_.print("chaos: all faults are healed; every worker must succeed once more");
    const auto healed = now();
    if (!all_succeeded_since(healed))
      for (std::size_t i = 0; i < workers_->size(); ++i)
        if (workers_->status().last_success(i) <= healed)
          record_.problems.push_back(workers_->present(i).name +
                                     " does not succeed after the faults were healed");
    record_.seconds_until_all_succeeded = static_cast<double>(now() - healed) / second;
  }

  void end() {
    workers_->finish(30s);
    final_check rest{servers_->connect_string(), options_.report / "histories",
                     options_.session * 4 / 3};
    record_.processes = workers_->processes();
    record_.processes.insert(record_.processes.end(), rest.processes().begin(),
                             rest.processes().end());
    for (const auto& all : {workers_->problems(), rest.problems()})
      record_.problems.insert(record_.problems.end(), all.begin(), all.end());
    record_.faults = log_.all();
    record_.expiries = servers_->expiries();
    servers_->keep_logs(options_.report / "histories");
    history log{options_.report / "histories" / "faults"};
    for (const auto& f : record_.faults)
      log.write(f.at, "fault", {f.target, f.kind, "until", std::to_string(f.until)});
  }

  verdict judge_and_report() {
    auto v = judge(record_);
    std::ofstream{options_.report / "report.md"} << markdown(record_, v);
    std::ofstream{options_.report / "report.json"} << json(record_, v);
    const auto faults = v.all_faults();
    const auto recipes = v.all_recipes();
    progress_.print(
        "chaos: " + std::to_string(faults.all) + " faults, " + std::to_string(faults.hit_a_holder) +
        " of them hit a holder; " + std::to_string(recipes.hand_offs) + " hand-offs, " +
        std::to_string(recipes.local_grants) + " local grants, " + std::to_string(recipes.losses) +
        " losses reported, " + std::to_string(v.stale_refused) + " stale writes refused of " +
        std::to_string(v.stale_tried) + "; " + std::to_string(v.violations.size()) +
        " violations, " + std::to_string(v.allowed.size()) +
        " times two holders by the documented limit");
    for (const auto& what : v.violations) progress_.print("chaos: VIOLATION: " + what.what);
    for (const auto& what : v.not_covered) progress_.print("chaos: NOT COVERED: " + what);
    progress_.print("chaos: " + (options_.report / "report.md").string());
    return v;
  }

  options options_;
  run_record record_;
  progress progress_;
  testing::temporary_directory folder_;
  fenced_store store_{store_socket()};
  fault_log log_;
  std::unique_ptr<servers> servers_;
  std::unique_ptr<worker_pool> workers_;
  std::size_t seen_faults_ = 0;
  std::size_t hits_ = 0;
};

}  // namespace
}  // namespace conclave::chaos

int main(int argc, char** argv) {
  using namespace conclave::chaos;
  options o;
  try {
    for (int i = 1; i < argc; ++i)
      if (std::string_view{argv[i]} == "--help") {
        std::cout << usage;
        return 0;
      }
    o = read_options(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "chaos: " << e.what() << '\n' << usage;
    return 2;
  }
  // Stops injecting faults. The run up to then is judged.
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  try {
    return run{std::move(o)}.make().good() ? 0 : 1;
  } catch (const std::exception& e) {
    std::cerr << "chaos: " << e.what() << '\n';
    return 2;
  }
}
