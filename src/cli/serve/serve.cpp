#include "cli/serve/serve.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
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

// Until now those who started us could read what went wrong; from now on nobody listens there.
void go_on_in(const std::filesystem::path& log) {
  constexpr std::uintmax_t enough = 1u << 20;
  std::error_code ec;
  const bool anew = std::filesystem::file_size(log, ec) > enough && !ec;
  const int fd =
      ::open(log.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (anew ? O_TRUNC : O_APPEND), 0600);
  if (fd < 0) return log_line(log_level::error, log.string() + ": " + std::strerror(errno));
  ::dup2(fd, STDOUT_FILENO);
  ::dup2(fd, STDERR_FILENO);
  ::close(fd);
}

// As many connections as the system lets us have.
void raise_descriptor_limit(server_options& options) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  constexpr rlim_t for_ourselves = 64;
  const rlim_t each = options.socket.empty() ? 1 : 2;  // there the process is watched, too
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur > for_ourselves)
    options.max_connections =
        std::min<std::size_t>(options.max_connections, (limit.rlim_cur - for_ourselves) / each);
}

// Waits for SIGTERM, SIGINT and SIGHUP on a thread of its own. Before the server is there, the
// first two end the program: there is nothing to lose yet. Then the first of them stops the server,
// and a second one ends the program at once. SIGHUP calls `renew` and never ends anything: nohup
// and closed terminals send it, too.
class signal_thread {
 public:
  explicit signal_thread(std::function<void(server&)> renew) : renew_{std::move(renew)} {
    ::sigemptyset(&ends_);
    ::sigaddset(&ends_, SIGTERM);
    ::sigaddset(&ends_, SIGINT);
    ::sigemptyset(&renews_);
    ::sigaddset(&renews_, SIGHUP);
    ::sigemptyset(&enough_);
    ::sigaddset(&enough_, SIGUSR1);
    for (const auto* set : {&ends_, &renews_, &enough_}) ::pthread_sigmask(SIG_BLOCK, set, nullptr);
    ::signal(SIGHUP, SIG_DFL);  // an ignored one is not waited for
    thread_ = std::thread{[this] { wait(); }};
  }
  ~signal_thread() {
    ::pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }
  signal_thread(const signal_thread&) = delete;
  signal_thread& operator=(const signal_thread&) = delete;

  void now_serves(server& s) const { server_ = &s; }

 private:
  void wait() const {
    sigset_t any = ends_;
    ::sigaddset(&any, SIGHUP);
    ::sigaddset(&any, SIGUSR1);
    int received = 0;
    while (::sigwait(&any, &received) != 0 || received == SIGHUP)
      if (auto* const there = server_.load(); there != nullptr) renew_(*there);
    if (received == SIGUSR1) return;
    auto* const there = server_.load();
    if (there == nullptr) std::_Exit(128 + received);
    there->stop();
    ::pthread_sigmask(SIG_UNBLOCK, &ends_, nullptr);
    ::sigwait(&enough_, &received);
  }

  std::function<void(server&)> renew_;
  sigset_t ends_{};
  sigset_t renews_{};
  sigset_t enough_{};  // from our destructor to our thread
  mutable std::atomic<server*> server_ = nullptr;
  std::thread thread_;
};

void renew_certificates(const serve_command& command, server& s) {
  const auto& log = command.options.log;
  if (!command.options.tls) return log(log_level::info, "SIGHUP: nothing to be read again");
  try {
    auto tls = *command.options.tls;
    if (!command.key_password_file.empty())
      tls.key_password = secret::from_file(command.key_password_file);
    s.set_tls(tls);
    log(log_level::info, "SIGHUP: the certificates were read again");
  } catch (const std::exception& e) {
    log(log_level::error, std::string{"SIGHUP: the certificates stay as they were: "} + e.what());
  }
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address.starts_with("[::1]:");
}

// TCP comes first among the addresses, then TLS.
void warn_if_open(const server_options& o, const std::vector<std::string>& addresses) {
  if (!o.required_auth.empty()) return;
  const bool tls_authenticates = o.tls && o.tls->require_client_certificate;
  const auto open = o.listen.size() + (tls_authenticates ? 0 : o.listen_tls.size());
  for (std::size_t i = 0; i < std::min(open, addresses.size()); ++i)
    if (!is_loopback(addresses[i]))
      o.log(log_level::warning,
            addresses[i] +
                " is open to every machine that can reach it, without authentication; listen on "
                "127.0.0.1, or see --require-auth and --tls-require-client-cert");
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

  ::signal(SIGPIPE, SIG_IGN);
  std::unique_ptr<server> serving;
  // Before the first thread, and gone before the server.
  const signal_thread signals{[&command](server& s) { renew_certificates(command, s); }};
  serving = std::make_unique<server>(options);
  signals.now_serves(*serving);
  warn_if_open(options, serving->addresses());

  std::string ready = "conclave ready:";
  for (const auto& address : serving->addresses()) ready += " " + address;
  std::puts(ready.c_str());
  std::fflush(stdout);
  if (!command.log.empty()) go_on_in(command.log);
  serving->wait();
  return 0;
}

}  // namespace conclave::cli
