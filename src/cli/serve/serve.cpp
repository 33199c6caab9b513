#include "cli/serve/serve.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
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
#include <optional>
#include <thread>

#include "cli/connect/private_file.hpp"
#include "cli/connect/session_connections.hpp"
#include "cli/exit_code.hpp"
#include "cli/serve/service_manager.hpp"
#include "conclave/connect_string.hpp"
#include "conclave/query_server.hpp"
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

// Throws failure if the log is a file of another user, who could read it, or a symbolic link to a
// file, which the messages would damage. A device may be a link, for example /dev/stderr. Returns
// -1 if the log cannot be opened, because the server can run without it.
int open_log(const std::filesystem::path& log) {
  constexpr off_t max_log_bytes = 1 << 20;
  constexpr int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY;
  constexpr auto is_a_link = " is a symbolic link; replace it with the file itself";
  struct stat found {};
  int fd = ::open(log.c_str(), flags | O_CREAT | O_NOFOLLOW, 0600);
  const bool is_link = fd < 0 && errno == ELOOP;
  const auto refuse = [&](const std::string& why) {
    if (fd >= 0) ::close(fd);
    throw failure{failed, log.string() + why};
  };
  if (is_link) fd = ::open(log.c_str(), flags);
  if (fd < 0 && is_link && errno == ENOENT) refuse(is_a_link);
  if (fd < 0 || ::fstat(fd, &found) != 0) {
    log_line(log_level::error, log.string() + ": " + std::strerror(errno));
    return fd;
  }
  if (!S_ISREG(found.st_mode)) return fd;
  if (is_link) refuse(is_a_link);
  if (found.st_uid != ::geteuid())
    refuse(" belongs to user " + std::to_string(found.st_uid) + ", but the server runs as user " +
           std::to_string(::geteuid()) +
           "; run it as the owner, or choose another file with --log");
  if (found.st_size > max_log_bytes && ::ftruncate(fd, 0) != 0)
    log_line(log_level::error, log.string() + ": " + std::strerror(errno));
  return fd;
}

// Errors before this call go to the stderr of the parent. When the server is ready, the parent
// stops reading.
void redirect_output_to(int log) {
  if (log < 0) return;
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::close(log);
}

// Raises the descriptor limit and reduces max_connections to the number that the limit allows.
// Returns the number of connections that the web page may have, so that they do not take the
// descriptors of the server's clients.
std::size_t raise_descriptor_limit(server_options& options, bool has_page) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  constexpr std::size_t own_of_page = 32;  // its session, and sockets above its limit
  const std::size_t page_connections =
      has_page ? std::min<rlim_t>(
                     1200, limit.rlim_cur / 2 - std::min<rlim_t>(limit.rlim_cur / 2, own_of_page))
               : 0;
  const rlim_t reserved = 64 + (has_page ? page_connections + own_of_page : 0);
  // A Unix socket client also needs a pidfd.
  const bool has_unix_socket = !options.socket.empty() || !options.listening_sockets.empty();
  const rlim_t per_connection = has_unix_socket ? 2 : 1;
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur > reserved)
    options.max_connections = std::min<std::size_t>(options.max_connections,
                                                    (limit.rlim_cur - reserved) / per_connection);
  return page_connections;
}

// Waits for SIGTERM, SIGINT and SIGHUP on a separate thread. Before the server has started, SIGTERM
// and SIGINT terminate the program. Later, the first of these signals stops the server, and a
// second one terminates the program at once. SIGHUP only calls `reload`, because it is also sent
// when a terminal is closed.
class signal_thread {
 public:
  explicit signal_thread(std::function<void(server&)> reload) : reload_{std::move(reload)} {
    ::sigemptyset(&stop_signals_);
    ::sigaddset(&stop_signals_, SIGTERM);
    ::sigaddset(&stop_signals_, SIGINT);
    ::sigemptyset(&reload_signals_);
    ::sigaddset(&reload_signals_, SIGHUP);
    ::sigemptyset(&exit_signals_);
    ::sigaddset(&exit_signals_, SIGUSR1);
    for (const auto* set : {&stop_signals_, &reload_signals_, &exit_signals_})
      ::pthread_sigmask(SIG_BLOCK, set, nullptr);
    ::signal(SIGHUP, SIG_DFL);  // sigwait() does not receive ignored signals
    thread_ = std::thread{[this] { wait(); }};
  }
  ~signal_thread() {
    ::pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }
  signal_thread(const signal_thread&) = delete;
  signal_thread& operator=(const signal_thread&) = delete;

  void set_server(server& s) const { server_ = &s; }

 private:
  void wait() const {
    sigset_t any = stop_signals_;
    ::sigaddset(&any, SIGHUP);
    ::sigaddset(&any, SIGUSR1);
    int received = 0;
    while (::sigwait(&any, &received) != 0 || received == SIGHUP)
      if (auto* const running = server_.load(); running != nullptr) reload_(*running);
    if (received == SIGUSR1) return;
    auto* const running = server_.load();
    if (running == nullptr) std::_Exit(128 + received);
    running->stop();
    ::pthread_sigmask(SIG_UNBLOCK, &stop_signals_, nullptr);
    ::sigwait(&exit_signals_, &received);
  }

  std::function<void(server&)> reload_;
  sigset_t stop_signals_{};
  sigset_t reload_signals_{};
  sigset_t exit_signals_{};  // sent by the destructor to the thread
  mutable std::atomic<server*> server_ = nullptr;
  std::thread thread_;
};

void reload_certificates(const serve_command& command, server& s) {
  const auto& log = command.options.log;
  if (!command.options.tls)
    return log(log_level::info, "SIGHUP: there are no certificates to reload");
  try {
    auto tls = *command.options.tls;
    require_private(tls.key_file);
    require_private(command.key_password_file);
    if (!command.key_password_file.empty())
      tls.key_password = secret::from_file(command.key_password_file);
    s.set_tls(tls);
    log(log_level::info, "SIGHUP: the certificates were reloaded");
  } catch (const std::exception& e) {
    log(log_level::error, std::string{"SIGHUP: the old certificates stay in use: "} + e.what());
  }
}

// The web page inside the server. It has a session of its own.
class server_page {
 public:
  // Throws failure if the server has no address that the page can connect to.
  server_page(const server_options& server, const std::vector<std::string>& addresses,
              const ui_flags& flags, std::size_t connections)
      : zk_{own_address(server, addresses), own_options(server)} {
    auto options = read_ui_flags(flags);
    options.paths = {"/"};
    options.max_connections = connections;
    options.servers = "this server";
    const auto ask = [at = connect_string::parse(own_address(server, addresses)).hosts.front()](
                         std::string_view word) {
      query_options limits;
      limits.timeout = limits.reply_timeout = std::chrono::milliseconds{500};
      return query_server(at, word, limits).reply;
    };
    options.read_server = [ask] { return ask("mntr"); };
    options.read_session_ends = [ask] { return std::vector{ask("ends")}; };
    options.read_addresses = [ask]() -> std::optional<web::session_addresses> {
      session_connections found;
      if (!parse_connections(ask("cons"), found)) return {};
      return std::move(found.connected);
    };
    page_ = start_ui(zk_, options, flags.listen);
    url_ = page_address(*page_, options, flags);
  }

  const std::string& url() const { return url_; }

 private:
  // The Unix socket is the last address and needs no TLS.
  static std::string own_address(const server_options& server,
                                 const std::vector<std::string>& addresses) {
    if (!server.socket.empty()) return addresses.back();
    if (!server.listen.empty()) return addresses.front();
    throw failure{usage,
                  "--http needs a Unix socket (--socket) or a TCP address without TLS "
                  "(--listen) to connect to the server"};
  }
  static client_options own_options(const server_options& server) {
    client_options o;
    o.connect_wait = std::chrono::seconds{2};
    if (!server.required_auth.empty())
      o.credentials.emplace_back("digest",
                                 secret::from_memory("conclave-page:" + web::generate_token()));
    return o;
  }

  client zk_;
  std::unique_ptr<web::ui> page_;
  std::string url_;
};

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address.starts_with("[::1]:");
}

// `addresses` has the TCP addresses first, then TLS, then the Unix sockets.
void warn_if_open(const server_options& o, const std::vector<std::string>& addresses) {
  if (!o.required_auth.empty()) return;
  const auto is_unix = [](const std::string& a) { return a.starts_with("unix:"); };
  const auto first_unix = std::find_if(addresses.begin(), addresses.end(), is_unix);
  const bool tls_authenticates = o.tls && o.tls->require_client_certificate;
  const auto open = static_cast<std::size_t>(first_unix - addresses.begin()) -
                    (tls_authenticates ? o.listen_tls.size() : 0);
  for (std::size_t i = 0; i < open; ++i)
    if (!is_loopback(addresses[i]))
      o.log(log_level::warning,
            addresses[i] +
                " is open to every machine that can reach it, without authentication; listen on "
                "127.0.0.1, or see --require-auth and --tls-require-client-cert");
}

}  // namespace

int serve(serve_command command) {
  auto& options = command.options;
  const auto page_connections = raise_descriptor_limit(options, !command.http.listen.empty());
  const auto min_level = command.quiet     ? log_level::error
                         : command.verbose ? log_level::debug
                                           : log_level::warning;
  options.log = [min_level](log_level level, std::string_view text) {
    if (level >= min_level) log_line(level, text);
  };

  ::signal(SIGPIPE, SIG_IGN);
  std::unique_ptr<server> running_server;
  // Must be created before any other thread and destroyed before the server.
  const signal_thread signals{[&command](server& s) { reload_certificates(command, s); }};
  running_server = std::make_unique<server>(options);
  const int log = command.log.empty() ? -1 : open_log(command.log);
  signals.set_server(*running_server);
  warn_if_open(options, running_server->addresses());

  std::optional<server_page> page;
  if (!command.http.listen.empty())
    page.emplace(options, running_server->addresses(), command.http, page_connections);

  std::string ready = "conclave ready:";
  for (const auto& address : running_server->addresses()) ready += " " + address;
  ready += "\n";
  if (page) ready += "conclave ui: " + page->url() + "\n";
  // Redirected first, so that all messages of a ready server are in the log. A server in the
  // background may have no standard output.
  const int output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  redirect_output_to(log);
  [[maybe_unused]] const auto written = ::write(output, ready.data(), ready.size());
  ::close(output);
  if (!notify_service_manager("READY=1"))
    options.log(log_level::warning,
                std::string{"cannot notify the service manager: "} + std::strerror(errno));
  running_server->wait();
  notify_service_manager("STOPPING=1");
  return 0;
}

// The server has exclusive access to its file, so it must write the copy: see
// four_letter_words.cpp.
int backup(const std::filesystem::path& socket, const std::filesystem::path& to) {
  const auto target = std::filesystem::absolute(to).string();
  if (target.find('\n') != std::string::npos)
    throw std::runtime_error{"the path of a backup must not contain line breaks"};
  // A server in another mount namespace (systemd's PrivateTmp) writes to a different file of this
  // name. Only if a file appears here did the server write the requested file.
  std::error_code ec;
  if (std::filesystem::symlink_status(target, ec).type() != std::filesystem::file_type::not_found)
    throw failure{failed, "the backup failed: " + target +
                              (ec ? ": " + ec.message()
                                  : " exists already; "
                                    "choose another name for the backup")};
  query_options options;
  options.timeout = options.reply_timeout = std::chrono::milliseconds::max();
  const auto got = query_server({"", 0, socket.string()}, "bkup" + target + "\n", options);
  if (got.error)
    throw failure{unavailable, "cannot connect to the server at unix:" + socket.string() + " (" +
                                   got.reason +
                                   "); check that it runs, and with which --socket; try: "
                                   "conclave serve"};
  if (got.reply != "ok\n")
    throw failure{failed, "the backup failed: " +
                              (got.reply.empty() ? "the server exited without a reply"
                                                 : got.reply.substr(0, got.reply.find('\n')))};
  if (!std::filesystem::exists(target, ec))
    throw failure{failed, "the server wrote a backup, but this command cannot find " + target +
                              "; the server may see a different folder of this name (PrivateTmp "
                              "in its systemd unit); choose a folder that both can see, for "
                              "example /var/lib/conclave"};
  std::printf("%s\n", target.c_str());
  return ok;
}

}  // namespace conclave::cli
