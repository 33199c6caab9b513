// Measures wall time, CPU time and context switches of this process since the constructor.
#pragma once

#include <sys/resource.h>

#include <chrono>

namespace conclave::bench {

class stopwatch {
 public:
  stopwatch() noexcept : usage_(usage()), start_(std::chrono::steady_clock::now()) {}

  double wall_us() const noexcept {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start_)
        .count();
  }
  double user_us() const noexcept { return us(usage().ru_utime) - us(usage_.ru_utime); }
  double system_us() const noexcept { return us(usage().ru_stime) - us(usage_.ru_stime); }
  double switches() const noexcept {
    const auto now = usage();
    return static_cast<double>(now.ru_nvcsw + now.ru_nivcsw - usage_.ru_nvcsw - usage_.ru_nivcsw);
  }

 private:
  static rusage usage() noexcept {
    rusage result{};
    ::getrusage(RUSAGE_SELF, &result);
    return result;
  }
  static double us(const timeval& t) noexcept {
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
  }

  rusage usage_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace conclave::bench
