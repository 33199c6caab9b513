#include "recipes/wait/deletion.hpp"

#include <utility>

#include "recipes/error_class.hpp"

namespace conclave::recipes {
namespace {

using state = node_watch::state;

// The result of one round of reads and the wait that follows.
struct wait_round {
  enum class result { deleted, changed, ended } what;
  error_code ec;  // for ended
};

task<wait_round> watch_once(contender_context& c, owned_nodes& nodes, owned_node& own,
                            awaited_node& awaited, node_watch& other, node_watch& early) {
  std::optional<pending_reply<get_result>> reading, reading_early, reading_own;
  const bool reads_own = !own.name.empty() && own.watch.current() == state::unset;
  {
    const single_write in_one_write{c.session()};
    reading =
        c.send(requests::get(c.defaults(), awaited.path, other.set(awaited.path)), c.in_session());
    if (!awaited.early_path.empty() && early.current() == state::unset)
      reading_early =
          c.send(requests::get(c.defaults(), awaited.early_path, early.set(awaited.early_path)),
                 c.in_session());
    if (reads_own) reading_own = nodes.send_read(own);
  }
  const auto got = co_await *reading;
  if (got.ec) other.read_failed();
  if (reading_own) {
    const auto mine = co_await *reading_own;
    nodes.note_read(own, mine);
  }
  if (reading_early) {
    const auto got_early = co_await *reading_early;
    if (got_early.ec) early.read_failed();
    if (got_early.ec == errc::no_node) early.mark_deleted();
  }
  // The awaited node was deleted, and a node with its name was created later. It does not block us,
  // because it is newer than ours.
  const bool replaced = !got.ec && awaited.czxid != 0 && got.value.stat.czxid != awaited.czxid;
  if (replaced) co_return wait_round{wait_round::result::ended, errc::no_node};
  if (!got.ec) c.events().reached(step::watching);
  while (!got.ec && other.current() == state::set && !nodes.one_was_deleted() && !c.interrupted()) {
    if (own.watch.current() == state::changed) {
      co_await nodes.read_and_watch(own);
    } else if (early.deleted() && !awaited.early_path.empty()) {
      awaited.early_path.clear();
      co_await awaited.prepare();
    } else {
      co_await c.changed;
    }
  }
  if (c.interrupted()) co_return wait_round{wait_round::result::ended, c.interruption()};
  if (nodes.one_was_deleted()) {
    const auto why = co_await why_deleted(c, nodes);
    co_return wait_round{wait_round::result::ended, why};
  }
  if (other.deleted()) co_return wait_round{wait_round::result::deleted, {}};
  // The node's data changed, or the connection was lost: the contender keeps its position.
  if (got.ec && !is_connection_error(got.ec))
    co_return wait_round{wait_round::result::ended, got.ec};
  co_return wait_round{wait_round::result::changed, {}};
}

}  // namespace

task<error_code> wait_until_deleted(contender_context& c, owned_nodes& nodes, owned_node& own,
                                    awaited_node& awaited) {
  node_watch other{c}, early{c};
  wait_round last{wait_round::result::changed, {}};
  while (last.what == wait_round::result::changed)
    last = co_await watch_once(c, nodes, own, awaited, other, early);
  early.forget();
  other.forget();
  co_return last.ec;
}

task<error_code> why_deleted(contender_context& c, owned_nodes& nodes) {
  for (;;) {
    const auto pending = c.send(requests::get(c.defaults(), nodes[0].path(), {}), c.in_session());
    const auto got = co_await pending;
    if (c.interrupted()) co_return c.interruption();
    if (got.ec == errc::no_node && nodes.size() == 1) nodes.removed();
    if (!got.ec || got.ec == errc::no_node) co_return errc::waiter_node_deleted;
    if (!is_connection_error(got.ec)) co_return got.ec;
  }
}

}  // namespace conclave::recipes
