#include "cli/commands/queue/worker.hpp"

#include <algorithm>
#include <functional>
#include <iostream>
#include <stop_token>

#include <boost/asio/error.hpp>

#include "cli/exit_code.hpp"
#include "cli/run/watched_run.hpp"
#include "cli/show/duration.hpp"

namespace conclave::cli {

using namespace std::chrono_literals;

namespace {

constexpr std::chrono::milliseconds longest_retry = 1min;

// Returns `base` doubled `times` times, but at most `most`.
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

worker::worker(const queue_flags& source, const run_flags& run, const work_options& t, program what)
    : queue_flags_{source},
      options_{t},
      run_flags_{run},
      program_{std::move(what)},
      path_{source.node()},
      connection_{find_server(source.connect), connection::without_waiting{}} {
  auto o = source.options();
  o.max_attempts = t.max_attempts;
  o.owner = run.label;
  // A claim has no callback for suspension, so the worker uses the events of the session.
  session_subscription_ =
      connection_.zk().on_session_event([this](const session_event&) { loop_.post([] {}); });
  queue_.emplace(connection_.zk(), path_, std::move(o));
}

worker::~worker() = default;

int worker::run() {
  loop_.on_signal([this](int s) { on_signal(s); });
  loop_.on_turn([this] { return on_turn(); });
  return loop_.run();
}

void worker::report(const std::string& what) const {
  if (!options_.quiet) std::cerr << "conclave: " << what << std::endl;
}

// --- the loop

worker::clock::time_point worker::on_turn() {
  if (!connection_.connected()) return clock::now() + 50ms;
  connection_.require_chroot();
  auto next = clock::time_point::max();
  for (auto j = jobs_.begin(); j != jobs_.end();) {
    const auto at = j++;
    try {
      next = std::min(next, check_job(*at));
      if (!at->result) continue;
      ended(*at);
    } catch (const failure& e) {
      stop_with_failure(e);
    }
    jobs_.erase(at);
  }
  next = std::min(next, return_due_items());
  if (!code_) {
    if (clock::now() >= next_claim_)
      claim_items();
    else
      next = std::min(next, next_claim_);
    if (is_done()) stop(final_code());
  }
  if (code_ && jobs_.empty() && pending_completions_ == 0 && pending_claims_ == 0)
    loop_.end(*code_);
  return next;
}

void worker::on_signal(int s) {
  // After a second signal, the worker does not wait for the server.
  if (is_ending_signal(s) && code_ && jobs_.empty()) return loop_.end_by(s);
  if (is_ending_signal(s)) stop(loop::code_of(s));
  for (auto& j : jobs_)
    if (!j.result) j.running->pass_on(s);
  stop_on_ctrl_z(s);
}

void worker::stop(int code) {
  code_ = code;
  queue_.reset();
  retained_.clear();
}

bool worker::is_done() const {
  if (!jobs_.empty() || pending_completions_ != 0 || pending_claims_ != 0) return false;
  if (options_.count != 0 && started_ >= options_.count) return true;
  const bool tries_again = options_.max_attempts != 0 && !retained_.empty();
  return options_.until_empty && found_empty_ && !tries_again;
}

int worker::final_code() const {
  if (not_completed_.empty()) return ok;
  report(std::to_string(not_completed_.size()) +
         (not_completed_.size() == 1 ? " item was" : " items were") + " not completed");
  return failed;
}

// --- claiming items

void worker::claim_items() {
  if (options_.until_empty && found_empty_) return;
  while (jobs_.size() + pending_claims_ < options_.jobs &&
         (options_.count == 0 || started_ + pending_claims_ < options_.count))
    request_claim();
}

void worker::request_claim() {
  ++pending_claims_;
  auto handler = [this, changes_before = changes_](error_code ec, std::optional<queue_claim> got) {
    // std::function requires a copyable lambda.
    const auto shared_claim = std::make_shared<std::optional<queue_claim>>(std::move(got));
    loop_.post([this, changes_before, ec, shared_claim] {
      --pending_claims_;
      if (!ec && !*shared_claim) found_empty_ = changes_before == changes_;
      // The server may not have processed the release of returned items yet.
      if (found_empty_ && !returned_.empty() && clock::now() < returned_at_ + 2s) {
        found_empty_ = false;
        next_claim_ = std::max(next_claim_, clock::now() + 20ms);
      }
      on_claim(ec, std::move(*shared_claim));
    });
  };
  if (options_.until_empty)
    queue_->async_claim_for(0ms, std::move(handler));
  else
    queue_->async_claim(std::move(handler));
}

void worker::queue_changed() {
  ++changes_;
  found_empty_ = false;
}

void worker::on_claim(error_code ec, std::optional<queue_claim> claim) {
  if (code_) return;  // destroying the claim returns the item
  if (ec == errc::layout_mismatch && jobs_.empty()) require_layout(connection_.zk(), queue_flags_);
  if (!ec) {
    reported_disconnect_ = false;
    if (claim) start_command(std::move(*claim));
    return;
  }
  if (is_disconnected(ec) && !options_.until_empty) {
    if (!std::exchange(reported_disconnect_, true))
      report("no connection to a server; waiting for it");
    next_claim_ = clock::now() + 1s;
    return;
  }
  std::cerr << "conclave: queue " << path_ << ": " << ec.message() << "\n";
  stop(is_disconnected(ec) ? static_cast<int>(unavailable) : exit_code_of(ec));
}

std::optional<program> worker::program_for(const std::string& item) const {
  auto p = program_;
  auto& all = p.arguments;
  const bool has_placeholder = std::find(all.begin() + 1, all.end(), "{}") != all.end();
  if (!has_placeholder && !options_.item_as_argument) return p;
  if (item.size() > longest_argument || item.find('\0') != std::string::npos) return {};
  if (has_placeholder)
    std::replace(all.begin() + 1, all.end(), std::string{"{}"}, item);
  else
    all.push_back(item);
  return p;
}

void worker::start_command(queue_claim claim) {
  ++started_;
  returned_.erase(claim.name());
  auto found = program_for(claim.data());
  if (!found)
    return item_failed(std::move(claim),
                       "cannot be an argument: it contains a zero byte or is larger than 128 KiB");
  auto p = std::move(*found);
  auto& j = jobs_.emplace_back();
  j.claim = std::move(claim);
  const auto held = j.claim.hold();
  auto options = run_flags_.options(connection_);
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
    return stop_with_failure(e);
  }
  j.on_loss.emplace(held.lost(), [this] { loop_.post([] {}); });
}

// Every further item would cause the same error, so the worker stops.
void worker::stop_with_failure(const failure& why) {
  std::cerr << "conclave: " << why.what() << "\n";
  stop(why.code);
}

// --- running commands

worker::clock::time_point worker::check_job(job& j) {
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
  queue_changed();  // another item may have arrived in the meantime
  if (!j.result->kept()) {
    const auto why = j.claim.name() + ": " + j.result->explanation("the claim");
    not_completed_.insert(j.claim.name());
    // The next command must not run beside a command that we are not permitted to kill.
    if (!j.result->still_running.empty()) return stop_with_failure(failure{lost, why});
    report(why + "; another consumer can claim it");
  } else if (j.result->code == 0) {
    complete(std::move(j.claim));
  } else {
    item_failed(std::move(j.claim), "its command ended with " + std::to_string(j.result->code));
  }
}

void worker::complete(queue_claim claim) {
  ++pending_completions_;
  const auto shared_claim = std::make_shared<queue_claim>(std::move(claim));
  shared_claim->async_complete([this, shared_claim](error_code ec) {
    loop_.post([this, name = shared_claim->name(), ec] {
      --pending_completions_;
      completed(name, ec);
    });
  });
}

void worker::completed(const std::string& name, error_code ec) {
  failures_ = 0;
  not_completed_.erase(name);
  if (!ec) return;
  report(name + ": its command succeeded, but the claim was lost before the item was " +
         "removed; it may be processed again");
  not_completed_.insert(name);
}

void worker::item_failed(queue_claim claim, const std::string& why) {
  const bool last = options_.max_attempts != 0 && claim.attempts() >= options_.max_attempts;
  const bool ends = options_.until_empty || options_.count != 0;
  if (ends) not_completed_.insert(claim.name());
  const auto what = claim.name() + ": " + why;
  // In two cases the item is returned at once, because the claim ends here. A command that was
  // ended by our own signal has not failed. An item that failed too often is set aside by its next
  // consumer.
  if (code_) return report(what + "; returned to the queue");
  ++failures_;
  next_claim_ =
      clock::now() + (failures_ < 2 ? 0ms : doubled(100ms, failures_ - 2, options_.retry_after));
  if (last) return report(what + " in its last attempt; set aside");
  if (options_.until_empty && options_.max_attempts == 0) {
    report(what);
    retained_.push_back({std::move(claim), clock::time_point::max()});
    return;
  }
  const auto pause = doubled(options_.retry_after, claim.attempts() - 1,
                             std::max(longest_retry, options_.retry_after));
  report(what + "; next attempt in " + short_time(pause));
  retained_.push_back({std::move(claim), clock::now() + pause});
}

worker::clock::time_point worker::return_due_items() {
  auto next = clock::time_point::max();
  const auto now = clock::now();
  for (auto f = retained_.begin(); f != retained_.end();) {
    next = f->until > now ? std::min(next, f->until) : next;
    const auto at = f++;
    if (at->until > now) continue;
    returned_.insert(at->claim.name());
    returned_at_ = now;
    retained_.erase(at);
    queue_changed();
  }
  return next;
}

}  // namespace conclave::cli
