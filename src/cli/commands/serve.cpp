// `conclave serve`: runs the embedded server as a program.
#include "cli/serve/serve.hpp"

#include <grp.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <limits>

#include "cli/command.hpp"
#include "cli/connect/local_server.hpp"
#include "cli/connect/private_file.hpp"
#include "cli/connect/server_folders.hpp"
#include "cli/exit_code.hpp"
#include "cli/non_empty.hpp"
#include "cli/serve/service_manager.hpp"
#include "cli/serve/zoo_cfg.hpp"
#include "cli/show/duration.hpp"
#include "conclave/error.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

struct serve_flags {
  std::string config, data, socket, socket_group, durability = "full", backup, log;
  std::vector<std::string> listen, listen_tls;
  std::string tick, min_timeout, max_timeout, container_check, handshake_limit, stall_limit;
  ui_flags http;
  std::string idle_exit, super_digest, words, require_auth;
  server_tls_options tls;
  std::string key_password_file;
  std::size_t max_connections = 0, max_per_address = 0, max_sessions = 0, max_request = 0;
  bool system = false, no_socket = false, verbose = false, quiet = false;
};

void add_flags(CLI::App& app, serve_flags& f) {
  app.description(
      "Run a server. It speaks ZooKeeper's protocol and stores its data on disk. Without options,\n"
      "its Unix socket and its data are in ~/.local/share/conclave.");
  app.footer(
      "Examples:\n"
      "  conclave serve\n"
      "  conclave serve --data /var/lib/conclave --listen 2181\n"
      "  conclave serve --durability none --listen 127.0.0.1:0\n"
      "  conclave serve --system                          (for all users of this machine)\n"
      "  conclave serve --config /etc/zookeeper/zoo.cfg\n"
      "  conclave serve --backup /backups/locks.db        (of the running server)\n"
      "\n"
      "When the server is ready, it prints one line: conclave ready: ADDRESS...\n"
      "Times are written 500ms, 10s, 5m or 2h. A number without a unit is in seconds.\n"
      "On SIGHUP the server reloads its certificates. Open connections keep the old ones.\n"
      "Under systemd, the server reports that it is ready, and uses the sockets of a socket unit.");
  app.add_option("--data", f.data, "folder for the data of the server")->type_name("DIR");
  app.add_option(
         "--durability", f.durability,
         "full: changes are on disk before they are acknowledged; none: data is in memory only")
      ->check(CLI::IsMember({"full", "none"}))
      ->capture_default_str();
  app.add_option("--socket", f.socket, "Unix socket (default: DIR/socket; with --config: none)")
      ->type_name("PATH");
  app.add_option("--socket-group", f.socket_group, "group that may also use the socket")
      ->type_name("GROUP");
  app.add_flag("--system", f.system,
               "serve all users of this machine in the group conclave: data in /var/lib/conclave, "
               "socket in /run/conclave");
  app.add_flag("--no-socket", f.no_socket, "no Unix socket")->excludes("--socket");
  app.add_option("--listen", f.listen,
                 "TCP address; a port without a host is on 127.0.0.1; port 0 selects a free port")
      ->type_name("[HOST:]PORT");
  app.add_option("--tls-listen", f.listen_tls, "TCP address for TLS")->type_name("[HOST:]PORT");
  auto* const certificate =
      app.add_option("--tls-cert", f.tls.certificate_file, "certificate chain, PEM")
          ->type_name("FILE");
  auto* const key =
      app.add_option("--tls-key", f.tls.key_file, "key of the certificate, PEM")->type_name("FILE");
  certificate->needs(key);
  key->needs(certificate);
  app.add_option("--tls-key-password-file", f.key_password_file,
                 "file with the password of the key")
      ->type_name("FILE")
      ->needs(key);
  app.add_option("--tls-client-ca", f.tls.client_ca_file, "CA certificates of the clients, PEM")
      ->type_name("FILE")
      ->needs(certificate);
  app.add_flag("--tls-require-client-cert", f.tls.require_client_certificate,
               "refuse clients without a certificate")
      ->needs(certificate);
  app.add_option("--config", f.config, "a zoo.cfg; the other options take precedence over it")
      ->type_name("FILE");
  app.add_option("--tick", f.tick, "length of a tick; session timeouts are 2 to 20 ticks (2s)")
      ->type_name("TIME");
  app.add_option("--min-session-timeout", f.min_timeout, "shortest session timeout (2 ticks)")
      ->type_name("TIME");
  app.add_option("--max-session-timeout", f.max_timeout, "longest session timeout (20 ticks)")
      ->type_name("TIME");
  app.add_option("--container-check", f.container_check,
                 "how often empty containers and expired TTL nodes are removed (1m)")
      ->type_name("TIME");
  app.add_option("--super-digest", f.super_digest, "credentials of a user with all permissions")
      ->type_name("super:HASH");
  app.add_option("--require-auth", f.require_auth,
                 "answer only clients that have authenticated: digest")
      ->type_name("LIST");
  app.add_option("--words", f.words, "four-letter words to answer, separated by commas; * for all")
      ->type_name("LIST");
  // CLI11 would convert -1 to a very large number.
  auto count = CLI::Range{1, std::numeric_limits<std::int32_t>::max()};
  count.description("");
  app.add_option("--max-connections", f.max_connections, "maximum number of connections (16000)")
      ->type_name("N")
      ->check(count);
  app.add_option(
         "--max-connections-per-address", f.max_per_address,
         "maximum number of connections from one TCP address, and of one user of the Unix socket "
         "other than the server's (a quarter of --max-connections)")
      ->type_name("N")
      ->check(count);
  app.add_option("--max-sessions", f.max_sessions, "maximum number of sessions (100000)")
      ->type_name("N")
      ->check(count);
  app.add_option("--max-request-bytes", f.max_request, "maximum size of a request (1 MiB)")
      ->type_name("N")
      ->check(count);
  app.add_option("--handshake-limit", f.handshake_limit,
                 "time limit for a new connection to request a session (10s)")
      ->type_name("TIME");
  app.add_option("--stall-limit", f.stall_limit,
                 "disconnect a TCP client that reads nothing for this time (30s)")
      ->type_name("TIME");
  app.add_option("--idle-exit", f.idle_exit,
                 "exit after this time without sessions and connections")
      ->type_name("TIME");
  auto* const http =
      app.add_option("--http", f.http.listen,
                     "address of a web page that shows the locks and queues, and of metrics; see "
                     "`conclave ui`")
          ->type_name("[ADDRESS:]PORT");
  add_ui_flags(app, f.http, "http-");
  for (auto* const option :
       app.get_options([](const CLI::Option* o) { return o->get_name().starts_with("--http-"); }))
    option->needs(http);
  app.add_option("--backup", f.backup,
                 "do not serve; let the running server write a copy of its data to FILE")
      ->type_name("FILE")
      ->check(non_empty);
  app.add_option("--log", f.log, "write the log to FILE instead of stderr when the server is ready")
      ->type_name("FILE");
  app.add_flag("-v,--verbose", f.verbose, "log more");
  app.add_flag("-q,--quiet", f.quiet, "log errors only");
  // An empty value, for example of an unset variable in a script, must not turn a restriction off.
  const CLI::Validator not_empty{[](const std::string& value) {
                                   return value.empty() ? std::string{"the value must not be empty"}
                                                        : std::string{};
                                 },
                                 ""};
  const auto has_value = [](const CLI::Option* o) { return o->get_items_expected_min() > 0; };
  for (auto* const option : app.get_options(has_value)) option->check(not_empty);
}

std::vector<std::string> known_words(const std::string& list) {
  auto words = split_list(list);
  std::string all;
  for (const auto& known : four_letter_words) all.append(" ").append(known);
  if (words.empty())
    throw failure{usage,
                  "--words: name at least one four-letter word; known words:" + all + " and *"};
  for (const auto& word : words) {
    if (word == "*" || std::find(four_letter_words.begin(), four_letter_words.end(), word) !=
                           four_letter_words.end())
      continue;
    throw failure{
        usage, "--words: unknown four-letter word '" + word + "'; known words:" + all + " and *"};
  }
  return words;
}

std::vector<std::string> required_schemes(const std::string& list) {
  auto schemes = split_list(list);
  if (schemes.empty())
    throw failure{usage, "--require-auth: name a scheme; the only one is digest"};
  return schemes;
}

// The server's own messages name neither the file nor its settings.
void check_zoo_cfg(const serve_flags& f, const server_options& o) {
  if (f.config.empty()) return;
  const auto refuse = [&](const std::string& what) {
    throw failure{usage, f.config + ": " + what};
  };
  if (o.tls && o.listen_tls.empty() && f.tls.certificate_file.empty())
    refuse(
        "ssl.keyStore.location has no effect without secureClientPort, so every connection would "
        "be without TLS; add secureClientPort, or remove the ssl settings");
  if (o.tls && o.tls->require_client_certificate && o.tls->client_ca_file.empty())
    refuse(
        "ssl.clientAuth=need, which is the default, needs ssl.trustStore.location; add it, or set "
        "ssl.clientAuth=none");
  const auto shortest = o.min_session_timeout.value_or(2 * o.tick);
  const auto longest = o.max_session_timeout.value_or(20 * o.tick);
  if (shortest > longest)
    refuse("minSessionTimeout (" + std::to_string(shortest.count()) +
           " ms) exceeds maxSessionTimeout (" + std::to_string(longest.count()) +
           " ms); the defaults are 2 and 20 times tickTime");
}

// The private server may have exited, because no command has used it for some time. A folder
// without data has nothing to copy.
void start_private_server(const serve_flags& f) {
  if (!f.data.empty() || !f.socket.empty() || !f.config.empty() || f.system) return;
  std::error_code unknown;
  if (const auto folder = data_folder(); std::filesystem::exists(folder / "conclave.db", unknown))
    ensure_local_server(folder);
}

int run_backup(const serve_flags& f, const server_options& o) {
  const auto socket = o.socket.empty() ? o.data / "socket" : o.socket;
  std::error_code unknown;
  if (!f.config.empty() && o.socket.empty() && !std::filesystem::exists(socket, unknown))
    throw failure{unavailable,
                  "the server of " + f.config + " has no Unix socket at " + socket.string() +
                      ", which a backup needs; start it with --socket PATH, and add the same "
                      "--socket here"};
  start_private_server(f);
  return backup(socket, f.backup);
}

int run(serve_flags& f, const invocation&) {
  serve_command command;
  auto& o = command.options;
  std::vector<std::string> without_meaning;
  if (!f.config.empty()) without_meaning = read_zoo_cfg(f.config, o);
  for (const auto& name : without_meaning)
    std::cerr << "conclave: " << f.config << ": " << name << " has no effect on this server\n";

  if (f.system) {
    o.data = system_data;
    o.socket = system_socket;
    o.socket_group = system_group;
  }
  if (!f.data.empty()) o.data = f.data;
  if (o.data.empty()) o.data = data_folder();
  if (!f.socket.empty()) o.socket = f.socket;
  if (!f.socket_group.empty()) o.socket_group = f.socket_group;
  // If there is a zoo.cfg, it determines where to listen. Otherwise the socket is at its default
  // path. A server without durability must not use that path, because clients expect a durable
  // server there.
  if (o.socket.empty() && !f.no_socket && f.config.empty() && f.durability == "full")
    o.socket = o.data / "socket";
  if (!f.socket_group.empty() && o.socket.empty())
    throw failure{usage, "--socket-group: this server has no Unix socket; set one with --socket"};
  if (!f.backup.empty()) return run_backup(f, o);
  // Check this before anything is created, because commands treat the folder of a system server as
  // a sign that there is one.
  if (!o.socket_group.empty() && ::getgrnam(o.socket_group.c_str()) == nullptr)
    throw failure{usage, "there is no group '" + o.socket_group +
                             "'; create it with: groupadd --system " + o.socket_group};
  if (f.durability == "none") {
    if (!f.data.empty())
      throw failure{usage, "--data has no effect with --durability none; leave out one of them"};
    o.data.clear();
  }
  refuse_apache_data(o.data);
  o.listening_sockets = take_listening_sockets();
  if (!f.listen.empty()) o.listen = f.listen;
  if (!f.listen_tls.empty()) o.listen_tls = f.listen_tls;
  if (!f.tls.certificate_file.empty()) {
    // The certificate, the key and its password belong together. The settings of a zoo.cfg for
    // client certificates stay unless a flag replaces them.
    auto& tls = o.tls ? *o.tls : o.tls.emplace();
    tls.certificate_file = f.tls.certificate_file;
    tls.key_file = f.tls.key_file;
    tls.key_password = {};
    if (!f.tls.client_ca_file.empty()) tls.client_ca_file = f.tls.client_ca_file;
    if (f.tls.require_client_certificate) tls.require_client_certificate = true;
    if (!f.key_password_file.empty()) {
      require_private(f.key_password_file);
      o.tls->key_password = secret::from_file(f.key_password_file);
    }
    command.key_password_file = f.key_password_file;
  }
  const auto time = [](const std::string& text, auto& into) {
    if (!text.empty()) into = parse_duration(text);
  };
  time(f.tick, o.tick);
  time(f.min_timeout, o.min_session_timeout);
  time(f.max_timeout, o.max_session_timeout);
  check_zoo_cfg(f, o);
  if (o.tls && o.listen_tls.empty())
    throw failure{usage,
                  "--tls-cert has no effect without --tls-listen, so every connection would be "
                  "without TLS; add --tls-listen, or leave out --tls-cert"};
  if (o.tls) require_private(o.tls->key_file);
  time(f.container_check, o.reap_interval);
  time(f.handshake_limit, o.handshake_limit);
  time(f.stall_limit, o.stall_limit);
  time(f.idle_exit, o.idle_exit);
  if (!f.super_digest.empty() && f.super_digest.find(':') == std::string::npos)
    throw std::invalid_argument{"--super-digest: write super:HASH, not '" + f.super_digest + "'"};
  if (!f.super_digest.empty()) o.super_digest = f.super_digest;
  if (!f.words.empty()) o.words = known_words(f.words);
  if (!f.require_auth.empty()) o.required_auth = required_schemes(f.require_auth);
  const auto limit = [](std::size_t given, auto& into) {
    if (given != 0) into = given;
  };
  limit(f.max_connections, o.max_connections);
  limit(f.max_per_address, o.max_connections_per_address);
  limit(f.max_sessions, o.max_sessions);
  limit(f.max_request, o.max_request_bytes);
  if (!f.http.listen.empty() && !f.idle_exit.empty())
    throw failure{usage,
                  "--idle-exit has no effect with --http, because the page is a client; leave "
                  "out one of them"};
  command.http = f.http;
  command.log = f.log;
  command.verbose = f.verbose;
  command.quiet = f.quiet;
  try {
    return serve(std::move(command));
  } catch (const error& e) {
    throw failure{usage, e.what()};  // caused by options or files, so not "no server"
  }
}

}  // namespace

void describe_serve(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<serve_flags>();
  add_flags(app, *flags);
  when_used(app, call, flags, run);
}

}  // namespace conclave::cli
