#include "cli/serve.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <memory>
#include <thread>

#include "conclave/server.hpp"

namespace conclave::cli {
namespace {

void log_line(log_level level, std::string_view text) {
  constexpr std::array names{"debug", "info", "warning", "error"};
  std::array<char, 32> time{};
  const auto now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::strftime(time.data(), time.size(), "%FT%TZ", &parts);
  std::fprintf(stderr, "%s %s %.*s\n", time.data(), names[static_cast<std::size_t>(level)],
               static_cast<int>(text.size()), text.data());
}

// As many connections as the system lets us have.
void raise_descriptor_limit(server_options& options) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  constexpr rlim_t for_ourselves = 64;
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur > for_ourselves)
    options.max_connections =
        std::min<std::size_t>(options.max_connections, limit.rlim_cur - for_ourselves);
}

}  // namespace

int serve(serve_command command) {
  auto& options = command.options;
  raise_descriptor_limit(options);
  const auto least = command.quiet     ? log_level::error
                     : command.verbose ? log_level::debug
                                       : log_level::warning;
  options.log = [least](log_level level, std::string_view text) {
    if (level >= least) log_line(level, text);
  };

  // Before the first thread, so that all of them leave these to the one that waits for them.
  sigset_t ends{};
  ::sigemptyset(&ends);
  ::sigaddset(&ends, SIGTERM);
  ::sigaddset(&ends, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);

  const auto running = std::make_shared<server>(options);
  std::string ready = "conclave ready:";
  for (const auto& address : running->addresses()) ready += " " + address;
  std::puts(ready.c_str());
  std::fflush(stdout);

  // The signal may come when the server has just ended by itself.
  std::thread{[weak = std::weak_ptr{running}, ends] {
    int received = 0;
    ::sigwait(&ends, &received);
    if (const auto still_there = weak.lock()) still_there->stop();
    // A second signal ends the program at once.
    ::pthread_sigmask(SIG_UNBLOCK, &ends, nullptr);
    ::sigwait(&ends, &received);
  }}.detach();
  running->wait();
  return 0;
}

}  // namespace conclave::cli
