#include "simulation/world/message_text.hpp"

#include <optional>
#include <vector>

#include "wire/frame.hpp"
#include "wire/multi.hpp"

namespace conclave::simulated {
namespace {

using wire::opcode;

std::string_view name_of(opcode type) {
  switch (type) {
    case opcode::create:
    case opcode::create2: return "create";
    case opcode::create_container: return "create container";
    case opcode::create_ttl: return "create ttl";
    case opcode::remove: return "remove";
    case opcode::exists: return "exists";
    case opcode::get_data: return "get";
    case opcode::set_data: return "set";
    case opcode::get_children:
    case opcode::get_children2: return "children";
    case opcode::sync: return "sync";
    case opcode::ping: return "ping";
    case opcode::check: return "check";
    case opcode::multi: return "multi";
    case opcode::multi_read: return "multi read";
    case opcode::remove_watches: return "forget watch";
    case opcode::set_watches:
    case opcode::set_watches2: return "set watches";
    case opcode::add_watch: return "add watch";
    case opcode::close_session: return "close";
    default: return "?";
  }
}

std::string part_text(const wire::multi_part& p) {
  return std::string{name_of(p.type)} + " " +
         std::visit([](const auto& body) { return std::string{body.path}; }, p.body);
}

std::string request_text(std::string_view payload, bool is_handshake) {
  wire::reader in{payload};
  if (is_handshake) {
    const auto hello = in.read<wire::connect_request>();
    return hello.session_id == 0 ? "hello" : "hello again";
  }
  const auto header = in.read<wire::request_header>();
  auto text = "#" + std::to_string(header.xid) + " " + std::string{name_of(header.type)};
  switch (header.type) {
    case opcode::ping:
    case opcode::close_session: return std::string{name_of(header.type)};
    case opcode::set_watches:
    case opcode::set_watches2: return text;
    case opcode::multi:
    case opcode::multi_read: {
      std::vector<wire::multi_part> parts;
      if (!wire::read_multi_request(in, parts)) return text + " ?";
      text += " {";
      for (std::size_t i = 0; i < parts.size(); ++i)
        text += (i == 0 ? " " : "; ") + part_text(parts[i]);
      return text + " }";
    }
    case opcode::get_data:
    case opcode::exists:
    case opcode::get_children2: {
      const auto what = in.read<wire::path_watch_request>();
      return text + " " + std::string{what.path} + (what.watch ? " and watch" : "");
    }
    default: return text + " " + std::string{in.read<wire::path_record>().path};
  }
}

std::string reply_text(std::string_view payload, bool is_handshake) {
  wire::reader in{payload};
  if (is_handshake) return "welcome";
  const auto header = in.read<wire::reply_header>();
  if (header.xid == wire::special_xid::ping) return "pong";
  if (header.xid == wire::special_xid::watch_event) {
    const auto e = in.read<wire::watcher_event>();
    constexpr std::string_view kinds[]{"?", "created", "removed", "changed", "children changed"};
    const bool known = e.type > 0 && e.type < 5;
    return "event: " + std::string{kinds[known ? e.type : 0]} + " " + std::string{e.path};
  }
  auto text = "#" + std::to_string(header.xid);
  if (header.error != 0)
    return text + " " + simulated::name_of(error_code{static_cast<errc>(header.error)});
  return text + " done";
}

template <class F>
std::string all_frames(std::string_view bytes, bool after_handshake, F&& text_of) {
  std::string text;
  while (!bytes.empty()) {
    wire::reader in{bytes};
    const auto size = wire::frame_prefix + static_cast<std::size_t>(in.read<std::int32_t>());
    if (!text.empty()) text += ", ";
    if (bytes.size() < size)
      return text + "and " + std::to_string(bytes.size()) + " of " + std::to_string(size) +
             " bytes";
    text += text_of(bytes.substr(wire::frame_prefix, size - wire::frame_prefix), !after_handshake);
    after_handshake = true;
    bytes.remove_prefix(size);
  }
  return text;
}

}  // namespace

std::string requests_text(std::string_view bytes, bool after_handshake) {
  return all_frames(bytes, after_handshake, request_text);
}

std::string replies_text(std::string_view bytes, bool after_handshake) {
  return all_frames(bytes, after_handshake, reply_text);
}

std::string name_of(error_code ec) {
  if (ec == errc::lock_busy) return "lock_busy";
  if (ec == errc::lock_lost) return "lock_lost";
  if (ec == errc::deadline_passed) return "deadline_passed";
  if (ec == errc::node_deleted) return "node_deleted";
  if (ec == errc::waiter_node_deleted) return "waiter_node_deleted";
  if (ec == errc::layout_mismatch) return "layout_mismatch";
  if (ec == errc::permits_mismatch) return "permits_mismatch";
  if (ec == errc::session_expired) return "session_expired";
  if (ec == errc::not_connected) return "not_connected";
  if (ec == errc::connection_loss) return "connection_loss";
  if (ec == errc::closed) return "closed";
  if (ec == errc::no_auth) return "no_auth";
  if (ec == boost::system::errc::operation_canceled) return "cancelled";
  return ec.message();
}

}  // namespace conclave::simulated
