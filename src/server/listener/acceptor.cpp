#include "server/listener/acceptor.hpp"

#include <fcntl.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "conclave/error.hpp"

namespace conclave::server_impl {
namespace {

using boost::asio::generic::stream_protocol;

constexpr int listen_backlog = 4096;

[[noreturn]] void fail(const std::string& address, const std::string& why) {
  throw std::runtime_error{"cannot listen on " + address + ": " + why};
}

// Used for options that are invalid on every system.
[[noreturn]] void fail_option(const std::string& address, const std::string& why) {
  throw error{errc::invalid_argument, "cannot listen on " + address + " (" + why + ")"};
}

[[noreturn]] void fail_errno(const std::string& address) {
  const int code = errno;
  std::string why = std::strerror(code);
  if (code == EADDRINUSE) why += "; another server listens there, choose another address";
  if (code == EACCES)
    why += address.starts_with("unix:")
               ? "; choose a folder that the server's user can write to"
               : "; only root may use ports below 1024; choose a higher one";
  fail(address, why);
}

struct unique_fd {
  int fd = -1;
  ~unique_fd() {
    if (fd >= 0) ::close(fd);
  }
  int release() { return std::exchange(fd, -1); }
};

// A dual-stack socket reports an IPv4 client as ::ffff:10.0.0.1. In ACLs this client is
// "ip:10.0.0.1".
void unmap_ipv4(sockaddr_storage& a, socklen_t& size) {
  if (a.ss_family != AF_INET6) return;
  sockaddr_in6 six{};
  std::memcpy(&six, &a, sizeof six);
  if (!IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) return;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = six.sin6_port;
  std::memcpy(&four.sin_addr, six.sin6_addr.s6_addr + 12, sizeof four.sin_addr);
  std::memcpy(&a, &four, sizeof four);
  size = sizeof four;
}

std::string address_text(const sockaddr_storage& a, socklen_t size, bool with_port) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&a), size, host.data(), host.size(), port.data(),
                port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  if (!with_port) return host.data();
  const bool ipv6 = a.ss_family == AF_INET6;
  return std::string{ipv6 ? "[" : ""} + host.data() + (ipv6 ? "]:" : ":") + port.data();
}

ino_t inode_of(const std::filesystem::path& file) {
  struct stat found {};
  return ::lstat(file.c_str(), &found) == 0 ? found.st_ino : 0;
}

// Returns the path of a bound Unix socket. Empty if the socket has no file.
std::string unix_path(const sockaddr_storage& a, socklen_t size) {
  sockaddr_un at{};
  std::memcpy(&at, &a, std::min<std::size_t>(size, sizeof at));
  return {at.sun_path, ::strnlen(at.sun_path, sizeof at.sun_path)};
}

gid_t group_id(const std::string& address, const std::string& name) {
  std::array<char, 16 * 1024> buffer{};
  group entry{};
  group* found = nullptr;
  ::getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr)
    fail_option(address,
                "there is no group '" + name + "'; create it with: groupadd --system " + name);
  return found->gr_gid;
}

// Returns true for a socket file that a killed server has left behind.
bool is_stale(const sockaddr_un& at) {
  // Non-blocking, because the backlog of a stopped server may be full.
  const unique_fd probe{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  return ::connect(probe.fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 &&
         errno == ECONNREFUSED;
}

// Other programs may hold a lock on the folder. The server then starts without the lock.
void lock_briefly(int folder) {
  using clock = std::chrono::steady_clock;
  const auto end = clock::now() + std::chrono::seconds{2};
  while (::flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
}

}  // namespace

acceptor acceptor::tcp(boost::asio::io_context& io, const std::string& address, transport type) {
  const auto colon = address.rfind(':');
  auto host = colon == std::string::npos ? "127.0.0.1" : address.substr(0, colon);
  const auto port = colon == std::string::npos ? address : address.substr(colon + 1);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string::npos)
    fail_option(address, "write an IPv6 address in brackets: [" + host + "]:" + port);
  if (host == "*") host = "0.0.0.0";
  if (host.empty() || port.empty() || port.find_first_not_of("0123456789") != std::string::npos)
    fail_option(address, "write HOST:PORT, or PORT for 127.0.0.1");
  // getaddrinfo truncates larger numbers to 16 bits.
  if (port.size() > 5 || std::stoi(port) > 65'535)
    fail_option(address, "the highest port is 65535");

  addrinfo wanted{};
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int e = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found); e != 0)
    fail(address, ::gai_strerror(e));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all{found, &::freeaddrinfo};

  unique_fd f{::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (f.fd < 0) fail_errno(address);
  const int yes = 1;
  ::setsockopt(f.fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(f.fd, found->ai_addr, found->ai_addrlen) != 0 || ::listen(f.fd, listen_backlog) != 0)
    fail_errno(address);

  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  ::getsockname(f.fd, reinterpret_cast<sockaddr*>(&bound), &size);
  acceptor a{io, f.release(), type};
  a.address_ = address_text(bound, size, true);
  a.port_ = static_cast<std::uint16_t>(std::stoi(a.address_.substr(a.address_.rfind(':') + 1)));
  return a;
}

acceptor acceptor::unix_socket(boost::asio::io_context& io, const std::filesystem::path& path,
                               const std::string& group) {
  const auto file = std::filesystem::absolute(path);
  const auto address = "unix:" + file.string();
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (file.string().size() >= sizeof at.sun_path)
    fail_option(address, "a socket's path has at most " + std::to_string(sizeof at.sun_path - 1) +
                             " bytes; choose a shorter one with --socket");
  // Clients would connect to another server, because a socket ends at these characters.
  if (file.string().find_first_of(",:") != std::string::npos)
    fail_option(address,
                "a connect string cannot contain the path of a socket with ',' or ':'; choose "
                "another path with --socket");
  std::memcpy(at.sun_path, file.c_str(), file.string().size());

  const bool is_shared = !group.empty();
  const auto unchanged = static_cast<gid_t>(-1);  // chown() does not change the group
  const gid_t gid = is_shared ? group_id(address, group) : unchanged;

  std::error_code ec;
  const auto folder = file.parent_path();
  if (!std::filesystem::exists(folder, ec)) {
    std::filesystem::create_directories(folder.parent_path(), ec);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) fail_errno(address);
    if (is_shared && (::chown(folder.c_str(), static_cast<uid_t>(-1), gid) != 0 ||
                      ::chmod(folder.c_str(), 0710) != 0))
      fail_errno(address);
  }
  // Between the check and bind(), no other server may do the same for this socket.
  const unique_fd folder_lock{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  lock_briefly(folder_lock.fd);
  if (struct stat present{}; ::lstat(file.c_str(), &present) == 0) {
    if (!S_ISSOCK(present.st_mode))
      fail(address, "a file of that name exists and is not a socket; remove it");
    if (!is_stale(at))
      fail(address, "another server listens there; stop it or choose another socket");
    ::unlink(file.c_str());
  }
  unique_fd f{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (f.fd < 0) fail_errno(address);
  // Linux creates the socket file with the mode of the descriptor. So other users cannot connect in
  // the time before the chmod below.
  ::fchmod(f.fd, is_shared ? 0660 : 0600);
  if (::bind(f.fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
      ::lchown(file.c_str(), static_cast<uid_t>(-1), gid) != 0 ||
      (is_shared && ::chmod(file.c_str(), 0660) != 0) ||  // bind() applied the umask
      ::listen(f.fd, listen_backlog) != 0)
    fail_errno(address);
  acceptor a{io, f.release(), transport::unix_socket};
  a.address_ = address;
  a.socket_file_ = file;
  a.socket_inode_ = inode_of(file);
  return a;
}

acceptor acceptor::inherited(boost::asio::io_context& io, int listening_socket) {
  const auto descriptor = "descriptor " + std::to_string(listening_socket);
  unique_fd f{::fcntl(listening_socket, F_DUPFD_CLOEXEC, 0)};
  if (f.fd < 0) fail_option(descriptor, std::strerror(errno));
  int is_listening = 0;
  int type = 0;
  socklen_t size = sizeof is_listening;
  const bool is_socket = ::getsockopt(f.fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size) == 0 &&
                         ::getsockopt(f.fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
  if (!is_socket || is_listening == 0 || type != SOCK_STREAM)
    fail_option(descriptor, "it is not a listening stream socket");
  sockaddr_storage bound{};
  size = sizeof bound;
  ::getsockname(f.fd, reinterpret_cast<sockaddr*>(&bound), &size);
  const bool is_unix = bound.ss_family == AF_UNIX;
  const bool is_tcp = bound.ss_family == AF_INET || bound.ss_family == AF_INET6;
  const auto path = is_unix ? unix_path(bound, size) : std::string{};
  if (!is_tcp && path.empty())
    fail_option(descriptor, "use a TCP socket or a Unix socket with a path");
  // SO_PEERCRED shows a client the process that last called listen() before the client connected.
  // Process-bound sessions need the pid of this process there (base/process_binding.hpp). A client
  // that connected earlier is now in the backlog.
  if (::fcntl(f.fd, F_SETFL, O_NONBLOCK) != 0 || ::listen(f.fd, listen_backlog) != 0)
    fail_errno(descriptor);
  pollfd backlog{f.fd, POLLIN, 0};
  const bool has_old_connections = is_unix && ::poll(&backlog, 1, 0) > 0;

  acceptor a{io, f.release(), is_unix ? transport::unix_socket : transport::tcp};
  a.is_inherited_ = true;
  a.has_old_connections_ = has_old_connections;
  a.address_ = is_unix ? "unix:" + path : address_text(bound, size, true);
  if (is_tcp)
    a.port_ = static_cast<std::uint16_t>(std::stoi(a.address_.substr(a.address_.rfind(':') + 1)));
  return a;
}

acceptor::~acceptor() {
  // A forked child may have inherited the descriptor. Without the shutdown, clients would wait in
  // its backlog. Clients of an inherited socket wait there for the next server.
  if (descriptor_.is_open() && !is_inherited_) ::shutdown(descriptor_.native_handle(), SHUT_RDWR);
  // If the file was removed, a socket with the same name may belong to another server.
  if (!socket_file_.empty() && inode_of(socket_file_) == socket_inode_)
    ::unlink(socket_file_.c_str());
}

std::unique_ptr<acceptor::accepted_connection> acceptor::accept(bool& out_of_descriptors) {
  sockaddr_storage from{};
  while (true) {
    socklen_t size = sizeof from;
    unique_fd f{::accept4(descriptor_.native_handle(), reinterpret_cast<sockaddr*>(&from), &size,
                          SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (f.fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      out_of_descriptors =
          errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      // The backlog is empty, so all later clients have connected after listen().
      if (errno == EAGAIN) has_old_connections_ = false;
      return nullptr;
    }
    const int family = transport_ == transport::unix_socket ? AF_UNIX : from.ss_family;
    unmap_ipv4(from, size);
    auto accepted = std::make_unique<accepted_connection>(
        accepted_connection{stream_protocol::socket{*io_}, {}, {}, 0, 0, has_old_connections_});
    if (transport_ == transport::unix_socket) {
      ucred peer{};
      socklen_t peer_size = sizeof peer;
      if (::getsockopt(f.fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) != 0) continue;
      accepted->pid = peer.pid;
      accepted->uid = peer.uid;
      accepted->name = "process " + std::to_string(peer.pid);
    } else {
      const int yes = 1;
      ::setsockopt(f.fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
      accepted->address = address_text(from, size, false);
      accepted->name = address_text(from, size, true);
    }
    boost::system::error_code ec;
    accepted->socket.assign(stream_protocol{family, SOCK_STREAM}, f.fd, ec);
    if (ec) continue;
    f.release();
    return accepted;
  }
}

}  // namespace conclave::server_impl
