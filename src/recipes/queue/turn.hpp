// The position in a wait queue of clients that wait for the same change, so that only the first of
// them watches. The others rely on it, but only for a limited time: its process may be stopped for
// as long as its session lives.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "recipes/contender.hpp"
#include "recipes/queue/names.hpp"

namespace conclave::recipes {

class turn {
 public:
  // `changed` is called inside a session_context::scope.
  turn(std::shared_ptr<session_context> p, std::string line, std::function<void()> changed)
      : context_{std::move(p)}, line_{std::move(line)}, changed_{std::move(changed)} {}
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;
  ~turn() { end(); }

  bool begun() const noexcept { return place_ != nullptr; }
  bool ours() const noexcept { return place_ && place_->first; }

  void begin() {
    if (place_) return;
    trouble_ = {};
    lock_request r;
    r.parents = {line_};
    r.own_levels = queue_names::folder_levels;
    r.mode = lock_request::wait_mode::tickets;
    place_ = std::make_shared<place_in_line>(this, context_);
    place_->contender = std::make_shared<contender>(context_, std::move(r), place_);
    const auto c = place_->contender;
    c->start();
    doubt_later();
  }

  void end() {
    trouble_ = {};
    const auto p = std::exchange(place_, {});
    if (!p) return;
    p->of = nullptr;
    if (const auto c = p->contender) {
      c->mute();
      c->release();
    }
  }

  // Whether the client has waited behind another one for the time `trust`. Resets the flag.
  bool overdue() noexcept { return std::exchange(overdue_, false); }

  // Returns once why the position was lost, if that was an error.
  error_code trouble() noexcept { return std::exchange(trouble_, {}); }

 private:
  struct place_in_line final : contender_events {
    place_in_line(turn* t, std::shared_ptr<recipes::session_context> p)
        : of{t}, context{std::move(p)} {}
    void granted() override {
      first = true;
      if (of) of->changed_();
    }
    // A waiter whose node was deleted by hand enters the wait queue again.
    void failed(error_code why) override { out(why == errc::out_of_line ? error_code{} : why); }
    // A lost turn is no error: the owner can begin another one.
    void lost(error_code) override { out({}); }
    void gone() override {
      context->post([c = std::move(contender)] {});
    }
    void out(error_code why) {
      const auto t = std::exchange(of, nullptr);
      if (!t) return;
      const auto alive = std::exchange(t->place_, {});
      t->trouble_ = why;
      t->changed_();
    }

    turn* of;
    std::shared_ptr<recipes::session_context> context;
    std::shared_ptr<recipes::contender> contender;
    bool first = false;
  };

  static constexpr auto trust = std::chrono::seconds{5};
  void doubt_later() {
    context_->call_at(context_->now() + trust, [weak = std::weak_ptr{place_}] {
      const auto ours = weak.lock();
      if (!ours || !ours->of || ours->first) return;
      const auto t = ours->of;
      t->overdue_ = true;
      t->doubt_later();
      t->changed_();
    });
  }

  std::shared_ptr<session_context> context_;
  std::string line_;
  std::function<void()> changed_;
  bool overdue_ = false;
  std::shared_ptr<place_in_line> place_;
  error_code trouble_;
};

}  // namespace conclave::recipes
