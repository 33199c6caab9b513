// One of the two servers, and the sessions on it.
//
// Sending and receiving are separate calls, so that both servers work at the same time. Received
// items are kept for each session, in order, until take_items().
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "differential/decode.hpp"
#include "differential/numbering.hpp"
#include "differential/operation.hpp"
#include "support/loopback_socket.hpp"

namespace conclave::differential {

struct item {
  bool is_event = false;
  std::string words;

  friend bool operator==(const item&, const item&) = default;
};

class tested_server {
 public:
  tested_server(std::string name, std::uint16_t port, std::size_t slots);

  const std::string& name() const noexcept { return name_; }
  bool connected(std::size_t slot) const { return slots_[slot].link != nullptr; }
  bool has_session(std::size_t slot) const { return slots_[slot].session != 0; }

  // Opens a connection for the session of the slot, or for a new session if it has none. `how` is
  // action::reconnect or one of its variants.
  void send_connect(std::size_t slot, action how, std::int32_t timeout_ms, bool old_client);
  void take_connect_reply(std::size_t slot);

  void send(std::size_t slot, const std::vector<operation>& operations);
  void send_frame_of_length(std::size_t slot, std::int32_t length);
  // Receives all pending replies, or fewer if the connection ends.
  void take_replies(std::size_t slot);
  // Receives until the server closes the connection.
  void take_end(std::size_t slot);
  void disconnect(std::size_t slot);

  // Sends a ping on every connection. All earlier output arrives before its reply.
  void send_barrier();
  void take_barrier();

  // Waits until the node is removed. Returns false on timeout.
  bool await_removal(std::size_t slot, const std::string& path);
  // The server was killed.
  void forget_connections();

  std::vector<std::vector<item>> take_items();
  const std::vector<decoded_reply>& replies_read() const noexcept { return replies_; }
  std::vector<decoded_reply> take_replies_read() { return std::exchange(replies_, {}); }
  const std::map<std::string, std::uint64_t>& events() const noexcept { return events_; }

 private:
  struct client {
    std::unique_ptr<testing::loopback_socket> link;
    std::unique_ptr<testing::loopback_socket>
        old_link;  // the old connection of a session that was taken over
    std::int64_t session = 0;
    std::string password;
    std::int64_t last_zxid = 0;
    std::int64_t zxid_before = 0;  // the last zxid before the reconnect
    std::int32_t next_xid = 1;
    action connect_action = action::reconnect;
    std::deque<operation> asked;
    std::vector<item> items;
  };

  void note(client& c, const std::string& words) { c.items.push_back({false, words}); }
  void drop(client& c, const std::string& why);
  std::optional<std::string> next_frame(client& c, std::chrono::milliseconds limit);
  // Returns false if the connection has ended. With `only_error`, the reply is not compared,
  // because the number of polls before an event differs between the servers.
  bool take_one(client& c, std::chrono::milliseconds limit, std::int32_t* only_error = nullptr);
  std::int64_t zxid_of(const client& c, zxid_ref z) const;

  std::string name_;
  std::uint16_t port_;
  std::vector<client> slots_;
  numbering numbers_;
  std::vector<decoded_reply> replies_;
  std::map<std::string, std::uint64_t> events_;  // by type
};

}  // namespace conclave::differential
