#include "line_pipe.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <system_error>

namespace conclave::testing {

line_pipe::line_pipe(const std::filesystem::path& file) : fd_{-1} {
  if (::mkfifo(file.c_str(), 0600) == 0)
    fd_ = ::open(file.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd_ < 0) throw std::system_error{errno, std::generic_category(), file.string()};
}

line_pipe::~line_pipe() { ::close(fd_); }

std::optional<std::string> line_pipe::next(std::chrono::nanoseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  for (;;) {
    if (const auto end = unread_.find('\n'); end != std::string::npos) {
      auto line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd readable{fd_, POLLIN, 0};
    if (::poll(&readable, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) <= 0)
      return std::nullopt;
    char bytes[4096];
    const auto n = ::read(fd_, bytes, sizeof bytes);
    if (n > 0) unread_.append(bytes, static_cast<std::size_t>(n));
  }
}

}  // namespace conclave::testing
