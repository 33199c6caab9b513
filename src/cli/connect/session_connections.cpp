#include "cli/connect/session_connections.hpp"

#include <charconv>
#include <sstream>
#include <string_view>

#include "conclave/connect_string.hpp"
#include "conclave/query_server.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

// A line is " /ADDRESS[OPERATIONS](queued=0,recved=1,sent=1,sid=0x10000a2b,...)". The address of a
// Unix socket has no port.
void parse_line(const std::string& line, session_connections& into) {
  constexpr std::string_view mark = "sid=0x";
  const auto at = line.find(mark);
  const auto end_of_address = line.find('[', line.find("/[") == 1 ? line.find(']') : 0);
  if (at == line.npos || end_of_address == line.npos) return;
  std::uint64_t session = 0;
  const auto* const digits = line.data() + at + mark.size();
  const auto [stop, ec] = std::from_chars(digits, line.data() + line.size(), session, 16);
  if (ec != std::errc{} || session == 0) return;
  const auto from = line.find('/');
  into.connected[static_cast<std::int64_t>(session)] =
      from < end_of_address ? line.substr(from + 1, end_of_address - from - 1) : "";
}

}  // namespace

bool parse_connections(const std::string& reply, session_connections& into) {
  if (reply.empty() || reply.find("not executed") != reply.npos) return false;
  std::istringstream lines{reply};
  for (std::string line; std::getline(lines, line);) parse_line(line, into);
  return true;
}

std::vector<std::string> ask_servers(const server_address& at, std::string_view word) {
  std::vector<std::string> replies;
  for (const auto& host : connect_string::parse(at.hosts).hosts) {
    query_options options;
    options.timeout = options.reply_timeout = 1s;
    if (host.socket_path.empty()) options.tls = at.options.tls;
    replies.push_back(query_server(host, word, options).reply);
  }
  return replies;
}

session_connections find_session_connections(const server_address& at) {
  session_connections found;
  found.complete = true;
  for (const auto& reply : ask_servers(at, "cons"))
    if (!parse_connections(reply, found)) found.complete = false;
  return found;
}

}  // namespace conclave::cli
