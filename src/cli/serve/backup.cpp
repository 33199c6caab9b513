#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "cli/serve/serve.hpp"

namespace conclave::cli {

// The server has the file for itself, so it must write the copy: see words.cpp.
int backup(const std::filesystem::path& socket, const std::filesystem::path& to) {
  const auto place = std::filesystem::absolute(to).string();
  if (place.find('\n') != std::string::npos)
    throw std::runtime_error{"a backup's path has no line breaks"};
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (socket.string().size() >= sizeof at.sun_path)
    throw std::runtime_error{"'" + socket.string() + "' is too long for a socket's path"};
  std::memcpy(at.sun_path, socket.c_str(), socket.string().size());

  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
    std::fprintf(
        stderr,
        "conclave: cannot reach a server at unix:%s (%s); is it running? try: conclave serve\n",
        socket.c_str(), std::strerror(errno));
    return 69;
  }
  const auto request = "bkup" + place + "\n";
  std::string answer;
  std::array<char, 4096> buffer{};
  if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) ==
      static_cast<ssize_t>(request.size()))
    for (ssize_t n; (n = ::recv(fd, buffer.data(), buffer.size(), 0)) > 0;)
      answer.append(buffer.data(), static_cast<std::size_t>(n));
  ::close(fd);
  if (answer == "ok\n") {
    std::printf("%s\n", place.c_str());
    return 0;
  }
  if (answer.empty()) answer = "the server ended without an answer\n";
  std::fprintf(stderr, "conclave: no backup: %s", answer.c_str());
  return 1;
}

}  // namespace conclave::cli
