// Transactions that are executed exactly once, even if a reply is lost.
//
// Each transaction also increments the version of an ephemeral node of our own, starting from the
// known version. If the reply is lost, the transaction is sent again. If it was executed the first
// time, our node has another version, and the server refuses the second one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "recipes/request.hpp"
#include "recipes/session_context.hpp"
#include "recipes/task.hpp"

namespace conclave::recipes {

class counted_transactions {
 public:
  // Our node is created in this folder. The `owner` of the functions below owns this object.
  // Pending requests keep the owner alive.
  counted_transactions(std::shared_ptr<session_context> p, std::string folder)
      : context_{std::move(p)}, folder_{std::move(folder)} {}

  struct outcome {
    error_code ec;         // no error: executed
    bool unknown = false;  // the outcome is unknown: our node does not show it any more
    std::optional<std::size_t> failed_part;  // the part of the transaction that the server refused
  };
  // Only one call at a time. `along` is called right before the transaction is first sent. The
  // requests that it sends leave in the same write.
  task<outcome> commit(std::shared_ptr<void> owner, const transaction& t,
                       const std::function<void()>& along = {});

  // Creates our node if there is none in this session, and reads its version if that is unknown.
  task<error_code> enrol(std::shared_ptr<void> owner);
  bool enrolled() const noexcept { return session_ != 0 && session_ == context_->session().id; }
  const std::string& name() const noexcept { return name_; }

  // Removes our node as soon as there is a connection, since it counts as an active client as long
  // as its session lives. No transaction may be pending.
  task<> leave(std::shared_ptr<void> owner);

 private:
  std::string path() const { return folder_ + '/' + name_; }

  std::shared_ptr<session_context> context_;
  std::string folder_;
  std::string name_;
  std::int64_t session_ = 0;  // the session of our node; 0: no node
  // The session in which our node may exist, after a creation with an unknown outcome. 0: none.
  std::int64_t perhaps_in_ = 0;
  std::optional<std::int32_t> version_;  // none: unknown, must be read
};

}  // namespace conclave::recipes
