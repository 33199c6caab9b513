#include "chaos/run_status.hpp"

#include <algorithm>
#include <utility>

#include "chaos/paths.hpp"

namespace conclave::chaos {

void run_status::follow(std::size_t i, const std::filesystem::path& file) {
  auto& s = slots_.at(i);
  if (s.reader) look(i);  // the last events of the previous process
  s.reader = std::make_unique<history_reader>(file);
  s.hold.clear();
  s.token.clear();
}

void run_status::gone(std::size_t i) {
  look(i);
  slots_.at(i).hold.clear();
}

void run_status::look() {
  const auto before = std::exchange(suspected_, {});
  for (std::size_t i = 0; i < slots_.size(); ++i) look(i);
  for (const auto& s : before) two_holders_seen_ |= slots_.at(s.slot).hold == s.hold;
}

void run_status::look(std::size_t i) {
  for (const auto& e : slots_.at(i).reader->more()) take(i, e);
}

void run_status::take(std::size_t i, const event& e) {
  auto& s = slots_.at(i);
  if (e.what == "granted") {
    s.hold = e.word(0);
    s.path = e.word(1);
    local_grants_ +=
        e.word(2) == std::exchange(s.token, e.word(2));  // tokens never repeat otherwise
    // A lost claim may have no later holder.
    s.fenced = e.word(3) == "exclusive" && !e.word(1).starts_with(claims_path);
    s.until = e.number(5);
    s.last_success = std::max(s.last_success, e.at);
    ++grants_;
    const auto [last, first] = last_holder_.try_emplace(e.word(1), i);
    if (!first && last->second != i) {
      ++hand_offs_;
      const auto& previous = slots_.at(last->second);
      if (s.fenced && previous.fenced && !previous.hold.empty() && previous.path == s.path)
        suspected_.push_back({last->second, previous.hold});
    }
    last->second = i;
  } else if (e.what == "until") {
    s.until = e.number(1);
  } else if (e.what == "downgrading") {
    s.fenced = false;
  } else if (e.what == "ended") {
    s.hold.clear();
    losses_ += e.word(1) == "lost";
  } else if (e.what == "refused") {
    stale_refused_ += e.word(3) == "stale";
  } else if (e.what == "pushed" || e.what == "completed") {
    if (e.word(1) != "done") return;
    s.last_success = std::max(s.last_success, e.at);
    delivered_ += e.what == "completed";
  } else if (e.what == "popped" && e.word(0) != "-") {
    s.last_success = std::max(s.last_success, e.at);
    ++delivered_;
  }
}

bool run_status::holds(std::size_t i) const {
  const auto& s = slots_.at(i);
  return !s.hold.empty() && now() < s.until;
}

bool run_status::holds_fenced(std::size_t i) const { return holds(i) && slots_.at(i).fenced; }

}  // namespace conclave::chaos
