// `conclave serve`: the embedded server as a separate program.
#pragma once

#include <filesystem>
#include <string>

#include "cli/ui/ui_flags.hpp"
#include "conclave/server_options.hpp"

namespace conclave::cli {

struct serve_command {
  server_options options;
  std::string key_password_file;  // for options.tls; reloaded together with the certificates
  std::filesystem::path log;      // gets stdout and stderr when the server is ready
  ui_flags http;                  // the web page, if its address is set
  bool verbose = false;
  bool quiet = false;
};

// Runs until SIGTERM or SIGINT and returns the exit code. SIGHUP reloads the certificates.
int serve(serve_command command);

// Requests a backup from the server on that socket and returns the exit code.
int backup(const std::filesystem::path& socket, const std::filesystem::path& to);

}  // namespace conclave::cli
