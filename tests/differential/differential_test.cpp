// Compares the embedded server with Apache ZooKeeper 3.8.0: sends random operations of several
// sessions to both and compares every reply and event. `make test` runs a few seeds. Environment
// variables:
//
//   CONCLAVE_DIFFERENTIAL_SEEDS=N   the number of seeds
//   CONCLAVE_DIFFERENTIAL_FIRST=N   the first seed
//   CONCLAVE_DIFFERENTIAL_STEPS=N   the number of steps per seed
//   CONCLAVE_DIFFERENTIAL_SEED=N    only this seed
//   CONCLAVE_DIFFERENTIAL_ONLY=...  only these steps, separated by commas
//   CONCLAVE_DIFFERENTIAL_SERVER=P  another `conclave` program
//   CONCLAVE_DIFFERENTIAL_SHRINK=N  seconds to reduce the steps; 0: do not reduce
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <iostream>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "differential/comparison.hpp"
#include "differential/generator.hpp"
#include "differential/servers.hpp"
#include "differential/shrink.hpp"

namespace conclave::differential {
namespace {

constexpr std::uint64_t usual_seeds = 4;
constexpr std::uint64_t usual_steps = 3000;
constexpr std::uint64_t usual_shrink_seconds = 90;
constexpr std::size_t slots = 4;
constexpr std::size_t steps_shown = 12;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* const value = std::getenv((std::string{"CONCLAVE_DIFFERENTIAL_"} + name).c_str());
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

std::vector<std::size_t> only_these() {
  std::vector<std::size_t> numbers;
  if (const char* const list = std::getenv("CONCLAVE_DIFFERENTIAL_ONLY")) {
    std::istringstream in{list};
    for (std::string n; std::getline(in, n, ',');) numbers.push_back(std::stoul(n));
  }
  return numbers;
}

// With data on disk and restarts.
bool is_durable(std::uint64_t seed) { return seed % 4 == 0; }

// A pair of servers cannot be used again after a difference, and a JVM starts slowly. So the next
// pair is started while one is in use.
class supply {
 public:
  void prepare(bool on_disk) {
    auto& next = next_[on_disk ? 1 : 0];
    if (next.valid()) return;
    next = std::async(std::launch::async, [on_disk] {
      server_settings settings;
      settings.on_disk = on_disk;
      return std::make_unique<servers>(settings);
    });
  }
  std::unique_ptr<servers> take(bool on_disk) {
    prepare(on_disk);
    return next_[on_disk ? 1 : 0].get();
  }

 private:
  std::array<std::future<std::unique_ptr<servers>>, 2> next_;
};

std::string joined(const std::vector<std::size_t>& numbers) {
  std::string out;
  for (const auto n : numbers) out += (out.empty() ? "" : ",") + std::to_string(n);
  return out;
}

std::string this_program() {
  std::array<char, 4096> path{};
  const auto size = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : "differential_test";
}

comparison_setup setup_for(servers& pair, std::uint64_t salt) {
  comparison_setup setup;
  setup.apache_port = pair.apache_port();
  setup.embedded_port = pair.embedded_port();
  setup.slots = slots;
  setup.salt = salt;
  setup.restart = [&pair] { pair.restart(); };
  return setup;
}

class differential : public ::testing::Test {
 protected:
  std::vector<step> picked(const std::vector<step>& all, const std::vector<std::size_t>& which) {
    std::vector<step> some;
    for (const auto i : which)
      if (i < all.size()) some.push_back(all[i]);
    return some;
  }

  std::optional<difference> run(std::uint64_t seed, const std::vector<step>& steps,
                                std::string* logs = nullptr) {
    const auto pair = supply_.take(is_durable(seed));
    if (const auto next = next_seed(seed)) supply_.prepare(is_durable(*next));
    const auto begin = clock::now();
    comparison d{setup_for(*pair, seed)};
    auto found = d.run(steps);
    busy_ += clock::now() - begin;
    reached_.add(d.result());
    if (found && logs != nullptr && (found->is_failure || !pair->running())) *logs = pair->logs();
    return found;
  }

  std::string report(std::uint64_t seed, const std::vector<step>& all,
                     std::vector<std::size_t> which, const difference& first,
                     const std::string& logs) {
    which.resize(first.step + 1);  // later steps have no effect
    std::ostringstream out;
    out << "seed " << seed << ", step " << which.back() << ": the servers differ\n"
        << first.done << "\n"
        << first.answers << logs;
    const auto seconds = from_environment("SHRINK", usual_shrink_seconds);
    auto fewer = which;
    if (seconds > 0 && which.size() > 1) {
      std::cerr << "seed " << seed << ", step " << which.back()
                << ": the servers differ; looking for fewer steps that show it\n";
      auto last = first;
      fewer = shrunk(
          which,
          [&](const std::vector<std::size_t>& some) -> std::size_t {
            supply_.prepare(is_durable(seed));
            const auto found = run(seed, picked(all, some));
            if (!found) return 0;
            last = *found;
            return last.step + 1;
          },
          std::chrono::seconds{seconds});
      if (fewer.size() < which.size())
        out << "\nfewer steps that show a difference:\n" << last.done << "\n" << last.answers;
    }
    out << "\nthe last steps:\n";
    const auto begin = fewer.size() > steps_shown ? fewer.size() - steps_shown : 0;
    for (auto i = begin; i < fewer.size(); ++i)
      out << "  " << fewer[i] << ". " << describe(all[fewer[i]]) << "\n";
    out << "\nto see it again:\n  CONCLAVE_DIFFERENTIAL_SEED=" << seed
        << " CONCLAVE_DIFFERENTIAL_STEPS=" << which.back() + 1;
    if (fewer.back() + 1 != fewer.size()) out << " CONCLAVE_DIFFERENTIAL_ONLY=" << joined(fewer);
    out << " " << this_program() << "\n";
    return out.str();
  }

  std::optional<std::uint64_t> next_seed(std::uint64_t seed) const {
    return seed + 1 < end_ ? std::optional{seed + 1} : std::nullopt;
  }

  using clock = std::chrono::steady_clock;
  supply supply_;
  std::uint64_t end_ = 0;  // of the seeds
  comparison::figures reached_;
  clock::duration busy_{};
};

void print(const comparison::figures& f) {
  std::map<std::string, std::string> lines;
  for (const auto& [what, count] : f.results)
    lines[what.first] +=
        std::string{" "} + name_of_error(what.second) + " " + std::to_string(count);
  for (const auto& [name, line] : lines) std::cout << "  " << name << ":" << line << "\n";
}

// Verifies that the steps have reached every operation and error.
void expect_all_reached(const comparison::figures& f) {
  const auto reached = [&](const char* name, std::int32_t error) {
    return f.results.contains({name, error});
  };
  for (const char* name : {"create",
                           "create2",
                           "createContainer",
                           "createTTL",
                           "delete",
                           "exists",
                           "getData",
                           "setData",
                           "getACL",
                           "setACL",
                           "getChildren",
                           "getChildren2",
                           "sync",
                           "ping",
                           "multi",
                           "multiRead",
                           "addWatch",
                           "removeWatches",
                           "checkWatches",
                           "setWatches",
                           "setWatches2",
                           "getEphemerals",
                           "getAllChildrenNumber",
                           "whoAmI",
                           "auth",
                           "closeSession"})
    EXPECT_TRUE(reached(name, 0)) << name << " never succeeded";
  const std::vector<std::pair<const char*, std::int32_t>> refused{
      {"create", -5},          {"create", -8},         {"create", -101},  {"create", -102},
      {"create", -108},        {"create", -110},       {"create", -114},  {"delete", -102},
      {"delete", -103},        {"delete", -111},       {"multi", -5},     {"multi", -101},
      {"multi", -102},         {"multi", -103},        {"multi", -110},   {"multi", -111},
      {"setData", -103},       {"setACL", -102},       {"getData", -102}, {"auth", -115},
      {"removeWatches", -121}, {"checkWatches", -121}, {"unknown", -6},
  };
  for (const auto& [name, error] : refused)
    EXPECT_TRUE(reached(name, error)) << name << " never gave " << name_of_error(error);
  for (const char* type : {"NodeCreated", "NodeDeleted", "NodeDataChanged", "NodeChildrenChanged"})
    EXPECT_TRUE(reached(type, 0)) << type << " never happened";
  for (const auto what :
       {action::disconnect, action::reconnect, action::use_wrong_password, action::use_future_zxid,
        action::take_over, action::bad_length, action::expire, action::restart})
    EXPECT_TRUE(reached(name_of(what), 0)) << "never: " << name_of(what);
}

TEST_F(differential, random_operations) {
  const auto steps = from_environment("STEPS", usual_steps);
  const auto only_seed = from_environment("SEED", 0);
  const auto first = only_seed != 0 ? only_seed : from_environment("FIRST", 1);
  end_ = first + (only_seed != 0 ? 1 : from_environment("SEEDS", usual_seeds));

  for (auto seed = first; seed < end_; ++seed) {
    plan p;
    p.seed = seed;
    p.steps = steps;
    p.slots = slots;
    p.with_restarts = is_durable(seed);
    const auto all = steps_of(p);
    auto which = only_these();
    if (which.empty()) {
      which.resize(all.size());
      std::iota(which.begin(), which.end(), std::size_t{0});
    }
    std::string logs;
    if (const auto found = run(seed, picked(all, which), &logs))
      FAIL() << report(seed, all, which, *found, logs);
  }

  std::printf(
      "%llu operations of %llu seeds and %llu events compared, %.0f operations/s\n",
      static_cast<unsigned long long>(reached_.operations),
      static_cast<unsigned long long>(end_ - first),
      static_cast<unsigned long long>(reached_.events),
      static_cast<double>(reached_.operations) / std::chrono::duration<double>(busy_).count());
  print(reached_);
  if (steps >= usual_steps && end_ - first >= usual_seeds) expect_all_reached(reached_);
}

// The servers periodically remove containers whose children were deleted and expired TTL nodes
// without children.
TEST_F(differential, containers_and_ttl_nodes_are_removed) {
  const auto creation = [](wire::opcode type, const char* path, std::int32_t flags) {
    operation o;
    o.type = type;
    o.path.name = path;
    o.flags = flags;
    o.ttl_ms = 1;
    o.acl = {{}};
    return o;
  };
  const auto other = [](wire::opcode type, const char* path) {
    operation o;
    o.type = type;
    o.path.name = path;
    o.watch = true;
    return o;
  };
  constexpr std::int32_t container = 4;
  constexpr std::int32_t ttl = 5;
  using wire::opcode;

  std::vector<step> steps;
  for (std::size_t slot = 0; slot < slots;
       ++slot) {  // the watch mode of a session depends on the salt
    step s;
    s.slot = slot;
    for (const char* path : {"/", "/used", "/old", "/outer", "/outer/inner"}) {
      s.operations.push_back(other(opcode::add_watch, path));
      s.operations.push_back(other(opcode::get_children, path));
      s.operations.push_back(other(opcode::get_data, path));
    }
    steps.push_back(s);
  }
  operation all_at_once;
  all_at_once.type = opcode::multi;
  all_at_once.parts = {
      creation(opcode::create_container, "/used", container),
      creation(opcode::create, "/used/child", 0),
      other(opcode::remove, "/used/child"),
      creation(opcode::create_container, "/unused", container),
      creation(opcode::create_container, "/outer", container),
      creation(opcode::create_container, "/outer/inner", container),
      creation(opcode::create, "/outer/inner/child", 0),
      other(opcode::remove, "/outer/inner/child"),
      creation(opcode::create_ttl, "/old", ttl),
      creation(opcode::create_ttl, "/old-with-child", ttl),
      creation(opcode::create, "/old-with-child/child", 0),
  };
  auto long_lived = creation(opcode::create_ttl, "/young", ttl);
  long_lived.ttl_ms = std::chrono::milliseconds{std::chrono::hours{1}}.count();
  all_at_once.parts.push_back(long_lived);
  step s;
  s.what = action::await_removal;
  s.operations = {all_at_once, other(opcode::exists, "/used"), other(opcode::exists, "/outer"),
                  other(opcode::exists, "/old")};
  steps.push_back(s);

  server_settings settings;
  settings.reap_interval = std::chrono::milliseconds{500};
  for (std::uint64_t salt = 1; salt <= 2; ++salt) {
    servers pair{settings};
    comparison d{setup_for(pair, salt)};
    const auto found = d.run(steps);
    EXPECT_FALSE(found.has_value()) << found->done << "\n" << found->answers;
    EXPECT_GT(d.result().events, 0u);
  }
}

}  // namespace
}  // namespace conclave::differential
