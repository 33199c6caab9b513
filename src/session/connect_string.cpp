#include "conclave/connect_string.hpp"

#include <algorithm>
#include <charconv>

#include "base/valid_path.hpp"
#include "conclave/error.hpp"

namespace conclave {
namespace {

constexpr std::string_view unix_prefix = "unix:";
constexpr std::size_t longest_socket_path = 107;  // sockaddr_un also needs a terminating NUL

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  std::string shown{text};
  std::replace(shown.begin(), shown.end(), '\0', '?');  // what() would end at a NUL
  throw error{errc::bad_connect_string, "'" + shown + "': " + why};
}

std::string_view trimmed(std::string_view s) {
  while (s.starts_with(' ')) s.remove_prefix(1);
  while (s.ends_with(' ')) s.remove_suffix(1);
  return s;
}

std::uint16_t parse_port(std::string_view text, std::string_view port) {
  unsigned value = 0;
  const auto [end, ec] = std::from_chars(port.data(), port.data() + port.size(), value);
  if (ec != std::errc{} || end != port.data() + port.size() || value == 0 || value > 65'535)
    refuse(text, "'" + std::string{port} + "' is not a port (1 to 65535)");
  return static_cast<std::uint16_t>(value);
}

endpoint parse_host(std::string_view text, std::string_view item) {
  endpoint e;
  std::string_view port;
  bool has_port = false;
  if (item.starts_with('[')) {
    const auto close = item.find(']');
    if (close == std::string_view::npos) refuse(text, "a ']' is missing after the IPv6 address");
    e.host = item.substr(1, close - 1);
    const auto rest = item.substr(close + 1);
    has_port = rest.starts_with(':');
    if (!rest.empty() && !has_port) refuse(text, "only a ':' and a port may follow ']'");
    if (has_port) port = rest.substr(1);
  } else {
    const auto colon = item.find(':');
    if (colon != item.rfind(':'))
      refuse(text, "write an IPv6 address in brackets: [" + std::string{item} + "]:2181");
    has_port = colon != std::string_view::npos;
    e.host = item.substr(0, colon);
    if (has_port) port = item.substr(colon + 1);
  }
  if (e.host.empty()) refuse(text, "a host is missing");
  for (const unsigned char c : e.host)
    if (c <= ' ' || c == 0x7f || c == '[' || c == ']')
      refuse(text, "a host name has no spaces, brackets or control characters");
  if (has_port) e.port = parse_port(text, port);
  return e;
}

endpoint parse_socket(std::string_view text, std::string_view path) {
  if (path.empty()) refuse(text, "a socket's path is missing; write unix:/path/to/socket");
  if (!path.starts_with('/'))
    refuse(text,
           "a socket's path begins with '/'; write unix:/path/to/socket, or [unix]:2181 for a "
           "host of that name");
  if (path.ends_with('/'))
    refuse(text, "'" + std::string{path} + "' is a folder; write unix:/path/to/socket");
  if (path.size() > longest_socket_path)
    refuse(text, "a socket's path has at most " + std::to_string(longest_socket_path) +
                     " bytes, this one has " + std::to_string(path.size()) +
                     "; use a shorter path or a symbolic link");
  for (const unsigned char c : path)
    if (c < ' ' || c == 0x7f) refuse(text, "a socket's path has no control characters");
  endpoint e;
  e.socket_path = path;
  return e;
}

std::string parse_chroot(std::string_view text, std::string_view chroot) {
  if (chroot.empty() || chroot == "/") return {};
  if (!valid_path(chroot)) refuse(text, "'" + std::string{chroot} + "' is not a valid path");
  return std::string{chroot};
}

}  // namespace

std::string to_string(const endpoint& e) {
  if (!e.socket_path.empty()) return std::string{unix_prefix} + e.socket_path;
  const bool brackets = e.host.find(':') != std::string::npos || e.host == "unix";
  return (brackets ? "[" + e.host + "]" : e.host) + ":" + std::to_string(e.port);
}

connect_string connect_string::parse(std::string_view text) {
  connect_string result;
  for (auto rest = trimmed(text);; rest = trimmed(rest.substr(1))) {
    const bool socket = rest.starts_with(unix_prefix);
    if (socket) rest.remove_prefix(unix_prefix.size());
    const auto end = std::min(rest.find_first_of(socket ? ",:" : ",/"), rest.size());
    const auto item = trimmed(rest.substr(0, end));
    if (socket)
      result.hosts.push_back(parse_socket(text, item));
    else if (!item.empty())
      result.hosts.push_back(parse_host(text, item));
    else if (rest.substr(end).starts_with(',') || !result.hosts.empty())
      refuse(text, "a host is missing before or after a ','");
    rest.remove_prefix(end);
    if (rest.starts_with(',')) continue;
    if (rest.starts_with(':')) {
      rest = trimmed(rest.substr(1));
      if (!rest.starts_with('/'))
        refuse(text, "only a chroot may follow a socket: unix:" + std::string{item} + ":/chroot");
    }
    result.chroot = parse_chroot(text, rest);
    break;
  }
  if (result.hosts.empty()) refuse(text, "no host is named; write host:port,host:port");
  return result;
}

}  // namespace conclave
