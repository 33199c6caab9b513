#include "cli/commands/znode/data_source.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "cli/exit_code.hpp"
#include "conclave/client_options.hpp"

namespace conclave::cli::znode {
namespace {

std::string read_all(int fd, const std::string& name) {
  const auto enough = client_options{}.max_request_bytes;
  std::string data;
  std::array<char, 64 * 1024> buffer{};
  while (data.size() <= enough) {
    const auto n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw failure{usage, "cannot read " + name + ": " + std::strerror(errno)};
    if (n == 0) return data;
    data.append(buffer.data(), static_cast<std::size_t>(n));
  }
  throw failure{failed, name + " is too large; the data of a node must be smaller than 1 MiB"};
}

}  // namespace

std::string data_source::read() const {
  if (*given_file && *given_argument)
    throw failure{usage, "DATA and --file are both given; use only one of them"};
  if (*given_file) {
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw failure{usage, "cannot read " + file + ": " + std::strerror(errno)};
    auto data = read_all(fd, file);
    ::close(fd);
    return data;
  }
  return argument == "-" ? read_all(STDIN_FILENO, "stdin") : argument;
}

void add_data_flags(CLI::App& app, data_source& d) {
  d.given_argument = app.add_option("DATA", d.argument, "the data; - reads stdin");
  d.given_file =
      app.add_option("--file", d.file, "read the data from this file")->type_name("FILE");
}

}  // namespace conclave::cli::znode
