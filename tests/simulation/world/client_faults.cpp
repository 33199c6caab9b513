// What can befall a client's link, and what is counted on it.
#include <algorithm>
#include <utility>

#include "simulation/world/world.hpp"

namespace conclave::simulated {

void client::cut(cut_style how) {
  world_.tell([&] {
    return "the link of " + name() + " is cut" + (how.requests_arrive ? ", requests arrive" : "");
  });
  if (auto* l = current()) end_link(*l, how);
  attention();
}

void client::swallow_request(wire::opcode type, cut_style how) {
  fault_ = {fault::kind::request, direction::up, type, 0, how};
}
void client::swallow_reply(wire::opcode type, cut_style how) {
  fault_ = {fault::kind::reply, direction::up, type, 0, how};
}
void client::falsify_reply(wire::opcode type, errc answer) {
  fault_ = {fault::kind::falsify, direction::up, type, 0, {}, answer};
}
void client::cut_after_frames(direction d, std::size_t n, cut_style how) {
  fault_ = {fault::kind::frames, d, {}, n, how};
}
void client::cut_after_bytes(direction d, std::size_t n, cut_style how) {
  fault_ = {fault::kind::bytes, d, {}, n, how};
}

std::optional<cut_style> client::strike(link& l, direction d, std::string& bytes) {
  if (!fault_ && d == direction::up) {
    l.greeted_there = true;
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
    auto& greeted = d == direction::up ? l.greeted_there : l.greeted_down;
    const auto xid = in.read<std::int32_t>();
    if (d == direction::up && std::exchange(greeted, true)) {
      const auto type = in.read<wire::opcode>();
      if (fault_->what == fault::kind::request && fault_->type == type) return struck(at);
      const bool by_reply =
          fault_->what == fault::kind::reply || fault_->what == fault::kind::falsify;
      if (by_reply && fault_->type == type && !l.marked) l.marked = xid;
    } else if (d == direction::down && std::exchange(greeted, true)) {
      if (fault_ && l.marked == xid) {
        if (fault_->what == fault::kind::reply) return struck(at);
        // Another fault may have taken its place since the request was marked.
        if (fault_->what == fault::kind::falsify) {
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
    world_.tell([&] { return "the link of " + name() + (yes ? " stalls" : " moves again"); });
  stalled_ = yes;
  note_sleep();
  only_down_ = only_down;
  if (!yes) let_go();
}

void client::limit_writes(std::size_t frames) {
  world_.tell(
      [&] { return "the socket of " + name() + " accepts " + std::to_string(frames) + " frames"; });
  frames_accepted_ = frames;
  note_sleep();
}

void client::end_write_limit() {
  if (!frames_accepted_) return;
  world_.tell([&] { return "the socket of " + name() + " accepts everything"; });
  frames_accepted_.reset();
  note_sleep();
  attention();
}

void client::pause() {
  world_.tell([&] { return name() + " is stopped"; });
  paused_ = true;
  note_sleep();
}

void client::kill(bool requests_arrive) {
  world_.tell([&] { return name() + " is killed"; });
  killed_ = true;
  connecting_ = false;
  if (auto* l = current()) end_link(*l, {requests_arrive});
}

void client::come_to_an_end() {
  killed_ = false;
  resume();
}

void client::note_sleep() {
  const bool noted = !sleeps_.empty() && sleeps_.back().until == instant::max();
  if (asleep() && !noted) sleeps_.push_back({world_.now(), instant::max()});
  if (!asleep() && noted) sleeps_.back().until = world_.now();
}

instant client::slept_until() const {
  if (asleep()) return world_.now();
  return sleeps_.empty() ? instant{0} : sleeps_.back().until;
}

instant client::ignorant_until(instant then, instant moment) const {
  auto end = then + moment;
  for (const auto& s : sleeps_)
    if (s.until > then && s.from <= end) end = std::min(s.until, world_.now()) + moment;
  return end;
}

bool client::stood_still() const { return paused_ || resumed_ == world_.now(); }

void client::resume() {
  if (paused_) world_.tell([&] { return name() + " goes on"; });
  if (std::exchange(paused_, false)) resumed_ = world_.now();
  note_sleep();
  if (std::exchange(end_unseen_, false)) machine_.disconnected(connection_reset(), now());
  let_go();
  attention();
}

bool client::postpones(happening kind, std::uint64_t which) {
  const bool for_process = kind != happening::to_server;
  if (killed_ && for_process) return true;
  const bool on_link = only_down_ ? kind == happening::to_client : kind != happening::client_timer;
  if (!(paused_ && for_process) && !(stalled_ && on_link)) return false;
  postponed_.emplace_back(kind, which);
  return true;
}

// Whether a process that was stopped first reads or first looks at the clock is anybody's guess.
void client::let_go() {
  auto due = std::exchange(postponed_, {});
  const bool clock_first = (world_.random()() & 1) != 0;
  std::stable_partition(due.begin(), due.end(), [&](const auto& e) {
    return (e.first == happening::client_timer) == clock_first;
  });
  for (const auto& [kind, which] : due) world_.plan(world_.now(), kind, index_, which);
}

// --- counting

void client::count_up(link& l, std::string_view bytes) {
  bool counted = false;
  for (std::size_t at = 0; at < bytes.size();) {
    wire::reader in{bytes.substr(at)};
    const auto size = wire::frame_prefix + static_cast<std::size_t>(in.read<std::int32_t>());
    in.read<std::int32_t>();
    const auto type = in.read<wire::opcode>();
    if (std::exchange(l.greeted_up, true) && type != wire::opcode::ping) {
      ++traffic_.requests[type];
      traffic_.bytes_up += size;
      counted = true;
    }
    at += size;
  }
  if (counted) ++traffic_.packets;
}

void client::count_down(link& l, std::string_view frame, std::int32_t xid) {
  if (!std::exchange(l.welcomed, true) || xid == wire::special_xid::ping) return;
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
