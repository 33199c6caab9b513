#include "recipes/queue/consumer.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace conclave::recipes {
namespace {

error_code cancelled() { return {ECANCELED, boost::system::system_category()}; }

}  // namespace

consumer::consumer(std::shared_ptr<session_context> p, std::shared_ptr<const queue_names> names,
                   options o)
    : context_{std::move(p)},
      names_{std::move(names)},
      options_{std::move(o)},
      transactions_{context_, names_->consumers()},
      wait_entry_{context_, names_->waiting_consumers(), [this] { changed_.notify(); }},
      listing_{context_, names_,
               options_.mode == mode::claim ? queue_listing::contents::items_and_claims
                                            : queue_listing::contents::items,
               [this] { changed_.notify(); }},
      folder_{context_, names_,
              [this] {
                plan_.set_outdated();
                changed_.notify();
              }},
      plan_{context_, names_} {}

// --- callers

void consumer::acquire(const caller_ptr& who) {
  if (phase_ == phase::closing) return complete(who, cancelled());
  callers_.push_back(who);
  if (phase_ == phase::not_started) {
    run_ = run();
    run_.start();
  } else {
    changed_.notify();
  }
}

void consumer::give_up(const caller_ptr& who, error_code why) {
  if (std::erase(callers_, who) == 0) {
    who->gave_up_with = why;
    return;
  }
  complete(who, why);
  changed_.notify();
}

void consumer::close(error_code why) {
  phase_ = phase::closing;
  complete_all(why);
  const auto self = shared_from_this();
  changed_.notify();
}

void consumer::complete(const caller_ptr& who, error_code ec, std::optional<acquired_item> what) {
  context_->post(
      [who, ec, what = std::move(what)]() mutable { who->complete(ec, std::move(what)); });
}

void consumer::complete_all(error_code ec) {
  for (const auto& who : std::exchange(callers_, {})) complete(who, ec);
}

void consumer::complete_callers_that_do_not_wait() {
  for (const auto& who : std::exchange(callers_, {}))
    if (who->waits)
      callers_.push_back(who);
    else
      complete(who, {});
}

void consumer::wait_again(const caller_ptr& who) {
  if (who->gave_up_with)
    complete(who, *who->gave_up_with);
  else
    callers_.push_front(who);
}

bool consumer::has_caller_that_does_not_wait() const {
  return std::any_of(callers_.begin(), callers_.end(), [](auto& who) { return !who->waits; });
}

std::vector<consumer::caller_ptr> consumer::remove_first_callers(std::size_t n) {
  const auto end = callers_.begin() + static_cast<std::ptrdiff_t>(n);
  std::vector<caller_ptr> removed{callers_.begin(), end};
  callers_.erase(callers_.begin(), end);
  return removed;
}

// --- phases

consumer::phase consumer::next_phase() {
  const bool must_list_for_others = wait_entry_.is_first() && !listing_.is_current();
  if (callers_.empty()) return must_list_for_others ? phase::listing_for_others : phase::idle;
  plan_.begin_busy_period();
  plan_.clear_if_outdated();
  if (!plan_.empty()) return phase::acquiring;
  const bool relies_on_watches = wait_entry_.is_first() && listing_.is_current();
  const bool relies_on_first =
      wait_entry_.is_entered() && !wait_entry_.is_first() && !wait_entry_.take_overdue();
  const bool can_wait = (relies_on_watches || relies_on_first) && !has_caller_that_does_not_wait();
  return can_wait ? phase::waiting : phase::listing;
}

task<> consumer::run() {
  while (phase_ != phase::closing) {
    phase_ = next_phase();
    switch (phase_) {
      case phase::idle:
        plan_.end_busy_period(weak_from_this());
        co_await changed_;
        break;
      case phase::waiting:
        co_await changed_;
        if (const auto ec = wait_entry_.take_error()) complete_all(ec);
        break;
      case phase::listing_for_others: co_await list_for_others(); break;
      case phase::listing: co_await list_for_callers(); break;
      case phase::acquiring: co_await acquire_items(); break;
      case phase::not_started:
      case phase::closing: break;
    }
  }
  complete_all(cancelled());  // callers of wait_again()
  leave_wait_queue();
  const auto self = shared_from_this();
  co_await folder_.leave(self);
  co_await transactions_.remove_counter(self);
  co_return done;
}

// This consumer has no callers. If items have arrived, it leaves the wait queue to the other
// consumers. It also leaves if it cannot watch.
task<> consumer::list_for_others() {
  const auto ec = co_await list_items();
  if (callers_.empty() && (ec || !plan_.empty())) leave_wait_queue();
  co_return done;
}

task<> consumer::list_for_callers() {
  const auto ec = co_await list_items();
  if (ec && !context_->can_restart_after(ec)) complete_all(ec);
  if (ec || !plan_.empty()) co_return done;
  complete_callers_that_do_not_wait();
  if (!callers_.empty()) wait_entry_.enter();
  co_return done;
}

task<> consumer::acquire_items() {
  const auto ec = options_.mode == mode::pop ? co_await pop_items() : co_await claim_items();
  if (ec) {
    if (!context_->can_restart_after(ec)) complete_all(ec);
    leave_wait_queue();  // the next listing starts with the failed items
  }
  // The first consumer leaves the wait queue if other consumers wait, or if items are left and no
  // caller here wants them.
  if (wait_entry_.is_first() && (others_wait_ || (callers_.empty() && !plan_.empty())))
    leave_wait_queue();
  if (plan_.pass_is_over()) plan_.clear();
  co_return done;
}

// The next consumer lists the same items, so the plan is dropped.
void consumer::leave_wait_queue() {
  wait_entry_.leave();
  plan_.clear();
  listing_.forget_watches();
}

// --- listing

task<error_code> consumer::list_items() {
  const auto self = shared_from_this();
  for (;;) {
    const bool watches = wait_entry_.is_first();
    const queue_listing::request what{watches, !watches && transactions_.has_counter()};
    auto listed = co_await listing_.list(self, what);
    if (listed.others_wait) others_wait_ = *listed.others_wait;
    if (listed.is == queue_listing::result::status::folder_created) continue;
    if (listed.is == queue_listing::result::status::failed) co_return listed.ec;
    if (names_->has_only_another_layout(listed.items.names)) co_return errc::layout_mismatch;
    auto items = names_->in_order(listed.items.names);
    if (!items.empty()) {
      const auto ec = co_await folder_.identify(self, listed.items.stat);
      if (ec == errc::no_node) continue;
      if (ec) {
        listing_.set_outdated();  // the watch does not fire for items that exist already
        co_return ec;
      }
    }
    std::erase_if(items, [&](const item_name& n) {
      return std::binary_search(listed.claimed.begin(), listed.claimed.end(), n.text) ||
             folder_.is_too_large(n.text);
    });
    if (!watches && !items.empty() && !transactions_.has_counter()) {
      if (const auto ec = co_await transactions_.create_counter(self)) co_return ec;
      const auto listing = listing_.list_consumers(self);
      auto consumers = co_await listing;
      listed.consumers = std::move(consumers.value.names);
    }
    const auto count = items.size();
    auto share = share_.select(std::move(items), std::move(listed.consumers),
                               transactions_.counter_name(), has_caller_that_does_not_wait());
    plan_.begin_pass(std::move(share), count);
    co_return error_code{};
  }
}

void consumer::found_other_consumers() {
  if (share_.begin()) plan_.set_outdated();
}

task<error_code> consumer::read_items(std::size_t n) {
  const auto result = co_await plan_.read(shared_from_this(), n);
  if (result.items_missing) found_other_consumers();
  co_return result.ec;
}

}  // namespace conclave::recipes
