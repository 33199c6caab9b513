#include "simulation/users/foreign_contender.hpp"

#include <utility>

namespace conclave::simulated {

using namespace std::chrono_literals;

void foreign_contender::begin() {
  later_(within_(600ms), [self = shared_from_this()] { self->come(); });
}

bool foreign_contender::may_go_on() {
  if (!world_.server().up()) return false;
  if (client_ && generation_ == world_.server().generation()) return true;
  // After a restart of the server, the contender considers its hold lost.
  leave();
  return false;
}

void foreign_contender::come() {
  if (over_) return;
  if (!world_.server().up()) return begin();
  clean_up();
  client_ = std::make_unique<direct_client>(world_.server());
  generation_ = world_.server().generation();
  world_.by_hand().create(path_);
  dirty_ = true;
  node_ = client_->create_sequential(path_ + '/' + what_.prefix);
  if (node_.empty()) {
    leave();
    return begin();
  }
  look();
}

void foreign_contender::look() {
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
    world_.write_trace([&] { return "another library holds " + node_; });
    judge_->other_granted(path_, reinterpret_cast<checkers::exclusion::id>(this), node_,
                          world_.by_hand().get(node_).stat.czxid, what_.shared);
  }
  later_(within_(300ms), [self = shared_from_this()] {
    self->leave();
    self->begin();
  });
}

void foreign_contender::leave() {
  if (std::exchange(holds_, false)) {
    world_.write_trace([&] { return "another library unlocks " + node_; });
    judge_->other_ended(reinterpret_cast<checkers::exclusion::id>(this));
  }
  node_.clear();
  client_.reset();
  if (world_.server().up()) clean_up();
}

// Removes nodes that are left after a restart or a power failure of the server.
void foreign_contender::clean_up() {
  if (!dirty_) return;
  for (const auto& child : world_.by_hand().children(path_))
    if (child.starts_with(what_.prefix)) world_.by_hand().remove(path_ + '/' + child);
  dirty_ = !world_.server().up();
}

void foreign_contender::end() {
  over_ = true;
  leave();
}

void foreign_contender::node_was_deleted(const std::string& node) {
  if (node == node_ && std::exchange(holds_, false))
    judge_->other_ended(reinterpret_cast<checkers::exclusion::id>(this));
}

}  // namespace conclave::simulated
