#include "session/watch_registry.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "wire/frame.hpp"

namespace conclave::session {
namespace {

std::vector<watcher> all_of(const watcher_list& watchers) {
  std::vector<watcher> all;
  all.reserve(watchers.size());
  watchers.for_each([&](const watcher& w) { all.push_back(w); });
  return all;
}

}  // namespace

void watch_registry::add(watch_slot slot, std::string_view path, const watcher& w,
                         watch_owner owner) {
  at(slot)[std::string{path}].add(w, owner);
}

void watch_registry::collect(watch_slot slot, std::string_view path, bool once,
                             watcher_list& into) {
  const auto found = at(slot).find(path);
  if (found == at(slot).end()) return;
  if (once && into.empty())
    into = std::move(found->second);
  else
    found->second.for_each([&](const watcher& w) { into.add(w); });
  if (once) at(slot).erase(found);
}

std::vector<watcher> watch_registry::trigger(watch_event::kind type, std::string_view path) {
  using kind = watch_event::kind;
  watcher_list called;
  if (type != kind::children_changed) {
    collect(watch_slot::data, path, true, called);
    collect(watch_slot::exist, path, true, called);
  }
  if (type == kind::children_changed || type == kind::deleted)
    collect(watch_slot::child, path, true, called);
  collect(watch_slot::persistent, path, false, called);
  // A recursive watch reports every node itself, so it does not report changed lists of children.
  if (type != kind::children_changed && !at(watch_slot::recursive).empty()) {
    for (auto above = path; above.starts_with('/');) {
      collect(watch_slot::recursive, above, false, called);
      if (above == "/") break;
      above = above.substr(0, std::max<std::size_t>(above.rfind('/'), 1));
    }
  }
  return all_of(called);
}

std::vector<watcher> watch_registry::remove(watch_kind kind, std::string_view path,
                                            const watcher& w, bool& emptied) {
  std::vector<watcher> removed;
  bool remains = false;
  const auto from = [&](watch_slot slot) {
    const auto found = at(slot).find(path);
    if (found == at(slot).end()) return;
    auto& watchers = found->second;
    if (!w) {
      for (auto& each : watchers.remove_all_of_program()) removed.push_back(std::move(each));
    } else if (watchers.remove(w)) {
      removed.push_back(w);
    }
    remains |= !watchers.empty();
    if (watchers.empty()) at(slot).erase(found);
  };
  if (kind != watch_kind::children) {
    from(watch_slot::data);
    from(watch_slot::exist);
  }
  if (kind != watch_kind::data) from(watch_slot::child);
  if (kind == watch_kind::any) {
    from(watch_slot::persistent);
    from(watch_slot::recursive);
  } else {
    // The server stores a persistent watch as a data watch and a child watch, and would also remove
    // the persistent watch.
    remains |=
        at(watch_slot::persistent).contains(path) || at(watch_slot::recursive).contains(path);
  }
  emptied = !remains;
  return removed;
}

std::vector<std::pair<std::string, watcher>> watch_registry::take_all() {
  std::vector<std::pair<std::string, watcher>> all;
  for (auto& slot : slots_) {
    for (const auto& [path, watchers] : slot)
      watchers.for_each([&, &at_path = path](const watcher& w) { all.emplace_back(at_path, w); });
    slot = watched{};
  }
  return all;
}

std::vector<std::pair<std::string, watcher>> watch_registry::persistent() const {
  std::vector<std::pair<std::string, watcher>> all;
  for (const auto slot : {watch_slot::persistent, watch_slot::recursive})
    for (const auto& [path, watchers] : at(slot))
      watchers.for_each([&, &at_path = path](const watcher& w) { all.emplace_back(at_path, w); });
  return all;
}

bool watch_registry::has_persistent(watch_slot one_shot, std::string_view path) const {
  return at(watch_slot::persistent).contains(path) ||
         (one_shot != watch_slot::child && at(watch_slot::recursive).contains(path));
}

bool watch_registry::contains(std::string_view path) const {
  return std::any_of(std::begin(slots_), std::end(slots_),
                     [&](const auto& slot) { return slot.contains(path); });
}

std::size_t watch_registry::size() const noexcept {
  std::size_t n = 0;
  for (const auto& slot : slots_) n += slot.size();
  return n;
}

std::vector<std::string> watch_registry::rearm_frames(std::int64_t seen_zxid,
                                                      std::size_t max_bytes) const {
  std::vector<std::string> frames;
  wire::set_watches2_request request;
  std::vector<std::string_view>* lists[] = {&request.data, &request.exist, &request.child,
                                            &request.persistent, &request.recursive};
  // The size of everything except the paths: the frame's length, the header, the zxid and the
  // counts of five lists.
  constexpr std::size_t fixed_bytes = 4 + 8 + 8 + 5 * 4;
  std::size_t bytes = 0;
  const auto flush = [&] {
    if (bytes == 0) return;
    constexpr auto xid = wire::special_xid::set_watches;
    request.relative_zxid = seen_zxid;
    auto& frame = frames.emplace_back();
    if (request.persistent.empty() && request.recursive.empty()) {
      const wire::set_watches_request old{seen_zxid, request.data, request.exist, request.child};
      wire::append_frame(frame, wire::request_header{xid, wire::opcode::set_watches}, old);
    } else {
      wire::append_frame(frame, wire::request_header{xid, wire::opcode::set_watches2}, request);
    }
    for (auto* list : lists) list->clear();
    bytes = 0;
  };
  for (std::size_t slot = 0; slot < watch_slots; ++slot) {
    for (const auto& [path, watchers] : slots_[slot]) {
      const auto size = path.size() + 4;
      if (fixed_bytes + bytes + size > max_bytes) flush();
      lists[slot]->push_back(path);
      bytes += size;
    }
  }
  flush();
  return frames;
}

}  // namespace conclave::session
