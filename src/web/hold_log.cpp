#include "web/hold_log.hpp"

#include <algorithm>

#include "web/json.hpp"

namespace conclave::web {
namespace {

std::shared_ptr<const list_entry> entry_of(const hold_record& h) {
  json::object o{{"id", h.id}, {"node", h.node}, {"owner", h.owner}, {"begin_us", h.begin}};
  if (h.session != 0) o["session"] = session_text(h.session);
  if (!h.begin_is_exact) o["begin_is_exact"] = false;
  if (h.end) o["end_us"] = *h.end;
  if (h.waited) o["waited_us"] = *h.waited;
  return std::make_shared<const list_entry>(list_entry{h.id, to_text(o)});
}

}  // namespace

void hold_log::begin(const std::string& node, const grant& g) {
  const auto [at, is_new] = open_.try_emplace(node);
  if (!is_new) return;
  auto& h = at->second;
  h.id = ++shared_.ids;
  h.node = node;
  h.begin = g.at;
  h.begin_is_exact = g.is_exact;
  if (g.waited) {
    h.waited = std::max<moment>(*g.waited, 0);
    waits_.add(*h.waited);
    shared_.totals.waits.add(*h.waited);
  }
  if (g.is_handoff) {
    ++handoffs_;
    ++shared_.totals.handoffs;
  }
}

void hold_log::end(const std::string& node, moment at) {
  const auto found = open_.find(node);
  if (found == open_.end()) return;
  auto h = std::move(found->second);
  open_.erase(found);
  open_entries_.erase(h.id);
  h.end = std::max(at, h.begin);
  shared_.losses.add(node, at, shared_.totals.losses);
  // The length of a hold that began before the page was opened may not be known.
  if (h.begin_is_exact) {
    holds_.add(*h.end - h.begin);
    shared_.totals.holds.add(*h.end - h.begin);
  }
  finished_.push_back(entry_of(h));
  if (finished_.size() > max_finished) finished_.pop_front();
}

void hold_log::describe(const std::string& node, const std::string& owner, std::int64_t session) {
  const auto found = open_.find(node);
  if (found == open_.end()) return;
  auto& h = found->second;
  if (h.owner == owner && h.session == session) return;
  // A request to release the lock may have replaced the owner's text.
  if (!owner.empty()) h.owner = owner;
  h.session = session;
  open_entries_.erase(h.id);
}

const hold_record* hold_log::find(const std::string& node) const {
  const auto found = open_.find(node);
  return found == open_.end() ? nullptr : &found->second;
}

entry_list hold_log::entries() {
  entry_list all{finished_.begin(), finished_.end()};
  for (const auto& [node, h] : open_) {
    auto& e = open_entries_[h.id];
    if (!e) e = entry_of(h);
    all.push_back(e);
    if (all.size() > 2 * max_finished) break;
  }
  std::sort(all.begin() + static_cast<std::ptrdiff_t>(finished_.size()), all.end(),
            [](const auto& a, const auto& b) { return a->id < b->id; });
  return all;
}

}  // namespace conclave::web
