#include "web/access.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <boost/asio/ip/address.hpp>

namespace conclave::web {
namespace {

constexpr moment session_lifetime = 12 * 3600 * one_second;

// The time does not depend on the position of the first difference.
bool are_equal(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

// Removes the port from host:port and [address]:port, and the brackets.
std::string_view name_of_host(std::string_view host) {
  if (host.starts_with('[')) {
    const auto end = host.find(']');
    if (end == std::string_view::npos) return {};
    const auto rest = host.substr(end + 1);
    return rest.empty() || rest.starts_with(':') ? host.substr(1, end - 1) : std::string_view{};
  }
  return host.substr(0, host.find(':'));
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::string random_text(std::size_t bytes) {
  std::string random(bytes, '\0');
  for (std::size_t done = 0; done < bytes;) {
    const auto n = ::getrandom(random.data() + done, bytes - done, 0);
    if (n < 0 && errno != EINTR) throw std::system_error{errno, std::generic_category()};
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  std::string text;
  for (const auto c : random) {
    const auto byte = static_cast<unsigned char>(c);
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

bool access::allows_host(const http_request& r) const {
  const auto name = name_of_host(r.host);
  if (name.empty()) return false;
  if (equal_ignoring_case(name, "localhost")) return true;
  boost::system::error_code ec;
  boost::asio::ip::make_address(std::string{name}, ec);
  if (!ec) return true;
  return std::any_of(rules_.host_names.begin(), rules_.host_names.end(),
                     [&](const auto& allowed) { return equal_ignoring_case(name, allowed); });
}

bool access::is_same_site(const http_request& r) {
  return r.fetch_site.empty() || r.fetch_site == "same-origin" || r.fetch_site == "none";
}

bool access::is_same_origin(const http_request& r) {
  const auto scheme = r.origin.find("://");
  if (scheme == std::string::npos) return false;
  return equal_ignoring_case(std::string_view{r.origin}.substr(scheme + 3), r.host);
}

bool access::is_token(std::string_view text) const {
  return needs_sign_in() && are_equal(text, rules_.token);
}

bool access::is_signed_in(const http_request& r, moment at) {
  if (!needs_sign_in()) return true;
  constexpr std::string_view scheme = "Bearer ";
  if (r.authorization.starts_with(scheme))
    return is_token(std::string_view{r.authorization}.substr(scheme.size()));
  while (!sessions_.empty() && sessions_.front().expiry <= at) sessions_.pop_front();
  const auto id = cookie_value(r.cookie, rules_.cookie);
  return std::any_of(sessions_.begin(), sessions_.end(),
                     [&](const session& s) { return are_equal(s.id, id); });
}

std::string access::sign_in(const http_request& r, moment at) {
  if (sessions_.size() == max_sessions) sessions_.pop_front();
  sessions_.push_back({random_text(32), at + session_lifetime});
  return rules_.cookie + "=" + sessions_.back().id +
         "; Path=/; HttpOnly; SameSite=Strict; Max-Age=43200" +
         (r.origin.starts_with("https:") ? "; Secure" : "");  // behind a proxy with TLS
}

std::string access::sign_out(const http_request& r) {
  const auto id = cookie_value(r.cookie, rules_.cookie);
  std::erase_if(sessions_, [&](const session& s) { return are_equal(s.id, id); });
  return rules_.cookie + "=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0";
}

}  // namespace conclave::web
