#include "conclave/session_keeper.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "base/process_binding.hpp"
#include "client/core.hpp"
#include "conclave/client.hpp"
#include "wire/frame.hpp"
#include "wire/keep_session.hpp"
#include "wire/records.hpp"

namespace conclave {
namespace {

using steady = std::chrono::steady_clock;

// The longest frame that is accepted. The expected replies are shorter than 100 bytes.
constexpr std::size_t most_bytes = 1024;

int left_ms(steady::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

// Returns -1 and sets errno if no process listens on the socket or its backlog is full.
int connected_to(const std::string& path) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (path.size() >= sizeof at.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::memcpy(at.sun_path, path.data(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd >= 0 && ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
    const int why = errno;
    ::close(fd);
    errno = why;
    return -1;
  }
  return fd;
}

bool send_all(int fd, std::string_view bytes) {
  // The send buffer of a new connection has room for these few bytes.
  return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

enum class answer { whole, ended, late };

// Reads the server's replies, frame by frame.
class replies {
 public:
  replies(int fd, steady::time_point until) : fd_{fd}, until_{until} {}

  // Stores the next frame's payload, which is valid until the next call.
  answer next(std::string_view& payload) {
    bytes_.erase(0, std::exchange(shown_, 0));
    while (true) {
      if (const auto size = frame_size(); size > most_bytes)
        return answer::ended;
      else if (size != 0 && bytes_.size() >= size) {
        shown_ = size;
        payload = std::string_view{bytes_}.substr(wire::frame_prefix, size - wire::frame_prefix);
        return answer::whole;
      }
      if (const auto got = read_more(); got != answer::whole) return got;
    }
  }

 private:
  // Returns the size of the frame, including the length prefix. Returns 0 if too few bytes have
  // arrived to know the size.
  std::size_t frame_size() const {
    if (bytes_.size() < wire::frame_prefix) return 0;
    wire::reader in{bytes_};
    return wire::frame_prefix + in.read<std::uint32_t>();
  }
  answer read_more() {
    std::array<char, most_bytes> buffer{};
    while (true) {
      const auto n = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (n > 0) {
        bytes_.append(buffer.data(), static_cast<std::size_t>(n));
        return answer::whole;
      }
      if (n == 0 || (errno != EAGAIN && errno != EINTR)) return answer::ended;
      pollfd p{fd_, POLLIN, 0};
      if (::poll(&p, 1, left_ms(until_)) == 0) return answer::late;
    }
  }

  int fd_;
  steady::time_point until_;
  std::string bytes_;
  std::size_t shown_ = 0;  // bytes of the frame that the last next() returned
};

wire::connect_request request_of(const session_key& key) {
  wire::connect_request r;
  r.timeout_ms = static_cast<std::int32_t>(key.timeout.count());
  r.session_id = key.session;
  r.password = {key.password.data(), key.password.size()};
  return r;
}

}  // namespace

session_key session_key::of(const client& c) {
  return client_impl::core_access::of(c)->driver->ask(session_key{}, [](const auto& m) {
    session_key key;
    const auto& password = m.session_password();
    if (m.session_id() == 0 || password.size() != key.password.size()) return key;
    key.session = m.session_id();
    std::copy(password.begin(), password.end(), key.password.begin());
    key.timeout = m.session_timeout();
    return key;
  });
}

session_keeper::session_keeper(const std::string& socket, const session_key& key,
                               std::chrono::milliseconds limit) noexcept {
  const auto until = steady::now() + limit;
  const int fd = connected_to(socket);
  if (fd < 0 && (errno == EMFILE || errno == ENFILE)) state_ = result::no_descriptors;
  if (fd < 0) return;
  auto request = request_of(key);
  request.protocol_version = wire::keep_session_version;
  request.last_zxid_seen = wire::keep_session_zxid;
  std::string bytes;
  wire::append_frame(bytes, request);
  replies from_server{fd, until};
  std::string_view reply;
  const auto got = send_all(fd, bytes) ? from_server.next(reply) : answer::ended;
  state_ = got == answer::late ? result::no_server : result::refused;
  if (got == answer::whole) {
    wire::reader in{reply};
    const auto response = in.read<wire::connect_response>();
    if (in.ok() && response.session_id == 0) state_ = result::session_expired;
    if (in.ok() && response.session_id == key.session &&
        response.protocol_version == wire::keep_session_version)
      state_ = result::attached;
  }
  // Child processes may inherit the descriptor. 48 is above the numbers that scripts use, and below
  // 64, the initial size of the kernel's descriptor table.
  constexpr int first_number = 48;
  if (state_ == result::attached) descriptor_ = ::fcntl(fd, F_DUPFD_CLOEXEC, first_number);
  if (state_ == result::attached && descriptor_ < 0)  // 48 exceeds the limit on open files
    descriptor_ = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (state_ == result::attached && descriptor_ < 0) state_ = result::no_descriptors;
  ::close(fd);
}

session_keeper::session_keeper(session_keeper&& other) noexcept
    : state_{std::exchange(other.state_, result::no_server)},
      descriptor_{std::exchange(other.descriptor_, -1)} {}

session_keeper& session_keeper::operator=(session_keeper&& other) noexcept {
  std::swap(state_, other.state_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

session_keeper::~session_keeper() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool session_keeper::broken() const noexcept {
  pollfd p{descriptor_, POLLRDHUP, 0};
  return descriptor_ < 0 || (::poll(&p, 1, 0) > 0 && p.revents != 0);
}

void session_keeper::end() noexcept {
  if (descriptor_ < 0) return;
  ::shutdown(descriptor_, SHUT_RDWR);
  ::close(std::exchange(descriptor_, -1));
}

bool session_keeper::bind_session(const std::string& socket, const session_key& key,
                                  std::chrono::milliseconds limit) noexcept {
  const auto until = steady::now() + limit;
  const int fd = connected_to(socket);
  if (fd < 0) return false;
  auto request = request_of(key);
  request.protocol_version = process_binding(peer_process(fd), ::getpid());
  std::string bytes;
  wire::append_frame(bytes, request);
  replies from_server{fd, until};
  std::string_view reply;
  if (!send_all(fd, bytes) || from_server.next(reply) != answer::whole) {
    ::close(fd);
    return false;
  }
  wire::reader in{reply};
  const auto response = in.read<wire::connect_response>();
  return in.ok() &&
         (response.session_id == 0 || response.protocol_version == request.protocol_version);
}

}  // namespace conclave
