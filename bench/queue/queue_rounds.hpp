// One round: producers and consumers of one variant in two workers use one queue.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "driver/recipe_benchmark.hpp"
#include "queue_variants.hpp"

namespace conclave::bench {

namespace figure {
inline constexpr const char* us_per_item = "us_per_item";
inline constexpr const char* items = "items";  // number of consumed items
}  // namespace figure

struct round_plan {
  const queue_variant* variant{nullptr};
  std::size_t producers{0};
  std::size_t consumers{1};
  std::int64_t items{0};  // of all producers; without producers: in the queue before the start
  std::chrono::milliseconds limit{0};
};

struct round_result {
  figures found;
  bool stopped{false};  // at the time limit, with items left
};

class queue_rounds : public recipe_rounds {
 public:
  using recipe_rounds::recipe_rounds;

  // Measures from the first call until all items are consumed, or until the time limit. Throws
  // std::runtime_error if an item was lost or duplicated.
  round_result run(const round_plan& plan);

 private:
  std::string make_queue(const round_plan& plan);
  void start(const round_plan& plan, const std::string& path);
  bool await_end(const round_plan& plan);
  consumption stop();
};

}  // namespace conclave::bench
