#include <algorithm>
#include <cerrno>
#include <utility>

#include "recipes/make_path.hpp"
#include "recipes/queue/consumer.hpp"

namespace conclave::recipes {

task<error_code> consumer::claim_items() {
  const auto wanted = plan_.batch_size(callers_.size());
  for (std::size_t i = 0; i < wanted && i < plan_.size(); ++i)
    if (plan_.is_from_earlier_period(i)) {
      plan_[i].read.reset();
      plan_[i].reading.reset();
    }
  if (const auto ec = co_await read_items(wanted)) co_return ec;
  // While this function sets an item aside, callers may give up.
  for (auto n = plan_.count_read(std::min(wanted, callers_.size()));
       n > 0 && !callers_.empty() && !plan_.empty(); --n) {
    if (!folder_.is_identified()) {
      plan_.clear();
      break;
    }
    auto next = plan_.take_first();
    if (!next.read) continue;
    if (options_.max_attempts > 0 && next.read->stat.version >= options_.max_attempts) {
      // A caller that gives up meanwhile waits for the outcome, as if it claimed the item.
      const auto who = callers_.pop_front();
      const auto ec = co_await set_aside(next);
      wait_again(who);
      if (ec) co_return ec;
      continue;
    }
    auto who = callers_.pop_front();
    plan_.count_acquired(1);
    begin_claim(std::move(next), std::move(who));
  }
  co_return error_code{};
}

void consumer::begin_claim(planned_item item, caller_ptr who) {
  lock_request r;
  r.parents = {names_->claims()};
  r.owner = options_.owner;
  folder_.check_in(r.extra_operations);
  const auto claim = std::make_shared<recipes::claim>(
      context_, queue_item{item.name.text, std::move(item.read->data), item.name.priority},
      names_->item(item.name.text), item.read->stat);
  const auto completed = [self = shared_from_this(), claim, who](error_code ec) {
    if (ec) return self->claim_failed(*claim, who, ec);
    self->plan_.count_success();
    self->complete(who, {}, acquired_item{{}, claim});
  };
  // An item whose claim was released is ahead of the items in the plan.
  const auto released = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->plan_.set_outdated();
  };
  claim->begin(std::move(r), completed, released);
}

void consumer::claim_failed(const recipes::claim& c, const caller_ptr& who, error_code ec) {
  if (phase_ == phase::closing) return complete(who, cancelled());
  const bool too_large = ec == errc::too_large;
  const bool changed_by_other =
      ec == errc::lock_busy || ec == errc::no_node || ec == errc::bad_version;
  if (!too_large && !changed_by_other && !context_->can_restart_after(ec)) return complete(who, ec);
  if (ec == errc::no_node) folder_.require_verification();
  if (too_large)
    set_too_large(c.item().name);
  else
    found_other_consumers();
  wait_again(who);
  changed_.notify();
}

// Leaves out the item for a while, and then lists the queue again.
void consumer::set_too_large(const std::string& item) {
  const auto pause = folder_.set_too_large(item);
  context_->call_at(context_->now() + pause, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->listing_.set_outdated();
    self->changed_.notify();
  });
}

// Sets aside an item that no consumer could complete. The transaction creates and removes the claim
// node, so it fails if a consumer has claimed the item, perhaps for the last attempt.
task<error_code> consumer::set_aside(const planned_item& item) {
  const auto claim_node = names_->claims() + '/' + item.name.text;
  const auto& stat = item.read->stat;
  transaction t;
  t.create(claim_node, {}, create_mode::ephemeral)
      .remove(claim_node)
      .remove(names_->item(item.name.text), stat.version)
      .create(names_->set_aside_item(item.name.text, stat.czxid), item.read->data);
  constexpr std::size_t claim_part = 0, item_part = 2, identity_part = 4;
  folder_.check_in(t);
  const auto self = shared_from_this();
  for (;;) {
    const auto result = co_await transactions_.commit(self, t);
    auto ec = result.ec;
    const auto part = result.failed_part;
    const bool claimed = part == claim_part && ec == errc::node_exists;
    const bool changed = part == item_part && (ec == errc::no_node || ec == errc::bad_version);
    if (!ec || claimed || changed || result.outcome_unknown) co_return error_code{};
    if (ec == errc::too_large) {
      set_too_large(item.name.text);
      co_return error_code{};
    }
    if (ec == errc::no_node && part == identity_part) {
      folder_.require_verification();
      plan_.clear();
      co_return error_code{};
    }
    if (ec != errc::no_node || !part) co_return ec;
    ec = co_await make_path(context_, self, names_->claims(), queue_names::folder_levels,
                            names_->claims_mode());
    if (!ec)
      ec = co_await make_path(context_, self, names_->set_aside(), queue_names::folder_levels,
                              create_mode::container);
    if (ec) co_return ec;
  }
}

}  // namespace conclave::recipes
