#include "recipes/queue/claim.hpp"

#include <utility>

#include "recipes/queue/names.hpp"

namespace conclave::recipes {

claim::claim(std::shared_ptr<port> p, queue_item item, std::string path, const node_stat& stat)
    : port_{std::move(p)},
      item_{std::move(item)},
      path_{std::move(path)},
      version_{stat.version},
      czxid_{stat.czxid},
      hold_{std::make_shared<hold_state>(port_)} {}

void claim::begin(terms t, std::function<void(error_code)> told, std::function<void()> given_back) {
  begun_ = std::move(told);
  given_back_ = std::move(given_back);
  t.rule = rule::unique_name;
  t.own_levels = queue_names::folder_levels;
  t.name = item_.name;
  t.patient = false;
  t.renew = false;
  // Writing the same data again counts the attempt, and fails if the item has gone or was claimed
  // since we read it.
  t.along.set(path_, item_.data, version_);
  contender_ = std::make_shared<contender>(port_, std::move(t), shared_from_this());
  const auto c = contender_;
  c->start();
}

void claim::granted() {
  hold_->begin(contender_->token(), contender_->session(), {contender_->path()});
  if (const auto told = std::exchange(begun_, {})) told({});
}

void claim::failed(error_code why) {
  over_ = true;
  if (const auto told = std::exchange(begun_, {})) told(why);
}

void claim::lost(error_code why) {
  over_ = true;
  hold_->lose(why);
  port_->deliver([h = hold_] { h->loss().request_stop(); });
}

void claim::complete(std::function<void(error_code)> told) {
  if (std::exchange(over_, true)) {
    port_->deliver([told = std::move(told)] { told(errc::lock_lost); });
    return;
  }
  hold_->release();
  completed_ = std::move(told);
  const auto c = contender_;
  c->be_quiet();
  c->leave_mark({path_, attempts(), czxid_, true});
}

void claim::give_back() {
  if (std::exchange(over_, true)) return;
  hold_->release();
  const auto c = contender_;
  c->be_quiet();
  c->leave_mark({path_, attempts(), czxid_, false});
  given_back_();
}

void claim::gone() {
  if (completed_) {
    const auto ec = contender_->left();
    port_->deliver([told = std::move(completed_), ec] { told(ec); });
  }
  // The contender keeps us and we keep it.
  port_->deliver([c = std::move(contender_)] {});
}

}  // namespace conclave::recipes
