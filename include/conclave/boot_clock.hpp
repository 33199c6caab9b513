// A clock based on CLOCK_BOOTTIME, used to measure session timeouts.
//
// It does not jump when the date is changed. Unlike std::chrono::steady_clock, it also advances
// while the machine is suspended, like the server's clock. It meets the standard's Clock
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
