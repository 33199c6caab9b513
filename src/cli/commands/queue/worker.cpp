#include "cli/commands/queue/worker.hpp"

#include <algorithm>
#include <functional>
#include <iostream>
#include <stop_token>

#include <boost/asio/error.hpp>

#include "cli/exit_code.hpp"
#include "cli/run/left_behind.hpp"
#include "cli/show/duration.hpp"

namespace conclave::cli {

using namespace std::chrono_literals;

namespace {

constexpr std::chrono::milliseconds longest_retry = 1min;

// `base`, doubled `times` times, at most `most`.
std::chrono::milliseconds doubled(std::chrono::milliseconds base, int times,
                                  std::chrono::milliseconds most) {
  for (; times > 0 && base < most; --times) base *= 2;
  return std::min(base, most);
}

// The longest argument that Linux accepts for a program.
constexpr std::size_t longest_argument = std::size_t{128} * 1024 - 1;

bool is_disconnected(error_code ec) {
  return ec == errc::not_connected || ec == errc::connection_loss || ec == errc::session_expired;
}

}  // namespace

struct worker::job {
  queue_claim claim;
  bool suspended = false;
  std::optional<watched_run::result> result;  // empty while the command runs
  std::optional<watched_run> running;
  // Wakes the loop when the claim is lost.
  std::optional<std::stop_callback<std::function<void()>>> on_loss;
};

worker::worker(const queue_flags& where, const run_flags& how, const terms& t, program what)
    : where_{where},
      terms_{t},
      how_{how},
      what_{std::move(what)},
      path_{where.node()},
      connection_{find_server(where.connect), connection::without_waiting{}} {
  auto o = where.options();
  o.max_attempts = t.max_attempts;
  o.owner = how.label;
  // A claim has no callback for suspension, so the worker uses the events of the session.
  session_events_ =
      connection_.zk().on_session_event([this](const session_event&) { loop_.post([] {}); });
  queue_.emplace(connection_.zk(), path_, std::move(o));
}

worker::~worker() = default;

int worker::run() {
  loop_.on_signal([this](int s) { on_signal(s); });
  loop_.on_turn([this] { return on_turn(); });
  return loop_.run();
}

void worker::say(const std::string& what) const {
  if (!terms_.quiet) std::cerr << "conclave: " << what << std::endl;
}

// --- the loop

worker::clock::time_point worker::on_turn() {
  if (!connection_.connected()) return clock::now() + 50ms;
  auto next = clock::time_point::max();
  for (auto j = jobs_.begin(); j != jobs_.end();) {
    const auto at = j++;
    try {
      next = std::min(next, look_after(*at));
      if (!at->result) continue;
      ended(*at);
    } catch (const failure& e) {
      cannot_run(e);
    }
    jobs_.erase(at);
  }
  next = std::min(next, give_back_what_is_due());
  if (!code_) {
    if (clock::now() >= next_)
      take();
    else
      next = std::min(next, next_);
    if (nothing_left()) stop(code_at_the_end());
  }
  if (code_ && jobs_.empty() && completing_ == 0 && asked_ == 0) loop_.end(*code_);
  return next;
}

void worker::on_signal(int s) {
  // After a second signal, the worker does not wait for the server.
  if (ends_us(s) && code_ && jobs_.empty()) return loop_.end_by(s);
  if (ends_us(s)) stop(loop::code_of(s));
  for (auto& j : jobs_)
    if (!j.result) j.running->pass_on(s);
  stop_us_by(s);
}

void worker::stop(int code) {
  code_ = code;
  queue_.reset();
  failed_.clear();
}

bool worker::nothing_left() const {
  if (!jobs_.empty() || completing_ != 0 || asked_ != 0) return false;
  if (terms_.count != 0 && begun_ >= terms_.count) return true;
  const bool tries_again = terms_.max_attempts != 0 && !failed_.empty();
  return terms_.until_empty && empty_ && !tries_again;
}

int worker::code_at_the_end() const {
  if (not_completed_.empty()) return ok;
  say(std::to_string(not_completed_.size()) +
      (not_completed_.size() == 1 ? " item was" : " items were") + " not completed");
  return failed;
}

// --- claiming items

void worker::take() {
  if (terms_.until_empty && empty_) return;
  while (jobs_.size() + asked_ < terms_.jobs &&
         (terms_.count == 0 || begun_ + asked_ < terms_.count))
    ask();
}

void worker::ask() {
  ++asked_;
  auto told = [this, asked = stirred_](error_code ec, std::optional<queue_claim> got) {
    // std::function requires a copyable lambda.
    const auto kept = std::make_shared<std::optional<queue_claim>>(std::move(got));
    loop_.post([this, asked, ec, kept] {
      --asked_;
      if (!ec && !*kept) empty_ = asked == stirred_;
      // The server may not have processed the release of returned items yet.
      if (empty_ && !given_back_.empty() && clock::now() < given_back_at_ + 2s) {
        empty_ = false;
        next_ = std::max(next_, clock::now() + 20ms);
      }
      came(ec, std::move(*kept));
    });
  };
  if (terms_.until_empty)
    queue_->async_claim_for(0ms, std::move(told));
  else
    queue_->async_claim(std::move(told));
}

void worker::stir() {
  ++stirred_;
  empty_ = false;
}

void worker::came(error_code ec, std::optional<queue_claim> claim) {
  if (code_) return;  // destroying the claim returns the item
  if (ec == errc::layout_mismatch && jobs_.empty()) expect_layout(connection_.zk(), where_);
  if (!ec) {
    complained_ = false;
    if (claim) begin(std::move(*claim));
    return;
  }
  if (is_disconnected(ec) && !terms_.until_empty) {
    if (!std::exchange(complained_, true)) say("no connection to a server; waiting for it");
    next_ = clock::now() + 1s;
    return;
  }
  std::cerr << "conclave: queue " << path_ << ": " << ec.message() << "\n";
  stop(is_disconnected(ec) ? static_cast<int>(unavailable) : exit_code_of(ec));
}

std::optional<program> worker::program_for(const std::string& item) const {
  auto p = what_;
  auto& all = p.arguments;
  const bool has_place = std::find(all.begin() + 1, all.end(), "{}") != all.end();
  if (!has_place && !terms_.item_as_argument) return p;
  if (item.size() > longest_argument || item.find('\0') != std::string::npos) return {};
  if (has_place)
    std::replace(all.begin() + 1, all.end(), std::string{"{}"}, item);
  else
    all.push_back(item);
  return p;
}

void worker::begin(queue_claim claim) {
  ++begun_;
  given_back_.erase(claim.name());
  auto found = program_for(claim.data());
  if (!found)
    return not_done(std::move(claim),
                    "cannot be an argument: it contains a zero byte or is larger than 128 KiB");
  auto p = std::move(*found);
  auto& j = jobs_.emplace_back();
  j.claim = std::move(claim);
  const auto held = j.claim.hold();
  auto options = how_.options(connection_);
  options.ends = run_options::hold_ends::with_program;  // the item is then completed or returned
  options.uses_terminal = false;
  p.input = j.claim.data();
  p.environment = environment_of(held);
  p.environment.emplace_back("CONCLAVE_QUEUE_PATH", path_);
  p.environment.emplace_back("CONCLAVE_ITEM_NAME", j.claim.name());
  p.environment.emplace_back("CONCLAVE_ITEM_ATTEMPT", std::to_string(j.claim.attempts()));
  try {
    j.running.emplace(loop_, p, connection_.zk(), held, options,
                      [&j](const watched_run::result& r) { j.result = r; });
  } catch (const failure& e) {
    jobs_.pop_back();
    return cannot_run(e);
  }
  j.on_loss.emplace(held.lost(), [this] { loop_.post([] {}); });
}

// The same error would follow for every item, so the worker stops.
void worker::cannot_run(const failure& why) {
  std::cerr << "conclave: " << why.what() << "\n";
  stop(why.code);
}

// --- running commands

worker::clock::time_point worker::look_after(job& j) {
  if (j.result) return clock::time_point::max();
  const bool suspended = j.claim.hold().suspended();
  if (suspended != std::exchange(j.suspended, suspended)) {
    if (suspended)
      j.running->suspended();
    else if (j.claim.held())
      j.running->restored();
  }
  const auto next = j.running->check();
  // The connection is restored, and the client verifies the claim.
  if (suspended && connection_.zk().state() == session_state::connected)
    return std::min(next, clock::now() + 20ms);
  return next;
}

void worker::ended(job& j) {
  stir();  // another item may have arrived meanwhile
  if (!j.result->kept()) {
    say(j.claim.name() + ": " + j.result->explanation("the claim") +
        "; another consumer can claim it");
    not_completed_.insert(j.claim.name());
  } else if (j.result->code == 0) {
    complete(std::move(j.claim));
  } else {
    not_done(std::move(j.claim), "its command ended with " + std::to_string(j.result->code));
  }
}

void worker::complete(queue_claim claim) {
  ++completing_;
  const auto kept = std::make_shared<queue_claim>(std::move(claim));
  kept->async_complete([this, kept](error_code ec) {
    loop_.post([this, name = kept->name(), ec] {
      --completing_;
      completed(name, ec);
    });
  });
}

void worker::completed(const std::string& name, error_code ec) {
  failures_ = 0;
  not_completed_.erase(name);
  if (!ec) return;
  say(name + ": its command succeeded, but the claim was lost before the item was " +
      "removed; it may be processed again");
  not_completed_.insert(name);
}

void worker::not_done(queue_claim claim, const std::string& why) {
  const bool last = terms_.max_attempts != 0 && claim.attempts() >= terms_.max_attempts;
  const bool ends = terms_.until_empty || terms_.count != 0;
  if (ends) not_completed_.insert(claim.name());
  const auto what = claim.name() + ": " + why;
  // Two cases return the item at once, by the end of the claim. A command that our own signal ended
  // has not failed. And an item that failed too often is set aside by its next consumer.
  if (code_) return say(what + "; returned to the queue");
  ++failures_;
  next_ = clock::now() + (failures_ < 2 ? 0ms : doubled(100ms, failures_ - 2, terms_.retry_after));
  if (last) return say(what + " in its last attempt; set aside");
  if (terms_.until_empty && terms_.max_attempts == 0) {
    say(what);
    failed_.push_back({std::move(claim), clock::time_point::max()});
    return;
  }
  const auto pause = doubled(terms_.retry_after, claim.attempts() - 1,
                             std::max(longest_retry, terms_.retry_after));
  say(what + "; next attempt in " + short_time(pause));
  failed_.push_back({std::move(claim), clock::now() + pause});
}

worker::clock::time_point worker::give_back_what_is_due() {
  auto next = clock::time_point::max();
  const auto now = clock::now();
  for (auto f = failed_.begin(); f != failed_.end();) {
    next = f->until > now ? std::min(next, f->until) : next;
    const auto at = f++;
    if (at->until > now) continue;
    given_back_.insert(at->claim.name());
    given_back_at_ = now;
    failed_.erase(at);
    stir();
  }
  return next;
}

}  // namespace conclave::cli
