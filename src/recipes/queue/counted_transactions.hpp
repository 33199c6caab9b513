// Transactions that are executed exactly once, even if a reply is lost.
//
// Each transaction also writes a counter node, on condition that the node still has the known
// version. Otherwise the whole transaction fails. The write increments the version. If the reply is
// lost, the transaction is sent again. If the first copy was executed, the counter node has a
// different version, and the server refuses the second copy.
//
// The counter node is ephemeral, and only this object uses it. All members must be called inside a
// session_context::scope.
//
// If the server seems to refuse a large transaction by closing the connection, the transaction is
// withdrawn. It then fails with errc::too_large and has no effect.
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
  // The counter node is created in this folder. The parameter `owner` of the functions below is the
  // object that owns this one. Pending requests keep the owner alive.
  counted_transactions(std::shared_ptr<session_context> context, std::string folder)
      : context_{std::move(context)}, folder_{std::move(folder)} {}

  struct commit_result {
    error_code ec;                           // no error if executed
    bool outcome_unknown = false;            // the counter node can no longer show the outcome
    std::optional<std::size_t> failed_part;  // the part of the transaction that the server refused
  };
  // Only one call at a time is permitted. `send_along` is called once, right before the transaction
  // is first sent. Requests that it sends go to the server in the same socket write as the
  // transaction.
  task<commit_result> commit(std::shared_ptr<void> owner, const transaction& t,
                             const std::function<void()>& send_along = {});

  // Creates the counter node if there is none in this session, and reads its version if that is
  // unknown.
  task<error_code> create_counter(std::shared_ptr<void> owner);
  bool has_counter() const noexcept { return session_ != 0 && session_ == context_->session().id; }
  const std::string& counter_name() const noexcept { return name_; }

  // Removes the counter node as soon as there is a connection, because the node counts as an active
  // client while its session lives. No transaction may be pending.
  task<> remove_counter(std::shared_ptr<void> owner);

 private:
  enum class withdrawal { withdrawn, executed, unknown, session_ended };
  // Resolves a transaction whose outcome is unknown: either it was executed, or it never will be.
  // Increments the version of the counter node, so that the server refuses a copy of the
  // transaction that arrives later.
  task<withdrawal> withdraw(std::shared_ptr<void> owner);

  std::string path() const { return folder_ + '/' + name_; }

  std::shared_ptr<session_context> context_;
  std::string folder_;
  std::string name_;          // the name of the counter node
  std::int64_t session_ = 0;  // the session of the counter node; 0 if there is no node
  // The session in which the counter node may exist, because the outcome of its creation is
  // unknown. 0 if there is no such session.
  std::int64_t unresolved_session_ = 0;
  std::optional<std::int32_t> version_;  // the counter node's version; must be read if not set
};

}  // namespace conclave::recipes
