#include "recipes/queue/consumer.hpp"

#include <algorithm>
#include <utility>

#include "recipes/make_path.hpp"
#include "recipes/single_write.hpp"

namespace conclave::recipes {
namespace {

// The largest number of items in one transaction.
constexpr std::size_t most_at_once = 128;
// The limit of the data read ahead, if the next items are as large as the current one.
constexpr std::size_t most_bytes_ahead = std::size_t{1} << 20;
// How many items are removed or claimed before the queue is listed again, to find new items with a
// higher priority. At least shortest_pass, and more in a long queue, since its listing is large.
constexpr std::size_t shortest_pass = 512;
constexpr std::size_t passes_of_long_queue = 16;
// How long data that was read ahead is kept while no caller waits.
constexpr auto keep_data_for = std::chrono::seconds{1};

}  // namespace

consumer::consumer(std::shared_ptr<session_context> p, std::shared_ptr<const queue_names> names,
                   terms t)
    : context_{std::move(p)},
      names_{std::move(names)},
      terms_{std::move(t)},
      transactions_{context_, names_->consumers()},
      wait_entry_{context_, names_->waiting_consumers(), [this] { changed_.notify(); }},
      identity_{context_, names_->identities()} {}

void consumer::take(const caller_ptr& who) {
  if (closing_) return answer(who, {ECANCELED, boost::system::system_category()});
  waiting_.push_back(who);
  if (!std::exchange(started_, true)) {
    run_ = run();
    run_.start();
  } else {
    changed_.notify();
  }
}

void consumer::give_up(const caller_ptr& who, error_code why) {
  if (std::erase(waiting_, who) == 0) {
    who->gave_up = why;
    return;
  }
  answer(who, why);
  changed_.notify();
}

// The caller did not get the item that was reserved for it, so it is the first waiting caller
// again.
void consumer::wait_on(const caller_ptr& who) {
  if (who->gave_up)
    answer(who, *who->gave_up);
  else
    waiting_.push_front(who);
}

void consumer::close(error_code why) {
  closing_ = true;
  answer_all(why);
  const auto self = shared_from_this();
  changed_.notify();
}

void consumer::answer(const caller_ptr& who, error_code ec, std::optional<taken> what) {
  context_->post([who, ec, what = std::move(what)]() mutable { who->tell(ec, std::move(what)); });
}

void consumer::answer_all(error_code ec) {
  for (const auto& who : std::exchange(waiting_, {})) answer(who, ec);
}

bool consumer::somebody_is_impatient() const {
  return std::any_of(waiting_.begin(), waiting_.end(), [](auto& who) { return !who->patient; });
}

task<> consumer::run() {
  while (!closing_) {
    if (waiting_.empty()) {
      if (wait_entry_.is_first() && (stirred_ || !watching())) {
        // This consumer watches the queue for the consumers behind it. If items have arrived, it
        // needs none of them, so it leaves the wait queue. It also leaves if it cannot watch.
        const auto ec = co_await look();
        if (waiting_.empty() && (ec || !plan_.empty())) leave_wait_queue();
      } else {
        begin_pause();
        co_await changed_;
      }
      continue;
    }
    paused_at_.reset();
    if (std::exchange(outdated_, false)) plan_.clear();
    if (plan_.empty()) {
      const bool on_watch = wait_entry_.is_first() && watching() && !stirred_;
      const bool in_line =
          wait_entry_.is_entered() && !wait_entry_.is_first() && !wait_entry_.take_overdue();
      if ((on_watch || in_line) && !somebody_is_impatient()) {
        co_await changed_;
        if (const auto ec = wait_entry_.take_error()) answer_all(ec);
        continue;
      }
      const auto ec = co_await look();
      if (ec && !context_->can_restart_after(ec)) answer_all(ec);
      if (ec || !plan_.empty()) continue;
      for (const auto& who : std::exchange(waiting_, {}))
        if (who->patient)
          waiting_.push_back(who);
        else
          answer(who, {});
      if (!waiting_.empty()) wait_entry_.enter();
      continue;
    }
    const auto ec = terms_.way == way::pops ? co_await pop_some() : co_await claim_some();
    if (ec) {
      if (!context_->can_restart_after(ec)) answer_all(ec);
      leave_wait_queue();  // the next listing has the failed items first
    }
    // After an attempt to get items, the consumer leaves the wait queue if other consumers wait, or
    // if items are left that no caller wants here.
    if (wait_entry_.is_first() && (others_wait_ || (waiting_.empty() && !plan_.empty())))
      leave_wait_queue();
    if (left_of_pass_ == 0) plan_.clear();
  }
  answer_all({ECANCELED, boost::system::system_category()});  // callers that wait_on() put back
  leave_wait_queue();
  folder_watch_.forget(*context_, names_->items(), watch_kind::data);
  const auto self = shared_from_this();
  co_await identity_.remove(self);
  co_await transactions_.remove_counter(self);
  co_return done;
}

void consumer::begin_pause() {
  if (paused_at_) return;
  paused_at_ = context_->now();
  ++busy_period_;
  drop_data_later();
}

void consumer::drop_data_later() {
  const bool has_data = !plan_.empty() && (plan_.front().read || plan_.front().asked);
  if (!has_data || std::exchange(drop_is_planned_, true)) return;
  context_->call_at(*paused_at_ + keep_data_for, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->drop_is_planned_ = false;
    if (!self->paused_at_) return;
    if (self->context_->now() < *self->paused_at_ + keep_data_for) return self->drop_data_later();
    for (auto& c : self->plan_) {
      c.read.reset();
      c.asked.reset();
    }
  });
}

// The next consumer lists the same items, so the plan is dropped.
void consumer::leave_wait_queue() {
  wait_entry_.leave();
  plan_.clear();
  items_watch_.forget(*context_, names_->items(), watch_kind::children);
  claims_watch_.forget(*context_, names_->claims(), watch_kind::children);
}

void consumer::stir() {
  stirred_ = true;
  changed_.notify();
}

watcher consumer::watch(watch_registration& which) {
  return which.set(context_, weak_from_this(), watch_lifetime::one_shot, [this] { stir(); });
}

void consumer::folder_changed() {
  folder_czxid_ = 0;
  outdated_ = true;
  changed_.notify();
}

// Determines whether the server may remove this folder. If so, establishes the node by which a
// transaction can identify the folder.
task<error_code> consumer::identify_folder(const node_stat& stat) {
  const auto self = shared_from_this();
  if (folder_czxid_ != stat.czxid || !folder_watch_.is_set()) {
    if (folder_czxid_ != stat.czxid) too_large_.clear();  // the item names have started again
    folder_czxid_ = 0;
    folder_watch_.forget(*context_, names_->items(), watch_kind::data);
    const auto& w = folder_watch_.set(context_, weak_from_this(), watch_lifetime::one_shot,
                                      [this] { folder_changed(); });
    const auto asked = send(requests::get(context_->defaults(), names_->items(), w));
    const auto folder = co_await asked;
    if (folder.ec) {
      folder_watch_.clear();
      co_return folder.ec;
    }
    if (folder.value.stat.czxid != stat.czxid) co_return errc::no_node;
    folder_czxid_ = stat.czxid;
    identity_.set_needed(!names_->identities().empty() &&
                         folder.value.data != names_->folder_data());
  }
  if (!identity_.needed() || identity_.established()) co_return error_code{};
  co_return co_await identity_.establish(self);
}

// Lists the queue and plans which items to remove or claim. The first consumer of the wait queue
// also sets watches.
task<error_code> consumer::look() {
  const auto self = shared_from_this();
  const bool claims = terms_.way == way::claims;
  for (;;) {
    const bool watches = wait_entry_.is_first();
    const bool sets_claims = watches && !claims_watch_.is_set(),
               sets_items = watches && !items_watch_.is_set();
    stirred_ = false;
    std::optional<pending_reply<children_result>> items, claimed, consumers;
    std::optional<pending_reply<std::optional<node_stat>>> line;
    const auto ask_for_consumers = [&] {
      consumers = send(requests::children(context_->defaults(), names_->consumers(), {}));
    };
    {
      const single_write in_one_write{*context_};
      // The claims are listed first. So an item that is completed between the two listings is
      // missing from the items and is not planned.
      if (claims)
        claimed = send(requests::children(context_->defaults(), names_->claims(),
                                          sets_claims ? watch(claims_watch_) : watcher{}));
      items = send(requests::children(context_->defaults(), names_->items(),
                                      sets_items ? watch(items_watch_) : watcher{}));
      if (watches)
        line = send(requests::exists(context_->defaults(), names_->waiting_consumers(), {}));
      else if (transactions_.has_counter())
        ask_for_consumers();
    }
    std::vector<std::string> held;
    error_code ec;
    if (claimed) {
      auto got = co_await *claimed;
      ec = got.ec;
      if (ec && sets_claims) claims_watch_.clear();
      held = std::move(got.value.names);
      std::sort(held.begin(), held.end());
    }
    auto got = co_await *items;
    if (got.ec && sets_items) items_watch_.clear();
    if (line) {
      const auto in_it = co_await *line;
      others_wait_ = in_it.value && in_it.value->num_children > 1;
    }
    std::vector<std::string> others;
    if (consumers) {
      auto listed = co_await *consumers;
      others = std::move(listed.value.names);
    }
    if (ec == errc::no_node && (watches || !got.ec)) {
      ec = co_await make_path(context_, self, names_->claims(), queue_names::folder_levels,
                              names_->claims_mode());
      if (!ec && !got.ec) continue;
    }
    if (got.ec == errc::no_node && watches) {
      ec = co_await make_path(context_, self, names_->items(), names_->items_levels(),
                              create_mode::persistent, std::string{names_->folder_data()});
      if (!ec) continue;  // now there is a node to watch
    }
    if (!ec || ec == errc::no_node) ec = got.ec;
    if (ec && ec != errc::no_node) co_return ec;
    if (names_->has_only_another_layout(got.value.names)) co_return errc::layout_mismatch;
    auto all = names_->in_order(got.value.names);
    if (!all.empty()) {
      ec = co_await identify_folder(got.value.stat);
      if (ec == errc::no_node) continue;  // the folder was removed since the listing
      if (ec) {
        stirred_ = true;  // the watch does not fire for items that exist already
        co_return ec;
      }
    }
    std::erase_if(all, [&](const item_name& n) {
      return std::binary_search(held.begin(), held.end(), n.text) || too_large_.contains(n.text);
    });
    if (!watches && !all.empty() && !transactions_.has_counter()) {
      if (ec = co_await transactions_.create_counter(self); ec) co_return ec;
      ask_for_consumers();
      auto listed = co_await *consumers;
      others = std::move(listed.value.names);
    }
    plan(std::move(all), std::move(others));
    co_return error_code{};
  }
}

// Plans the items to remove or claim, in this order. If other consumers are active, the plan
// contains this consumer's share. It also contains items of others that were ahead of that share at
// the last listing already: the others are stalled there. The plan contains all items if this
// consumer is the first of the wait queue, or if the others make no progress. It also does if the
// share is empty and a caller does not wait.
void consumer::plan(std::vector<item_name> all, std::vector<std::string> consumers) {
  plan_.clear();
  left_of_pass_ = std::max(shortest_pass, all.size() / passes_of_long_queue);
  std::sort(consumers.begin(), consumers.end());
  const auto us = std::find(consumers.begin(), consumers.end(), transactions_.counter_name());
  const auto count = static_cast<std::uint32_t>(consumers.size());
  const auto rank = static_cast<std::uint32_t>(us - consumers.begin());
  if (shares_ && us != consumers.end() && count > 1) {
    std::vector<item_name> share;
    std::optional<std::uint32_t> lowest;
    std::size_t foreign = 0, left_alone = 0;
    for (const auto& item : all) {
      const bool own = item.number % count == rank;
      if (own && (!lowest || item.number < *lowest)) lowest = item.number;
      if (own || item.number < own_lowest_) share.push_back(item);
      if (!own) ++foreign;
      if (!own && item.number <= highest_) ++left_alone;
    }
    const bool others_get_on = foreign_ == 0 || left_alone < foreign_;
    own_lowest_ = lowest.value_or(0);
    foreign_ = foreign;
    for (const auto& item : all) highest_ = std::max(highest_, item.number);
    if (!others_get_on)
      shares_ = false;
    else if (!share.empty() || !somebody_is_impatient())
      all = std::move(share);
  }
  // One item more than the pass needs: so the end of the pass shows whether there are more.
  for (std::size_t i = 0; i < std::min(all.size(), left_of_pass_ + 1); ++i)
    plan_.push_back({std::move(all[i]), {}, {}, 0});
}

// Another consumer has removed or claimed an item of the plan.
void consumer::others_are_here() {
  if (std::exchange(shares_, true)) return;
  own_lowest_ = highest_ = 0;
  foreign_ = 0;
  outdated_ = true;
}

void consumer::ask_for_data(std::size_t from, std::size_t to) {
  const single_write in_one_write{*context_};
  for (std::size_t i = from; i < std::min(to, plan_.size()); ++i)
    if (auto& c = plan_[i]; !c.read && !c.asked) {
      c.asked_in = busy_period_;
      c.asked = send(requests::get(context_->defaults(), names_->item(c.name.text), {}));
    }
}

// Waits for the data of the first `needed` items of the plan. Items that do not exist any more
// leave the plan.
task<error_code> consumer::read_ahead(std::size_t needed) {
  for (std::size_t i = 0; i < needed && i < plan_.size();) {
    if (plan_[i].read) {
      ++i;
      continue;
    }
    ask_for_data(i, needed);
    auto got = co_await *plan_[i].asked;
    plan_[i].asked.reset();
    if (got.ec == errc::no_node) {
      plan_.erase(plan_.begin() + static_cast<std::ptrdiff_t>(i));
      others_are_here();
    } else if (got.ec)
      co_return got.ec;
    else
      plan_[i].read = std::move(got.value);
  }
  co_return error_code{};
}

std::vector<consumer::caller_ptr> consumer::next_callers(std::size_t n) {
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(n);
  std::vector<caller_ptr> them{waiting_.begin(), end};
  waiting_.erase(waiting_.begin(), end);
  return them;
}

task<error_code> consumer::pop_some() {
  const auto wanted = std::min({waiting_.size(), most_at_once, left_of_pass_});
  if (const auto ec = co_await read_ahead(wanted)) co_return ec;
  if (!reads_are_valid()) plan_.clear();
  const auto n = std::min({wanted, waiting_.size(), plan_.size()});
  if (n == 0) co_return error_code{};
  transaction t;
  identity_.check_in(t);
  const auto checks = t.size();
  for (std::size_t i = 0; i < n; ++i)
    t.remove(names_->item(plan_[i].name.text), plan_[i].read->stat.version);
  // A caller that gives up from here on still gets its item if the transaction succeeds.
  const auto served = next_callers(n);
  ask_for_data(n, n + std::min(n, most_bytes_ahead / (plan_.front().read->data.size() + 1)));
  // Data that was read in an earlier busy period may belong to another node by now, with the same
  // name and version. So it is read again right before the removal. If that read fails because the
  // connection was lost, the earlier data is used.
  std::vector<std::optional<pending_reply<get_result>>> again{n};
  const std::function<void()> read_again = [&] {
    for (std::size_t i = 0; i < n; ++i)
      if (!identity_.needed() && outlived_its_call(plan_[i]))
        again[i] =
            recipes::send(context_, shared_from_this(),
                          requests::get(context_->defaults(), names_->item(plan_[i].name.text), {}),
                          {}, session::on_cut::fail);
  };
  const auto result = co_await transactions_.commit(shared_from_this(), t, read_again);
  std::vector<error_code> unread{n};
  for (std::size_t i = 0; i < n && !result.ec; ++i) {
    if (!again[i]) continue;
    auto got = co_await *again[i];
    const auto removed = plan_[i].read->stat.version;
    if (got.ec == errc::no_node || (!got.ec && got.value.stat.version != removed))
      unread[i] = errc::connection_loss;  // another item was removed; its data is unknown
    else if (!got.ec)
      plan_[i].read = std::move(got.value);
  }
  const auto first = plan_.begin();
  if (!result.ec) {
    for (std::size_t i = 0; i < n; ++i)
      if (unread[i])
        answer(served[i], unread[i]);
      else
        answer(served[i], {},
               taken{{plan_[i].name.text, std::move(plan_[i].read->data), plan_[i].name.priority},
                     {}});
    plan_.erase(first, first + static_cast<std::ptrdiff_t>(n));
    left_of_pass_ -= n;
    co_return error_code{};
  }
  if (result.outcome_unknown) {
    // The outcome is unknown, and the callers must know that.
    for (const auto& who : served) answer(who, result.ec);
    plan_.erase(first, first + static_cast<std::ptrdiff_t>(n));
    co_return error_code{};
  }
  // Nothing was removed, so the callers continue to wait.
  std::for_each(served.rbegin(), served.rend(), [&](const auto& who) { wait_on(who); });
  if (!result.failed_part) co_return result.ec;
  // Another client has removed or written the item. The items behind it may have changed, too.
  if (result.ec != errc::no_node && result.ec != errc::bad_version) co_return result.ec;
  if (*result.failed_part < checks) {
    identity_.require_verification();
    plan_.clear();
    co_return error_code{};
  }
  const auto failed = *result.failed_part - checks;
  for (std::size_t i = failed; i < n; ++i) plan_[i].read.reset();
  if (result.ec == errc::no_node) plan_.erase(first + static_cast<std::ptrdiff_t>(failed));
  co_return error_code{};
}

task<error_code> consumer::claim_some() {
  const auto wanted = std::min({waiting_.size(), most_at_once, left_of_pass_});
  for (std::size_t i = 0; i < wanted && i < plan_.size(); ++i)
    if (auto& c = plan_[i]; outlived_its_call(c)) {
      c.read.reset();
      c.asked.reset();
    }
  if (const auto ec = co_await read_ahead(wanted)) co_return ec;
  // While an item is set aside, callers may give up.
  for (std::size_t n = std::min({wanted, waiting_.size(), plan_.size()});
       n > 0 && !waiting_.empty() && !plan_.empty(); --n) {
    if (!reads_are_valid()) {
      plan_.clear();
      break;
    }
    auto next = std::move(plan_.front());
    plan_.pop_front();
    if (!next.read) continue;
    if (terms_.max_attempts > 0 && next.read->stat.version >= terms_.max_attempts) {
      if (const auto ec = co_await put_aside(next)) co_return ec;
      continue;
    }
    auto who = std::move(waiting_.front());
    waiting_.pop_front();
    --left_of_pass_;
    claim_one(std::move(next), std::move(who));
  }
  co_return error_code{};
}

void consumer::claim_one(candidate c, caller_ptr who) {
  recipes::lock_request t;
  t.parents = {names_->claims()};
  t.owner = terms_.owner;
  identity_.check_in(t.extra_operations);
  const auto made = std::make_shared<recipes::claim>(
      context_, queue_item{c.name.text, std::move(c.read->data), c.name.priority},
      names_->item(c.name.text), c.read->stat);
  const auto begun = [self = shared_from_this(), made, who](error_code ec) {
    if (!ec) return self->answer(who, {}, taken{{}, made});
    if (self->closing_) return self->answer(who, {ECANCELED, boost::system::system_category()});
    if (ec == errc::too_large) {
      self->too_large_.insert(made->item().name);
      self->wait_on(who);
      return self->changed_.notify();
    }
    if (ec == errc::no_node) self->identity_.require_verification();
    // Another consumer has claimed the item, or it was removed.
    const bool next = ec == errc::taken || ec == errc::no_node || ec == errc::bad_version ||
                      self->context_->can_restart_after(ec);
    if (!next) return self->answer(who, ec);
    self->others_are_here();
    self->wait_on(who);
    self->changed_.notify();
  };
  // An item that is given back is ahead of the items in the plan.
  made->begin(std::move(t), begun, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->outdated_ = true;
  });
}

// Sets an item aside that no consumer could complete. The transaction creates and removes the
// claim's node, so it fails if a consumer has claimed the item: that may be the last attempt.
task<error_code> consumer::put_aside(const candidate& c) {
  const auto mark = names_->claims() + '/' + c.name.text;
  const auto& stat = c.read->stat;
  transaction t;
  t.create(mark, {}, create_mode::ephemeral)
      .remove(mark)
      .remove(names_->item(c.name.text), stat.version)
      .create(names_->set_aside_item(c.name.text, stat.czxid), c.read->data);
  constexpr std::size_t identity_part = 4;
  identity_.check_in(t);
  const auto self = shared_from_this();
  for (;;) {
    const auto result = co_await transactions_.commit(self, t);
    auto ec = result.ec;
    const auto part = result.failed_part;
    const bool claimed = part == 0u && ec == errc::node_exists;
    const bool gone = part == 2u && (ec == errc::no_node || ec == errc::bad_version);
    if (!ec || claimed || gone || result.outcome_unknown) co_return error_code{};
    if (ec == errc::too_large) {
      too_large_.insert(c.name.text);
      co_return error_code{};
    }
    if (ec == errc::no_node && part == identity_part) {
      identity_.require_verification();
      plan_.clear();
      co_return error_code{};
    }
    if (ec != errc::no_node || !part) co_return ec;
    ec = co_await make_path(context_, self, names_->claims(), queue_names::folder_levels,
                            names_->claims_mode());
    if (!ec)
      ec = co_await make_path(context_, self, names_->set_aside(), queue_names::folder_levels,
                              create_mode::container);
    if (ec) co_return ec;
  }
}

}  // namespace conclave::recipes
