// `conclave znode watch`
#include <algorithm>
#include <iostream>
#include <limits>

#include "cli/commands/znode/znode.hpp"
#include "cli/connect/connection.hpp"
#include "cli/exit_code.hpp"
#include "cli/run/loop.hpp"
#include "cli/show/node.hpp"

namespace conclave::cli::znode {
namespace {

using namespace std::chrono_literals;

struct watch_flags : common_flags {
  std::size_t count = 0;
  bool recursive = false;
};

class watch_run {
 public:
  explicit watch_run(const watch_flags& f)
      : flags_{f},
        path_{f.node()},
        connection_{find_server(f.connect), connection::without_waiting{}} {}

  int run() {
    loop_.on_signal([this](int s) {
      stop_on_ctrl_z(s);
      if (!is_ending_signal(s)) return;
      // Once the watch is set, a signal is the normal end. Before that, a signal is an
      // interruption.
      is_watching_ ? loop_.end(ok) : loop_.end_by(s);
    });
    loop_.on_turn([this] {
      return connection_.connected() ? loop::clock::time_point::max() : loop::clock::now() + 50ms;
    });
    add_watch();
    return loop_.run();
  }

 private:
  void add_watch() {
    const auto mode = flags_.recursive ? watch_mode::recursive : watch_mode::persistent;
    connection_.zk().async_add_watch(path_, mode, watcher_, [this](error_code ec) {
      loop_.post([this, ec] { on_watch_added(ec); });
    });
  }

  void on_watch_added(error_code ec) {
    if (ec == errc::not_connected || ec == errc::connection_loss || ec == errc::session_expired)
      return add_watch();  // waits for the next connection
    if (ec == errc::unimplemented)
      throw failure{failed,
                    path_ + ": this server has no persistent watches; use ZooKeeper 3.6 or later"};
    if (ec) throw error{ec, "watch " + path_};
    connection_.require_chroot();
    print_event(is_watching_ ? "possibly missed" : "watching", path_);
    is_watching_ = true;
  }

  void on_event(const watch_event& e) {
    using kind = watch_event::kind;
    // The new watch reports that changes may have been missed.
    if (e.type == kind::session_ended || e.type == kind::watch_lost) return add_watch();
    print_event(to_string(e.type), e.path);
    if (e.type == kind::possibly_missed) return;
    if (flags_.count != 0 && ++printed_ == flags_.count) loop_.end(ok);
  }

  void print_event(std::string what, const std::string& path) const {
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
    if (flags_.json) {
      std::replace(what.begin(), what.end(), ' ', '_');
      json::object o{{"event", what}, {"path", path}};
      add_time(o, "time", now);
      print(o);
      return;
    }
    what.resize(std::max<std::size_t>(what.size(), 16), ' ');
    std::cout << date(now) << "  " << what << "  " << path << std::endl;
  }

  const watch_flags& flags_;
  const std::string path_;
  std::size_t printed_ = 0;
  bool is_watching_ = false;
  loop loop_;  // must be created before any other thread; the connection starts one
  const watcher watcher_{[this](const watch_event& e) { loop_.post([this, e] { on_event(e); }); }};
  connection connection_;
};

int watch(watch_flags& f, const invocation&) { return watch_run{f}.run(); }

}  // namespace

void describe_watch(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<watch_flags>();
  app.description(
      "Print each change of a node until a signal. The changes are: created, deleted, changed "
      "(its\n"
      "data), children changed (a child was created or deleted). The node need not exist. After "
      "the\n"
      "first line, `watching`, no change is missed. A line `possibly missed` means that the\n"
      "connection was lost for a while. In that case, read the node.");
  app.footer(
      "Examples:\n"
      "  conclave znode watch /config/colour\n"
      "  conclave znode watch --recursive --json /config | while read -r change; do ...; done\n"
      "  conclave znode watch --count 1 /ready                   (waits for it)");
  app.add_flag("-r,--recursive", flags->recursive, "also watch all descendants");
  app.add_option("--count", flags->count, "end after N changes")
      ->type_name("N")
      ->check(CLI::Range{1, std::numeric_limits<std::int32_t>::max()});
  add_json_flag(app, *flags, "one line of JSON for each change");
  add_common_flags(app, *flags);
  when_used(app, call, flags, watch);
}

}  // namespace conclave::cli::znode
