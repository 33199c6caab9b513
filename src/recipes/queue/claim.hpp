// An item that a consumer has marked as its own: a contender whose node has the item's name.
//
// All members are called inside a session_context::scope.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "conclave/queue.hpp"
#include "recipes/contender.hpp"
#include "recipes/hold_state.hpp"

namespace conclave::recipes {

class claim final : public contender_events, public std::enable_shared_from_this<claim> {
 public:
  // `path`: the item's node, whose version counts how often it was claimed. `stat`: as it was read.
  claim(std::shared_ptr<session_context> p, queue_item item, std::string path,
        const node_stat& stat);

  // `told` is called inside a scope, once: no error means that it is ours.
  // `given_back` is called inside one, too, when the item is on its way back.
  void begin(lock_request t, std::function<void(error_code)> told,
             std::function<void()> given_back);

  // Removes the item, in one transaction with our mark. `told` is called outside of the scope.
  void complete(std::function<void(error_code)> told);
  // Only if it was not completed.
  void give_back();

  const queue_item& item() const noexcept { return item_; }
  int attempts() const noexcept { return version_ + 1; }
  const std::shared_ptr<hold_state>& hold() const noexcept { return hold_; }

  // --- what the contender tells

  void granted() override;
  void failed(error_code why) override;
  void suspended() override { hold_->suspend(true); }
  void restored() override { hold_->suspend(false); }
  void lost(error_code why) override;
  void gone() override;

 private:
  std::shared_ptr<session_context> context_;
  queue_item item_;
  std::string path_;
  std::int32_t version_;
  std::int64_t czxid_;
  std::shared_ptr<hold_state> hold_;
  std::shared_ptr<contender> contender_;
  std::function<void(error_code)> begun_;
  std::function<void(error_code)> completed_;
  std::function<void()> given_back_;
  bool over_ = false;  // completed, given back or lost
};

}  // namespace conclave::recipes
