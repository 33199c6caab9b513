// The faults and the traffic counters of a simulated client.
#include <algorithm>
#include <utility>

#include "simulation/world/world.hpp"

namespace conclave::simulated {

void client::disconnect(disconnect_style how) {
  world_.write_trace([&] {
    return "the connection of " + name() + " is lost" +
           (how.requests_arrive ? ", requests arrive" : "");
  });
  if (auto* l = current()) end_link(*l, how);
  request_pump();
}

void client::drop_request(wire::opcode type, disconnect_style how) {
  fault_ = {fault::kind::request, direction::up, type, 0, how};
}
void client::drop_reply(wire::opcode type, disconnect_style how) {
  fault_ = {fault::kind::reply, direction::up, type, 0, how};
}
void client::replace_reply(wire::opcode type, errc answer) {
  fault_ = {fault::kind::replaced_reply, direction::up, type, 0, {}, answer};
}
void client::disconnect_after_frames(direction d, std::size_t n, disconnect_style how) {
  fault_ = {fault::kind::frames, d, {}, n, how};
}
void client::disconnect_after_bytes(direction d, std::size_t n, disconnect_style how) {
  fault_ = {fault::kind::bytes, d, {}, n, how};
}

std::optional<disconnect_style> client::apply_fault(link& l, direction d, std::string& bytes) {
  if (!fault_ && d == direction::up) {
    l.handshake_arrived = true;
    return std::nullopt;
  }
  const auto struck = [&](std::size_t through) {
    bytes.resize(through);
    return std::exchange(fault_, {})->how;
  };
  std::size_t at = 0;
  while (bytes.size() - at > wire::frame_prefix) {
    wire::reader in{std::string_view{bytes}.substr(at)};
    auto end = at + wire::frame_prefix + static_cast<std::size_t>(in.read<std::int32_t>());
    auto& after_handshake = d == direction::up ? l.handshake_arrived : l.handshake_reply_arrived;
    const auto xid = in.read<std::int32_t>();
    if (d == direction::up && std::exchange(after_handshake, true)) {
      const auto type = in.read<wire::opcode>();
      if (fault_->what == fault::kind::request && fault_->type == type) return struck(at);
      const bool by_reply =
          fault_->what == fault::kind::reply || fault_->what == fault::kind::replaced_reply;
      if (by_reply && fault_->type == type && !l.marked) l.marked = xid;
    } else if (d == direction::down && std::exchange(after_handshake, true)) {
      if (fault_ && l.marked == xid) {
        if (fault_->what == fault::kind::reply) return struck(at);
        // Another fault may have replaced this one since the request was marked.
        if (fault_->what == fault::kind::replaced_reply) {
          std::string other;
          wire::append_frame(
              other,
              wire::reply_header{xid, in.read<std::int64_t>(),
                                 static_cast<std::int32_t>(std::exchange(fault_, {})->answer)});
          bytes.replace(at, end - at, other);
          end = at + other.size();
        }
        l.marked.reset();
      }
    }
    if (fault_ && fault_->way == d) {
      if (fault_->what == fault::kind::frames && --fault_->left == 0) return struck(end);
      if (fault_->what == fault::kind::bytes) {
        if (fault_->left <= end - at) return struck(at + fault_->left);
        fault_->left -= end - at;
      }
    }
    if (d == direction::down) count_down(l, std::string_view{bytes}.substr(at, end - at), xid);
    at = end;
  }
  return std::nullopt;
}

void client::stall(bool yes, bool only_down) {
  if (stalled_ != yes)
    world_.write_trace(
        [&] { return "the connection of " + name() + (yes ? " stalls" : " continues"); });
  stalled_ = yes;
  note_inactivity();
  only_down_ = only_down;
  if (!yes) deliver_postponed();
}

void client::limit_requests(std::size_t bytes) {
  accepted_bytes_ = bytes;
  if (auto* l = current()) l->in_up.set_limit(bytes);
}

void client::limit_writes(std::size_t frames) {
  world_.write_trace(
      [&] { return "the socket of " + name() + " accepts " + std::to_string(frames) + " frames"; });
  frames_accepted_ = frames;
  note_inactivity();
}

void client::end_write_limit() {
  if (!frames_accepted_) return;
  world_.write_trace([&] { return "the socket of " + name() + " accepts everything"; });
  frames_accepted_.reset();
  note_inactivity();
  request_pump();
}

void client::pause() {
  world_.write_trace([&] { return name() + " is stopped"; });
  paused_ = true;
  note_inactivity();
}

void client::kill(bool requests_arrive) {
  world_.write_trace([&] { return name() + " is killed"; });
  killed_ = true;
  connecting_ = false;
  if (auto* l = current()) end_link(*l, {requests_arrive});
}

void client::prepare_to_finish() {
  killed_ = false;
  resume();
}

void client::note_inactivity() {
  const bool noted = !inactive_periods_.empty() && inactive_periods_.back().until == instant::max();
  if (is_inactive() && !noted) inactive_periods_.push_back({world_.now(), instant::max()});
  if (!is_inactive() && noted) inactive_periods_.back().until = world_.now();
}

instant client::inactive_until() const {
  if (is_inactive()) return world_.now();
  return inactive_periods_.empty() ? instant{0} : inactive_periods_.back().until;
}

instant client::may_be_unaware_until(instant then, instant moment) const {
  auto end = then + moment;
  for (const auto& s : inactive_periods_)
    if (s.until > then && s.from <= end) end = std::min(s.until, world_.now()) + moment;
  return end;
}

bool client::paused_until_now() const { return paused_ || resumed_ == world_.now(); }

void client::resume() {
  if (paused_) world_.write_trace([&] { return name() + " is resumed"; });
  if (std::exchange(paused_, false)) resumed_ = world_.now();
  note_inactivity();
  if (std::exchange(end_unseen_, false)) machine_.disconnected(connection_reset(), now());
  deliver_postponed();
  request_pump();
}

bool client::postpone(event_kind kind, std::uint64_t which) {
  const bool for_process = kind != event_kind::to_server;
  if (killed_ && for_process) return true;
  const bool on_link =
      only_down_ ? kind == event_kind::to_client : kind != event_kind::client_timer;
  if (!(paused_ && for_process) && !(stalled_ && on_link)) return false;
  postponed_.emplace_back(kind, which);
  return true;
}

// A resumed process may handle its timers before or after its messages. Both orders are tested.
void client::deliver_postponed() {
  auto due = std::exchange(postponed_, {});
  const bool clock_first = (world_.random()() & 1) != 0;
  std::stable_partition(due.begin(), due.end(), [&](const auto& e) {
    return (e.first == event_kind::client_timer) == clock_first;
  });
  for (const auto& [kind, which] : due) world_.schedule(world_.now(), kind, index_, which);
}

// --- counting

void client::count_up(link& l, std::string_view bytes) {
  bool counted = false;
  for (std::size_t at = 0; at < bytes.size();) {
    wire::reader in{bytes.substr(at)};
    const auto size = wire::frame_prefix + static_cast<std::size_t>(in.read<std::int32_t>());
    in.read<std::int32_t>();
    const auto type = in.read<wire::opcode>();
    if (std::exchange(l.handshake_sent, true) && type != wire::opcode::ping) {
      ++traffic_.requests[type];
      traffic_.bytes_up += size;
      counted = true;
    }
    at += size;
  }
  if (counted) ++traffic_.packets;
}

void client::count_down(link& l, std::string_view frame, std::int32_t xid) {
  if (!std::exchange(l.handshake_reply_counted, true) || xid == wire::special_xid::ping) return;
  ++(xid == wire::special_xid::watch_event ? traffic_.events : traffic_.answers);
  traffic_.bytes_down += frame.size();
}

int traffic::of(wire::opcode type) const {
  const auto i = requests.find(type);
  return i == requests.end() ? 0 : i->second;
}

int traffic::all() const {
  int n = 0;
  for (const auto& [type, count] : requests) n += count;
  return n;
}

traffic traffic::operator-(const traffic& before) const {
  auto t = *this;
  for (const auto& [type, count] : before.requests)
    if ((t.requests[type] -= count) == 0) t.requests.erase(type);
  t.packets -= before.packets;
  t.answers -= before.answers;
  t.events -= before.events;
  t.bytes_up -= before.bytes_up;
  t.bytes_down -= before.bytes_down;
  return t;
}

std::string to_string(const traffic& t) {
  std::string s = std::to_string(t.packets) + " packets, " + std::to_string(t.answers) +
                  " answers, " + std::to_string(t.events) + " events:";
  for (const auto& [type, count] : t.requests)
    s += " " + std::to_string(count) + " of type " + std::to_string(static_cast<int>(type));
  return s;
}

}  // namespace conclave::simulated
