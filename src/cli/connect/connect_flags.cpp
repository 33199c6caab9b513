#include "cli/connect/connect_flags.hpp"

#include <sys/un.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <filesystem>
#include <limits>

#include "cli/connect/local_server.hpp"
#include "cli/connect/private_file.hpp"
#include "cli/connect/server_folders.hpp"
#include "cli/connect/settings.hpp"
#include "cli/exit_code.hpp"
#include "cli/non_empty.hpp"
#include "cli/show/duration.hpp"
#include "conclave/connect_string.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

// Reads a value from the flag or, if there is none, from the settings file.
class setting_reader {
 public:
  explicit setting_reader(const settings& s) : settings_{s} {}
  std::string operator()(const std::string& flag, const char* name) const {
    return flag.empty() ? settings_.value(name) : flag;
  }
  bool operator()(bool flag, const char* name) const {
    const auto text = settings_.value(name);
    if (flag || text == "yes" || text == "true") return true;
    if (text.empty() || text == "no" || text == "false") return false;
    throw failure{usage, settings_.positions.at(name) + ": " + name + " must be yes or no, not '" +
                             text + "'"};
  }
  void time(const std::string& flag, const char* name, std::chrono::milliseconds& into) const {
    const auto text = (*this)(flag, name);
    if (text.empty()) return;
    try {
      into = parse_duration(text);
      if (into <= 0ms) throw std::invalid_argument{"the time must be above zero"};
    } catch (const std::invalid_argument& e) {
      throw failure{usage, full_name(flag, name) + ": " + e.what()};
    }
  }
  // Returns the name that the user has written, and the position of a setting in its file.
  std::string full_name(const std::string& flag, const char* name) const {
    return (flag.empty() ? settings_.positions.at(name) + ": " : "--") + name;
  }

 private:
  const settings& settings_;
};

credentials credentials_from_file(const std::string& name) {
  require_private(name);
  constexpr auto advice = "it must contain SCHEME:CREDENTIALS, for example digest:user:password";
  // A pipe can be read only once, so only a regular file is examined.
  std::error_code ec;
  if (std::filesystem::is_regular_file(name, ec) && std::filesystem::is_empty(name, ec))
    throw failure{usage, name + " is empty; " + advice};
  const auto content = secret::from_file(name);
  const auto colon = content.reveal().find(':');
  if (colon == std::string_view::npos || colon == 0)
    throw failure{usage, name + " is not an authentication file; " + advice};
  return {std::string{content.reveal().substr(0, colon)},
          secret::from_memory(content.reveal().substr(colon + 1))};
}

// Returns true if the system server's socket exists but this user is not permitted to connect to
// it.
bool is_forbidden(const char* socket) { return ::access(socket, W_OK) != 0 && errno == EACCES; }

void choose_server(server_address& at, const connect_flags& flags, const settings& file) {
  const char* const connect_variable = environment_variable("CONCLAVE_CONNECT");
  if (!flags.connect.empty()) {
    at.hosts = flags.connect;
    at.source = "--connect";
  } else if (connect_variable != nullptr) {
    at.hosts = connect_variable;
    at.source = "CONCLAVE_CONNECT";
  } else if (const auto set = file.value("connect"); !set.empty()) {
    at.hosts = set;
    at.source = file.positions.at("connect");
  } else if (const auto evidence = environment_variable("CONCLAVE_LOCAL") != nullptr
                                       ? std::string{}
                                       : find_system_server();
             !evidence.empty()) {
    if (is_forbidden(system_socket))
      throw failure{unavailable, std::string{"only the group '"} + system_group +
                                     "' may use the server of this machine at " + system_socket +
                                     "; join the group, or use --connect"};
    at.hosts = std::string{"unix:"} + system_socket;
    at.source = "the server of this machine, found by " + evidence;
  } else {
    at.local_folder = data_folder();
    require_own_folder(at.local_folder);
    constexpr std::size_t longest = sizeof(sockaddr_un::sun_path) - 1;
    if ((at.local_folder / "socket").string().size() > longest)
      throw failure{
          unavailable,
          "'" + at.local_folder.string() +
              "' is too long for the folder of a socket; set CONCLAVE_LOCAL to a shorter one"};
    at.hosts = "unix:" + (at.local_folder / "socket").string();
    at.source = "this user's own server";
  }
}

}  // namespace

void add_connect_flags(CLI::App& app, connect_flags& f) {
  constexpr auto group = "Server";
  app.add_option("-C,--connect", f.connect,
                 "servers: host:port,... or unix:/path (default: $CONCLAVE_CONNECT, the settings "
                 "file, or the server of this machine)")
      ->type_name("HOSTS")
      ->check(non_empty)
      ->group(group);
  app.add_option("--session-timeout", f.session_timeout,
                 "time without messages after which the session expires (30s)")
      ->type_name("TIME")
      ->check(non_empty)
      ->group(group);
  app.add_option("--connect-timeout", f.connect_timeout, "how long to try to connect (10s)")
      ->type_name("TIME")
      ->check(non_empty)
      ->group(group);
  app.add_option("--auth-file", f.auth_file,
                 "file with SCHEME:CREDENTIALS, for example digest:user:password")
      ->type_name("FILE")
      ->check(non_empty)
      ->group(group);
  app.add_flag("--tls", f.tls, "encrypt the connection")->group(group);
  app.add_option("--tls-ca", f.tls_ca, "CA certificates of the servers, PEM")
      ->type_name("FILE")
      ->check(non_empty)
      ->group(group);
  app.add_option("--tls-cert", f.tls_cert, "certificate of the client, PEM")
      ->type_name("FILE")
      ->check(non_empty)
      ->group(group);
  app.add_option("--tls-key", f.tls_key, "key of the certificate, PEM")
      ->type_name("FILE")
      ->check(non_empty)
      ->group(group);
  app.add_option("--tls-key-password-file", f.tls_key_password_file,
                 "file with the password of the key")
      ->type_name("FILE")
      ->check(non_empty)
      ->group(group);
  app.add_flag("--tls-any-host", f.tls_any_host,
               "accept a server certificate for another host name")
      ->group(group);
  app.add_flag("-v,--verbose", f.verbose,
               "print on stderr which server is used, what the connection does and what the "
               "command waits for")
      ->group(group);
}

server_address find_server(const connect_flags& f) {
  const auto file = read_settings();
  const setting_reader read{file};
  server_address at;
  choose_server(at, f, file);
  at.verbose = f.verbose;
  try {
    at.on_this_machine = true;
    for (const auto& host : connect_string::parse(at.hosts).hosts)
      if (host.socket_path.empty()) at.on_this_machine = false;
  } catch (const error& e) {
    throw failure{usage, std::string{e.what()} + " (" + at.source + ")"};
  }

  // Commands must be able to read a listing of any size.
  at.options.max_reply_bytes = std::numeric_limits<std::int32_t>::max();
  read.time(f.session_timeout, "session-timeout", at.options.session_timeout);
  at.session_timeout_given = !read(f.session_timeout, "session-timeout").empty();
  read.time(f.connect_timeout, "connect-timeout", at.connect_timeout);
  if (const auto name = read(f.auth_file, "auth-file"); !name.empty())
    at.options.credentials.push_back(credentials_from_file(name));

  tls_options tls;
  tls.ca_file = read(f.tls_ca, "tls-ca");
  tls.certificate_file = read(f.tls_cert, "tls-cert");
  tls.key_file = read(f.tls_key, "tls-key");
  require_private(tls.key_file);
  const auto password_file = read(f.tls_key_password_file, "tls-key-password-file");
  if (!password_file.empty()) {
    require_private(password_file);
    tls.key_password = secret::from_file(password_file);
  }
  if (!tls.key_file.empty() && tls.certificate_file.empty())
    throw failure{usage,
                  read.full_name(f.tls_key, "tls-key") +
                      " has no effect without tls-cert; add the certificate, or leave out the key"};
  if (!password_file.empty() && tls.key_file.empty())
    throw failure{usage,
                  read.full_name(f.tls_key_password_file, "tls-key-password-file") +
                      " has no effect without tls-key; add the key, or leave out its password"};
  tls.verify_host = !read(f.tls_any_host, "tls-any-host");
  if (read(f.tls, "tls") || !tls.ca_file.empty() || !tls.certificate_file.empty() ||
      !tls.key_file.empty() || !tls.verify_host)
    at.options.tls = tls;
  return at;
}

std::string node_path(const std::string& given) {
  if (given.empty()) throw failure{usage, "the path is empty; name one, for example backups/db"};
  const auto path = given.front() == '/' ? given : std::string{root_path} + '/' + given;
  // This is checked before a server is started or contacted.
  if (path != "/" && (path.back() == '/' || path.find("//") != std::string::npos))
    throw failure{usage, "'" + given + "' is not a valid path; remove the extra slash"};
  return path;
}

}  // namespace conclave::cli
