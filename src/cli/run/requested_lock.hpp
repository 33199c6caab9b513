// The lock that the flags of `conclave lock` describe: one of the library's kinds.
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
    std::size_t permits = 0;  // 0: no semaphore
    lock_options options;
  };
  // Throws failure for what does not go together.
  static void check(const description& d);
  // Of one that was checked.
  static std::unique_ptr<requested_lock> make(client& zk, description d);
  virtual ~requested_lock() = default;

  // Without a limit it waits; zero: not at all. `done` is called on the client's thread.
  virtual void acquire(std::optional<std::chrono::milliseconds> limit,
                       std::function<void(error_code, bool acquired)> done) = 0;
  virtual conclave::hold hold() const = 0;
};

// curator, kazoo, zookeeper, or the beginning of names of one's own. Throws failure.
layout parse_layout(const std::string& text);
inline constexpr const char* default_layout = "curator";

// The number of permits that a semaphore's path records, if it does.
std::optional<std::size_t> recorded_permits(std::string_view data);

// Others use one of the paths in another way, as errc::layout_mismatch or errc::permits_mismatch
// said: what they do there, and what to pass so as to share the lock with them.
failure disagreement(client& zk, const requested_lock::description& d, error_code ec);

}  // namespace conclave::cli
