// Reads a request as the HTTP server of the web page does, and checks what decides who may see the
// page. The first byte says where the bytes are split into two reads.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/buffer.hpp>

#include "require.hpp"
#include "web/access.hpp"
#include "web/http_parsing.hpp"
#include "web/json.hpp"
#include "web/loss_finder.hpp"

namespace conclave::web {
namespace {

constexpr std::string_view token = "0123456789abcdef";

// As in http_server.cpp: what a read leaves is the beginning of the next one.
std::optional<http_request> read_request(std::string_view bytes, std::size_t split) {
  request_parser parser;
  parser.header_limit(8192);
  parser.body_limit(4096);
  parser.eager(true);
  boost::beast::error_code ec;
  std::size_t used = 0;
  for (const auto end : {split, bytes.size()}) {
    while (used < end && !parser.is_done()) {
      const auto n = parser.put(boost::asio::buffer(bytes.data() + used, end - used), ec);
      REQUIRE(n <= end - used);
      used += n;
      if (ec == boost::beast::http::error::need_more)
        ec = {};
      else if (ec)
        break;
      if (n == 0) break;
    }
    if (ec) break;
  }
  if (!ec && !parser.is_done()) {
    if (!parser.got_some()) return {};  // the client has closed the connection
    parser.put_eof(ec);
    if (!ec && !parser.is_done()) return {};
  }
  const auto refused = refusal_of(ec, parser);
  if (refused) REQUIRE(refused->status >= 400 && refused->status < 600);
  if (ec || refused) return {};
  REQUIRE(parser.get().body().size() <= 4096);
  return to_request(parser.get());
}

std::string encoded(std::string_view text) {
  std::string to;
  for (const auto c : text) {
    const auto byte = static_cast<unsigned char>(c);
    to += '%';
    to += "0123456789abcdef"[byte >> 4];
    to += "0123456789abcdef"[byte & 15];
  }
  return to;
}

std::string lower(std::string_view text) {
  std::string to{text};
  for (auto& c : to)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return to;
}

void check(const http_request& r) {
  REQUIRE(r.path.find('?') == std::string::npos);
  for (const auto* name : {"view", "path", "layout", "kind"})
    REQUIRE(query_value(r.query, name).size() <= r.query.size());
  REQUIRE(query_value("a=b&x=" + encoded(r.body) + "&x=c", "x") == r.body);
  const auto cookie = cookie_value(r.cookie, "session");
  REQUIRE(cookie.find(';') == std::string_view::npos);
  REQUIRE(cookie.empty() || (cookie.data() >= r.cookie.data() &&
                             cookie.data() + cookie.size() <= r.cookie.data() + r.cookie.size()));

  static access guard{{std::string{token}, {"locks.example.org"}, "session"}};
  // Nobody knows the random id of a session, so only the token can sign in.
  const auto signed_in = guard.is_signed_in(r, 0);
  REQUIRE(signed_in == (r.authorization == "Bearer " + std::string{token}));
  if (guard.allows_host(r)) {
    const auto host = lower(r.host);
    const auto is_of_address = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '.' || c == ':';
    };
    const auto is_name = [&](std::string_view name) {
      return host.starts_with(name) && (host.size() == name.size() || host[name.size()] == ':');
    };
    REQUIRE(is_name("localhost") || is_name("locks.example.org") || host.starts_with('[') ||
            std::all_of(
                host.begin(),
                host.begin() + static_cast<std::ptrdiff_t>(std::min(host.find(':'), host.size())),
                is_of_address));
  }
  if (access::is_same_origin(r)) REQUIRE(lower(r.origin).ends_with("://" + lower(r.host)));
  guard.sign_out(r);
  string_member(r.body, "token");

  removed_nodes removed;
  parse_session_ends(r.body, removed);
  for (const auto& [path, reason] : removed) REQUIRE(path.starts_with('/'));
}

}  // namespace
}  // namespace conclave::web

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
  const auto split = bytes.size() * data[0] / 255;
  if (const auto r = conclave::web::read_request(bytes, split)) conclave::web::check(*r);
  // The other parser of the page gets any text, too.
  conclave::web::removed_nodes removed;
  conclave::web::parse_session_ends(bytes, removed);
  return 0;
}
