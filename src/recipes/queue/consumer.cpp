#include "recipes/queue/consumer.hpp"

#include <algorithm>
#include <utility>

#include "base/metric_counters.hpp"
#include "recipes/queue/layout_check.hpp"

namespace conclave::recipes {
consumer::consumer(std::shared_ptr<session_context> context,
                   std::shared_ptr<const queue_names> names, options o)
    : context_{std::move(context)},
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
  if (context_->counters() != nullptr) who->called = context_->now();
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
  if (!callers_.erase(who)) {
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

std::shared_ptr<queue_user> consumer::add_user() {
  ++users_;
  return std::make_shared<queue_user>();
}

void consumer::remove_user(const std::shared_ptr<queue_user>& user, error_code why) {
  if (--users_ == 0) return close(why);
  user->removed_with = why;
  for (const auto& who : callers_.take_all_of(user.get())) complete(who, why);
  const auto self = shared_from_this();
  changed_.notify();
}

void consumer::complete(const caller_ptr& who, error_code ec, std::optional<acquired_item> what) {
  if (auto* const all = context_->counters()) {
    const bool pops = options_.mode == mode::pop;
    auto& n = pops ? all->queues.pop : all->queues.claim;
    n.completed(ec || what ? ec : errc::lock_busy, context_->now() - who->called);
    if (pops && what) all->queues.popped_items.add();
  }
  context_->post(
      [who, ec, what = std::move(what)]() mutable { who->complete(ec, std::move(what)); });
}

void consumer::complete_all(error_code ec) {
  for (const auto& who : callers_.take_all()) complete(who, ec);
}

void consumer::complete_callers_that_do_not_wait() {
  for (const auto& who : callers_.take_all_that_do_not_wait()) complete(who, {});
}

void consumer::wait_again(const caller_ptr& who) {
  if (who->gave_up_with)
    complete(who, *who->gave_up_with);
  else if (who->user && who->user->removed_with)
    complete(who, *who->user->removed_with);
  else
    callers_.push_front(who);
}

// --- phases

consumer::phase consumer::next_phase() {
  const bool must_list_for_others = wait_entry_.is_first() && !listing_.is_current();
  if (callers_.empty()) return must_list_for_others ? phase::listing_for_others : phase::idle;
  plan_.begin_busy_period();
  plan_.update();
  if (!plan_.empty()) return phase::acquiring;
  if (callers_.has_one_that_does_not_wait()) return phase::listing;
  // If the listing found items, none of the planned ones was acquired. A change of the data of an
  // item or of its folder can cause this, and no watch reports it.
  if (!wait_entry_.is_entered() || !listing_.found_nothing()) return phase::listing;
  if (wait_entry_.is_first()) return listing_.is_current() ? phase::waiting : phase::listing;
  return wait_entry_.is_overdue() ? phase::checking : phase::waiting;
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
      case phase::checking: co_await check_for_items(); break;
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

// The first consumer of the wait queue may be stopped. A consumer that leaves the first position
// writes the parent record of the wait queue. So if that was after the last change of the queue,
// the next consumer lists the queue, and this one need not. But the next consumer may be stopped,
// too, so this one relies on it only once.
task<> consumer::check_for_items() {
  const auto found = co_await listing_.check(shared_from_this());
  wait_entry_.restart_check_timer(found.wait_queue);
  if (found.ec && !context_->can_restart_after(found.ec)) complete_all(found.ec);
  const auto left = found.wait_queue ? found.wait_queue->mzxid : 0;
  const bool next_one_lists = left > found.last_change && left != expected_lister_;
  expected_lister_ = left;
  if (!found.ec && found.changed && !next_one_lists) co_await list_for_callers();
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
    const queue_listing::request what{watches, consumers_to_list()};
    listing_.set_found_items(true);  // if the listing fails, the queue must be listed again
    auto listed = co_await listing_.list(self, what);
    if (listed.others_wait) others_wait_ = *listed.others_wait;
    if (listed.is == queue_listing::result::status::folder_created) continue;
    if (listed.is == queue_listing::result::status::failed) co_return listed.ec;
    if (const auto ec = co_await check_layout(context_, names_, self, listed.items)) co_return ec;
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
    listing_.set_found_items(!items.empty());
    if (!watches && !items.empty())
      if (const auto ec = co_await learn_consumers(listed, items.size())) co_return ec;
    plan(std::move(items), std::move(listed));
    co_return error_code{};
  }
}

// The first consumer of the wait queue does not divide the items.
queue_listing::consumers consumer::consumers_to_list() const {
  if (wait_entry_.is_first() || !transactions_.has_counter())
    return queue_listing::consumers::nothing;
  const bool may_be_contended = consumer_share::is_contended(consumer_count_, 0);
  return share_.is_active() && !may_be_contended ? queue_listing::consumers::names
                                                 : queue_listing::consumers::count;
}

task<error_code> consumer::learn_consumers(queue_listing::result& listed, std::size_t items) {
  const auto self = shared_from_this();
  if (!transactions_.has_counter()) {
    if (const auto ec = co_await transactions_.create_counter(self)) co_return ec;
    const auto counting = listing_.count_consumers(self);
    const auto folder = co_await counting;
    if (folder.value) listed.consumer_count = static_cast<std::size_t>(folder.value->num_children);
  }
  consumer_count_ = listed.consumer_count;
  const bool needs_names =
      share_.is_active() && !consumer_share::is_contended(consumer_count_, items);
  if (!needs_names || !listed.consumers.empty()) co_return error_code{};
  const auto listing = listing_.list_consumers(self);
  auto names = co_await listing;
  listed.consumers = std::move(names.value.names);
  co_return error_code{};
}

void consumer::plan(std::vector<item_name> items, queue_listing::result listed) {
  const auto count = items.size();
  auto selected = consumer_share::is_contended(listed.consumer_count, count)
                      ? share_.select_at_random(std::move(items))
                      : share_.select(std::move(items), std::move(listed.consumers),
                                      transactions_.counter_name());
  // Items can become available ahead of the planned ones if they have priorities, if claims are
  // released, or if another consumer does not acquire its share.
  const bool only_at_the_end = options_.mode == mode::pop && !names_->has_priorities() &&
                               selected.acquires == consumer_share::part::all_in_order;
  plan_.begin_pass(
      std::move(selected), count,
      only_at_the_end ? item_plan::pass::whole_listing : item_plan::pass::part_of_listing);
}

// In a contended queue, the consumer continues with random items of its listing. Otherwise it lists
// the queue again, to divide the items or because its listing is outdated.
void consumer::found_other_consumers() {
  if (share_.begin()) {
    if (consumer_share::is_contended(consumer_count_, plan_.size()))
      plan_.continue_at_random();
    else
      plan_.set_outdated();
  } else {
    plan_.count_failed_attempt();
  }
}

task<error_code> consumer::read_items(std::size_t n) {
  const auto result = co_await plan_.read(shared_from_this(), n);
  if (result.items_missing) found_other_consumers();
  co_return result.ec;
}

}  // namespace conclave::recipes
