// `conclave local`: shows the status of this user's own server, or stops it.
#include <iostream>

#include "cli/command.hpp"
#include "cli/connect/local_server.hpp"
#include "cli/connect/server_folders.hpp"
#include "cli/connect/server_version.hpp"
#include "cli/exit_code.hpp"
#include "cli/show/json.hpp"
#include "conclave/query_server.hpp"
#include "conclave/version.hpp"

namespace conclave::cli {
namespace {

std::string counted(const std::string& number, const char* what) {
  return number + " " + what + (number == "1" ? "" : "s");
}

using namespace std::chrono_literals;

struct local_flags {
  bool json = false, force = false;
};

// Returns the value after "NAME<separator>" in the reply to a four-letter word.
std::string reply_field(const std::string& reply, const std::string& name) {
  const auto at = reply.find(name);
  if (at == std::string::npos) return {};
  const auto begin = reply.find_first_not_of(" \t", at + name.size());
  return reply.substr(begin, reply.find('\n', begin) - begin);
}

struct server_reply {
  std::optional<server_process> server;
  std::string reply;  // the reply to "mntr"
};

// If the server exits between the two queries, another server may be running by now, so the
// function tries again. The kernel closes the connections of a process before it reports that the
// process has ended.
server_reply find_server_process(const std::filesystem::path& socket) {
  for (;;) {
    auto server = server_process::at(socket);
    if (!server) return {};
    auto reply = query_server(endpoint{"", 0, socket.string()}, "mntr").reply;
    if (!reply.empty() || !server->ended(1s)) return {std::move(server), std::move(reply)};
  }
}

int status(local_flags& f, const invocation&) {
  const auto folder = data_folder();
  require_own_folder(folder);
  const auto socket = folder / "socket";
  const auto [server, reply] = find_server_process(socket);
  if (server && reply.empty())
    throw failure{unavailable, "process " + std::to_string(server->pid()) + " listens at " +
                                   socket.string() +
                                   " but does not answer; check whether it is stopped"};
  if (f.json) {
    json::object o{{"running", server.has_value()}, {"data", folder.string()}};
    if (server) {
      o["pid"] = server->pid();
      o["connect"] = "unix:" + socket.string();
      o["version"] = conclave_version(reply_field(reply, "zk_version"));
      o["connections"] = std::stoll("0" + reply_field(reply, "zk_num_alive_connections"));
      o["nodes"] = std::stoll("0" + reply_field(reply, "zk_znode_count"));
    }
    print(o);
    return server ? ok : failed;
  }
  if (!server) {
    std::cout << "not running; the next command that needs the server starts it\n"
              << "data     " << folder.string() << "\n";
    return failed;
  }
  const auto version_there = conclave_version(reply_field(reply, "zk_version"));
  std::cout << "running  process " << server->pid() << ", version " << version_there << "\n"
            << "connect  unix:" << socket.string() << "\n"
            << "data     " << folder.string() << "\n"
            << "users    " << counted(reply_field(reply, "zk_num_alive_connections"), "connection")
            << ", " << counted(reply_field(reply, "zk_znode_count"), "node") << "\n";
  if (version_there != version)
    std::cout << "This program has version " << version << ". The versions are compatible. After "
              << "`conclave local stop`, the next command starts a server of this version.\n";
  return ok;
}

int stop(local_flags& f, const invocation&) {
  const auto folder = data_folder();
  require_own_folder(folder);
  const auto socket = folder / "socket";
  const auto [server, reply] = find_server_process(socket);
  if (!server) {
    std::cout << "not running\n";
    return ok;
  }
  if (reply.find("conclave") == std::string::npos && !f.force)
    throw failure{failed,
                  "process " + std::to_string(server->pid()) + " at " + socket.string() +
                      " does not answer like a Conclave server; use --force to stop it anyway"};
  const auto sessions = reply_field(reply, "zk_global_sessions");
  if (!f.force && !sessions.empty() && sessions != "0")
    throw failure{failed, "the server has " + sessions +
                              (sessions == "1" ? " session" : " sessions") +
                              " (see: conclave status); use --force to stop it anyway; "
                              "commands that hold or wait for a lock then start it again"};
  if (!server->end(10s))
    throw failure{failed, "process " + std::to_string(server->pid()) +
                              " has not ended within 10s; see " + (folder / "log").string()};
  return ok;
}

}  // namespace

void describe_local(CLI::App& app, invocation& call) {
  app.description(
      "Show or stop this user's own server. Commands start the server when they need it. It\n"
      "exits after 15 minutes without use.");
  app.footer("Examples:\n  conclave local status --json\n  conclave local stop");
  app.require_subcommand(1);
  auto flags = std::make_shared<local_flags>();
  auto* const show = app.add_subcommand(
      "status", "print whether the server runs, its address and its data folder");
  show->add_flag("--json", flags->json, "one line of JSON");
  show->footer("Example: conclave local status\nExit code: 0 if the server runs, 1 if not.");
  when_used(*show, call, flags, status);
  auto* const end = app.add_subcommand("stop", "stop the server; its data is kept");
  end->add_flag("--force", flags->force, "stop the server even if it is in use");
  end->footer("Example: conclave local stop");
  when_used(*end, call, flags, stop);
}

}  // namespace conclave::cli
