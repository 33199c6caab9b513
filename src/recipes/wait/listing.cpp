#include "recipes/wait/listing.hpp"

#include <algorithm>
#include <utility>

#include "recipes/error_class.hpp"
#include "recipes/sequence_number.hpp"
#include "recipes/wait/permits.hpp"

namespace conclave::recipes {

std::string wait_by_listing::name_in_use() const {
  return request().layout.name_prefix(request().role) + format_number(last_number);
}

bool wait_by_listing::may_become_reader(layout::role r, std::string_view name) {
  return r == layout::role::writer || (r == layout::role::exclusive && layout::may_be_writer(name));
}

task<error_code> wait_by_listing::wait_for_grant() { co_return co_await list_and_wait(); }

task<error_code> wait_by_listing::list_and_wait() {
  for (bool position_reported = false;;) {
    context.events().reached(step::listing);
    auto now = co_await find_position();
    if (context.interrupted()) co_return context.interruption();
    // A waiter keeps its position after a lost connection.
    if (is_connection_error(now.ec) && request().waits()) continue;
    if (now.ec || !now.blocker) co_return now.ec;
    if (!request().waits()) {
      found.holder = own().child(now.first);
      co_return errc::lock_busy;
    }
    if (request().reports_position && !std::exchange(position_reported, true))
      context.events().enqueued(now.index);
    auto& b = *now.blocker;
    auto ec = co_await wait_for(b);
    if (ec == errc::no_node) continue;  // deleted since it was listed
    if (!ec) {
      if (b.meaning == deletion::grants) co_return ec;
      const auto learnt = co_await learn_from_deletion(b);
      if (learnt.what == deletion_result::outcome::granted) co_return error_code{};
      ec = learnt.ec;
    }
    if (ec && !is_connection_error(ec)) co_return ec;
  }
}

wait_by_listing::blocker wait_by_listing::make_blocker(const wait_queue& all,
                                                       std::size_t index) const {
  const auto& c = all[index];
  blocker b;
  b.node.path = own().child(c.name);
  b.node.czxid = c.czxid;
  b.number = c.number;
  const bool is_first = !all.blocker_of(index, request().role);
  if (request().role == layout::role::reader)  // a writer that becomes a reader does not block it
    b.meaning = is_first ? deletion::grants : deletion::proves_nothing;
  else if (!may_become_reader(c.role, c.name))
    b.meaning = is_first ? deletion::grants : deletion::leaves_a_gap;
  return b;
}

task<wait_by_listing::deletion_result> wait_by_listing::learn_from_deletion(const blocker&) {
  co_return deletion_result{deletion_result::outcome::must_list, {}};
}

task<error_code> wait_by_listing::wait_for(blocker& b) {
  has_waited_ = true;
  context.events().reached(step::waiting);
  co_return co_await wait_until_deleted(context, nodes, own(), b.node);
}

// For contenders with the same key, layout::parse_for() returns the same contenders.
shared_listings::key wait_by_listing::listing_key() const {
  using role = layout::role;
  const auto& names = request().layout;
  const auto own_role = request().role == role::exclusive ? role::exclusive : role::writer;
  return {context.session_id, own().parent, names.name() + '/' + names.name_prefix(own_role)};
}

// Waits for a listing that is sent after this call. If no other contender of the session has sent
// it, this one does.
task<wait_by_listing::position> wait_by_listing::find_position() {
  auto& listings = context.session().listings;
  const auto key = listing_key();
  const auto listed = listings.join(key, context.owner(), context.changed);
  position result;
  using phase = shared_listing::phase;
  while (listed->current != phase::received && !context.interrupted()) {
    if (listed->current == phase::not_sent && listings.may_send(key)) {
      listings.sent(key);
      co_await list(*listed);
      listings.received(key, listed);
    } else {
      co_await context.changed;
    }
  }
  if (context.interrupted() && listed->current != phase::received) {
    result.ec = context.interruption();
    co_return result;
  }
  result.ec = listed->ec;
  if (!listed->mismatch.empty()) found.mismatch = listed->mismatch;
  std::optional<std::size_t> index;
  if (!result.ec) index = listed->contenders.find(own().name, own().number);
  if (result.ec == errc::no_node || (!result.ec && !index)) {
    result.ec = own_was_deleted();
  } else if (index) {
    const auto& all = listed->contenders;
    result.index = *index;
    result.first = all[0].name;
    if (const auto b = all.blocker_of(*index, request().role))
      result.blocker = make_blocker(all, *b);
  }
  co_return result;
}

task<> wait_by_listing::list(shared_listing& into) {
  const auto pending =
      context.send(requests::children(context.defaults(), own().parent, {}), context.in_session());
  const auto got = co_await pending;
  into.ec = got.ec;
  if (got.ec) co_return done;
  std::vector<queued_contender> all;
  all.reserve(got.value.names.size());
  bool has_leases = false;
  for (const auto& name : got.value.names) {
    if (const auto c = request().layout.parse_for(request().role, name)) {
      all.push_back({name, c->role, c->number});
    } else if (layout::in_known_layout(name)) {
      into.ec = errc::layout_mismatch;
      into.mismatch = request().layout.explain_mismatch(name);
      co_return done;
    } else if (name == leases_folder) {
      has_leases = true;
    }
  }
  if (has_leases) into.ec = co_await expect_no_permits(into.mismatch);
  if (!into.ec && ordered_by_creation(all)) into.ec = co_await read_czxids(all);
  if (!into.ec) into.contenders = wait_queue{std::move(all)};
  co_return done;
}

// A path in which permits of a semaphore are held is not a lock.
task<error_code> wait_by_listing::expect_no_permits(std::string& mismatch) {
  const auto pending = context.send(
      requests::children(context.defaults(), own().child(leases_folder), {}), context.in_session());
  const auto got = co_await pending;
  if (got.ec == errc::no_node || got.ec == errc::no_auth) co_return error_code{};
  if (got.ec) co_return got.ec;
  if (std::none_of(got.value.names.begin(), got.value.names.end(), is_lease))
    co_return error_code{};
  mismatch = "permits of a semaphore are held there";
  co_return errc::permits_mismatch;
}

task<error_code> wait_by_listing::read_czxids(std::vector<queued_contender>& all) {
  std::vector<pending_reply<std::optional<node_stat>>> pending;
  {
    const single_write in_one_write{context.session()};
    for (const auto& each : all)
      pending.push_back(context.send(
          requests::exists(context.defaults(), own().child(each.name), {}), context.in_session()));
  }
  error_code ec;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto got = co_await pending[i];
    if (got.ec) ec = got.ec;
    if (!got.ec && got.value) all[i].czxid = got.value->czxid;
  }
  std::erase_if(all, [](const queued_contender& each) { return each.czxid == 0; });
  co_return ec;
}

}  // namespace conclave::recipes
