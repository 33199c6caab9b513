// One round: producers and consumers of one variant on one queue, in two processes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <conclave/client.hpp>

#include "flow.hpp"
#include "harness/affinity.hpp"
#include "harness/figures.hpp"
#include "support/zookeeper_server.hpp"
#include "variant.hpp"

namespace conclave::bench {

struct round_plan {
  const variant* who{nullptr};
  std::size_t producers{0};
  std::size_t consumers{1};
  std::int64_t items{0};  // of all producers; without producers: that are there before
  std::chrono::milliseconds limit{0};
};

struct round_result {
  figures found;
  bool stopped{false};  // at the limit, with items left
};

// Where rounds take place: the server and the contestants' processes.
class arena {
 public:
  arena(const testing::zookeeper_options& options, std::optional<int> cpu);

  const testing::zookeeper_server& server() const { return server_; }

  // From the first call until all items are consumed, or the limit. Throws std::runtime_error if an
  // item was lost or came twice.
  round_result run(const round_plan& plan);

 private:
  std::string make_queue(const round_plan& plan);
  void start(const round_plan& plan, const std::string& path);
  bool await_end(const round_plan& plan);
  flow_result stop();

  testing::zookeeper_server server_;
  std::optional<pinned_process> pin_;
  client control_;
  cast cast_;
  std::vector<contestant_process*> present_;  // in this round
  int rounds_{0};
};

}  // namespace conclave::bench
