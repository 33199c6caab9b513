// The folder that contains the items, as a consumer sees it. If the folder is removed and created
// again, the numbering of names and versions restarts. So data is valid only in the folder in which
// it was read.
//
// All members must be called inside a session_context::scope.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "recipes/queue/folder_identity.hpp"
#include "recipes/queue/names.hpp"
#include "recipes/queue/watch_registration.hpp"

namespace conclave::recipes {

class items_folder {
 public:
  // `changed` is called when the folder was removed or its data was changed.
  items_folder(std::shared_ptr<session_context> context, std::shared_ptr<const queue_names> names,
               std::function<void()> changed)
      : context_{std::move(context)},
        names_{std::move(names)},
        changed_{std::move(changed)},
        identity_{context_, names_->identities()} {}

  // Determines whether the folder may be a container, which the server removes when it is empty. If
  // so, creates or verifies the identity node, by which a transaction can identify the folder.
  // `listed` is the folder's stat from the reply to a listing. Returns errc::no_node if this folder
  // no longer exists. The `owner` owns this object. Pending requests keep the owner alive.
  task<error_code> identify(std::shared_ptr<void> owner, const node_stat& listed);
  // Returns true if identify() has identified the folder and the folder is not known to have been
  // removed. If false, item data that was read from the folder earlier must not be used.
  bool is_identified() const {
    return czxid_ != 0 && (!identity_.needed() || identity_.established());
  }
  // Adds a check of the identity node to the transaction, if the check is needed.
  void check_in(transaction& t) const { identity_.check_in(t); }
  // Returns true if check_in() adds a check. The transaction then fails if the folder was removed
  // after identify().
  bool is_checked() const;
  // Must be called if a transaction failed with errc::no_node: the folder may have been removed.
  void require_verification() noexcept { identity_.require_verification(); }

  // Marks an item as too large for the transactions of a claim, after the server has closed the
  // connection several times. The connection can be closed for other reasons, so such an item is
  // tried again after the returned time. That time becomes longer with each call.
  duration set_too_large(const std::string& item);
  bool is_too_large(const std::string& item) const;

  // Removes the watch, and the identity node as soon as there is a connection.
  task<> leave(std::shared_ptr<void> owner);

 private:
  std::shared_ptr<session_context> context_;
  std::shared_ptr<const queue_names> names_;
  std::function<void()> changed_;
  folder_identity identity_;
  watch_registration watch_;
  std::int64_t czxid_ = 0;  // 0 if not identified
  struct refused_item {
    duration pause{};
    time_point try_again;
  };
  std::map<std::string, refused_item> too_large_;
};

}  // namespace conclave::recipes
