// One round: contenders of one variant on one lock, in two processes.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <conclave/client.hpp>

#include "harness/affinity.hpp"
#include "harness/figures.hpp"
#include "history.hpp"
#include "support/zookeeper_server.hpp"
#include "traffic.hpp"
#include "variant.hpp"

namespace conclave::bench {

struct round_plan {
  const variant* who{nullptr};
  std::size_t contenders{1};
  std::size_t sessions{1};
  std::chrono::milliseconds warm_up{0};
  std::chrono::milliseconds measured{0};  // longer, until there were so many operations:
  std::size_t least_operations{1};
};

// The contestant cannot do it in a time that anybody would wait. It can take part in other rounds.
struct gave_up : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Where rounds take place: the server, the proxy, and the contestants' processes.
class arena {
 public:
  arena(const testing::zookeeper_options& options, std::optional<int> cpu);

  const testing::zookeeper_server& server() const { return server_; }

  // Rates and latencies, straight to the server.
  figures timed(const round_plan& plan);
  // What an operation costs on the network, counted by a proxy that also slows it down.
  figures counted(const round_plan& plan);

 private:
  struct taken {
    time_span span;
    std::optional<traffic> before;
    std::optional<traffic> after;
    std::vector<cycle> cycles;
  };
  taken run(const round_plan& plan, const testing::link_proxy* proxy);
  void start(const round_plan& plan, const std::string& path, const std::string& servers);
  void await_line(const round_plan& plan, const std::string& path);
  void measure(const round_plan& plan, const testing::link_proxy* proxy, taken& result);
  std::size_t count();
  std::vector<cycle> stop();

  testing::temporary_directory folder_;
  testing::zookeeper_server server_;
  std::optional<pinned_process> pin_;
  client control_;
  cast cast_;
  std::vector<contestant_process*> present_;  // in this round
  int rounds_{0};
};

}  // namespace conclave::bench
