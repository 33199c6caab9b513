// A consumer's claim on an item. It is a contender whose node has the item's name.
//
// All members must be called inside a session_context::scope.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "conclave/queue_item.hpp"
#include "recipes/contender.hpp"
#include "recipes/hold_state.hpp"

namespace conclave::recipes {

class claim final : public contender_events, public std::enable_shared_from_this<claim> {
 public:
  // `path` is the path of the item's node. The node's version counts how often the item was
  // claimed. `stat` is the stat of the node when the item was read.
  claim(std::shared_ptr<session_context> context, queue_item item, std::string path,
        const node_stat& stat);

  // Claims the item. `begun` is called once. If it receives no error, the item is claimed.
  // `released` is called when release() has begun to remove the claim. Both are called inside a
  // session_context::scope.
  void begin(lock_request r, std::function<void(error_code)> begun, std::function<void()> released);

  // Removes the item and the claim in one transaction. `completed` is called outside of the
  // session_context::scope.
  void complete(std::function<void(error_code)> completed);
  // Releases the claim and keeps the item in the queue. No effect after complete() or a loss.
  void release();

  const queue_item& item() const noexcept { return item_; }
  int attempts() const noexcept { return version_ + 1; }
  const std::shared_ptr<hold_state>& hold() const noexcept { return hold_; }

  // --- contender_events

  void granted() override;
  void failed(error_code why) override;
  void suspended() override { hold_->suspend(true); }
  void restored() override { hold_->suspend(false); }
  void lost(error_code why) override;
  void gone() override;

 private:
  void note_ended();

  std::shared_ptr<session_context> context_;
  queue_item item_;
  std::string path_;
  std::int32_t version_;
  std::int64_t czxid_;
  std::shared_ptr<hold_state> hold_;
  std::shared_ptr<contender> contender_;
  std::function<void(error_code)> begun_;
  std::function<void(error_code)> completed_;
  std::function<void()> released_;
  bool ended_ = false;            // completed, released, lost or failed
  time_point claimed_{};          // set only if claims are counted
  time_point complete_called_{};  // set only if claims are counted
};

}  // namespace conclave::recipes
