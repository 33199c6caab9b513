#include "differential/tested_server.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>
#include <utility>

#include "wire/frame.hpp"
#include "wire/records.hpp"

namespace conclave::differential {
namespace {

using testing::loopback_socket;
using wire::opcode;
using namespace std::chrono_literals;

constexpr auto answer_limit = 20s;
constexpr auto end_limit = 5s;
constexpr auto expiry_limit = 20s;
constexpr auto look_again_after = 20ms;
constexpr std::int32_t xid_of_looks = 1'000'000'000;
constexpr auto far_future = std::numeric_limits<std::int64_t>::max();

std::int32_t usual_xid(opcode type, std::int32_t& next) {
  switch (type) {
    case opcode::ping: return wire::special_xid::ping;
    case opcode::auth: return wire::special_xid::auth;
    case opcode::set_watches:
    case opcode::set_watches2: return wire::special_xid::set_watches;
    default: return next++;
  }
}

}  // namespace

tested_server::tested_server(std::string name, std::uint16_t port, std::size_t slots)
    : name_{std::move(name)}, port_{port}, slots_(slots) {}

void tested_server::drop(client& c, const std::string& why) {
  c.link.reset();
  c.asked.clear();
  note(c, why);
}

std::optional<std::string> tested_server::next_frame(client& c, std::chrono::milliseconds limit) {
  if (c.link == nullptr) return std::nullopt;
  try {
    return c.link->receive_frame(limit);
  } catch (const testing::connection_ended&) {
    drop(c, "connection closed by the server");
  } catch (const testing::timed_out&) {
    drop(c, "NOTHING MORE ARRIVES");
  }
  return std::nullopt;
}

bool tested_server::take_one(client& c, std::chrono::milliseconds limit, std::int32_t* only_error) {
  const auto frame = next_frame(c, limit);
  if (!frame) return false;
  wire::reader in{*frame};
  const auto header = in.read<wire::reply_header>();
  if (header.xid == wire::special_xid::watch_event) {
    auto words = decode_event(*frame);
    ++events_[words.substr(0, words.find(' '))];
    c.items.push_back({true, std::move(words)});
    return true;
  }
  if (c.asked.empty()) {
    note(c, "A REPLY THAT NOBODY ASKED FOR");
    return true;
  }
  const auto asked = std::move(c.asked.front());
  c.asked.pop_front();
  if (only_error != nullptr) {
    *only_error = header.error;
    return true;
  }
  c.last_zxid = std::max(c.last_zxid, header.zxid);
  auto decoded = decode_reply(asked, *frame, numbers_);
  note(c, std::string{"reply to "} + name_of(asked.type) + "\n" + decoded.words);
  replies_.push_back(std::move(decoded));
  return true;
}

void tested_server::send_connect(std::size_t slot, action how, std::int32_t timeout_ms,
                                 bool old_client) {
  auto& c = slots_[slot];
  c.connect_action = how;
  if (how == action::take_over) c.old_link = std::move(c.link);
  c.asked.clear();
  c.zxid_before = c.last_zxid;
  c.link = std::make_unique<loopback_socket>(loopback_socket::connect(port_, answer_limit));

  wire::connect_request request;
  request.timeout_ms = timeout_ms;
  request.session_id = c.session;
  request.last_zxid_seen = how == action::use_future_zxid ? far_future : c.last_zxid;
  auto password = c.session == 0 ? std::string(16, '\0') : c.password;
  if (how == action::use_wrong_password) password.back() = static_cast<char>(password.back() ^ 1);
  request.password = password;
  std::string bytes;
  if (old_client)
    wire::append_frame(bytes, request);
  else
    wire::append_frame(bytes, request, wire::read_only_flag{false});
  c.link->send(bytes, answer_limit);
}

void tested_server::take_connect_reply(std::size_t slot) {
  auto& c = slots_[slot];
  if (const auto frame = next_frame(c, answer_limit)) {
    wire::reader in{*frame};
    const auto response = in.read<wire::connect_response>();
    const bool is_new = c.session == 0;
    if (is_new && response.session_id != 0) numbers_.add_session(response.session_id);
    std::string words = "greeting\n    protocol: " + std::to_string(response.protocol_version) +
                        "\n    timeout: " + std::to_string(response.timeout_ms) +
                        "\n    session: " + numbers_.session(response.session_id) +
                        "\n    password: " + std::to_string(response.password.size()) + " bytes";
    if (response.session_id == 0)
      words += response.password == std::string(16, '\0') ? " of zero" : " NOT ZERO";
    else if (!is_new)
      words += response.password == c.password ? " as before" : " NOT AS BEFORE";
    if (!in.at_end()) words += "\n    read only: " + std::to_string(in.read<std::uint8_t>());
    if (!in.ok() || !in.at_end()) words += "\n    NOT OF THE RIGHT SIZE";
    note(c, words + "\n");
    if (response.session_id != 0) {
      c.session = response.session_id;
      c.password = response.password;
    } else {
      if (c.connect_action == action::reconnect || c.connect_action == action::take_over)
        c.session = 0;
      take_end(slot);
    }
  }
  if (c.old_link == nullptr) return;
  try {
    const auto rest = c.old_link->receive_until_end(end_limit);
    note(c,
         "old connection closed by the server, " + std::to_string(rest.size()) + " bytes before");
  } catch (const testing::connection_ended&) {
    note(c, "old connection closed by the server, 0 bytes before");
  } catch (const testing::timed_out&) {
    note(c, "OLD CONNECTION LEFT OPEN");
  }
  c.old_link.reset();
}

std::int64_t tested_server::zxid_of(const client& c, zxid_ref z) const {
  switch (z.how) {
    case zxid_ref::kind::seen_before: return c.zxid_before;
    case zxid_ref::kind::change:
      if (numbers_.changes() == 0) return 0;
      return numbers_.zxid_of(static_cast<std::size_t>(z.number) % numbers_.changes());
    default: return z.number;
  }
}

void tested_server::send(std::size_t slot, const std::vector<operation>& operations) {
  auto& c = slots_[slot];
  if (c.link == nullptr) return;
  std::string bytes;
  for (const auto& o : operations) {
    const auto body = encode(o, [&](zxid_ref z) { return zxid_of(c, z); });
    const auto xid = o.xid != 0 ? o.xid : usual_xid(o.type, c.next_xid);
    wire::append_frame(bytes, wire::request_header{xid, o.type}, wire::encoded{body});
    c.asked.push_back(o);
    if (o.type == opcode::close_session) c.session = 0;
  }
  try {
    c.link->send(bytes, answer_limit);
  } catch (const testing::connection_ended&) {
    drop(c, "connection closed by the server");
  }
}

void tested_server::send_frame_of_length(std::size_t slot, std::int32_t length) {
  auto& c = slots_[slot];
  if (c.link == nullptr) return;
  std::string bytes;
  wire::writer{bytes}(length);
  // The length alone is invalid, so no body is needed.
  constexpr std::int32_t header_size = 8;
  if (length > 0 && length < header_size) bytes.append(static_cast<std::size_t>(length), '\0');
  c.link->send(bytes, answer_limit);
}

void tested_server::take_replies(std::size_t slot) {
  auto& c = slots_[slot];
  while (!c.asked.empty() && take_one(c, answer_limit)) {
  }
}

void tested_server::take_end(std::size_t slot) {
  auto& c = slots_[slot];
  while (take_one(c, end_limit)) {
  }
}

void tested_server::disconnect(std::size_t slot) {
  auto& c = slots_[slot];
  if (c.link == nullptr) return;
  // Waits until the server closes, too. Then it has removed the connection.
  ::shutdown(c.link->native_handle(), SHUT_WR);
  take_end(slot);
}

void tested_server::send_barrier() {
  operation ping;
  ping.type = opcode::ping;
  for (std::size_t i = 0; i < slots_.size(); ++i) send(i, {ping});
}

void tested_server::take_barrier() {
  for (std::size_t i = 0; i < slots_.size(); ++i) take_replies(i);
}

bool tested_server::await_removal(std::size_t slot, const std::string& path) {
  operation look;
  look.type = opcode::exists;
  look.path.name = path;
  look.xid = xid_of_looks;  // does not change the xids of the session
  auto& c = slots_[slot];
  const auto deadline = std::chrono::steady_clock::now() + expiry_limit;
  while (std::chrono::steady_clock::now() < deadline) {
    send(slot, {look});
    std::int32_t error = 0;
    while (!c.asked.empty() && take_one(c, answer_limit, &error)) {
    }
    constexpr std::int32_t no_node = -101;
    if (error == no_node) return true;
    std::this_thread::sleep_for(look_again_after);
  }
  return false;
}

void tested_server::forget_connections() {
  for (auto& c : slots_) {
    c.link.reset();
    c.asked.clear();
  }
}

std::vector<std::vector<item>> tested_server::take_items() {
  std::vector<std::vector<item>> all;
  for (auto& c : slots_) all.push_back(std::exchange(c.items, {}));
  return all;
}

}  // namespace conclave::differential
