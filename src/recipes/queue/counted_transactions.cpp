#include "recipes/queue/counted_transactions.hpp"

#include <utility>

#include "recipes/error_class.hpp"
#include "recipes/large_request.hpp"
#include "recipes/make_path.hpp"
#include "recipes/queue/names.hpp"

namespace conclave::recipes {
namespace {

// The data of the counter node after a withdrawal. Transactions leave it empty.
constexpr std::string_view withdrawal_mark = "withdrawn";

}  // namespace

task<error_code> counted_transactions::create_counter(std::shared_ptr<void> owner) {
  if (has_counter() && version_) co_return error_code{};
  if (has_counter()) {
    const auto reading =
        send(context_, owner, requests::exists(context_->defaults(), path(), {}), {session_, 0});
    const auto found = co_await reading;
    if (!found.ec && found.value) {
      version_ = found.value->version;
      co_return error_code{};
    }
    if (found.ec && !is_session_end(found.ec)) co_return found.ec;
  }
  session_ = 0;
  if (unresolved_session_ == 0) name_ = context_->new_id();
  binding where{unresolved_session_, 0};
  for (;;) {
    const auto creating =
        send(context_, owner,
             requests::create(context_->defaults(), path(), {}, create_mode::ephemeral), where);
    const auto created = co_await creating;
    // The name is unique, so if the node exists in this session, we created it before the
    // connection was lost.
    const bool existed = created.ec == errc::node_exists && where.session != 0;
    if (!created.ec || existed) {
      session_ = created.sent_on.session;
      unresolved_session_ = 0;
      version_ = 0;
      co_return error_code{};
    }
    if (outcome_unknown(created.ec)) {
      unresolved_session_ = created.sent_on.session;
      where = {unresolved_session_, 0};
    } else if (created.ec == errc::no_node) {
      const auto ec = co_await make_path(context_, owner, folder_, queue_names::folder_levels,
                                         create_mode::container);
      if (ec) co_return ec;
    } else if (context_->can_restart_after(created.ec)) {
      name_ = context_->new_id();
      unresolved_session_ = 0;
      where = {};
    } else {
      co_return created.ec;
    }
  }
}

task<counted_transactions::commit_result> counted_transactions::commit(
    std::shared_ptr<void> owner, const transaction& t, const std::function<void()>& send_along) {
  // Each round uses the current version of the counter node.
  for (bool first_request = true;;) {
    if (const auto ec = co_await create_counter(owner)) co_return commit_result{ec, false, {}};
    transaction counted;
    counted.set(path(), {}, *version_).append(t);
    bool unknown = false;  // an earlier request of this round has an unknown outcome
    suspected_refusals refusals;
    for (bool new_round = false; !new_round;) {
      std::optional<pending_reply<transaction_result>> committing;
      {
        const single_write in_one_write{*context_};
        if (std::exchange(first_request, false) && send_along) send_along();
        committing =
            send(context_, owner, requests::commit(context_->defaults(), counted), {session_, 0});
      }
      const auto got = co_await *committing;
      const auto refused = got.value.failed_part();
      const bool executed_before = refused == 0u && got.ec == errc::bad_version && unknown;
      if (!got.ec || executed_before) {
        ++*version_;
        co_return commit_result{};
      }
      if (refused && *refused > 0) co_return commit_result{got.ec, false, *refused - 1};
      // While the session lives, the counter node shows the outcome. So the request is repeated as
      // long as necessary.
      if (outcome_unknown(got.ec) || (unknown && is_connection_error(got.ec))) {
        unknown = true;
        if (!got.may_be_too_large || !refusals.one_more()) continue;
        const auto end = co_await withdraw(owner);
        if (end == withdrawal::withdrawn) co_return commit_result{errc::too_large, false, {}};
        if (end == withdrawal::executed) co_return commit_result{};
        version_.reset();
        const bool ended = end == withdrawal::session_ended;
        co_return commit_result{ended ? errc::session_expired : errc::connection_loss, true, {}};
      }
      // The counter node was deleted, by hand or with its session, or another client wrote it. The
      // transaction did not cause this, so it is sent again. But if its outcome is already unknown,
      // the outcome stays unknown.
      const bool session_ended = is_session_end(got.ec);
      const bool deleted = session_ended || (refused && got.ec == errc::no_node);
      const bool written = refused && got.ec == errc::bad_version;
      if (deleted) session_ = 0;
      if (unknown || written) version_.reset();
      if (unknown)
        co_return commit_result{
            session_ended ? got.ec : error_code{errc::connection_loss}, true, {}};
      if ((!deleted && !written) || (session_ended && !context_->can_restart_after(got.ec)))
        co_return commit_result{got.ec, false, {}};
      new_round = true;
    }
  }
}

task<counted_transactions::withdrawal> counted_transactions::withdraw(std::shared_ptr<void> owner) {
  for (;;) {
    const auto writing = send(
        context_, owner, requests::set(context_->defaults(), path(), withdrawal_mark, *version_),
        {session_, 0});
    const auto written = co_await writing;
    if (!written.ec) {
      ++*version_;
      co_return withdrawal::withdrawn;
    }
    if (outcome_unknown(written.ec) || is_connection_error(written.ec)) continue;
    if (is_session_end(written.ec)) co_return withdrawal::session_ended;
    if (written.ec != errc::bad_version) co_return withdrawal::unknown;
    // Either the transaction was executed, or an earlier withdrawal was executed and its reply was
    // lost.
    const auto reading =
        send(context_, owner, requests::get(context_->defaults(), path(), {}), {session_, 0});
    const auto found = co_await reading;
    if (outcome_unknown(found.ec) || is_connection_error(found.ec)) continue;
    if (is_session_end(found.ec)) co_return withdrawal::session_ended;
    if (found.ec || found.value.stat.version != *version_ + 1) co_return withdrawal::unknown;
    ++*version_;
    co_return found.value.data == withdrawal_mark ? withdrawal::withdrawn : withdrawal::executed;
  }
}

task<> counted_transactions::remove_counter(std::shared_ptr<void> owner) {
  const binding where{session_ != 0 ? session_ : unresolved_session_, 0};
  session_ = unresolved_session_ = 0;
  error_code ec = errc::not_connected;
  while (where.session != 0 && (is_connection_error(ec) || outcome_unknown(ec))) {
    // The name is unique, so a repeated removal does no harm.
    const auto removing =
        send(context_, owner, requests::remove(context_->defaults(), path(), any_version), where,
             session::on_disconnect::repeat);
    const auto removed = co_await removing;
    ec = removed.ec;
  }
  co_return done;
}

}  // namespace conclave::recipes
