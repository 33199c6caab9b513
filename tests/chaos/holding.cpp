#include "chaos/holding.hpp"

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

holding::holding(surroundings& s, conclave::hold h, held_thing what)
    : s_{s},
      hold_{std::move(h)},
      what_{std::move(what)},
      token_{std::to_string(hold_.fencing_token())} {}

bool holding::stay(std::chrono::milliseconds length) {
  // The time is taken before each question, so that a pause in between cannot make it too late.
  const auto begin = now();
  const auto end = begin + std::chrono::nanoseconds{length}.count();
  const auto left = hold_.remaining().count();
  if (left == 0) {
    s_.story.say(begin, "late", {what_.resource, token_});
    return false;
  }
  std::atomic<nanoseconds> told{0};
  const std::stop_callback on_loss{hold_.lost(), [&] { told = now(); }};
  id_ = next_id();
  until_ = begin + (s_.careless ? 3600 * second : left);  // a careless one has no clock
  s_.story.say(begin, "granted",
               {id_, what_.resource, token_, what_.mode, std::to_string(hold_.session_id()),
                std::to_string(until_)});
  auto last_write = begin - write_again;
  for (;;) {
    const auto t = now();
    const bool over = t >= end && (s_.careless || !hold_.suspended());
    // The last write, too, comes before the look: a pause may have been in between.
    if (what_.fenced && (over || t - last_write >= write_again)) {
      last_write = t;
      if (!write() && !s_.careless) {
        lost(told != 0 ? told.load() : now());
        return false;
      }
    }
    if (!look()) {
      lost(told != 0 ? told.load() : t);
      return false;
    }
    if (over) break;
    if (what_.downgrade && t > begin + (end - begin) / 2) {
      s_.story.say("shares", {id_});
      what_.fenced = false;
      std::exchange(what_.downgrade, nullptr)();
    }
    std::this_thread::sleep_for(look_again);
  }
  s_.story.say("ended", {id_, "released"});
  return true;
}

bool holding::look() {
  if (s_.careless) return true;
  const auto t = now();
  const auto left = hold_.remaining().count();
  if (left == 0) return false;
  if (t + left > until_ + millisecond) {
    until_ = t + left;
    s_.story.say(t, "until", {id_, std::to_string(until_)});
  }
  return true;
}

bool holding::write() {
  if (s_.store.write(what_.resource, hold_.fencing_token())) return true;
  const bool held = hold_.held();
  s_.story.say("refused", {what_.resource, token_, id_, held ? "held" : "stale"});
  return false;
}

void holding::lost(nanoseconds at) {
  s_.story.say(at, "ended", {id_, "lost"});
  if (what_.fenced) write_too_late();
}

void holding::write_too_late() {
  const auto limit = now() + std::chrono::nanoseconds{patience_for_a_newer_one}.count();
  while (s_.store.highest(what_.resource) <= hold_.fencing_token()) {
    if (now() > limit || s_.stop.stop_requested()) return;
    std::this_thread::sleep_for(5ms);
  }
  if (s_.store.write(what_.resource, hold_.fencing_token()))
    s_.story.say("accepted", {what_.resource, token_, id_});
  else
    s_.story.say("refused", {what_.resource, token_, id_, "stale"});
}

}  // namespace conclave::chaos
