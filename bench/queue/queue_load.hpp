// Producers and consumers of this library on one queue, in one worker, each with a session of its
// own.
//
// Items are numbers, filled up with spaces, so that their sum shows a lost or duplicated one.
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
inline constexpr const char* asynchronous = "asynchronous";  // calls_in_flight calls at once
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

// What consumers have consumed; the result of stop(). Times are of monotonic_ns().
struct consumption {
  std::int64_t count{0};
  std::int64_t sum{0};    // of the items
  std::int64_t begun{0};  // the first call
  std::int64_t last{0};   // the last item was consumed
};
std::string to_text(const consumption& c);
consumption consumption_from(const std::string& text);

// Counts it; safe from several threads.
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
  std::atomic<std::int64_t> count_{0};  // added to last: a reader of it finds the other values
};

// A queue and its client.
struct queue_session {
  queue_session(std::unique_ptr<client> c, const std::string& path, const queue_options& options)
      : zk(std::move(c)), items(*zk, path, options) {}

  std::unique_ptr<client> zk;
  queue items;
};
// For all producers, then all consumers. See open_sessions().
std::vector<std::unique_ptr<queue_session>> open_queue_sessions(const load_plan& plan,
                                                                std::optional<context> shared);

std::string item_text(std::int64_t number, std::size_t bytes);

std::unique_ptr<recipe_load> make_queue_load(std::istream& arguments);
std::unique_ptr<recipe_load> make_blocking_load(const load_plan& plan);
std::unique_ptr<recipe_load> make_asynchronous_load(const load_plan& plan);

}  // namespace conclave::bench
