#include "recipes/contender.hpp"

#include <algorithm>
#include <utility>

#include "recipes/error_class.hpp"
#include "recipes/large_request.hpp"
#include "recipes/make_path.hpp"
#include "recipes/parent_record.hpp"
#include "recipes/sequence_number.hpp"
#include "recipes/wait/deletion.hpp"

namespace conclave::recipes {
namespace {

using kind = session_event::kind;

}  // namespace

contender::contender(std::shared_ptr<session_context> context,
                     std::shared_ptr<const lock_request> request,
                     std::shared_ptr<contender_events> events, std::string wait)
    : context_{std::move(context), std::move(request), std::move(events)},
      nodes_{context_},
      wait_{std::move(wait)},
      monitor_{context_, nodes_, [this](error_code why) { lose(why); }},
      recall_{context_, nodes_} {
  context_.session().add_listener(*this);
}

contender::~contender() { end(); }

// Must run inside a session_context::scope. The destructor of a contender may run outside of a
// scope, but only after the contender is gone. This function then has no effect.
void contender::end() {
  if (std::exchange(phase_, phase::gone) == phase::gone) return;
  context_.session().remove_listener(*this);
  monitor_.end();
  recall_.end();
}

void contender::start(std::shared_ptr<contender> previous) {
  context_.set_owner(weak_from_this());
  previous_ = std::move(previous);
  run_ = run();
  run_.start();
}

task<> contender::run() {
  const auto ec = co_await acquire();
  if (!ec) {
    phase_ = phase::holding;
    was_granted_ = true;
    std::string{}.swap(wait_);  // frees its memory
    monitor_.begin(session_at_grant_);
    context_.events().granted();
    if (monitor_.suspended()) context_.events().suspended();
    co_await hold();
    monitor_.end();
    // The program must be notified of the loss before the next contender is granted the lock.
    if (was_lost_) co_await context_.callbacks_done();
  } else {
    context_.events().failed(ec);
  }
  phase_ = phase::releasing;
  co_await remove_nodes();
  end();
  context_.report_gone();
  co_return done;
}

// --- creating and waiting

task<error_code> contender::acquire() {
  const auto& request = context_.request();
  const bool restarts = request.if_session_ends == lock_request::on_session_end::restart;
  if (!request.waits() && !request.seen_holder.empty()) {
    const auto ec = co_await check_seen_holder();
    if (ec && !(restarts && context_.session().can_restart_after(ec))) co_return ec;
  }
  for (;;) {
    phase_ = phase::creating;
    context_.begin_session();
    nodes_.reset(request.parents);
    waits_.clear();
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      waits_.push_back(make_wait_strategy(context_, nodes_, i, found_));
    context_.events().reached(step::creating);
    auto ec = co_await create_nodes();
    if (context_.release_requested()) co_return context_.interruption();
    if (!ec) {
      context_.events().reached(step::created);
      phase_ = phase::waiting;
      ec = co_await wait_for_grant();
    }
    if (context_.release_requested()) co_return context_.interruption();
    if (!restarts || !context_.session().can_restart_after(ec)) co_return ec;
    // The session ended, so the server has deleted the nodes.
    nodes_.forget();
  }
}

// Returns errc::lock_busy if the node that held the lock at the previous attempt still exists.
task<error_code> contender::check_seen_holder() {
  const auto& path = context_.request().seen_holder;
  const auto pending = context_.send(requests::exists(context_.defaults(), path, {}), {});
  const auto got = co_await pending;
  if (got.ec || !got.value) co_return got.ec;
  found_.holder = path;
  co_return errc::lock_busy;
}

// Creates the nodes, and the parents if they do not exist.
task<error_code> contender::create_nodes() {
  binding where;  // any session
  if (previous_) {
    const auto ec = co_await create_after_previous();
    if (nodes_.exist() || is_session_end(ec)) co_return ec;
    where = context_.in_session();
  }
  suspected_refusals refusals;
  for (int without_parent = 0; !context_.release_requested();) {
    const auto creation = nodes_.new_creation(wait_);
    id_ = creation.id;
    const std::function<void()> send_reads = [this] {
      for (const auto& w : waits_) w->send_with_creation();
    };
    const auto made = co_await nodes_.create(creation, where, send_reads);
    for (const auto& w : waits_) co_await w->receive_after_creation(!made.ec);
    auto ec = made.ec;
    if (made.failed_operation >= nodes_.size()) co_return ec;  // one of the extra operations failed
    if (outcome_unknown(ec)) {
      const bool refused = made.may_be_too_large && refusals.one_more();
      ec = co_await resolve(creation);
      if (ec || nodes_.exist()) co_return ec;
      if (refused) co_return errc::too_large;
    } else if (ec == errc::no_node) {
      // The parents are containers: the server removes them some time after the last contender's
      // node.
      ec = co_await make_paths(context_.shared_session(), shared_from_this(),
                               context_.request().parents, context_.request().own_levels,
                               create_mode::container);
      if (ec) co_return ec;
      // The parents were created, but the server may report no_node again: another client keeps
      // removing them, or a different node is missing.
      if (++without_parent > 2) co_await context_.pause(retry_delay);
    } else if (ec == errc::node_exists) {
      if (ec = co_await wait_for_name(made.failed_operation); ec) co_return ec;
    } else {
      co_return ec;
    }
    where = context_.in_session();  // in another session the contender starts again
  }
  co_return context_.interruption();
}

// Callers do not wait for a connection forever, so the attempt fails. The contender later finds and
// removes its nodes.
std::function<void(error_code)> contender::disconnect_callback() {
  return [this](error_code ec) {
    if (context_.release_requested()) return;
    context_.events().failed(ec);
    context_.mute();
    context_.request_release();
  };
}

// One transaction releases the previous contender and creates the node of this one. The ticket of
// the previous contender then shows whether another contender is in between.
task<error_code> contender::create_after_previous() {
  const auto previous = std::exchange(previous_, {});
  const auto from = *previous->waits_[0]->hand_over();
  const auto& old = previous->nodes_[0];
  context_.session_id = previous->context_.session_id;
  const auto creation = nodes_.new_creation(wait_);
  id_ = creation.id;
  transaction t;
  t.remove(old.path())
      .set(old.parent, format_served_record(from.parent_czxid, from.number))
      .create(nodes_[0].child(creation.prefix), creation.data, creation.mode);
  previous->release_by_next_ = release_by_next::sent;
  const auto pending =
      context_.send(requests::commit(context_.defaults(), t), previous->nodes_.verified_on());
  const auto made = co_await pending;
  previous->release_by_next_ = !made.ec                   ? release_by_next::confirmed
                               : outcome_unknown(made.ec) ? release_by_next::outcome_unknown
                                                          : release_by_next::no;
  if (!made.ec) {
    nodes_.created(made.value.parts[2].path, made.value.zxid, made.sent_on);
    waits_[0]->take_over(from, made.value.parts[1].stat.czxid);
  }
  previous->context_.changed.notify();
  if (!outcome_unknown(made.ec)) co_return made.ec;
  co_return co_await resolve(creation);
}

task<error_code> contender::resolve(const owned_nodes::creation& c) {
  phase_ = phase::resolving;
  const auto disconnected = disconnect_callback();
  const auto ec = co_await nodes_.resolve(c, disconnected);
  phase_ = phase::creating;
  co_return ec;
}

// Waits until the node whose name the creation needs is deleted.
task<error_code> contender::wait_for_name(std::size_t index) {
  awaited_node other;
  other.path = nodes_[index].child(waits_[index]->name_in_use());
  if (!context_.request().waits()) {
    found_.holder = other.path;
    co_return errc::lock_busy;
  }
  const auto ec = co_await wait_until_deleted(context_, nodes_, nodes_[index], other);
  co_return ec == errc::no_node ? error_code{} : ec;
}

task<error_code> contender::wait_for_grant() {
  for (const auto& w : waits_)
    if (const auto ec = co_await w->wait_for_grant(); ec) co_return ec;
  if (const auto ec = co_await check_nodes(); ec) co_return ec;
  if (nodes_.one_was_deleted()) co_return co_await why_deleted(context_, nodes_);
  co_return co_await confirm_in_time();
}

// While the contender waited in one wait queue, its node in another one may have been deleted.
// After a reconnect, a node with the name of ours may belong to another contender.
task<error_code> contender::check_nodes() {
  const bool has_waited =
      std::any_of(waits_.begin(), waits_.end(), [](const auto& w) { return w->has_waited(); });
  const bool all_need_watches = nodes_.size() > 1 && has_waited;
  for (auto& n : nodes_)
    while (!context_.release_requested() &&
           (all_need_watches ? n.watch.must_read() : n.watch.changed())) {
      const auto ec = co_await nodes_.read_and_watch(n);
      if (ec && ec != errc::no_node && !is_connection_error(ec)) co_return ec;
    }
  co_return error_code{};
}

// The lock is granted only if the session is alive. A process that was stopped for longer than the
// session timeout can receive the deletion of the predecessor before the end of its own session. So
// after the deadline the contender reads its own node first.
task<error_code> contender::confirm_in_time() {
  const auto& session = context_.session();
  const auto is_late = [&] {
    session_at_grant_ = session.session();
    return session.now() >= session_at_grant_.deadline;
  };
  while (!context_.interrupted() && is_late()) {
    const auto pending = context_.send(requests::get(context_.defaults(), nodes_[0].path(), {}),
                                       context_.in_session());
    const auto got = co_await pending;
    if (got.ec == errc::no_node) {
      nodes_[0].watch.mark_deleted();
      co_return errc::waiter_node_deleted;
    }
    if (got.ec && !is_connection_error(got.ec)) co_return got.ec;
  }
  co_return context_.interrupted() ? context_.interruption() : error_code{};
}

// --- holding

task<> contender::hold() {
  while (phase_ == phase::holding) {
    if (context_.session_ended()) {
      lose(context_.session_end());
    } else if (nodes_.one_was_deleted()) {
      lose(monitor_.why_deleted());
    } else if (!downgrades_.empty()) {
      const auto ec = co_await become_reader();
      finish_downgrades(ec);
    } else if (monitor_.has_work()) {
      co_await monitor_.work();
    } else if (recall_.has_work()) {
      co_await recall_.work();
    } else {
      co_await context_.changed;
    }
  }
  co_return done;
}

bool contender::certainly_holds() const {
  const auto& session = context_.session();
  return phase_ == phase::holding && !context_.session_ended() && !nodes_.one_was_deleted() &&
         !monitor_.suspended() && downgrades_.empty() && session.now() < session.session().deadline;
}

bool contender::granted_at_once() const {
  return std::none_of(waits_.begin(), waits_.end(), [](const auto& w) { return w->has_waited(); });
}

void contender::lose(error_code why) {
  if (phase_ != phase::holding) return;
  phase_ = phase::releasing;
  was_lost_ = true;
  context_.request_release();
  context_.events().lost(why);
  finish_downgrades(errc::lock_lost);  // there may be no connection for a long time
}

void contender::downgrade(std::function<void(error_code)> completed) {
  downgrades_.push_back(std::move(completed));
  context_.changed.notify();
}

void contender::finish_downgrades(error_code ec) {
  for (const auto& completed : std::exchange(downgrades_, {})) completed(ec);
}

// One transaction replaces the writer's node with a reader's node that has the same sequence
// number. Waiting writers then see a reader ahead of them, and waiting readers see no writer.
task<error_code> contender::become_reader() {
  const auto& request = context_.request();
  if (request.role == layout::role::reader) co_return error_code{};
  auto& n = nodes_[0];
  if (monitor_.watches_too_late()) co_await monitor_.read(n);
  if (n.watch.deleted() || context_.release_requested()) co_return errc::lock_lost;
  // Near the end of the sequence numbers, contenders are ordered by creation, so the new node would
  // be behind waiting writers.
  if (near_the_end(n.number)) co_return errc::not_supported;
  const auto name = request.layout.name_prefix(layout::role::reader) + format_number(n.number);
  const auto creation = nodes_.new_creation();
  if (const auto ec = co_await nodes_.replace(name, creation); ec) co_return ec;
  id_ = creation.id;
  context_.set_role(layout::role::reader);
  monitor_.begin_again();
  co_return error_code{};
}

// --- releasing

void contender::release() {
  if (context_.release_requested()) return;
  context_.request_release();
  if (phase_ == phase::holding) phase_ = phase::releasing;
  finish_downgrades(errc::lock_lost);
  context_.changed.notify();
}

void contender::release_claim(claimed_item item) {
  if (!context_.release_requested()) item_ = std::make_unique<claimed_item>(std::move(item));
  release();
}

bool contender::can_release_with_next() const noexcept {
  return phase_ == phase::holding && !context_.session_ended() && nodes_.size() == 1 &&
         waits_[0]->hand_over() && !nodes_.one_was_deleted() && !monitor_.watches_too_late();
}

void contender::release_with_next() {
  release_by_next_ = release_by_next::offered;
  release();
}

void contender::release_now() {
  if (release_by_next_ == release_by_next::offered) release_by_next_ = release_by_next::no;
  context_.changed.notify();
}

error_code contender::release_result() const noexcept {
  if (removal_.confirmed) return removal_.item_error;
  return context_.session_ended() ? errc::session_expired : errc::lock_lost;
}

task<> contender::remove_nodes() {
  finish_downgrades(errc::lock_lost);
  while (
      (release_by_next_ == release_by_next::offered || release_by_next_ == release_by_next::sent) &&
      !context_.session_ended())
    co_await context_.changed;
  if (release_by_next_ == release_by_next::confirmed) nodes_.removed();

  owned_nodes::removal_plan plan;
  if (item_) plan.item = *item_;
  plan.must_verify = release_by_next_ == release_by_next::outcome_unknown ||
                     nodes_.one_was_deleted() || monitor_.watches_too_late();
  if (was_granted_)
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (auto record = waits_[i]->record_on_release())
        plan.parent_records.emplace(nodes_[i].parent, std::move(*record));
  removal_ = co_await nodes_.remove(plan);

  // The sequence numbers of the parent are exhausted. A new parent starts at 0.
  if (!context_.session_ended())
    for (const auto& n : nodes_)
      if (near_the_end(n.number))
        static_cast<void>(context_.send(
            requests::remove(context_.defaults(), n.parent, any_version), context_.in_session()));
  co_return done;
}

// --- events of the session

void contender::session_changed(const session_event& e) {
  if (context_.session_id == 0) return;  // the pending request fails by itself
  const auto alive = shared_from_this();
  switch (e.type) {
    case kind::connected: return;
    case kind::suspended:
      if (phase_ == phase::holding) monitor_.connection_lost();
      return;
    case kind::reconnected:
      monitor_.reconnected();
      if (phase_ != phase::holding && nodes_.exist())
        for (auto& n : nodes_) n.watch.request_read();
      break;
    case kind::expired:
    case kind::closed:
    case kind::authentication_failed: {
      const auto why = e.type == kind::closed    ? errc::closed
                       : e.type == kind::expired ? errc::session_expired
                                                 : errc::auth_failed;
      context_.end_session(why);
      lose(why);
      break;
    }
  }
  context_.changed.notify();
}

}  // namespace conclave::recipes
