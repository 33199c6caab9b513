// The flags of every command that uses a server, and how they combine with the environment and the
// settings file.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "conclave/client_options.hpp"

namespace CLI {
class App;
}

namespace conclave::cli {

struct connect_flags {
  std::string connect, session_timeout, connect_timeout;
  std::string auth_file, tls_ca, tls_cert, tls_key, tls_key_password_file;
  bool tls = false, tls_any_host = false, verbose = false;
};

void add_connect_flags(CLI::App& app, connect_flags& flags);

// The server to connect to, and the options of the connection.
struct server_address {
  std::string hosts;  // a connect string
  // The origin of the address: "--connect", "CONCLAVE_CONNECT", file:line and so on.
  std::string source;
  // The folder of this user's own server, which is started on demand. Empty for any other server.
  std::filesystem::path local_folder;
  bool verbose = false;          // print the connection state on stderr
  bool on_this_machine = false;  // the address is a Unix socket, so sessions are bound to processes
  client_options options;
  bool session_timeout_given = false;  // by a flag or the settings file
  std::chrono::milliseconds connect_timeout{10'000};
};

// Returns the first of these servers that is set or exists: --connect, $CONCLAVE_CONNECT, `connect`
// in the settings file, $CONCLAVE_LOCAL, the server for all users of this machine (running or not),
// this user's own server.
server_address find_server(const connect_flags& flags);

// The node that a path without a leading / is relative to.
inline constexpr const char* root_path = "/conclave";

// Returns the node path for a path that is given on the command line.
std::string node_path(const std::string& given);

}  // namespace conclave::cli
