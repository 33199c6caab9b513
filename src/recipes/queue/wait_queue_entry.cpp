#include "recipes/queue/wait_queue_entry.hpp"

#include <chrono>
#include <utility>

#include "recipes/queue/names.hpp"

namespace conclave::recipes {
namespace {

// A client relies on the first member for at most this long. It then checks for the change itself.
constexpr auto longest_reliance = std::chrono::seconds{5};

}  // namespace

// Receives the events of the contender. It may outlive the entry: it lives until the contender has
// removed its node.
struct wait_queue_entry::member final : contender_events {
  member(wait_queue_entry* e, std::shared_ptr<recipes::session_context> p)
      : entry{e}, context{std::move(p)} {}
  void granted() override {
    is_first = true;
    if (entry) entry->changed_();
  }
  // A waiter whose node was deleted by hand enters the wait queue again.
  void failed(error_code why) override {
    end(why == errc::waiter_node_deleted ? error_code{} : why);
  }
  // The loss of the first position is no error, because the owner can enter the wait queue again.
  void lost(error_code) override { end({}); }
  void gone() override {
    context->post([c = std::move(contender)] {});
  }
  void end(error_code why) {
    if (const auto e = std::exchange(entry, nullptr)) e->lost(why);
  }

  wait_queue_entry* entry;  // null if the client has left the wait queue
  std::shared_ptr<recipes::session_context> context;
  std::shared_ptr<recipes::contender> contender;
  bool is_first = false;
};

wait_queue_entry::wait_queue_entry(std::shared_ptr<session_context> p, std::string path,
                                   std::function<void()> changed)
    : context_{std::move(p)}, path_{std::move(path)}, changed_{std::move(changed)} {}

bool wait_queue_entry::is_first() const noexcept { return member_ && member_->is_first; }

bool wait_queue_entry::take_overdue() noexcept { return std::exchange(overdue_, false); }

error_code wait_queue_entry::take_error() noexcept { return std::exchange(error_, {}); }

void wait_queue_entry::enter() {
  if (member_) return;
  error_ = {};
  lock_request r;
  r.parents = {path_};
  r.own_levels = queue_names::folder_levels;
  r.mode = lock_request::wait_mode::tickets;
  member_ = std::make_shared<member>(this, context_);
  member_->contender = std::make_shared<contender>(context_, std::move(r), member_);
  const auto c = member_->contender;
  c->start();
  plan_overdue();
}

void wait_queue_entry::leave() {
  error_ = {};
  const auto m = std::exchange(member_, {});
  if (!m) return;
  m->entry = nullptr;
  if (const auto c = m->contender) {
    c->mute();
    c->release();
  }
}

void wait_queue_entry::lost(error_code why) {
  const auto alive = std::exchange(member_, {});
  error_ = why;
  changed_();
}

void wait_queue_entry::plan_overdue() {
  context_->call_at(context_->now() + longest_reliance, [weak = std::weak_ptr{member_}] {
    const auto m = weak.lock();
    if (!m || !m->entry || m->is_first) return;
    const auto e = m->entry;
    e->overdue_ = true;
    e->plan_overdue();
    e->changed_();
  });
}

}  // namespace conclave::recipes
