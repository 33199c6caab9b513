// One round: contenders of one variant in two workers use one lock.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "driver/recipe_benchmark.hpp"
#include "history.hpp"
#include "lock_variants.hpp"
#include "support/link_proxy.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::bench {

// The network traffic of one operation.
namespace figure {
inline constexpr const char* requests = "requests";
inline constexpr const char* replies = "replies_and_events";
inline constexpr const char* events = "events";
inline constexpr const char* frames = "frames";
inline constexpr const char* bytes_to_server = "bytes_to_server";
inline constexpr const char* bytes_to_client = "bytes_to_client";
inline constexpr const char* bytes = "bytes";
}  // namespace figure

// The servers of a round.
struct round_servers {
  std::string connect_string;  // of the contenders
  std::vector<const testing::zookeeper_server*> servers;
  client* control;  // a client of the benchmark itself
};

struct round_plan {
  const lock_variant* variant{nullptr};
  std::size_t contenders{1};
  std::size_t sessions{1};
  std::chrono::milliseconds warm_up{0};
  std::chrono::milliseconds measured{0};  // or longer, until the following number of operations:
  std::int64_t least_operations{1};
};

// Thrown if the variant is too slow for this round. Other rounds are possible.
struct round_too_slow : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class lock_rounds : public recipe_rounds {
 public:
  using recipe_rounds::recipe_rounds;

  // Measures rates and latencies, with direct connections to the server.
  figures measure_times(const round_plan& plan);
  // The same on other servers. The node recipe_rounds::parent must exist on them.
  figures measure_times(const round_plan& plan, const round_servers& on);
  // Measures frames and bytes of an operation, with a proxy. The proxy slows the operations down.
  figures measure_traffic(const round_plan& plan);

 private:
  struct recorded {
    time_span span;
    figures before;  // of the proxy
    figures after;
    std::vector<lock_cycle> cycles;
  };
  recorded run(const round_plan& plan, const round_servers& on, const testing::link_proxy* proxy);
  void prepare(const round_plan& plan, const std::string& path, const std::string& servers);
  void await_wait_queue(const round_plan& plan, const round_servers& on, const std::string& path);
  void measure(const round_plan& plan, const testing::link_proxy* proxy, recorded& result);
  std::vector<lock_cycle> stop();

  testing::temporary_directory folder_;
};

}  // namespace conclave::bench
