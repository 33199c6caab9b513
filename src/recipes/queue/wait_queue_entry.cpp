#include "recipes/queue/wait_queue_entry.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "recipes/queue/names.hpp"

namespace conclave::recipes {
namespace {

// A contender relies on the first one for at most this long for each other contender. So all
// contenders together check about as often as a single one would.
constexpr duration reliance_per_contender = std::chrono::seconds{5};
// The limit for many contenders. A contender learns how many there are only when it checks, so the
// limit also applies if most of them have left since.
constexpr duration longest_reliance = std::chrono::minutes{1};

}  // namespace

// Receives the events of the contender. It may outlive the entry: it lives until the contender has
// removed its node.
struct wait_queue_entry::own_contender final : contender_events {
  own_contender(wait_queue_entry* e, std::shared_ptr<recipes::session_context> session)
      : entry{e}, context{std::move(session)} {}
  void granted() override {
    is_first = true;
    if (entry) entry->changed_();
  }
  // A waiter whose node was deleted by hand enters the wait queue again.
  void failed(error_code why) override {
    end(why == errc::waiter_node_deleted ? error_code{} : why);
  }
  // Losing the first position is not an error, because the owner can enter the wait queue again.
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

wait_queue_entry::wait_queue_entry(std::shared_ptr<session_context> context, std::string path,
                                   std::function<void()> changed)
    : context_{std::move(context)}, path_{std::move(path)}, changed_{std::move(changed)} {}

bool wait_queue_entry::is_first() const noexcept {
  return own_contender_ && own_contender_->is_first;
}

error_code wait_queue_entry::take_error() noexcept { return std::exchange(error_, {}); }

void wait_queue_entry::enter() {
  if (own_contender_) return;
  error_ = {};
  overdue_ = false;
  lock_request r;
  r.parents = {path_};
  r.own_levels = queue_names::folder_levels;
  r.mode = lock_request::wait_mode::tickets;
  own_contender_ = std::make_shared<own_contender>(this, context_);
  own_contender_->contender = std::make_shared<contender>(context_, std::move(r), own_contender_);
  const auto c = own_contender_->contender;
  c->start();
  plan_overdue(reliance_per_contender);
}

void wait_queue_entry::leave() {
  error_ = {};
  const auto own = std::exchange(own_contender_, {});
  if (!own) return;
  own->entry = nullptr;
  if (const auto c = own->contender) {
    c->mute();
    c->release();
  }
}

void wait_queue_entry::lost(error_code why) {
  const auto alive = std::exchange(own_contender_, {});
  error_ = why;
  changed_();
}

void wait_queue_entry::restart_check_timer(const std::optional<node_stat>& wait_queue) {
  overdue_ = false;
  if (!own_contender_) return;
  const auto others = std::max(wait_queue ? wait_queue->num_children - 1 : 1, 1);
  plan_overdue(others < longest_reliance / reliance_per_contender ? others * reliance_per_contender
                                                                  : longest_reliance);
}

// A random part of the time keeps contenders that entered together from checking together.
void wait_queue_entry::plan_overdue(duration longest) {
  const auto half = static_cast<std::uint64_t>((longest / 2).count());
  const auto after = longest - duration{static_cast<duration::rep>(context_->random() % half)};
  context_->call_at(context_->now() + after, [weak = std::weak_ptr{own_contender_}] {
    const auto own = weak.lock();
    if (!own || !own->entry || own->is_first) return;
    own->entry->overdue_ = true;
    own->entry->changed_();
  });
}

}  // namespace conclave::recipes
