// The clock that leases are measured on: CLOCK_BOOTTIME.
//
// It never jumps when somebody sets the date, and unlike std::chrono::steady_clock it goes on
// while the machine is suspended, as the server's clock does. Meets the standard's Clock
// requirements.
#pragma once

#include <chrono>

namespace conclave {

struct boot_clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<boot_clock>;
  static constexpr bool is_steady = true;

  static time_point now() noexcept;
};

}  // namespace conclave
