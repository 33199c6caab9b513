// How a writer becomes a reader.
#include <utility>

#include "recipes/badge.hpp"
#include "recipes/contender.hpp"
#include "recipes/new_id.hpp"
#include "recipes/numbers.hpp"
#include "recipes/outcome.hpp"

namespace conclave::recipes {

void contender::downgrade(std::function<void(error_code)> told) {
  downgrades_.push_back(std::move(told));
  poke();
}

void contender::tell_downgraded(error_code ec) {
  for (const auto& told : std::exchange(downgrades_, {})) told(ec);
}

// One transaction: the writer's node goes, and a reader's node with the same number comes. Writers
// behind it see a reader before them, and readers see no writer.
task<error_code> contender::become_reader() {
  if (terms_.role == layout::role::reader) co_return error_code{};
  auto& s = seats_[0];
  if (overslept()) co_await watch_own(s);
  if (s.own_gone) co_return errc::lock_lost;
  // There the order is that of creation, and our new node would stand behind waiting writers.
  if (near_the_end(s.ticket)) co_return errc::not_supported;
  const auto prefix = terms_.layout.name_prefix(layout::role::reader);
  const auto name = prefix + number_text(s.ticket);
  const auto id = new_id(*port_);
  // From now on no other contender of ours takes the reader's node for its own.
  port_->claimed.add(s.child(name), claimed_nodes::any_age);
  const auto data = write_badge(terms_.owner, id);
  for (;;) {
    bool gone = false;
    transaction t;
    t.remove(s.path()).create(s.child(name), data, create_mode::ephemeral);
    const auto asked = ask(requests::commit(port_->defaults(), t), known_in_);
    const auto got = co_await asked;
    auto ec = got.ec;
    auto czxid = got.value.zxid;
    auto seen_in = got.sent_in;
    while ((connection_trouble(ec) || outcome_unknown(ec)) && !session_over_) {
      const auto syncing =
          ask(requests::sync(port_->defaults(), s.parent), here(), session::on_cut::fail);
      const auto synced = co_await syncing;
      if (synced.ec == errc::backlog_full) {
        co_await pause(breath);
        continue;  // still unknown
      }
      if (ec = synced.ec; ec) continue;
      const auto asked_reader =
          ask(requests::get(port_->defaults(), s.child(name), {}), synced.sent_in);
      const auto reader = co_await asked_reader;
      if (reader.ec == errc::backlog_full) {
        ec = errc::connection_loss;  // still unknown
      } else if (ec = reader.ec; !ec) {
        // Somebody may have written over the id (a revocation does).
        const auto shown = read_badge(reader.value.data).id;
        if (reader.value.stat.ephemeral_owner != session_ || (!shown.empty() && shown != id))
          ec = errc::node_exists;
        czxid = reader.value.stat.czxid;
        seen_in = synced.sent_in;
      } else if (ec == errc::no_node) {  // it did not happen
        const auto asked_writer =
            ask(requests::get(port_->defaults(), s.path(), {}), synced.sent_in);
        const auto writer = co_await asked_writer;
        gone = writer.ec == errc::no_node || (!writer.ec && writer.value.stat.czxid != czxid_);
        if (writer.ec == errc::backlog_full || connection_trouble(writer.ec)) {
          ec = errc::connection_loss;  // still unknown
          continue;
        }
        if (writer.ec && !gone) ec = writer.ec;
        known_in_ = synced.sent_in;
        break;
      }
    }
    if (!session_over_ && ec == errc::no_node && !got.value.failed_part() && !gone) continue;
    if (session_over_ || ec) port_->claimed.remove(s.child(name), claimed_nodes::any_age);
    if (session_over_) co_return session_end_;
    if (ec == errc::no_node) {  // the writer's
      s.own_gone = true;
      co_return errc::lock_lost;
    }
    if (ec) co_return ec;
    port_->claimed.remove(s.path(), czxid_);
    port_->claimed.remove(s.child(name), claimed_nodes::any_age);
    port_->claimed.add(s.child(name), czxid);
    if (s.own_watch) port_->forget_watch(s.path(), watch_kind::data, s.own_watch);
    s.own_watch = {};
    s.own_gone = false;
    s.name = name;
    czxid_ = czxid;
    known_in_ = seen_in;
    terms_.role = layout::role::reader;
    watch_over();
    co_return ec;
  }
}

}  // namespace conclave::recipes
