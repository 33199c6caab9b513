// Which sessions have a connection, as the servers report it (four-letter word `cons`).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/connect/connect_flags.hpp"

namespace conclave::cli {

struct session_connections {
  // The address of each connected session, or an empty string if the server does not report it.
  std::map<std::int64_t, std::string> connected;
  // True if all servers of the connect string have replied with their connections. A server that is
  // missing in the connect string may have more.
  bool complete = false;
};

// Sends a four-letter word to all servers of the connect string, for at most a second each. Returns
// a reply for each server, which is empty if there is none.
std::vector<std::string> ask_servers(const server_address& at, std::string_view word);
// Asks all servers of the connect string, for at most a second each.
session_connections find_session_connections(const server_address& at);
// Adds the connections in a reply to `cons`. Returns false if the reply is not such a list.
bool parse_connections(const std::string& reply, session_connections& into);

}  // namespace conclave::cli
