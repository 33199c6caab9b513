// `conclave status`: shows the locks, queues and elections in use.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <limits>

#include "cli/command.hpp"
#include "cli/connect/connection.hpp"
#include "cli/exit_code.hpp"
#include "cli/inventory/inventory_monitor.hpp"
#include "cli/raw_arguments.hpp"
#include "cli/run/loop.hpp"
#include "cli/run/requested_lock.hpp"
#include "cli/show/deadlock.hpp"
#include "cli/show/duration.hpp"
#include "cli/show/inventory_text.hpp"
#include "cli/show/screen.hpp"
#include "cli/show/unreadable.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

struct status_flags {
  connect_flags connect;
  std::vector<std::string> paths;
  std::string watch, layout, sort = "path";
  std::chrono::milliseconds interval{1000};
  std::size_t limit = 0;
  bool all = false, empty = false, json = false, deadlocks = false;
};

inventory_order order_of(const status_flags& f) {
  if (f.sort == "rate") return inventory_order::rate;
  if (f.sort == "wait") return inventory_order::longest_wait;
  if (f.sort == "waiters") return inventory_order::waiters;
  return inventory_order::path;
}

std::vector<std::string> roots_of(const status_flags& f) {
  if (f.all) return {"/"};
  if (f.paths.empty()) return {root_path};
  std::vector<std::string> roots;
  for (const auto& path : f.paths) roots.push_back(node_path(path));
  return roots;
}

inspect_options options_of(const status_flags& f) {
  inspect_options options;
  options.layouts = extra_layouts(f.layout);
  options.include_unused = f.empty;
  return options;
}

// Without --limit, returns ten on a terminal, and no limit otherwise.
std::size_t most_waiters(const status_flags& f) {
  if (f.limit != 0) return f.limit;
  return ::isatty(STDOUT_FILENO) == 1 ? 10 : 0;
}

inventory_view view_of(const status_flags& f, const hand_off_rates* rates = nullptr) {
  return {most_waiters(f), std::chrono::system_clock::now(), rates, order_of(f)};
}

void print_inventory(const inspection& s, const std::vector<std::string>& roots,
                     const inventory_view& view) {
  for (const auto& line : inventory_lines(s, roots, output_format::of_stdout(), view))
    std::cout << line << "\n";
  std::cout.flush();
}

// If the user named paths and nothing is in use there, the exit code is `failed`. If some of these
// paths cannot be read, something may be in use there.
int code_for(const status_flags& f, const inspection& s) {
  if (f.paths.empty() || !s.recipes.empty()) return ok;
  for (const auto& node : s.unreadable)
    if (node.why == errc::no_auth) return no_permission;
  return failed;
}

std::string clock_text() {
  const auto now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[16];
  std::strftime(text, sizeof text, "%H:%M:%S", &local);
  return text;
}

// `status --watch`: updates the output until a signal arrives.
class live_status {
 public:
  explicit live_status(const status_flags& f)
      : flags_{f},
        roots_{roots_of(f)},
        connection_{find_server(f.connect), connection::without_waiting{}} {}

  int run() {
    loop_.on_signal([this](int s) { on_signal(s); });
    loop_.on_turn([this] { return on_turn(); });
    const inventory_monitor f{
        connection_.zk(),
        {roots_, options_of(flags_), std::max(flags_.interval, 250ms)},
        [this](inspection s) { loop_.post([this, s = std::move(s)] { on_inventory(s); }); },
        [this](const error& e) {
          loop_.post([this, what = std::string{e.what()}] { on_error(what); });
        }};
    return loop_.run();
  }

 private:
  void on_inventory(const inspection& s) {
    connection_.require_chroot();
    last_error_.clear();
    rates_.add(s);
    // Without the rates, which differ each time.
    auto document = inventory_json(s, roots_, {.order = order_of(flags_)});
    const bool changed = !last_ || document != document_;
    last_ = s;
    document_ = std::move(document);
    if (on_terminal_) return draw();
    if (!changed) return;
    const auto view = view_of(flags_, &rates_);
    if (flags_.json) return print(inventory_json(s, roots_, view));
    if (std::exchange(printed_, true)) std::cout << "\n";
    std::cout << clock_text() << "\n";
    print_inventory(s, roots_, view);
  }

  void on_error(const std::string& what) {
    if (!on_terminal_ && last_error_ != what) std::cerr << "conclave: " << what << std::endl;
    last_error_ = what;
    draw();
  }

  void draw() {
    if (!screen_) return;
    drawn_ = loop::clock::now();
    std::vector<std::string> lines;
    const auto p = output_format::of_stdout();
    if (last_) lines = inventory_lines(*last_, roots_, p, view_of(flags_, &rates_));
    auto state = clock_text() + "  " + connection_.at().hosts + "  " +
                 (last_error_.empty() ? "Ctrl-C exits" : printable(last_error_));
    screen_->draw(lines, styled(clipped(state, p.width, p.unicode),
                                last_error_.empty() ? text_style::dim : text_style::yellow, p));
  }

  // Redraws every second because the shown ages grow.
  loop::clock::time_point on_turn() {
    if (!connection_.connected()) return loop::clock::now() + 50ms;
    if (!screen_ && on_terminal_) screen_.emplace();
    if (!screen_) return loop::clock::time_point::max();
    if (loop::clock::now() >= drawn_ + 1s) draw();
    return drawn_ + 1s;
  }

  void on_signal(int s) {
    if (s == SIGTSTP && screen_)
      screen_->stop();
    else
      stop_on_ctrl_z(s);
    if (s == SIGWINCH || s == SIGTSTP || s == SIGCONT) draw();
    // These signals are the normal end.
    if (s == SIGINT || s == SIGTERM) loop_.end(ok);
    if (s == SIGHUP || s == SIGQUIT) loop_.end(128 + s);
  }

  const status_flags& flags_;
  const std::vector<std::string> roots_;
  loop loop_;  // must be created before any other thread; the connection starts one
  connection connection_;
  std::optional<screen> screen_;
  std::optional<inspection> last_;
  hand_off_rates rates_;
  json::object document_;
  std::string last_error_;
  const bool on_terminal_ = ::isatty(STDOUT_FILENO) == 1 && !flags_.json;
  bool printed_ = false;
  loop::clock::time_point drawn_{};
};

// In `--watch backups`, the word after --watch is the first path unless it is a time. In
// `--watch=TIME`, it must be a time.
void read_watch(status_flags& f, const std::vector<std::string>& words) {
  if (f.watch.empty()) return;
  const bool must_be_time =
      std::find(words.begin(), words.end(), "--watch=" + f.watch) != words.end();
  try {
    f.interval = parse_duration(f.watch);
  } catch (const std::invalid_argument& e) {
    if (must_be_time) throw failure{usage, std::string{"--watch: "} + e.what()};
    f.paths.insert(f.paths.begin(), f.watch);
  }
}

// `status --deadlocks`. A node that cannot be read may hide a deadlock, so it is always reported.
int print_deadlocks(const status_flags& f, const std::vector<std::string>& roots, connection& c,
                    const inspection& s) {
  const auto all = confirmed_deadlocks(c.zk(), wait_graph{s});
  if (f.json) {
    json::array below;
    for (const auto& root : roots) below.emplace_back(root);
    print(json::object{{"below", std::move(below)},
                       {"deadlocks", deadlocks_json(all)},
                       {"unreadable", unreadable_json(s.unreadable)}});
    return exit_code_for(all, s);
  }
  for (const auto& d : all) std::cout << deadlock_sentence(d) << "\n";
  for (const auto& n : s.unreadable) std::cout << unreadable_sentence(n) << "\n";
  if (all.empty()) std::cout << no_deadlock_sentence(s) << "\n";
  std::cout.flush();
  return exit_code_for(all, s);
}

int run(status_flags& f, const invocation& call) {
  read_watch(f, call.words);
  if (f.all && !f.paths.empty()) throw failure{usage, "use either --all or paths, not both"};
  if (f.deadlocks && !f.watch.empty())
    throw failure{usage, "--deadlocks and --watch are both given; use only one of them"};
  if (f.sort == "rate" && f.watch.empty())
    throw failure{usage, "--sort rate needs --watch, because a rate takes time to measure"};
  if (!f.watch.empty()) return live_status{f}.run();
  const auto roots = roots_of(f);
  const auto options = options_of(f);
  connection c{find_server(f.connect)};
  const auto s = inspect(c.zk(), roots, options);
  if (f.deadlocks) return print_deadlocks(f, roots, c, s);
  if (f.json)
    print(inventory_json(s, roots, view_of(f)));
  else
    print_inventory(s, roots, view_of(f));
  return code_for(f, s);
}

}  // namespace

void describe_status(CLI::App& app, invocation& call) {
  auto f = std::make_shared<status_flags>();
  app.description(
      "Show the locks, semaphores, queues and elections in use. Prints the holders and the time\n"
      "since their grant, the waiters in their order, and the fencing tokens.");
  app.footer(
      "Examples:\n"
      "  conclave status\n"
      "  conclave status --watch backups          (updates the output)\n"
      "  conclave status --json | jq '.entries[] | select(.kind == \"lock\") | .path'\n"
      "\n"
      "Locks and queues of other libraries (Curator, kazoo, ZooKeeper's recipes) are recognised "
      "by\n"
      "the names of their nodes. Ages depend on the clocks of the server and of this machine.\n"
      "Exit codes: 1 if a PATH was given and nothing is in use there; 77 if an ACL does not "
      "permit\n"
      "to read it. With --deadlocks: 79 if there is a deadlock; 80 if there is only a possible\n"
      "one; 77 if none was found, but an ACL does not permit to read everything.\n"
      "\n"
      "With --watch, the output contains the longest wait, and the hand-offs per second in the "
      "last\n"
      "ten seconds.");
  add_raw_arguments(app, "PATH", f->paths,
                    "show what is in use at and below this path (default: /conclave); without a "
                    "leading /, it is below /conclave");
  app.add_flag("-a,--all", f->all, "show the whole tree");
  app.add_flag("--empty", f->empty, "also show paths that are not in use now");
  app.add_option("--watch", f->watch, "update the output on changes, at most once in this time")
      ->expected(0, 1)
      ->type_name("[TIME]")
      ->default_str("1s");
  app.add_flag("--deadlocks", f->deadlocks,
               "show only deadlocks: tasks that wait for each other's locks");
  app.add_option("--sort", f->sort,
                 "order: path (a tree), wait (longest wait first), waiters, or rate (hand-offs per "
                 "second, with --watch)")
      ->check(CLI::IsMember({"path", "wait", "waiters", "rate"}))
      ->capture_default_str();
  app.add_option("--layout", f->layout,
                 "also recognise contenders by this prefix of their node names")
      ->type_name("L");
  app.add_option("--limit", f->limit,
                 "show at most N waiters of each lock (10 on a terminal, otherwise all)")
      ->type_name("N")
      ->check(CLI::Range{1, std::numeric_limits<std::int32_t>::max()});
  app.add_flag("--json", f->json, "one line of JSON; with --watch, one for each change");
  add_connect_flags(app, f->connect);
  when_used(app, call, f, run);
}

}  // namespace conclave::cli
