#include "recipes/wait/listing.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "recipes/error_class.hpp"
#include "recipes/sequence_number.hpp"
#include "recipes/single_write.hpp"
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
    const auto now = co_await list();
    if (context.interrupted()) co_return context.interruption();
    // A waiter keeps its position after a lost connection.
    if (is_connection_error(now.ec) && request().waits()) continue;
    if (now.ec || !now.blocker) co_return now.ec;
    if (!request().waits()) {
      found.holder = own().child(now.ahead.front().name);
      co_return errc::lock_busy;
    }
    if (request().reports_position && !std::exchange(position_reported, true))
      context.events().enqueued(now.ahead.size());
    const auto& next = now.ahead[*now.blocker];
    blocker b;
    b.node.path = own().child(next.name);
    b.node.czxid = next.czxid;
    b.number = next.number;
    b.meaning = may_become_reader(next.role, next.name) ? deletion::proves_nothing
                : *now.blocker == 0                     ? deletion::grants
                                                        : deletion::leaves_a_gap;
    auto ec = co_await wait_for(b);
    if (ec == errc::no_node) continue;  // deleted since it was listed
    if (!ec) {
      if (b.meaning == deletion::grants) co_return ec;
      bool granted = false;
      ec = co_await learn_from_deletion(b, granted);
      if (granted) co_return error_code{};
    }
    if (ec && !is_connection_error(ec)) co_return ec;
  }
}

task<error_code> wait_by_listing::learn_from_deletion(const blocker&, bool&) {
  co_return error_code{};
}

task<error_code> wait_by_listing::wait_for(blocker& b) {
  has_waited_ = true;
  context.events().reached(step::waiting);
  co_return co_await wait_until_deleted(context, nodes, own(), b.node);
}

// Mutexes, readers and writers of Conclave wait for each other. In other libraries, mutexes ignore
// readers and writers, and readers and writers ignore mutexes, unless writers and mutexes have the
// same names.
bool wait_by_listing::takes_part(const layout::contender& c) const {
  using role = layout::role;
  return c.ours || (request().role == role::exclusive) == (c.role == role::exclusive) ||
         request().layout.name_prefix(role::writer) ==
             request().layout.name_prefix(role::exclusive);
}

task<wait_by_listing::listing> wait_by_listing::list() {
  listing result;
  const auto asked =
      context.send(requests::children(context.defaults(), own().parent, {}), context.in_session());
  const auto got = co_await asked;
  if (got.ec) {
    result.ec = got.ec == errc::no_node ? error_code{errc::waiter_node_deleted} : got.ec;
    co_return result;
  }
  std::vector<contender_entry> all;
  number_range numbers;
  bool has_leases = false;
  for (const auto& name : got.value.names) {
    const auto c = request().layout.parse(name);
    if (c && takes_part(*c)) {
      all.push_back({name, c->role, c->number});
      numbers.add(c->number);
    } else if (layout::known_elsewhere(name)) {
      result.ec = errc::layout_mismatch;
      found.mismatch = request().layout.explain_mismatch(name);
      co_return result;
    } else if (name == leases_folder) {
      has_leases = true;
    }
  }
  if (has_leases)
    if (result.ec = co_await expect_no_permits(); result.ec) co_return result;
  if (numbers.ordered_by_age())
    if (result.ec = co_await read_ages(all); result.ec) co_return result;
  std::sort(all.begin(), all.end(), [](const contender_entry& a, const contender_entry& b) {
    return std::tie(a.czxid, a.number, a.name) < std::tie(b.czxid, b.number, b.name);
  });
  const auto us =
      std::find_if(all.begin(), all.end(), [&](auto& each) { return each.name == own().name; });
  if (us == all.end()) {
    result.ec = errc::waiter_node_deleted;
    co_return result;
  }
  all.erase(us, all.end());
  // A reader waits for the last writer or mutex ahead. All others wait for the last contender
  // ahead.
  for (std::size_t i = all.size(); i-- > 0 && !result.blocker;)
    if (request().role != layout::role::reader || all[i].role != layout::role::reader)
      result.blocker = i;
  result.ahead = std::move(all);
  co_return result;
}

// A path in which permits of a semaphore are held is not a lock.
task<error_code> wait_by_listing::expect_no_permits() {
  const auto asked = context.send(
      requests::children(context.defaults(), own().child(leases_folder), {}), context.in_session());
  const auto got = co_await asked;
  if (got.ec == errc::no_node || got.ec == errc::no_auth) co_return error_code{};
  if (got.ec) co_return got.ec;
  if (std::none_of(got.value.names.begin(), got.value.names.end(), is_lease))
    co_return error_code{};
  found.mismatch = "permits of a semaphore are held there";
  co_return errc::permits_mismatch;
}

// The sequence numbers are exhausted, so the contenders are ordered by creation.
task<error_code> wait_by_listing::read_ages(std::vector<contender_entry>& all) {
  std::vector<pending_reply<std::optional<node_stat>>> asked;
  {
    const single_write in_one_write{context.session()};
    for (const auto& each : all)
      asked.push_back(context.send(requests::exists(context.defaults(), own().child(each.name), {}),
                                   context.in_session()));
  }
  error_code ec;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto got = co_await asked[i];
    if (got.ec) ec = got.ec;
    if (!got.ec && got.value) all[i].czxid = got.value->czxid;
  }
  std::erase_if(all, [](const contender_entry& each) { return each.czxid == 0; });
  // A writer that became a reader kept its number but has a newer node. No contender with a higher
  // number must come before it, so the reader gets the lowest czxid of these contenders.
  for (auto& reader : all) {
    if (reader.role != layout::role::reader || near_the_end(reader.number)) continue;
    for (const auto& each : all)
      if (comes_later(each.number, reader.number))
        reader.czxid = std::min(reader.czxid, each.czxid);
  }
  co_return ec;
}

}  // namespace conclave::recipes
