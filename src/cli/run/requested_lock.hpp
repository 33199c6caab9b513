// The lock that the flags of `conclave lock` describe, as one of the library's lock types.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_code.hpp"
#include "conclave/client.hpp"
#include "conclave/hold.hpp"
#include "conclave/lock_options.hpp"

namespace conclave::cli {

class requested_lock {
 public:
  struct description {
    std::vector<std::string> paths;
    bool shared = false;
    std::size_t permits = 0;  // 0 if the lock is not a semaphore
    lock_options options;
  };
  // Throws failure for contradictory flags.
  static void check(const description& d);
  // `d` must have passed check().
  static std::unique_ptr<requested_lock> make(client& zk, description d);
  virtual ~requested_lock() = default;

  // Waits for the grant until the limit has passed, or forever if there is no limit. With a limit
  // of 0, does not wait. Calls `done` on the client's thread.
  virtual void acquire(std::optional<std::chrono::milliseconds> limit,
                       std::function<void(error_code, bool acquired)> done) = 0;
  virtual conclave::hold hold() const = 0;
};

// `text` is curator, kazoo, zookeeper, or the prefix of a custom layout. Throws failure if the text
// is invalid.
layout parse_layout(const std::string& text);
// Returns the layouts that a command recognises in addition to those that Conclave knows. `text` is
// the value of --layout, or empty.
std::vector<layout> extra_layouts(const std::string& text);
inline constexpr const char* default_layout = "curator";

// Returns the failure for errc::layout_mismatch and errc::permits_mismatch. Its message says how
// other clients use the path, and which flags to pass to share the lock with them.
failure disagreement(client& zk, const requested_lock::description& d, error_code ec);

}  // namespace conclave::cli
