// Proves inside a transaction that the items' folder is still the one whose items were read.
//
// The server removes a container when it is empty. If a client creates it again, the numbering of
// names and versions restarts, so a removal by name and version could remove a different item. An
// identity node is an ephemeral node below the folder. It does not survive the removal of the
// folder, and its name is never used again. So a transaction that checks the identity node fails if
// the folder was removed since the node was created. A client cannot see whether a node is a
// container. So the identity node is needed in every folder that Conclave has not created.
//
// All members must be called inside a session_context::scope.
#pragma once

#include <memory>
#include <string>

#include "recipes/request.hpp"
#include "recipes/session_context.hpp"
#include "recipes/task.hpp"

namespace conclave::recipes {

class folder_identity {
 public:
  // The identity node is created in `parent`, a child of the folder.
  folder_identity(std::shared_ptr<session_context> context, std::string parent)
      : context_{std::move(context)}, parent_{std::move(parent)} {}

  // Creates the identity node, or verifies it after require_verification(). Items that are read
  // afterwards belong to the folder that the node identifies. Returns errc::no_node if the folder
  // does not exist. If the client is not permitted to create the node, needed() becomes false. The
  // `owner` owns this object. Pending requests keep the owner alive.
  task<error_code> establish(std::shared_ptr<void> owner);
  // `needed` must be true if the folder may be a container, which the server removes when it is
  // empty.
  void set_needed(bool needed) noexcept;

  bool needed() const noexcept { return state_ != state::not_needed; }
  // Returns true if the identity node was created in this session and need not be verified.
  bool established() const noexcept {
    return state_ == state::established && session_ == context_->session().id;
  }
  // Adds a check of the identity node to the transaction, if the check is needed.
  void check_in(transaction& t) const {
    if (needed()) t.check(path());
  }
  // Must be called if a transaction failed with errc::no_node: the identity node may have been
  // removed.
  void require_verification() noexcept {
    if (state_ == state::established) state_ = state::unverified;
  }

  // Removes the identity node as soon as there is a connection.
  task<> remove(std::shared_ptr<void> owner);

 private:
  // The state of the identity node.
  enum class state {
    not_needed,
    absent,
    outcome_unknown,  // the reply to its creation was lost
    established,
    unverified,  // it may have been removed
  };
  std::string path() const { return parent_ + '/' + name_; }
  task<error_code> verify(std::shared_ptr<void> owner);
  task<error_code> make_parent(std::shared_ptr<void> owner);

  std::shared_ptr<session_context> context_;
  std::string parent_;
  std::string name_;
  state state_ = state::not_needed;
  std::int64_t session_ = 0;  // the session in which the node was or may have been created
};

}  // namespace conclave::recipes
