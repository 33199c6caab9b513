#include "differential/comparison.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "differential/avoidance.hpp"

namespace conclave::differential {
namespace {

using wire::opcode;

constexpr std::size_t recent = 12;
constexpr std::int32_t no_node = -101;
constexpr std::int32_t usual_timeout_ms = 60'000;

void await(tested_server& x, std::size_t slot, const std::string& path) {
  if (!x.await_removal(slot, path)) throw std::runtime_error{path + " stays in " + x.name()};
}

operation as_super_user() {
  operation o;
  o.type = opcode::auth;
  o.scheme = "digest";
  o.data = "super:boss";
  return o;
}

// When a session ends, Apache's server removes its nodes in the order of a hash table, and the
// embedded server sorted by name. Timed removals can also have a different order.
bool events_have_no_order(const step& s) {
  return s.what == action::expire || s.what == action::await_removal ||
         std::any_of(s.operations.begin(), s.operations.end(),
                     [](const auto& o) { return o.type == opcode::close_session; });
}

void sort_events(std::vector<item>& items) {
  const auto is_event = [](const item& i) { return i.is_event; };
  for (auto begin = items.begin(); begin != items.end();) {
    const auto end = std::find_if_not(begin, items.end(), is_event);
    std::sort(begin, end, [](const item& x, const item& y) { return x.words < y.words; });
    begin = end == items.end() ? end : end + 1;
  }
}

std::vector<std::string> lines_of(const std::vector<item>& items) {
  std::vector<std::string> lines;
  for (const auto& i : items) {
    std::istringstream in{(i.is_event ? "event " : "") + i.words};
    for (std::string line; std::getline(in, line);) lines.push_back(line);
  }
  return lines;
}

// Formats the items of both servers side by side.
std::string side_by_side(const std::vector<item>& apache, const std::vector<item>& embedded) {
  const auto left = lines_of(apache);
  const auto right = lines_of(embedded);
  std::size_t width = 20;
  for (const auto& line : left) width = std::max(width, std::min<std::size_t>(line.size(), 70));
  std::string out;
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    auto l = i < left.size() ? left[i] : "";
    const auto r = i < right.size() ? right[i] : "";
    const bool same = l == r;
    if (l.size() < width) l.append(width - l.size(), ' ');
    out.append("  ").append(l).append(same ? "    " : " != ").append(r).append("\n");
  }
  return out;
}

}  // namespace

void comparison::figures::add(const figures& f) {
  operations += f.operations;
  events += f.events;
  for (const auto& [what, count] : f.results) results[what] += count;
}

// One additional slot for sessions that expire.
comparison::comparison(const comparison_setup& setup)
    : slots_{setup.slots},
      salt_{setup.salt},
      restart_{setup.restart},
      apache_{"Apache ZooKeeper", setup.apache_port, setup.slots + 1},
      embedded_{"conclave", setup.embedded_port, setup.slots + 1} {}

comparison::figures comparison::result() const {
  auto f = figures_;
  for (const auto& [type, count] : apache_.events()) {
    f.events += count;
    f.results[{type, 0}] += count;
  }
  return f;
}

path_ref comparison::resolved(const path_ref& p) const {
  path_ref out;
  const auto behind = p.name.value_or("");
  if (p.how == path_ref::kind::made && !made_.empty()) {
    out.name = made_[made_.size() - 1 - p.number % std::min(made_.size(), recent)] + behind;
  } else if (p.how == path_ref::kind::known && !known_.empty()) {
    const auto n = static_cast<std::ptrdiff_t>(p.number % known_.size());
    out.name = std::next(known_.begin(), n)->first + behind;
  } else {
    out.name = p.how == path_ref::kind::name ? p.name : "/missing";
  }
  return out;
}

operation comparison::resolved(operation o) const {
  o.path = resolved(o.path);
  for (auto& list : o.lists)
    for (auto& p : list) p = resolved(p);
  for (auto& part : o.parts) part = resolved(std::move(part));
  if (o.version.how != version_ref::kind::number) {
    const auto node = known_.find(o.path.name.value_or(""));
    std::int32_t right = 0;
    if (node != known_.end())
      right = o.type == opcode::set_acl ? node->second.aversion : node->second.version;
    constexpr std::int32_t more = 3;
    o.version.number = o.version.how == version_ref::kind::right ? right : right + more;
    o.version.how = version_ref::kind::number;
  }
  return o;
}

step comparison::resolved(step s) const {
  for (auto& o : s.operations) o = comparable(resolved(std::move(o)), {s.slot, salt_});
  if (s.what == action::take_over && !apache_.connected(s.slot)) s.what = action::reconnect;
  return s;
}

void comparison::note_results(const step& done) {
  const auto replies = apache_.take_replies_read();
  embedded_.take_replies_read();
  for (std::size_t i = 0; i < std::min(replies.size(), done.operations.size()); ++i) {
    const auto& r = replies[i];
    ++figures_.operations;
    const auto error = r.error != 0 ? r.error : r.part_error;
    ++figures_.results[{name_of(done.operations[i].type), error}];
    if (r.error == no_node) known_.erase(done.operations[i].path.name.value_or(""));
    for (const auto& path : r.created) known_[path] = node_stat{};
    for (const auto& [path, stat] : r.stats) known_[path] = stat;
    for (const auto& path : r.removed) known_.erase(path);
    made_.insert(made_.end(), r.sequential.begin(), r.sequential.end());
  }
}

void comparison::ensure_connected(std::size_t slot) {
  if (apache_.connected(slot)) return;
  both([&](tested_server& s) { s.send_connect(slot, action::reconnect, usual_timeout_ms, false); });
  both([&](tested_server& s) { s.take_connect_reply(slot); });
  if (apache_.connected(slot)) return;
  both([&](tested_server& s) { s.send_connect(slot, action::reconnect, usual_timeout_ms, false); });
  both([&](tested_server& s) { s.take_connect_reply(slot); });
}

void comparison::perform(const step& s) {
  switch (s.what) {
    case action::send: {
      ensure_connected(s.slot);
      both([&](tested_server& x) { x.send(s.slot, s.operations); });
      const bool ends = ends_connection(s.operations.back());
      both([&](tested_server& x) { ends ? x.take_end(s.slot) : x.take_replies(s.slot); });
      break;
    }
    case action::disconnect: both([&](tested_server& x) { x.disconnect(s.slot); }); break;
    case action::bad_length:
      ensure_connected(s.slot);
      both([&](tested_server& x) { x.send_frame_of_length(s.slot, s.number); });
      both([&](tested_server& x) { x.take_end(s.slot); });
      break;
    case action::reconnect:
    case action::use_wrong_password:
    case action::use_future_zxid:
    case action::take_over:
      // Disconnects first, because Apache's server closes the old connection of a session before it
      // checks the password of the new one.
      if (s.what != action::take_over) both([&](tested_server& x) { x.disconnect(s.slot); });
      both([&](tested_server& x) { x.send_connect(s.slot, s.what, s.number, s.old_client); });
      both([&](tested_server& x) { x.take_connect_reply(s.slot); });
      break;
    case action::expire: let_expire(s); break;
    case action::await_removal:
      ensure_connected(s.slot);
      both([&](tested_server& x) { x.send(s.slot, {s.operations.front()}); });
      both([&](tested_server& x) { x.take_replies(s.slot); });
      both([&](tested_server& x) {
        for (std::size_t i = 1; i < s.operations.size(); ++i)
          await(x, s.slot, s.operations[i].path.name.value_or(""));
      });
      break;
    case action::restart:
      both([](tested_server& x) { x.forget_connections(); });
      restart_();
      break;
  }
}

void comparison::let_expire(const step& s) {
  const auto mortal = slots_;
  ensure_connected(s.slot);
  const auto send_connect = [&](std::int32_t timeout_ms) {
    both([&](tested_server& x) {
      x.send_connect(mortal, action::reconnect, timeout_ms, s.old_client);
    });
    both([&](tested_server& x) { x.take_connect_reply(mortal); });
  };
  send_connect(usual_timeout_ms);
  both([&](tested_server& x) { x.send(mortal, s.operations); });
  both([&](tested_server& x) { x.take_replies(mortal); });
  both([&](tested_server& x) { x.disconnect(mortal); });
  send_connect(
      s.number);  // a short timeout from the beginning could expire too early on a slow machine
  // On our server, a shorter timeout applies from the next request.
  operation ping;
  ping.type = wire::opcode::ping;
  both([&](tested_server& x) { x.send(mortal, {ping}); });
  both([&](tested_server& x) { x.take_replies(mortal); });
  both([&](tested_server& x) { x.disconnect(mortal); });
  both([&](tested_server& x) {
    const auto& replies = x.replies_read();
    if (replies.size() > 1 && !replies[1].created.empty())
      await(x, s.slot, replies[1].created.front());
  });
  send_connect(s.number);
}

std::string comparison::compared(const step& s) {
  auto apache = apache_.take_items();
  auto embedded = embedded_.take_items();
  std::string out;
  for (std::size_t i = 0; i < apache.size(); ++i) {
    if (events_have_no_order(s)) {
      sort_events(apache[i]);
      sort_events(embedded[i]);
    }
    if (apache[i] == embedded[i]) continue;
    out += "session " + std::to_string(i) + ": " + apache_.name() + " != " + embedded_.name() +
           "\n" + side_by_side(apache[i], embedded[i]);
  }
  return out;
}

// Performs a step and compares what all sessions received.
std::optional<difference> comparison::take(const step& next, std::size_t index) {
  const auto s = resolved(next);
  if (s.what != action::send) ++figures_.results[{name_of(s.what), 0}];
  try {
    perform(s);
    note_results(s);
    both([](tested_server& x) { x.send_barrier(); });
    both([](tested_server& x) {
      x.take_barrier();
      x.take_replies_read();
    });
  } catch (const std::exception& e) {
    return difference{index, describe(s), std::string{"a server fails: "} + e.what() + "\n", true};
  }
  auto answers = compared(s);
  if (answers.empty()) return std::nullopt;
  return difference{index, describe(s), std::move(answers), false};
}

// Compares all known nodes, including those that not every session may read.
std::optional<difference> comparison::compare_all_nodes(std::size_t index) {
  std::vector<operation> looks;
  const auto look = [&](opcode type, const std::string& path) {
    operation o;
    o.type = type;
    o.path.name = path;
    looks.push_back(o);
  };
  step s;
  s.operations = {as_super_user()};
  if (auto found = take(s, index)) return found;
  look(opcode::get_children2, "/");
  look(opcode::get_all_children_number, "/");
  for (const auto& [path, stat] : known_)
    for (const auto type : {opcode::get_data, opcode::get_acl, opcode::get_children2})
      look(type, path);
  constexpr std::size_t at_once = 60;
  for (std::size_t begin = 0; begin < looks.size(); begin += at_once) {
    const auto end = std::min(begin + at_once, looks.size());
    s.operations.assign(looks.begin() + static_cast<std::ptrdiff_t>(begin),
                        looks.begin() + static_cast<std::ptrdiff_t>(end));
    if (auto found = take(s, index)) return found;
  }
  return std::nullopt;
}

std::optional<difference> comparison::run(const std::vector<step>& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto s = steps[i];
    if (s.what == action::expire) {  // its effect is visible
      operation sign;
      sign.type = opcode::create;
      sign.path.name = "/sign-of-life-";
      sign.acl = {{}};
      sign.flags = 3;
      s.operations.insert(s.operations.begin(), {as_super_user(), sign});
    }
    if (auto found = take(s, i)) return found;
    if (s.what != action::restart && i + 1 != steps.size()) continue;
    if (auto found = compare_all_nodes(i)) return found;
  }
  return std::nullopt;
}

}  // namespace conclave::differential
