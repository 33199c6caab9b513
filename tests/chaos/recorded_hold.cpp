#include "chaos/recorded_hold.hpp"

#include <atomic>
#include <thread>
#include <utility>

namespace conclave::chaos {
namespace {

using namespace std::chrono_literals;

constexpr auto look_again = 1ms;
constexpr auto write_again = 5 * millisecond;
constexpr auto patience_for_a_newer_one = 10s;

std::string next_id() {
  static std::uint64_t last = 0;
  return std::to_string(++last);
}

}  // namespace

recorded_hold::recorded_hold(worker_context& s, conclave::hold h, held_resource what)
    : s_{s},
      hold_{std::move(h)},
      what_{std::move(what)},
      token_{std::to_string(hold_.fencing_token())} {}

bool recorded_hold::stay(std::chrono::milliseconds length) {
  // Reads the clock before each query, so that a stop in between cannot make the time too late.
  const auto begin = now();
  const auto end = begin + std::chrono::nanoseconds{length}.count();
  const auto left = hold_.remaining().count();
  if (left == 0) {
    s_.log.write(begin, "late", {what_.resource, token_});
    return false;
  }
  std::atomic<nanoseconds> reported_lost_at{0};
  const std::stop_callback on_loss{hold_.lost(), [&] { reported_lost_at = now(); }};
  id_ = next_id();
  until_ = begin + (s_.careless ? 3600 * second : left);  // a careless worker ignores the deadline
  s_.log.write(begin, "granted",
               {id_, what_.resource, token_, what_.mode, std::to_string(hold_.session_id()),
                std::to_string(until_)});
  auto last_write = begin - write_again;
  for (;;) {
    const auto t = now();
    const bool over = t >= end && (s_.careless || !hold_.suspended());
    // Always writes before checking the hold, because the process may have been stopped.
    if (what_.fenced && (over || t - last_write >= write_again)) {
      last_write = t;
      if (!write() && !s_.careless) {
        lost(reported_lost_at != 0 ? reported_lost_at.load() : now());
        return false;
      }
    }
    if (!look()) {
      lost(reported_lost_at != 0 ? reported_lost_at.load() : t);
      return false;
    }
    if (over) break;
    if (what_.downgrade && t > begin + (end - begin) / 2) {
      s_.log.write("downgrading", {id_});
      what_.fenced = false;
      std::exchange(what_.downgrade, nullptr)();
    }
    std::this_thread::sleep_for(look_again);
  }
  s_.log.write("ended", {id_, "released"});
  return true;
}

bool recorded_hold::look() {
  if (s_.careless) return true;
  const auto t = now();
  const auto left = hold_.remaining().count();
  if (left == 0) return false;
  if (t + left > until_ + millisecond) {
    until_ = t + left;
    s_.log.write(t, "until", {id_, std::to_string(until_)});
  }
  return true;
}

bool recorded_hold::write() {
  if (s_.store.write(what_.resource, hold_.fencing_token())) return true;
  const bool held = hold_.held();
  s_.log.write("refused", {what_.resource, token_, id_, held ? "held" : "stale"});
  return false;
}

void recorded_hold::lost(nanoseconds at) {
  s_.log.write(at, "ended", {id_, "lost"});
  if (what_.fenced) write_too_late();
}

void recorded_hold::write_too_late() {
  const auto limit = now() + std::chrono::nanoseconds{patience_for_a_newer_one}.count();
  while (s_.store.highest(what_.resource) <= hold_.fencing_token()) {
    if (now() > limit || s_.stop.stop_requested()) return;
    std::this_thread::sleep_for(5ms);
  }
  if (s_.store.write(what_.resource, hold_.fencing_token()))
    s_.log.write("accepted", {what_.resource, token_, id_});
  else
    s_.log.write("refused", {what_.resource, token_, id_, "stale"});
}

}  // namespace conclave::chaos
