#include "recipes/queue/claim.hpp"

#include <utility>

#include "recipes/queue/names.hpp"

namespace conclave::recipes {

using action = contender::claimed_item::action;

claim::claim(std::shared_ptr<session_context> p, queue_item item, std::string path,
             const node_stat& stat)
    : context_{std::move(p)},
      item_{std::move(item)},
      path_{std::move(path)},
      version_{stat.version},
      czxid_{stat.czxid},
      hold_{std::make_shared<hold_state>(context_)} {}

void claim::begin(lock_request t, std::function<void(error_code)> told,
                  std::function<void()> given_back) {
  begun_ = std::move(told);
  given_back_ = std::move(given_back);
  t.granted_when = lock_request::rule::fixed_name;
  t.own_levels = queue_names::folder_levels;
  t.name = item_.name;
  t.if_taken = lock_request::on_contention::give_up;
  t.if_session_ends = lock_request::on_session_end::fail;
  // Writing the same data again increments the version, which counts the attempts. It fails if the
  // item was removed, claimed or written since it was read.
  t.extra_operations.set(path_, item_.data, version_);
  contender_ = std::make_shared<contender>(context_, std::move(t), shared_from_this());
  const auto c = contender_;
  c->start();
}

void claim::granted() {
  hold_->begin(contender_->fencing_token(), contender_->session_id(), {contender_->path()});
  if (const auto told = std::exchange(begun_, {})) told({});
}

void claim::failed(error_code why) {
  over_ = true;
  if (const auto told = std::exchange(begun_, {})) told(why);
}

void claim::lost(error_code why) {
  over_ = true;
  hold_->lose(why);
  context_->post([h = hold_] { h->loss().request_stop(); });
}

void claim::complete(std::function<void(error_code)> told) {
  if (std::exchange(over_, true)) {
    context_->post([told = std::move(told)] { told(errc::lock_lost); });
    return;
  }
  hold_->release();
  completed_ = std::move(told);
  const auto c = contender_;
  c->mute();
  c->release_claim({path_, attempts(), czxid_, action::remove_with_claim});
}

void claim::give_back() {
  if (std::exchange(over_, true)) return;
  hold_->release();
  const auto c = contender_;
  c->mute();
  c->release_claim({path_, attempts(), czxid_, action::keep});
  given_back_();
}

void claim::gone() {
  if (completed_) {
    const auto ec = contender_->release_result();
    context_->post([told = std::move(completed_), ec] { told(ec); });
  }
  // The claim and its contender own each other. Posting destroys the contender outside of the
  // session_context::scope.
  context_->post([c = std::move(contender_)] {});
}

}  // namespace conclave::recipes
