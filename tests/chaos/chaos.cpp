// Real processes on real servers, and everything goes wrong: see docs/testing.md and --help.
#include <csignal>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "chaos/aftermath.hpp"
#include "chaos/fault_log.hpp"
#include "chaos/fenced_store.hpp"
#include "chaos/fleet.hpp"
#include "chaos/judge.hpp"
#include "chaos/options.hpp"
#include "chaos/progress.hpp"
#include "chaos/report.hpp"
#include "chaos/server_faults.hpp"
#include "chaos/servers.hpp"
#include "chaos/worker_faults.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::chaos {
namespace {

using namespace std::chrono_literals;

constexpr auto step = 4ms;
constexpr auto patience = 60 * second;  // for everybody to get through once

volatile std::sig_atomic_t interrupted = 0;

class run {
 public:
  explicit run(options o) : options_{std::move(o)} {}

  verdict make() {
    // Those of an older run would be taken for ours.
    for (const auto* old : {"histories", "report.md", "report.json"})
      std::filesystem::remove_all(options_.report / old);
    std::filesystem::create_directories(options_.report / "histories");
    record_.asked = options_;
    record_.machine = this_machine();
    progress_.say("chaos: " + std::string{options_.server_name()} + ", seed " +
                  std::to_string(options_.seed));
    servers_ = std::make_unique<servers>(options_);
    record_.server_version = servers_->version();
    prepare(servers_->connect_string());
    fleet_ = std::make_unique<fleet>(options_, servers_->ports(), store_socket());
    if (!everybody_got_through(now()))
      throw std::runtime_error{"not everybody gets through even without a fault"};
    faults();
    everybody_once_more();
    end();
    return judge_and_report();
  }

 private:
  std::filesystem::path store_socket() const { return folder_.path() / "store"; }
  nanoseconds session() const { return std::chrono::nanoseconds{options_.session}.count(); }

  void faults() {
    const auto begin = now();
    const auto end = begin + static_cast<nanoseconds>(options_.minutes * 60 * second);
    worker_faults of_workers{*fleet_, log_, options_.seed};
    server_faults of_servers{*servers_, *fleet_, log_, options_.seed + 1, session()};
    while (now() < end && interrupted == 0) {
      fleet_->look();
      of_workers.step();
      show(end - now());
      std::this_thread::sleep_for(step);
    }
    of_workers.heal_all();
    of_servers.finish();
    record_.seconds_of_faults = static_cast<double>(now() - begin) / second;
  }

  void show(nanoseconds left) {
    for (const auto& f : log_.since(seen_faults_)) {
      ++seen_faults_;
      for (const auto slot : f.slots)
        if (fleet_->seen().holds(slot) || f.kind == "kill -9") {
          ++hits_;
          break;
        }
    }
    progress_.show(left, fleet_->seen(), seen_faults_, hits_, fleet_->problems().size());
  }

  bool everybody_got_through(nanoseconds since) {
    const auto end = since + patience;
    while (now() < end) {
      fleet_->look();
      bool all = true;
      for (std::size_t i = 0; i < fleet_->size(); ++i)
        all = all && fleet_->seen().last_success(i) > since;
      if (all) return true;
      std::this_thread::sleep_for(step);
    }
    return false;
  }

  void everybody_once_more() {
    progress_.say("chaos: all is whole again; now everybody has to get through");
    const auto healed = now();
    if (!everybody_got_through(healed))
      for (std::size_t i = 0; i < fleet_->size(); ++i)
        if (fleet_->seen().last_success(i) <= healed)
          record_.problems.push_back(fleet_->present(i).name + " gets nothing any more");
    record_.seconds_until_all_got_through = static_cast<double>(now() - healed) / second;
  }

  void end() {
    fleet_->finish(30s);
    aftermath rest{servers_->connect_string(), options_.report / "histories",
                   options_.session * 4 / 3};
    record_.lives = fleet_->lives();
    record_.lives.insert(record_.lives.end(), rest.lives().begin(), rest.lives().end());
    for (const auto& all : {fleet_->problems(), rest.problems()})
      record_.problems.insert(record_.problems.end(), all.begin(), all.end());
    record_.faults = log_.all();
    record_.expiries = servers_->expiries();
    servers_->keep_logs(options_.report / "histories");
    history story{options_.report / "histories" / "faults"};
    for (const auto& f : record_.faults)
      story.say(f.at, "fault", {f.target, f.kind, "until", std::to_string(f.until)});
  }

  verdict judge_and_report() {
    auto v = judge(record_);
    std::ofstream{options_.report / "report.md"} << markdown(record_, v);
    std::ofstream{options_.report / "report.json"} << json(record_, v);
    const auto faults = v.all_faults();
    const auto recipes = v.all_recipes();
    progress_.say(
        "chaos: " + std::to_string(faults.all) + " faults, " + std::to_string(faults.hit_a_holder) +
        " of them hit a holder; " + std::to_string(recipes.hand_offs) + " hand-offs, " +
        std::to_string(recipes.losses) + " losses told, " + std::to_string(v.stale_refused) +
        " stale writes refused of " + std::to_string(v.stale_tried) + "; " +
        std::to_string(v.violations.size()) + " violations, " + std::to_string(v.allowed.size()) +
        " times two holders by the documented limit");
    for (const auto& what : v.violations) progress_.say("chaos: VIOLATION: " + what.what);
    for (const auto& what : v.not_shown) progress_.say("chaos: NOT SHOWN: " + what);
    progress_.say("chaos: " + (options_.report / "report.md").string());
    return v;
  }

  options options_;
  run_record record_;
  progress progress_;
  testing::temporary_directory folder_;
  fenced_store store_{store_socket()};
  fault_log log_;
  std::unique_ptr<servers> servers_;
  std::unique_ptr<fleet> fleet_;
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
  // The faults end, and what was seen until then is judged.
  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  try {
    return run{std::move(o)}.make().good() ? 0 : 1;
  } catch (const std::exception& e) {
    std::cerr << "chaos: " << e.what() << '\n';
    return 2;
  }
}
