#include "simulation/users/classic.hpp"

#include <utility>

namespace conclave::simulated {

using namespace std::chrono_literals;

void classic::begin() {
  later_(within_(600ms), [self = shared_from_this()] { self->come(); });
}

bool classic::may_go_on() {
  if (!world_.server().up()) return false;
  if (hand_ && generation_ == world_.server().generation()) return true;
  // The server was started again: the hold is over, as far as it knows.
  leave();
  return false;
}

void classic::come() {
  if (over_) return;
  if (!world_.server().up()) return begin();
  clean_up();
  hand_ = std::make_unique<hand>(world_.server());
  generation_ = world_.server().generation();
  world_.by_hand().create(path_);
  dirty_ = true;
  node_ = hand_->create_numbered(path_ + '/' + what_.prefix);
  if (node_.empty()) {
    leave();
    return begin();
  }
  look();
}

void classic::look() {
  if (over_ || node_.empty()) return;
  if (!may_go_on()) {
    later_(10ms, [self = shared_from_this()] {
      if (self->node_.empty()) return self->begin();
      self->look();
    });
    return;
  }
  const auto name = node_.substr(node_.rfind('/') + 1);
  const auto mine = what_.names.parse(name);
  bool there = false, waits = false;
  for (const auto& child : world_.by_hand().children(path_)) {
    there = there || child == name;
    const auto c = what_.names.parse(child);
    waits = waits || (c && c->number < mine->number && what_.sees(c->role));
  }
  if (!there) {
    leave();
    return begin();
  }
  if (waits) return later_(10ms, [self = shared_from_this()] { self->look(); });
  if (!holds_) {
    holds_ = true;
    ++grants_;
    world_.tell([&] { return "another library holds " + node_; });
    judge_->other_granted(path_, reinterpret_cast<checkers::exclusion::id>(this), node_,
                          world_.by_hand().get(node_).stat.czxid, what_.shared);
  }
  later_(within_(300ms), [self = shared_from_this()] {
    self->leave();
    self->begin();
  });
}

void classic::leave() {
  if (std::exchange(holds_, false)) {
    world_.tell([&] { return "another library unlocks " + node_; });
    judge_->other_ended(reinterpret_cast<checkers::exclusion::id>(this));
  }
  node_.clear();
  hand_.reset();
  if (world_.server().up()) clean_up();
}

// What it has left on a server that was started again, or whose power failed meanwhile.
void classic::clean_up() {
  if (!dirty_) return;
  for (const auto& child : world_.by_hand().children(path_))
    if (child.starts_with(what_.prefix)) world_.by_hand().remove(path_ + '/' + child);
  dirty_ = !world_.server().up();
}

void classic::end() {
  over_ = true;
  leave();
}

void classic::robbed(const std::string& node) {
  if (node == node_ && std::exchange(holds_, false))
    judge_->other_ended(reinterpret_cast<checkers::exclusion::id>(this));
}

}  // namespace conclave::simulated
