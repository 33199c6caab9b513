#include "cli/connect/connection.hpp"

#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <thread>

#include "cli/connect/local_server.hpp"
#include "cli/exit_code.hpp"
#include "cli/run/terminal.hpp"
#include "cli/show/duration.hpp"
#include "cli/show/node.hpp"
#include "conclave/connect_string.hpp"
#include "conclave/query_server.hpp"

namespace conclave::cli {

using namespace std::chrono_literals;

namespace {

// This is much shorter than the shortest session timeout, after which the client gives up.
constexpr auto check_interval = 200ms;

// If the server answers within this time, nothing is printed.
constexpr auto silent_period = 1s;

// A server with a full disk closes the connection of a new session without a message. On its Unix
// socket it reports the reason.
void refuse_full_disk(const server_address& at) {
  if (!at.on_this_machine) return;
  query_options options;
  options.timeout = 200ms;
  const auto got = query_server(connect_string::parse(at.hosts).hosts.front(), "mntr", options);
  if (got.reply.find("conclave_disk_full\t1\n") == std::string::npos) return;
  const auto where = at.local_folder.empty() ? at.hosts : at.local_folder.string();
  throw failure{unavailable, "the disk of the server at " + where +
                                 " is full; free disk space there, and the server continues"};
}

// Explains a failed connection: one side uses TLS and the other does not. Contacts the servers for
// at most one second, plus the time of the system's resolver. Returns an empty string if TLS is not
// the reason.
std::string tls_hint(const server_address& at) {
  const auto until = std::chrono::steady_clock::now() + 1s;
  for (const auto& host : connect_string::parse(at.hosts).hosts) {
    if (!host.socket_path.empty()) continue;
    query_options other;
    other.timeout =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (!at.options.tls) other.tls.emplace();
    const auto got = query_server(host, "srvr", other);
    if (got.tls) return to_string(host) + " uses TLS; add --tls or --tls-ca FILE";
    if (at.options.tls && !got.reply.empty())
      return to_string(host) +
             " does not use TLS on this port; connect to its TLS port, or without TLS";
  }
  return {};
}

}  // namespace

// Starts its thread on first use, so that short commands do not need one.
class connection::server_restarter {
 public:
  server_restarter(std::filesystem::path folder, message_writer& messages)
      : folder_{std::move(folder)}, messages_{messages} {}
  ~server_restarter() {
    {
      const std::lock_guard lock{mutex_};
      stopping_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  server_restarter(const server_restarter&) = delete;
  server_restarter& operator=(const server_restarter&) = delete;

  void on_session_event(const session_event& e) {
    const std::lock_guard lock{mutex_};
    server_needed_ =
        e.type == session_event::kind::suspended || e.type == session_event::kind::expired;
    if (!server_needed_) return;
    if (!thread_.joinable()) thread_ = std::thread{[this] { run(); }};
    changed_.notify_all();
  }

 private:
  void run() {
    bool reported = false;
    std::unique_lock lock{mutex_};
    while (!stopping_) {
      changed_.wait(lock, [&] { return server_needed_ || stopping_; });
      if (stopping_) return;
      lock.unlock();
      try {
        ensure_local_server(folder_);
      } catch (const failure& e) {
        if (!std::exchange(reported, true)) messages_.post(e.what());
      }
      lock.lock();
      changed_.wait_for(lock, 200ms, [&] { return !server_needed_ || stopping_; });
    }
  }

  const std::filesystem::path folder_;
  message_writer& messages_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool server_needed_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

connection::connection(server_address at) : connection{std::move(at), without_waiting{}} {
  {
    const std::lock_guard lock{mutex_};
    if (!at_.verbose && in_foreground()) notice_ = notice::none;
  }
  wait_until_connected();
  require_chroot();
}

void connection::require_chroot() {
  if (chroot_found_) return;
  const auto chroot = connect_string::parse(at_.hosts).chroot;
  try {
    chroot_found_ = chroot.empty() || client_->exists("/");
  } catch (const error& e) {
    if (exit_code_of(e.code()) != unavailable) throw;
    return;
  }
  if (chroot_found_) return;
  throw failure{unavailable, "the chroot " + chroot + " of " + at_.hosts +
                                 " does not exist; connect without it and create it: conclave "
                                 "znode create -p " +
                                 chroot};
}

void connection::report(bool is_connected) {
  const std::lock_guard lock{mutex_};
  const auto now = is_connected ? notice::none : notice::waits_for_server;
  if (notice_ == notice::never || std::exchange(notice_, now) == now) return;
  messages_.post((is_connected ? "connected to " : "no connection to ") + at_.hosts +
                 (is_connected ? "" : " (" + at_.source + "); waiting for it"));
}

connection::connection(server_address at, without_waiting)
    : at_{std::move(at)},
      connect_deadline_{std::chrono::steady_clock::now() + at_.connect_timeout},
      next_check_{std::chrono::steady_clock::now() + check_interval} {
  auto options = at_.options;
  if (at_.verbose) messages_.post("using " + at_.hosts + " (" + at_.source + ")");
  options.log = [this](log_level level, std::string_view text) {
    if (at_.verbose && level >= log_level::info) messages_.post(std::string{text});
    const std::lock_guard lock{mutex_};
    // "cannot connect" says less than an earlier, more severe message.
    if (level < problem_level_) return;
    problem_level_ = level;
    last_problem_ = text;
  };
  // A server on this machine restarts within milliseconds.
  if (at_.on_this_machine) options.reconnect = exponential_backoff(5ms, 200ms);
  if (!at_.local_folder.empty()) {
    ensure_local_server(at_.local_folder);
    server_restarter_ = std::make_unique<server_restarter>(at_.local_folder, messages_);
  }
  options.on_session_event = [this,
                              user_callback = options.on_session_event](const session_event& e) {
    // The connection may be lost again before connected() is called.
    if (e.type == session_event::kind::connected) connected_ = true;
    if (at_.verbose) messages_.post("session " + hex(e.session_id) + " " + to_string(e.type));
    using kind = session_event::kind;
    if (e.type == kind::suspended) report(false);
    if (e.type == kind::connected || e.type == kind::reconnected) report(true);
    if (server_restarter_) server_restarter_->on_session_event(e);
    if (user_callback) user_callback(e);
  };
  try {
    client_ = std::make_unique<client>(at_.hosts, options);
  } catch (const error& e) {
    throw failure{usage, e.what()};  // wrong options or files: nothing was sent yet
  }
}

connection::~connection() = default;

void connection::report_session_timeout() {
  if (std::exchange(session_timeout_reported_, true)) return;
  const auto granted = client_->session_timeout();
  const auto requested = at_.options.session_timeout;
  const bool is_lower = at_.session_timeout_given && granted < requested;
  if (granted <= 0ms || (!is_lower && !at_.verbose)) return;
  messages_.post("the session timeout is " + short_time(granted) +
                 (is_lower ? ": the server does not grant " + short_time(requested) : ""));
}

void connection::await_own_server() {
  if (!server_restarter_) return;
  try {
    client_->exists("/");
  } catch (const error&) {
    // The session then ends at its timeout.
  }
}

void connection::await_sent_requests() {
  // The server replies in order. The first reply follows that of a creation in flight, after which
  // the client sends the removal. The second reply follows that of the removal.
  for (int i = 0; i < 2; ++i) {
    const auto replied = std::make_shared<std::promise<void>>();
    auto reply = replied->get_future();
    client_->async_exists(
        "/", [replied](error_code, const std::optional<node_stat>&) { replied->set_value(); });
    if (reply.wait_for(500ms) != std::future_status::ready) return;
  }
}

std::string connection::last_problem() {
  const std::lock_guard lock{mutex_};
  return last_problem_;
}

void connection::wait_until_connected() {
  const auto begin = std::chrono::steady_clock::now();
  while (!connected()) {
    const auto now = std::chrono::steady_clock::now();
    if (now - begin >= silent_period) report(false);
    const auto left = connect_deadline_ - now;
    client_->wait_connected(std::min<std::chrono::nanoseconds>(left, check_interval));
  }
}

void connection::throw_no_server() {
  const auto why = last_problem();
  const auto tried = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - (connect_deadline_ - at_.connect_timeout));
  const auto what = "no server at " + at_.hosts + " (" + at_.source + ") within " +
                    short_time(std::min(tried, at_.connect_timeout));
  if (const auto hint = tls_hint(at_); !hint.empty())
    throw failure{unavailable, what + ": " + hint};
  throw failure{unavailable, what + (why.empty() ? "" : ": " + why) +
                                 "; check whether it runs, or try: conclave doctor"};
}

bool connection::connected_after(std::chrono::steady_clock::time_point expiry) {
  if (connected() && client_->state() == session_state::connected) return true;
  if (std::chrono::steady_clock::now() >= expiry + 1s) throw_no_server();
  return false;
}

bool connection::connected() {
  const auto state = client_->state();
  if (state == session_state::connected) connected_ = true;
  if (connected_) {
    report_session_timeout();
    return true;
  }
  const auto now = std::chrono::steady_clock::now();
  if (state == session_state::authentication_failed)
    throw failure{unavailable,
                  "the server at " + at_.hosts + " refuses the credentials; check --auth-file"};
  if (now >= std::min(connect_deadline_, next_check_)) refuse_full_disk(at_);
  if (now >= connect_deadline_) throw_no_server();
  // Our own server may have been idle and exited just after it answered.
  if (now >= next_check_) {
    next_check_ = now + check_interval;
    if (!at_.local_folder.empty()) ensure_local_server(at_.local_folder);
  }
  return false;
}

}  // namespace conclave::cli
