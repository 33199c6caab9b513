#include "recipes/queue/claim.hpp"

#include <utility>

#include "base/metric_counters.hpp"
#include "recipes/queue/names.hpp"

namespace conclave::recipes {

using action = contender::claimed_item::action;

claim::claim(std::shared_ptr<session_context> context, queue_item item, std::string path,
             const node_stat& stat)
    : context_{std::move(context)},
      item_{std::move(item)},
      path_{std::move(path)},
      version_{stat.version},
      czxid_{stat.czxid},
      hold_{std::make_shared<hold_state>(context_)} {}

void claim::begin(lock_request r, std::function<void(error_code)> begun,
                  std::function<void()> released) {
  begun_ = std::move(begun);
  released_ = std::move(released);
  r.granted_when = lock_request::rule::fixed_name;
  r.own_levels = queue_names::folder_levels;
  r.name = item_.name;
  r.if_contended = lock_request::on_contention::give_up;
  r.if_session_ends = lock_request::on_session_end::fail;
  // Writing the same data again increments the version, which counts the attempts. The write fails
  // if the item was removed, claimed or changed since it was read.
  r.extra_operations.set(path_, item_.data, version_);
  contender_ = std::make_shared<contender>(context_, std::move(r), shared_from_this());
  const auto c = contender_;
  c->start();
}

// The claim was completed, released or lost.
void claim::note_ended() {
  if (auto* const all = context_->counters())
    all->queues.claim_time.add(context_->now() - claimed_);
}

void claim::granted() {
  if (context_->counters() != nullptr) claimed_ = context_->now();
  hold_->begin(contender_->fencing_token(), contender_->session_id(), {contender_->path()},
               contender_->id());
  if (const auto begun = std::exchange(begun_, {})) begun({});
}

void claim::failed(error_code why) {
  ended_ = true;
  if (const auto begun = std::exchange(begun_, {})) begun(why);
}

void claim::lost(error_code why) {
  ended_ = true;
  hold_->lose(why);
  note_ended();
  if (auto* const all = context_->counters()) all->queues.lost_claims.add(why);
  context_->post([h = hold_] { h->loss().request_stop(); });
}

void claim::complete(std::function<void(error_code)> completed) {
  auto* const all = context_->counters();
  if (all != nullptr) complete_called_ = context_->now();
  if (std::exchange(ended_, true)) {
    if (all != nullptr) all->queues.complete.completed(errc::lock_lost, {});
    context_->post([completed = std::move(completed)] { completed(errc::lock_lost); });
    return;
  }
  note_ended();
  hold_->release();
  completed_ = std::move(completed);
  const auto c = contender_;
  c->mute();
  c->release_claim({path_, attempts(), czxid_, action::remove_with_claim});
}

void claim::release() {
  if (std::exchange(ended_, true)) return;
  note_ended();
  if (auto* const all = context_->counters()) all->queues.released_claims.add();
  hold_->release();
  const auto c = contender_;
  c->mute();
  c->release_claim({path_, attempts(), czxid_, action::keep});
  released_();
}

void claim::gone() {
  if (completed_) {
    const auto ec = contender_->release_result();
    if (auto* const all = context_->counters()) {
      all->queues.complete.completed(ec, context_->now() - complete_called_);
      if (!ec) all->queues.popped_items.add();
    }
    context_->post([completed = std::move(completed_), ec] { completed(ec); });
  }
  // The claim and its contender own each other. Posting destroys the contender outside of the
  // session_context::scope.
  context_->post([c = std::move(contender_)] {});
}

}  // namespace conclave::recipes
