// The ephemeral nodes of one contender. They are created once, identified by their czxid, and
// removed. If a connection is lost, the removal is repeated on the next one until the server has
// confirmed it.
//
// If a reply is lost, the outcome of a creation or removal is unknown. To resolve the outcome, the
// contender sends a sync and then reads, all on one connection.
//
// If a path is deleted by hand and created again, another contender's node can get the same name as
// one of these nodes. So a contender removes a node only on a connection on which it has created or
// verified that node. On a new connection, it verifies the node first.
//
// All members must be called inside a session_context::scope.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "recipes/contender_context.hpp"
#include "recipes/node_watch.hpp"

namespace conclave::recipes {

struct owned_node {
  owned_node(contender_context& c, std::string parent_path)
      : parent{std::move(parent_path)}, watch{c} {}

  std::string parent;
  std::string name;         // empty if not created
  std::int32_t number = 0;  // the sequence number
  bool registered = false;  // in session_context::registered_nodes
  node_watch watch;         // set on the node itself

  // Returns the path of the parent's child with this name. The parent may be the root.
  std::string child(std::string_view of) const {
    return (parent == "/" ? "" : parent) + '/' + std::string{of};
  }
  std::string path() const { return child(name); }
};

class owned_nodes {
 public:
  explicit owned_nodes(contender_context& c) : context_{c} {}

  // Replaces the list: one entry for each parent. No node is created yet.
  void reset(const std::vector<std::string>& parents);

  auto begin() noexcept { return nodes_.begin(); }
  auto begin() const noexcept { return nodes_.begin(); }
  auto end() noexcept { return nodes_.end(); }
  auto end() const noexcept { return nodes_.end(); }
  std::size_t size() const noexcept { return nodes_.size(); }
  owned_node& operator[](std::size_t i) { return nodes_[i]; }
  const owned_node& operator[](std::size_t i) const { return nodes_[i]; }

  // Returns true if the nodes exist on the server, as far as is known.
  bool exist() const noexcept { return exist_; }
  // Returns true if one of the nodes was deleted, by hand or with the session.
  bool one_was_deleted() const noexcept;
  std::int64_t czxid() const noexcept { return czxid_; }
  // The czxid of the original nodes. A downgrade does not change it.
  std::int64_t fencing_token() const noexcept { return fencing_token_; }
  // The connection on which all nodes were last created or verified.
  binding verified_on() const noexcept { return verified_on_; }

  // --- creation

  struct creation {
    std::string prefix;  // the prefix of the names, or the fixed name
    std::string data;
    std::string id;  // part of the data; empty with data_format::owner_only
    create_mode mode = create_mode::ephemeral_sequential;
  };
  struct creation_result {
    error_code ec;
    std::size_t failed_operation = 0;  // if the server refused a transaction
    bool may_be_too_large = false;     // see reply::may_be_too_large
  };
  // `wait`: see the constructor of contender.
  creation new_creation(std::string_view wait = {}) const;
  // Sends one creation that is bound to `where`. Calls `send_along`, which can send more requests
  // in the same write.
  task<creation_result> create(const creation& c, binding where,
                               const std::function<void()>& send_along);
  // Resolves a creation whose reply was lost. After that, exist() returns whether the nodes exist.
  // Calls `disconnected` if there is no connection for so long that callers should give up.
  task<error_code> resolve(const creation& c, const std::function<void(error_code)>& disconnected);
  // Must be called if a transaction of the caller has created the node. There must be only one
  // node.
  void created(std::string_view path, std::int64_t zxid, binding where);

  // --- verification

  // Reads one node and sets a watch on it. If another node now exists under the same name, `n`
  // counts as deleted.
  task<error_code> read_and_watch(owned_node& n);
  // Like read_and_watch(), but for a holder that needs the node's data. If a release is requested
  // before the reply arrives, the function returns without waiting for the reply, so it does not
  // delay the release.
  task<error_code> read_and_watch_until_release(owned_node& n, std::string& data);
  // Sends the request of read_and_watch() without waiting for the reply, so that it can be sent
  // together with other requests in one socket write. The reply must be passed to note_read().
  pending_reply<get_result> send_read(owned_node& n);
  error_code note_read(owned_node& n, const reply<get_result>& got);
  // Checks on a new connection whether all nodes still exist, and updates one_was_deleted(). If it
  // returns an error, it is not known whether the nodes exist.
  task<error_code> verify();
  // Verifies all nodes and forgets those that no longer exist.
  task<> drop_deleted();

  // --- replacement

  // Replaces the node with a node that has this name, in one transaction. There must be only one
  // node.
  task<error_code> replace(const std::string& name, const creation& c);

  // --- removal

  // The queue item that the contender claims. The contender's only node has the name of the item.
  struct claimed_item {
    std::string path;  // empty if there is none
    std::int32_t version = 0;
    std::int64_t czxid = 0;  // a node with this path and a different czxid is a different item
    enum class action { keep, remove_with_claim } on_release = action::keep;
  };
  struct removal_plan {
    // The new parent records, by parent path. remove() writes these records in the transaction that
    // removes the nodes, unless an ACL forbids it or the request would be too large.
    std::map<std::string, std::string> parent_records;
    claimed_item item;
    bool must_verify = false;  // the nodes may have been deleted already
  };
  struct removal_result {
    bool confirmed = false;  // the server has removed the nodes for this contender
    error_code item_error;   // the reason why the item was not removed
  };
  // Continues until the server has confirmed the removal or the session has ended. Cannot fail. If
  // one request cannot remove all nodes, several requests remove them.
  task<removal_result> remove(removal_plan& plan);
  // Must be called if the nodes were removed by other means than remove(), for example by the
  // transaction of the next contender.
  void removed() noexcept { exist_ = false; }
  // Must be called if none of the nodes exists now, or if the session has ended.
  void forget();

 private:
  struct candidate {
    std::string path;
    std::int64_t czxid;
    // True if the node has our id, or our data if the format is data_format::owner_only. If false,
    // the node has no id, so it may belong to this contender.
    bool has_our_data;
  };
  class reservations;
  task<error_code> find_candidates(const owned_node& under, const creation& c, binding where,
                                   std::vector<candidate>& into, reservations& reserved);
  task<error_code> choose(const std::vector<std::vector<candidate>>& under, binding where);
  void adopt(owned_node& n, std::string_view path);
  struct replacement {
    error_code ec;  // errc::no_node if the transaction was not executed
    std::int64_t czxid = 0;
    binding seen_on;           // the connection on which the new node was created or found
    bool old_is_gone = false;  // set only if the transaction was not executed
  };
  // Resolves a transaction of replace() whose reply was lost: determines whether it was executed.
  // `path` is the path of the new node.
  task<replacement> resolve_replacement(const std::string& path, const creation& c);
  // Call if the server has refused the removal because of the item: another client has claimed or
  // changed the item, or this client is not permitted to remove it. Reads the item's new version,
  // or clears `item`, so that the next attempt does not include it. Returns the reason why the item
  // cannot be removed.
  task<error_code> update_refused_item(claimed_item& item, error_code refusal);
  void forget_first(std::size_t count);
  void set_created(std::int64_t czxid, binding where);
  bool owner_only() const noexcept {
    return context_.request().data == lock_request::data_format::owner_only;
  }

  contender_context& context_;
  std::vector<owned_node> nodes_;
  bool exist_ = false;
  std::int64_t czxid_ = 0;
  std::int64_t fencing_token_ = 0;
  binding verified_on_;
};

}  // namespace conclave::recipes
