#include "recipes/queue/folder_identity.hpp"

#include "recipes/error_class.hpp"

namespace conclave::recipes {

void folder_identity::set_needed(bool needed) noexcept {
  if (needed == this->needed() || state_ == state::outcome_unknown) return;
  // If the node is no longer needed, the folder was replaced, and the node was removed with it.
  state_ = needed ? state::absent : state::not_needed;
}

task<error_code> folder_identity::verify(std::shared_ptr<void> owner) {
  const auto pending =
      send(context_, owner, requests::exists(context_->defaults(), path(), {}), {session_, 0});
  const auto found = co_await pending;
  if (found.ec && !is_session_end(found.ec)) co_return found.ec;
  state_ = found.value ? state::established : state::absent;
  co_return error_code{};
}

// Creates the parent of the identity node. Does not create the folder, and returns errc::no_node if
// the folder does not exist. The ACL is open, because consumers with other credentials also need
// this node.
task<error_code> folder_identity::make_parent(std::shared_ptr<void> owner) {
  auto mode = create_mode::container;
  for (;;) {
    const create_options how{mode, open_acl()};
    const auto pending =
        send(context_, owner, requests::create(context_->defaults(), parent_, {}, how), {},
             session::on_disconnect::repeat);
    const auto created = co_await pending;
    const bool old_server = created.ec == errc::unimplemented && mode == create_mode::container;
    if (created.ec == errc::no_auth) state_ = state::not_needed;
    if (!old_server) co_return created.ec == errc::node_exists ? error_code{} : created.ec;
    mode = create_mode::persistent;  // a server before 3.5 has no containers
  }
}

task<error_code> folder_identity::establish(std::shared_ptr<void> owner) {
  for (;;) {
    if (established()) co_return error_code{};
    if (session_ != context_->session().id) state_ = state::absent;
    if (state_ == state::unverified) {
      if (const auto ec = co_await verify(owner)) co_return ec;
      continue;
    }
    const bool resolves = state_ == state::outcome_unknown;
    if (!resolves) name_ = "conclave-" + context_->new_id();
    const binding where{resolves ? session_ : 0, 0};
    const auto pending =
        send(context_, owner,
             requests::create(context_->defaults(), path(), {}, create_mode::ephemeral), where);
    const auto created = co_await pending;
    // The name is unique, so this object created the existing node.
    if (!created.ec || created.ec == errc::node_exists) {
      session_ = created.sent_on.session;
      state_ = state::established;
    } else if (outcome_unknown(created.ec)) {
      session_ = created.sent_on.session;
      state_ = state::outcome_unknown;
    } else if (created.ec == errc::no_node) {
      state_ = state::absent;
      const auto ec = co_await make_parent(owner);
      if (ec == errc::no_auth) co_return error_code{};
      if (ec && !context_->can_restart_after(ec)) co_return ec;
    } else if (created.ec == errc::no_auth) {
      state_ = state::not_needed;
      co_return error_code{};
    } else {
      if (!is_connection_error(created.ec)) state_ = state::absent;
      if (!context_->can_restart_after(created.ec)) co_return created.ec;
    }
  }
}

task<> folder_identity::remove(std::shared_ptr<void> owner) {
  const bool may_exist = state_ == state::outcome_unknown || state_ == state::established ||
                         state_ == state::unverified;
  state_ = state::not_needed;
  error_code ec = errc::not_connected;
  while (may_exist && (is_connection_error(ec) || outcome_unknown(ec))) {
    const auto pending =
        send(context_, owner, requests::remove(context_->defaults(), path(), any_version),
             {session_, 0}, session::on_disconnect::repeat);
    const auto got = co_await pending;
    ec = got.ec;
  }
  co_return done;
}

}  // namespace conclave::recipes
