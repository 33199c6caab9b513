// The ephemeral nodes of one contender: created once, known by their czxid, and removed until the
// server has confirmed it, whatever becomes of the connection.
//
// A reply can be lost, so a creation or removal can have an unknown outcome. Resolving it takes a
// server that has caught up (sync) and replies from one connection only.
//
// A path can be deleted by hand and created again, and then other contenders can have the names of
// these nodes. So a node is removed only on a connection on which it was seen, or after it was
// verified on a new one.
//
// All members are called inside a session_context::scope.
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
  std::string name;         // empty: it was not created
  std::int32_t number = 0;  // its sequence number
  bool registered = false;  // in session_context::claimed
  node_watch watch;         // on the node itself

  // The parent may be the root.
  std::string child(std::string_view of) const {
    return (parent == "/" ? "" : parent) + '/' + std::string{of};
  }
  std::string path() const { return child(name); }
};

class owned_nodes {
 public:
  explicit owned_nodes(contender_context& c) : context_{c} {}

  // Begins anew, with one node for each parent, none of them created.
  void reset(const std::vector<std::string>& parents);

  auto begin() noexcept { return nodes_.begin(); }
  auto begin() const noexcept { return nodes_.begin(); }
  auto end() noexcept { return nodes_.end(); }
  auto end() const noexcept { return nodes_.end(); }
  std::size_t size() const noexcept { return nodes_.size(); }
  owned_node& operator[](std::size_t i) { return nodes_[i]; }
  const owned_node& operator[](std::size_t i) const { return nodes_[i]; }

  // They are on the server, as far as is known.
  bool exist() const noexcept { return exist_; }
  // One of them was deleted, by hand or with the session.
  bool one_was_deleted() const noexcept;
  std::int64_t czxid() const noexcept { return czxid_; }
  // The czxid of the first nodes: a downgrade does not change it.
  std::int64_t fencing_token() const noexcept { return fencing_token_; }
  // The connection on which all of them were last seen.
  binding verified_on() const noexcept { return verified_on_; }

  // --- creation

  struct creation {
    std::string prefix;  // of the names, or the whole name if it is fixed
    std::string data;
    std::string id;  // in the data; empty with data_format::owner_only
    create_mode mode = create_mode::ephemeral_sequential;
  };
  struct creation_result {
    error_code ec;
    std::size_t failed_operation = 0;  // of a transaction that the server refused
  };
  creation new_creation() const;
  // Sends one creation, in `where`. `send_along` sends what leaves in the same write.
  task<creation_result> create(const creation& c, binding where,
                               const std::function<void()>& send_along);
  // The reply to a creation was lost: finds the nodes; exist() says whether there are any. Calls
  // `disconnected` if there is no connection for so long that callers have given up.
  task<error_code> resolve(const creation& c, const std::function<void(error_code)>& disconnected);
  // A transaction outside has created the only node.
  void created(std::string_view path, std::int64_t zxid, binding where);

  // --- verification

  // Reads one node and leaves a watch on it. If another node has its name, it was deleted.
  task<error_code> read_and_watch(owned_node& n, std::string* data = nullptr);
  // Sends such a read in the write of others; its reply must be passed to note_read().
  pending_reply<get_result> send_read(owned_node& n);
  error_code note_read(owned_node& n, const reply<get_result>& got);
  // Finds out, on a new connection, whether all of them are still there; see one_was_deleted(). An
  // error says nothing about the nodes.
  task<error_code> verify();
  // Drops those that are not there any more.
  task<> drop_deleted();

  // --- replacement

  // Replaces the only node by another one of this name, in one transaction.
  task<error_code> replace(const std::string& name, const creation& c);

  // --- removal

  // A queue's item that the only node claims, by its name.
  struct claimed_item {
    std::string path;  // empty: none
    std::int32_t version = 0;
    std::int64_t czxid = 0;  // a node of this path with another one is another item
    enum class action { keep, remove_with_claim } on_release = action::keep;
  };
  struct removal_plan {
    std::map<std::string, std::string> parent_records;  // by parent: written in one transaction
    claimed_item item;
    bool must_verify = false;  // they may have been deleted already
  };
  struct removal_result {
    bool confirmed = false;  // the server has removed them for us
    error_code item_error;   // why the item was not removed
  };
  // Goes on until the server has confirmed it or the session has ended. Cannot fail.
  task<removal_result> remove(removal_plan& plan);
  // They were removed by a transaction outside.
  void removed() noexcept { exist_ = false; }
  // Nothing of the nodes is left, or the session has ended.
  void forget();

 private:
  struct candidate {
    std::string path;
    std::int64_t czxid;
    bool has_our_data;  // our id, or with data_format::owner_only our data; otherwise it has no id
  };
  task<error_code> find_candidates(const owned_node& under, const creation& c, binding where,
                                   std::vector<candidate>& into);
  task<error_code> choose(const std::vector<std::vector<candidate>>& under, binding where);
  void take(owned_node& n, std::string_view path);
  void set_created(std::int64_t czxid, binding where);
  bool owner_only() const noexcept {
    return context_.request.data == lock_request::data_format::owner_only;
  }

  contender_context& context_;
  std::vector<owned_node> nodes_;
  bool exist_ = false;
  std::int64_t czxid_ = 0;
  std::int64_t fencing_token_ = 0;
  binding verified_on_;
};

}  // namespace conclave::recipes
