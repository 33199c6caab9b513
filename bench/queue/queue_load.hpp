// Producers and consumers of this library in one worker, which use one queue. Each has its own
// session.
//
// Items are numbers, padded with spaces. Their sum shows whether an item was lost or duplicated.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <conclave/client.hpp>
#include <conclave/queue.hpp>

#include "driver/recipe_worker.hpp"

namespace conclave::bench {

namespace mode {
inline constexpr const char* blocking = "blocking";          // one item, one call, one thread
inline constexpr const char* asynchronous = "asynchronous";  // calls_in_flight concurrent calls
inline constexpr const char* claiming = "claiming";          // claim and complete, blocking
inline constexpr const char* claiming_asynchronously = "claiming-asynchronously";
}  // namespace mode

inline constexpr std::size_t calls_in_flight = 64;

// The arguments of `prepare`: MODE SERVERS PATH PRODUCERS CONSUMERS FIRST ITEMS BYTES.
struct load_plan {
  std::string mode;
  std::string servers;
  std::string path;
  std::size_t producers{0};
  std::size_t consumers{0};
  std::int64_t first_item{0};
  std::int64_t items{0};  // of each producer
  std::size_t bytes{0};   // of each item

  bool claims() const { return mode == mode::claiming || mode == mode::claiming_asynchronously; }
};

// The result of stop() for consumers. Times are values of monotonic_ns().
struct consumption {
  std::int64_t count{0};
  std::int64_t sum{0};    // of the items
  std::int64_t begun{0};  // time of the first call
  std::int64_t last{0};   // time when the last item was consumed
};
std::string to_text(const consumption& c);
consumption consumption_from(const std::string& text);

// Counts consumed items. Thread-safe.
class consumption_counter {
 public:
  void begin();
  void add(const std::string& item);

  std::int64_t count() const { return count_; }
  consumption total() const { return {count_, sum_, begun_, last_}; }

 private:
  std::atomic<std::int64_t> begun_{0};
  std::atomic<std::int64_t> sum_{0};
  std::atomic<std::int64_t> last_{0};
  // Updated last, so that a reader of count_ sees the other values.
  std::atomic<std::int64_t> count_{0};
};

// A queue and its client.
struct queue_session {
  queue_session(std::unique_ptr<client> c, const std::string& path, const queue_options& options)
      : zk(std::move(c)), items(*zk, path, options) {}

  std::unique_ptr<client> zk;
  queue items;
};
// Creates the sessions of all producers, followed by those of all consumers. See open_sessions().
std::vector<std::unique_ptr<queue_session>> open_queue_sessions(const load_plan& plan,
                                                                std::optional<context> shared);

std::string item_text(std::int64_t number, std::size_t bytes);

std::unique_ptr<recipe_load> make_queue_load(std::istream& arguments);
std::unique_ptr<recipe_load> make_blocking_load(const load_plan& plan);
std::unique_ptr<recipe_load> make_asynchronous_load(const load_plan& plan);

}  // namespace conclave::bench
