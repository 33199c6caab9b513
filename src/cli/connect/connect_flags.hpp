// The flags of every command that talks to a server, and what they mean together with the
// environment and the settings file.
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

// Where to connect, and how.
struct server_address {
  std::string hosts;    // as client takes it
  std::string said_by;  // "--connect", "CONCLAVE_CONNECT", file:line...
  // Of this user's own server, which is started when it is needed; otherwise empty.
  std::filesystem::path local_folder;
  bool verbose = false;          // what the connection does is printed on stderr
  bool on_this_machine = false;  // a Unix socket: sessions are bound to processes
  client_options options;
  std::chrono::milliseconds connect_timeout{10'000};
};

// --connect, else $CONCLAVE_CONNECT, else `connect` of the settings file, else $CONCLAVE_LOCAL,
// else the server for all users of this machine if it has one, running or not, else this user's
// own.
server_address find_server(const connect_flags& flags);

// A path of the command line: one that does not begin with / is below /conclave.
std::string node_path(const std::string& given);

}  // namespace conclave::cli
