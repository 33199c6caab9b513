// Producers and consumers of this library on one queue, in this process, each with a session of its
// own.
//
// Items are numbers, filled up with spaces, so that a lost or doubled one shows in their sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace conclave::bench {

namespace mode {
inline constexpr const char* blocking = "blocking";          // one item, one call, one thread
inline constexpr const char* asynchronous = "asynchronous";  // so many calls at once as `window`
inline constexpr const char* claiming = "claiming";          // claim and complete, blocking
inline constexpr const char* claiming_asynchronously = "claiming-asynchronously";
}  // namespace mode

inline constexpr std::size_t window = 64;

struct flow_plan {
  std::string mode;
  std::string servers;
  std::string path;
  std::size_t producers{0};
  std::size_t consumers{0};
  std::int64_t first{0};  // number of the first item
  std::int64_t items{0};  // of each producer
  std::size_t bytes{0};   // of each item
};

// Times are of monotonic_ns().
struct flow_result {
  std::int64_t consumed{0};
  std::int64_t sum{0};    // of the numbers consumed
  std::int64_t begun{0};  // the first call
  std::int64_t last{0};   // the last item was consumed
};

class flow {
 public:
  virtual ~flow() = default;
  virtual void go() = 0;
  virtual std::int64_t consumed() const = 0;  // so far
  virtual flow_result stop() = 0;             // ends the sessions
};

// Connected.
std::unique_ptr<flow> begin_flow(const flow_plan& plan);
std::unique_ptr<flow> begin_blocking_flow(const flow_plan& plan);
std::unique_ptr<flow> begin_asynchronous_flow(const flow_plan& plan);

std::int64_t monotonic_ns();
std::string item_text(std::int64_t number, std::size_t bytes);

}  // namespace conclave::bench
