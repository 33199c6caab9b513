// `conclave serve`: the embedded server as a program of its own.
#pragma once

#include <filesystem>
#include <string>

#include "conclave/server_options.hpp"

namespace conclave::cli {

struct serve_command {
  server_options options;
  std::string key_password_file;  // of options.tls, read again with the certificates
  std::filesystem::path log;      // instead of stderr, once it serves
  bool verbose = false;
  bool quiet = false;
};

// Runs until SIGTERM or SIGINT; the program's exit code. SIGHUP has the certificates read again.
int serve(serve_command command);

// Asks the server on that socket for a copy of its data; the program's exit code.
int backup(const std::filesystem::path& socket, const std::filesystem::path& to);

}  // namespace conclave::cli
