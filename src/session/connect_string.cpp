#include "conclave/connect_string.hpp"

#include <charconv>

#include "conclave/error.hpp"
#include "session/paths.hpp"

namespace conclave {
namespace {

[[noreturn]] void refuse(std::string_view text, const std::string& why) {
  throw error{errc::bad_connect_string, "'" + std::string{text} + "': " + why};
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
      refuse(text, "an IPv6 address stands in brackets: [" + std::string{item} + "]:2181");
    has_port = colon != std::string_view::npos;
    e.host = item.substr(0, colon);
    if (has_port) port = item.substr(colon + 1);
  }
  if (e.host.empty()) refuse(text, "a host is missing");
  for (const unsigned char c : e.host)
    if (c <= ' ' || c == 0x7f) refuse(text, "a host name has no spaces or control characters");
  if (has_port) e.port = parse_port(text, port);
  return e;
}

std::string_view trimmed(std::string_view s) {
  while (s.starts_with(' ')) s.remove_prefix(1);
  while (s.ends_with(' ')) s.remove_suffix(1);
  return s;
}

}  // namespace

std::string to_string(const endpoint& e) {
  const bool ipv6 = e.host.find(':') != std::string::npos;
  return (ipv6 ? "[" + e.host + "]" : e.host) + ":" + std::to_string(e.port);
}

connect_string connect_string::parse(std::string_view text) {
  connect_string result;
  const auto slash = text.find('/');
  auto hosts = text.substr(0, slash);
  if (slash != std::string_view::npos) {
    auto chroot = trimmed(text.substr(slash));
    if (chroot != "/") {
      if (!session::valid_path(chroot))
        refuse(text, "'" + std::string{chroot} + "' is not a valid path");
      result.chroot = chroot;
    }
  }
  for (bool more = true; more;) {
    const auto comma = hosts.find(',');
    const auto item = trimmed(hosts.substr(0, comma));
    more = comma != std::string_view::npos;
    if (more) hosts.remove_prefix(comma + 1);
    if (!item.empty()) result.hosts.push_back(parse_host(text, item));
  }
  if (result.hosts.empty()) refuse(text, "no host is named; write host:port,host:port");
  return result;
}

}  // namespace conclave
