#include "recipes/wait/tickets.hpp"

#include <utility>

#include "recipes/error_class.hpp"
#include "recipes/parent_record.hpp"
#include "recipes/sequence_number.hpp"

namespace conclave::recipes {

bool wait_by_tickets::usable() const noexcept { return !near_the_end(own().number); }

// A served ticket that is not below ours is from an earlier round of the sequence numbers, or our
// node was deleted.
bool wait_by_tickets::all_served_below(std::int32_t ticket) const noexcept {
  return served_ && *served_ < own().number && !near_the_end(ticket) && *served_ >= ticket - 1;
}

void wait_by_tickets::send_with_creation() {
  reading_ = context.send(requests::get(context.defaults(), own().parent, {}), {});
}

task<> wait_by_tickets::receive_after_creation(bool created) {
  if (!reading_) co_return done;
  const auto read = co_await *reading_;
  reading_.reset();
  if (created && !read.ec) note_record(read.value);
  co_return done;
}

void wait_by_tickets::note_record(const get_result& parent) {
  const auto record = parse_parent_record(parent.data, parent.stat);
  parent_czxid_ = parent.stat.czxid;
  record_is_ours_ = record.writable;
  only_child_ = parent.stat.num_children == 1;
  if (record.served) served_ = record.served;
}

task<error_code> wait_by_tickets::read_record() {
  const auto pending =
      context.send(requests::get(context.defaults(), own().parent, {}), context.in_session());
  const auto got = co_await pending;
  if (got.ec == errc::no_node) co_return own_was_deleted();
  if (context.interrupted()) co_return context.interruption();
  if (!got.ec) note_record(got.value);
  co_return got.ec == errc::no_auth ? error_code{} : got.ec;
}

task<error_code> wait_by_tickets::wait_for_grant() {
  if (!usable()) co_return co_await list_and_wait();
  // Ticket 0 is the first ticket, unless the sequence numbers have started again while other
  // contenders wait.
  const auto ticket = own().number;
  if (ticket == 0 ? only_child_ : all_served_below(ticket)) co_return error_code{};
  // The predecessor of a writer may be a reader, whose name is different.
  const bool lists_first = request().mode == lock_request::wait_mode::listing_once ||
                           request().role == layout::role::writer || request().reports_position;
  if (ticket > 0 && request().waits() && !lists_first) {
    const auto waited = co_await wait_for_previous_ticket();
    if (waited.what == outcome::granted) co_return error_code{};
    if (waited.what == outcome::failed && !is_connection_error(waited.ec)) co_return waited.ec;
  }
  co_return co_await list_and_wait();
}

// The predecessor most likely has the ticket just before ours. It has a different name if it
// belongs to another library or if contenders between it and us have left. The wait queue is then
// listed.
task<wait_by_listing::deletion_result> wait_by_tickets::wait_for_previous_ticket() {
  const auto prefix = request().layout.name_prefix(request().role);
  blocker b;
  b.number = own().number - 1;
  const auto name = prefix + format_number(b.number);
  b.node.path = own().child(name);
  if (!may_become_reader(request().role, name)) b.meaning = deletion::leaves_a_gap;
  // When the contender ahead of the predecessor leaves, the predecessor holds the lock, and its
  // release will grant the lock to us. So the parent record is read at that moment and not during
  // the hand-off. If that read fails, it is repeated after the hand-off. An early read is useless
  // if the predecessor's deletion proves nothing.
  if (request().mode == lock_request::wait_mode::tickets_read_early && b.number > 0 &&
      !all_served_below(b.number) && b.meaning != deletion::proves_nothing) {
    b.node.early_path = own().child(prefix + format_number(b.number - 1));
    b.node.prepare = [this]() -> task<> {
      co_await read_record();
      co_return done;
    };
  }
  const auto ec = co_await wait_for(b);
  if (!ec) co_return co_await learn_from_deletion(b);
  if (ec != errc::no_node) co_return deletion_result{outcome::failed, ec};
  // It was deleted before the read, or never created.
  co_return co_await read_whether_served_below(own().number);
}

task<wait_by_listing::deletion_result> wait_by_tickets::learn_from_deletion(const blocker& b) {
  if (!usable()) co_return deletion_result{outcome::must_list, {}};
  const auto ticket = b.meaning == deletion::proves_nothing ? own().number : b.number;
  if (all_served_below(ticket)) co_return deletion_result{outcome::granted, {}};
  co_return co_await read_whether_served_below(ticket);
}

task<wait_by_listing::deletion_result> wait_by_tickets::read_whether_served_below(
    std::int32_t ticket) {
  if (const auto ec = co_await read_record(); ec) co_return deletion_result{outcome::failed, ec};
  co_return deletion_result{all_served_below(ticket) ? outcome::granted : outcome::must_list, {}};
}

std::optional<std::string> wait_by_tickets::record_on_release() const {
  const bool was_downgraded = request().role == layout::role::reader;
  if (!record_is_ours_ || was_downgraded) return std::nullopt;
  if (usable()) return format_served_record(parent_czxid_, own().number);
  if (served_ && *served_ != none_served) return format_served_record(parent_czxid_, none_served);
  return std::nullopt;
}

std::optional<wait_strategy::handover> wait_by_tickets::hand_over() const {
  if (!usable() || !record_is_ours_ || request().role != layout::role::exclusive)
    return std::nullopt;
  return handover{parent_czxid_, own().number};
}

void wait_by_tickets::take_over(const handover& from, std::int64_t parent_czxid) {
  parent_czxid_ = parent_czxid;
  // If the path was deleted and created again, the ticket was served in a different wait queue.
  if (parent_czxid != from.parent_czxid) return;
  record_is_ours_ = true;
  served_ = from.number;
}

}  // namespace conclave::recipes
