#include "chaos/worker_faults.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace conclave::chaos {
namespace {

using testing::link_proxy;

constexpr auto wait_for_a_holder = 2 * second;
constexpr auto wait_for_the_frame = 3 * second;

// The opcodes of create, create2, delete, multi and createContainer.
constexpr std::array<std::int32_t, 5> writes{1, 15, 2, 14, 19};
constexpr std::int32_t no_opcode = -1000;
constexpr std::size_t never = 1'000'000'000;

void disarm(link_proxy& l) {
  l.drop_reply_to(no_opcode);
  l.drop_request(no_opcode);
  l.disconnect_after_client_frames(never);
  l.disconnect_after_server_frames(never);
}

}  // namespace

const std::vector<worker_faults::kind> worker_faults::kinds{
    {"stop beyond the session", 3, part::process, aim::fenced_holder, &worker_faults::stop_long},
    {"kill -9", 2, part::process, aim::holder, &worker_faults::kill},
    {"disconnect", 2, part::links, aim::holder, &worker_faults::disconnect},
    {"blackhole", 2, part::links, aim::fenced_holder, &worker_faults::blackhole},
    {"stop shortly", 1, part::process, aim::holder, &worker_faults::stop_briefly},
    {"links ended", 2, part::links, aim::holder, &worker_faults::drop},
    {"delay", 1, part::links, aim::holder, &worker_faults::delay},
    {"reply lost", 3, part::links, aim::anybody, &worker_faults::lose_reply},
    {"request lost", 1, part::links, aim::anybody, &worker_faults::lose_request},
    {"disconnect after a request", 1, part::links, aim::anybody,
     &worker_faults::disconnect_after_requests},
    {"disconnect after a reply", 1, part::links, aim::anybody,
     &worker_faults::disconnect_after_replies},
};

worker_faults::worker_faults(worker_pool& f, fault_log& log, std::uint64_t seed)
    : workers_{f}, log_{log}, random_{seed} {
  // The first kind is the most likely to cause stale writes. So it also comes last.
  opening_.push_back(&kinds.front());
  for (auto k = kinds.rbegin(); k != kinds.rend(); ++k) opening_.push_back(&*k);
}

void worker_faults::step() {
  const auto t = now();
  for (auto& h : active_faults_)
    if (h.happened && h.happened()) {
      log_.add({t, h.kind, workers_.present(h.slot).name, {h.slot}});
      h.happened = nullptr;
      h.until = t;
    }
  for (std::size_t i = 0; i < active_faults_.size();) {
    if (active_faults_[i].until > t) {
      ++i;
      continue;
    }
    const auto h = std::move(active_faults_[i]);
    active_faults_.erase(active_faults_.begin() + static_cast<std::ptrdiff_t>(i));
    h.heal();
    if (h.kind.empty()) log_.healed(h.logged);
  }
  if (t >= next_) begin_one();
}

void worker_faults::heal_all() {
  for (auto& h : active_faults_) h.until = 0;
  next_ = now() + 3600 * second;
  step();
}

void worker_faults::begin_one() {
  const auto& k = opening_.empty() ? next_kind() : *opening_.back();
  // The workers must also make progress between the faults.
  if (active_faults_.size() * 2 >= workers_.size()) return;
  const auto t = now();
  if (waits_since_ == 0) waits_since_ = t;
  const auto slot = choose(k, !opening_.empty() || t - waits_since_ < wait_for_a_holder);
  if (!slot) return;
  waits_since_ = 0;
  (this->*k.begin)(k.name, *slot);
  // If the worker released its lock just before, this kind is tried again.
  workers_.look();
  const bool hit = k.at != aim::fenced_holder || workers_.status().holds_fenced(*slot);
  if (!opening_.empty() && hit) opening_.pop_back();
  next_ = now() + between(50 * millisecond, 900 * millisecond);
}

const worker_faults::kind& worker_faults::next_kind() {
  std::vector<double> weights;
  weights.reserve(kinds.size());
  for (const auto& k : kinds) weights.push_back(k.weight);
  return kinds[std::discrete_distribution<std::size_t>{weights.begin(), weights.end()}(random_)];
}

bool worker_faults::has_fault(std::size_t slot, part p) const {
  return std::any_of(active_faults_.begin(), active_faults_.end(),
                     [&](const active_fault& h) { return h.slot == slot && h.of == p; });
}

// If the aim is a holder, four of five faults wait for one.
std::optional<std::size_t> worker_faults::choose(const kind& k, bool must_hold) {
  std::vector<std::size_t> all(workers_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::erase_if(all, [&](std::size_t i) { return has_fault(i, k.of); });
  if (k.at != aim::anybody && must_hold && (!opening_.empty() || chance(0.8))) {
    workers_.look();
    std::erase_if(all, [&](std::size_t i) {
      return k.at == aim::fenced_holder ? !workers_.status().holds_fenced(i)
                                        : !workers_.status().holds(i);
    });
  }
  if (all.empty()) return std::nullopt;
  return all[std::uniform_int_distribution<std::size_t>{0, all.size() - 1}(random_)];
}

nanoseconds worker_faults::session(std::size_t slot) const {
  return std::chrono::nanoseconds{workers_.present(slot).session}.count();
}

void worker_faults::add(const std::string& name, std::size_t slot, part of, nanoseconds at,
                        nanoseconds length, std::function<void()> heal) {
  active_fault h;
  h.slot = slot;
  h.of = of;
  h.until = at + length;
  h.logged = log_.add({at, name, workers_.present(slot).name, {slot}, at + length});
  h.heal = std::move(heal);
  active_faults_.push_back(std::move(h));
}

void worker_faults::kill(const std::string& name, std::size_t slot) {
  const auto at = workers_.kill(slot);
  add(name, slot, part::process, at, between(0, 500 * millisecond),
      [this, slot] { workers_.start(slot); });
}

void worker_faults::stop(const std::string& name, std::size_t slot, nanoseconds length) {
  const auto at = workers_.pause(slot);
  add(name, slot, part::process, at, length, [this, slot] { workers_.resume(slot); });
}
void worker_faults::stop_briefly(const std::string& name, std::size_t slot) {
  stop(name, slot, between(20 * millisecond, session(slot) / 2));
}
void worker_faults::stop_long(const std::string& name, std::size_t slot) {
  stop(name, slot, between(session(slot) * 13 / 10, session(slot) * 2));
}

std::vector<link_proxy*> worker_faults::some_links(std::size_t slot) {
  auto all = workers_.links(slot);
  if (chance(0.3)) std::erase_if(all, [](const link_proxy* l) { return l->links() == 0; });
  return all;
}

void worker_faults::disconnect(const std::string& name, std::size_t slot) {
  const auto links = some_links(slot);
  const auto how = chance(0.5) ? link_proxy::ending::fin : link_proxy::ending::reset;
  const auto at = now();
  for (auto* l : links) l->disconnect(how);
  add(name, slot, part::links, at, between(50 * millisecond, session(slot) * 3 / 2), [links] {
    for (auto* l : links) l->heal();
  });
}

void worker_faults::drop(const std::string& name, std::size_t slot) {
  const auto how = chance(0.5) ? link_proxy::ending::fin : link_proxy::ending::reset;
  const auto at = now();
  for (auto* l : workers_.links(slot)) l->drop_links(how);
  log_.add({at, name, workers_.present(slot).name, {slot}});
}

void worker_faults::blackhole(const std::string& name, std::size_t slot) {
  const auto links = some_links(slot);
  const auto at = now();
  for (auto* l : links) l->blackhole(true);
  add(name, slot, part::links, at, between(100 * millisecond, session(slot) * 2), [links] {
    for (auto* l : links) l->blackhole(false);
  });
}

void worker_faults::delay(const std::string& name, std::size_t slot) {
  const auto links = some_links(slot);
  const std::chrono::milliseconds each_way{between(10, 400)};
  const auto at = now();
  for (auto* l : links) l->delay(each_way);
  add(name, slot, part::links, at, between(500 * millisecond, 3 * second), [links] {
    for (auto* l : links) l->delay(std::chrono::milliseconds{0});
  });
}

void worker_faults::arm(const std::string& name, std::size_t slot,
                        const std::function<void(link_proxy&)>& set) {
  const auto links = workers_.links(slot);
  const auto faults = [links] {
    return std::accumulate(links.begin(), links.end(), std::size_t{0},
                           [](std::size_t sum, const link_proxy* l) { return sum + l->faults(); });
  };
  active_fault h;
  h.slot = slot;
  h.kind = name;
  h.until = now() + wait_for_the_frame;
  h.happened = [faults, before = faults()] { return faults() > before; };
  h.heal = [links] {
    for (auto* l : links) disarm(*l);
  };
  for (auto* l : links) set(*l);
  active_faults_.push_back(std::move(h));
}

std::int32_t worker_faults::some_write(std::size_t slot) {
  const auto links = workers_.links(slot);
  std::vector<std::int32_t> made;
  for (const auto opcode : writes)
    if (std::any_of(links.begin(), links.end(),
                    [&](const link_proxy* l) { return l->requests(opcode) > 0; }))
      made.push_back(opcode);
  if (made.empty()) return writes.front();
  return made[std::uniform_int_distribution<std::size_t>{0, made.size() - 1}(random_)];
}

void worker_faults::lose_reply(const std::string& name, std::size_t slot) {
  const auto opcode = some_write(slot);
  arm(name, slot, [opcode](link_proxy& l) { l.drop_reply_to(opcode); });
}
void worker_faults::lose_request(const std::string& name, std::size_t slot) {
  const auto opcode = some_write(slot);
  arm(name, slot, [opcode](link_proxy& l) { l.drop_request(opcode); });
}
void worker_faults::disconnect_after_requests(const std::string& name, std::size_t slot) {
  const auto n = static_cast<std::size_t>(between(1, 12));
  arm(name, slot, [n](link_proxy& l) { l.disconnect_after_client_frames(n); });
}
void worker_faults::disconnect_after_replies(const std::string& name, std::size_t slot) {
  const auto n = static_cast<std::size_t>(between(1, 12));
  arm(name, slot, [n](link_proxy& l) { l.disconnect_after_server_frames(n); });
}

}  // namespace conclave::chaos
