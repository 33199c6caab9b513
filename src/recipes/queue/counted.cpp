#include "recipes/queue/counted.hpp"

#include <utility>

#include "recipes/error_class.hpp"
#include "recipes/make_path.hpp"
#include "recipes/new_id.hpp"
#include "recipes/queue/names.hpp"
#include "recipes/single_write.hpp"

namespace conclave::recipes {

task<error_code> counted_transactions::enrol(std::shared_ptr<void> owner) {
  if (enrolled() && version_) co_return error_code{};
  if (enrolled()) {  // the version of our node is unknown
    const auto asked =
        send(context_, owner, requests::exists(context_->defaults(), path(), {}), {session_, 0});
    const auto found = co_await asked;
    if (!found.ec && found.value) {
      version_ = found.value->version;
      co_return error_code{};
    }
    if (found.ec && !is_session_end(found.ec)) co_return found.ec;
  }
  session_ = 0;
  if (perhaps_in_ == 0) name_ = new_id(*context_);
  binding where{perhaps_in_, 0};
  for (;;) {
    const auto asked =
        send(context_, owner,
             requests::create(context_->defaults(), path(), {}, create_mode::ephemeral), where);
    const auto made = co_await asked;
    // The name is unique: a node with this name in the same session was created by us before the
    // connection was lost.
    const bool there = made.ec == errc::node_exists && where.session != 0;
    if (!made.ec || there) {
      session_ = made.sent_on.session;
      perhaps_in_ = 0;
      version_ = 0;
      co_return error_code{};
    }
    if (outcome_unknown(made.ec)) {
      perhaps_in_ = made.sent_on.session;
      where = {perhaps_in_, 0};
    } else if (made.ec == errc::no_node) {
      const auto ec = co_await make_path(context_, owner, folder_, queue_names::folder_levels,
                                         create_mode::container);
      if (ec) co_return ec;
    } else if (context_->can_restart_after(made.ec)) {
      name_ = new_id(*context_);
      perhaps_in_ = 0;
      where = {};
    } else {
      co_return made.ec;
    }
  }
}

task<counted_transactions::outcome> counted_transactions::commit(
    std::shared_ptr<void> owner, const transaction& t, const std::function<void()>& along) {
  for (bool first = true;;) {
    const auto enrolled = co_await enrol(owner);
    if (enrolled) co_return outcome{enrolled, false, {}};
    transaction whole;
    whole.set(path(), {}, *version_).append(t);
    bool unclear = false;
    for (bool settled = false; !settled;) {
      std::optional<pending_reply<transaction_result>> asked;
      {
        const single_write in_one_write{*context_};
        if (std::exchange(first, false) && along) along();
        asked = send(context_, owner, requests::commit(context_->defaults(), whole), {session_, 0});
      }
      const auto got = co_await *asked;
      const auto refused = got.value.failed_part();
      const bool advanced = refused == 0u && got.ec == errc::bad_version && unclear;
      if (!got.ec || advanced) {
        ++*version_;
        co_return outcome{};
      }
      if (refused && *refused > 0) co_return outcome{got.ec, false, *refused - 1};
      // While the session lives, the version of our node shows the outcome. So the request is
      // repeated as long as necessary.
      if (outcome_unknown(got.ec) || (unclear && is_connection_error(got.ec))) {
        unclear = true;
        continue;
      }
      // Our node was deleted, by hand or with its session, or another client wrote it. The
      // transaction is not the cause, so it is tried again. But if its outcome was unknown, it
      // stays unknown.
      const bool over = is_session_end(got.ec);
      const bool gone = over || (refused && got.ec == errc::no_node);
      const bool touched = refused && got.ec == errc::bad_version;
      if (gone) session_ = 0;
      if (unclear || touched) version_.reset();
      if (unclear) co_return outcome{over ? got.ec : error_code{errc::connection_loss}, true, {}};
      if ((!gone && !touched) || (over && !context_->can_restart_after(got.ec)))
        co_return outcome{got.ec, false, {}};
      settled = true;
    }
  }
}

task<> counted_transactions::leave(std::shared_ptr<void> owner) {
  const binding where{session_ != 0 ? session_ : perhaps_in_, 0};
  session_ = perhaps_in_ = 0;
  error_code ec = errc::not_connected;
  while (where.session != 0 && (is_connection_error(ec) || outcome_unknown(ec))) {
    // The name is unique, so a repeated removal does no harm.
    const auto asked =
        send(context_, owner, requests::remove(context_->defaults(), path(), any_version), where,
             session::on_cut::repeat);
    const auto got = co_await asked;
    ec = got.ec;
  }
  co_return done;
}

}  // namespace conclave::recipes
