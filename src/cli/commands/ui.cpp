// `conclave ui`: serves the web page.
#include "web/ui.hpp"

#include <iostream>

#include "cli/command.hpp"
#include "cli/connect/connection.hpp"
#include "cli/connect/session_connections.hpp"
#include "cli/exit_code.hpp"
#include "cli/raw_arguments.hpp"
#include "cli/run/loop.hpp"
#include "cli/run/requested_lock.hpp"
#include "cli/run/signals.hpp"
#include "cli/ui/ui_flags.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

struct flags {
  connect_flags connect;
  ui_flags ui;
  std::vector<std::string> paths;
  std::string layout;
  bool all = false;
};

std::vector<std::string> roots_of(const flags& f) {
  if (f.all) return {"/"};
  if (f.paths.empty()) return {root_path};
  std::vector<std::string> roots;
  for (const auto& path : f.paths) roots.push_back(node_path(path));
  return roots;
}

int run(flags& f, const invocation&) {
  if (f.all && !f.paths.empty()) throw failure{usage, "use either --all or paths, not both"};
  if (f.ui.listen.empty()) f.ui.listen = "127.0.0.1:7711";
  auto options = read_ui_flags(f.ui);
  options.paths = roots_of(f);
  options.layouts = extra_layouts(f.layout);
  loop signals;  // must be created before any other thread
  auto at = find_server(f.connect);
  at.options.connect_wait = 2s;  // the page shows soon that there is no connection
  connection c{std::move(at)};
  c.require_chroot();
  options.servers = c.at().hosts;
  options.read_session_ends = [at = c.at()] { return ask_servers(at, "ends"); };
  options.read_addresses = [at = c.at()]() -> std::optional<web::session_addresses> {
    auto found = find_session_connections(at);
    if (found.connected.empty()) return {};
    return std::move(found.connected);
  };
  const auto page = start_ui(c.zk(), options, f.ui.listen);
  std::cout << "conclave ui: " << page_address(*page, options, f.ui) << std::endl;
  signals.on_signal([&](int s) {
    stop_on_ctrl_z(s);
    if (s == SIGINT || s == SIGTERM) signals.end(ok);
    if (s == SIGHUP || s == SIGQUIT) signals.end(128 + s);
  });
  signals.on_turn([] { return loop::clock::time_point::max(); });
  return signals.run();
}

}  // namespace

void describe_ui(CLI::App& app, invocation& call) {
  auto f = std::make_shared<flags>();
  app.description(
      "Show the locks, semaphores, queues and elections on a web page. The page shows holders and\n"
      "waiters, how long they hold and wait, who waits for whom, and deadlocks. It changes with "
      "the\n"
      "locks. The page also has metrics for Prometheus, at /metrics.");
  app.footer(
      "Examples:\n"
      "  conclave ui                                  (then open http://127.0.0.1:7711)\n"
      "  conclave ui backups --listen 8080\n"
      "  conclave ui --all --listen 0.0.0.0:7711      (prints a token to sign in with)\n"
      "\n"
      "The page cannot change anything unless --allow-actions is given.");
  add_raw_arguments(app, "PATH", f->paths,
                    "show what is in use at and below this path (default: /conclave); without a "
                    "leading /, it is below /conclave");
  app.add_flag("-a,--all", f->all, "show the whole tree");
  app.add_option("--layout", f->layout,
                 "also recognise contenders by this prefix of their node names")
      ->type_name("L");
  app.add_option("--listen", f->ui.listen,
                 "address of the page; a port without an address is on 127.0.0.1; port 0 selects a "
                 "free port")
      ->type_name("[ADDRESS:]PORT")
      ->default_str("127.0.0.1:7711");
  add_ui_flags(app, f->ui, "");
  add_connect_flags(app, f->connect);
  when_used(app, call, f, run);
}

}  // namespace conclave::cli
