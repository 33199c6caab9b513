// One of the two servers, and all that its clients have on it.
//
// What is sent and what is taken are calls of their own, so that both servers work at the same
// time. Everything that arrives is kept, by session and in order, until take_items().
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

class side {
 public:
  side(std::string name, std::uint16_t port, std::size_t slots);

  const std::string& name() const noexcept { return name_; }
  bool connected(std::size_t slot) const { return slots_[slot].link != nullptr; }
  bool has_session(std::size_t slot) const { return slots_[slot].session != 0; }

  // A new connection: for the slot's session if it has one, otherwise for a new one. `how` is
  // come_back or one of the other ways to come back.
  void greet(std::size_t slot, action how, std::int32_t timeout_ms, bool old_client);
  void take_greeting(std::size_t slot);

  void send(std::size_t slot, const std::vector<operation>& operations);
  void send_frame_of_length(std::size_t slot, std::int32_t length);
  // As many as were asked for, unless the connection ends.
  void take_replies(std::size_t slot);
  // Until the server closes.
  void take_end(std::size_t slot);
  void hang_up(std::size_t slot);

  // A ping on every connection. Whatever the server sent before has arrived with the answers.
  void send_barrier();
  void take_barrier();

  // Until nobody can see the node any more. False if that takes too long.
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
    std::unique_ptr<testing::loopback_socket> old_link;  // of a session that was taken over
    std::int64_t session = 0;
    std::string password;
    std::int64_t last_zxid = 0;
    std::int64_t zxid_before = 0;  // it came back
    std::int32_t next_xid = 1;
    action greeting = action::come_back;
    std::deque<operation> asked;
    std::vector<item> items;
  };

  void note(client& c, const std::string& words) { c.items.push_back({false, words}); }
  void drop(client& c, const std::string& why);
  std::optional<std::string> next_frame(client& c, std::chrono::milliseconds limit);
  // False when the connection has ended. Of a reply that must not be compared, only the error is
  // taken: how often one looks before something happens is not the same for both servers.
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
