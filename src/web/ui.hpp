// The server of `conclave ui`: the page, its event streams, the metrics and the actions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "conclave/client.hpp"
#include "conclave/layout.hpp"

namespace conclave::web {

// By session id.
using session_addresses = std::map<std::int64_t, std::string>;

struct ui_options {
  std::string address = "127.0.0.1";    // numeric
  std::uint16_t port = 7711;            // 0 selects a free port
  std::string token;                    // if empty, no sign-in is needed
  std::vector<std::string> host_names;  // that browsers may use, in addition to numeric addresses
  bool allow_actions = false;
  std::size_t max_connections = 1200;
  std::vector<std::string> paths;
  std::vector<layout> layouts;  // in addition to those that Conclave knows
  std::string servers;          // the connect string, which the page shows
  // For the page inside a server: returns its reply to the four-letter word mntr. It is called
  // every second, must not block for long, and must be thread-safe.
  std::function<std::string()> read_server;
  // These two ask the servers, and are called on threads of their own. They may be empty.
  // Returns the replies to the four-letter word ends. Called at most once per second, and only
  // after holds have ended.
  std::function<std::vector<std::string>()> read_session_ends;
  // Returns the addresses of the connected sessions. Returns nothing if no server reports them.
  // Called at most every five seconds, and only while somebody looks at a lock.
  std::function<std::optional<session_addresses>()> read_addresses;
};

class ui {
 public:
  // Serves until it is destroyed. Uses `zk` from its own threads, and closes it in the destructor.
  // Throws boost::system::system_error if the address cannot be used.
  ui(client& zk, const ui_options& options);
  ~ui();
  ui(const ui&) = delete;
  ui& operator=(const ui&) = delete;

  // Returns host:port, as in a URL.
  std::string address() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

// Returns a new secret with 128 random bits.
std::string generate_token();

}  // namespace conclave::web
