// Proves inside a transaction that the folder of the items is still the one whose items were read.
//
// The server removes a container when it is empty. Whoever creates it again starts its names and
// versions anew, so a removal by name and version could hit another item. An ephemeral node of our
// own below the folder does not survive that, and its name never comes back: a transaction that
// checks it fails if the folder has been removed since our node was created. A client cannot see
// whether a node is a container, so this is needed in every folder that Conclave has not created.
//
// All members are called inside a session_context::scope.
#pragma once

#include <memory>
#include <string>

#include "recipes/request.hpp"
#include "recipes/session_context.hpp"
#include "recipes/task.hpp"

namespace conclave::recipes {

class folder_identity {
 public:
  // `parent`: a child of the folder, in which our node is created.
  folder_identity(std::shared_ptr<session_context> p, std::string parent)
      : context_{std::move(p)}, parent_{std::move(parent)} {}

  // Creates our node, or verifies it after doubt(). Items that are read afterwards are bound to it.
  // errc::no_node: there is no folder. Not needed if we may not create it. An `owner` keeps us, and
  // is kept while requests are under way.
  task<error_code> establish(std::shared_ptr<void> owner);
  // Whether the server may remove the folder.
  void set_needed(bool needed) noexcept;

  bool needed() const noexcept { return state_ != state::not_needed; }
  // Nothing is to be verified first.
  bool established() const noexcept {
    return state_ == state::established && session_ == context_->session().id;
  }
  // Adds the check, if it is needed.
  void check_in(transaction& t) const {
    if (needed()) t.check(path());
  }
  // A transaction failed with errc::no_node, perhaps for want of our node.
  void doubt() noexcept {
    if (state_ == state::established) state_ = state::doubted;
  }

  // Removes our node as soon as there is a connection.
  task<> leave(std::shared_ptr<void> owner);

 private:
  enum class state {
    not_needed,
    absent,
    unknown,  // the reply to its creation was lost
    established,
    doubted,
  };
  std::string path() const { return parent_ + '/' + name_; }
  task<error_code> verify(std::shared_ptr<void> owner);
  task<error_code> make_parent(std::shared_ptr<void> owner);

  std::shared_ptr<session_context> context_;
  std::string parent_;
  std::string name_;
  state state_ = state::not_needed;
  std::int64_t session_ = 0;  // in which it was created, or perhaps was
};

}  // namespace conclave::recipes
