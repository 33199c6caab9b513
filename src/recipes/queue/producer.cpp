#include "recipes/queue/producer.hpp"

#include <algorithm>
#include <utility>

#include "base/metric_counters.hpp"
#include "recipes/error_class.hpp"
#include "recipes/large_request.hpp"
#include "recipes/make_path.hpp"

namespace conclave::recipes {
namespace {

// The largest number of items in a transaction with several pushes. So many items share one disk
// sync of the server, but do not delay other clients.
constexpr std::size_t most_items = 256;
// The approximate size of a transaction, and of each item in it, without paths, data and ACLs.
constexpr std::size_t transaction_bytes = 128;
constexpr std::size_t item_bytes = 32;
// The size of the largest transaction of a claim, without the item's data. The largest transaction
// is the one that sets the item aside. It contains the queue's path paths_of_claim times, two ACLs,
// and names_of_claim bytes for the names of the nodes and of the claim's owner.
constexpr std::size_t paths_of_claim = 6;
constexpr std::size_t names_of_claim = 512;

std::size_t size_of(const acl& all) {
  std::size_t bytes = 4;
  for (const auto& each : all) bytes += 12 + each.scheme.size() + each.id.size();
  return bytes;
}

}  // namespace

producer::producer(std::shared_ptr<session_context> context,
                   std::shared_ptr<const queue_names> names, std::size_t capacity,
                   std::size_t max_request_bytes)
    : context_{std::move(context)},
      names_{std::move(names)},
      capacity_{capacity},
      max_request_bytes_{max_request_bytes},
      transactions_{context_, names_->producers()},
      wait_entry_{context_, names_->waiting_producers(), [this] { changed_.notify(); }} {}

std::size_t producer::size_in_request(const push_request& r) const {
  const auto& defaults = context_->defaults();
  const auto path = defaults.chroot.size() + names_->prefix(r.priority).size();
  std::size_t bytes = 0;
  for (const auto& item : r.items) bytes += path + item.size() + size_of(defaults.acl) + item_bytes;
  return bytes;
}

// Returns true if the items can be pushed, and later claimed, within the size limit.
bool producer::fits(const push_request& r) const {
  const auto& defaults = context_->defaults();
  const auto path = defaults.chroot.size() + names_->items().size();
  const auto claim = paths_of_claim * path + 2 * size_of(defaults.acl) + names_of_claim;
  const auto largest = std::max_element(
      r.items.begin(), r.items.end(),
      [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  return largest->size() + claim <= max_request_bytes_ &&
         size_in_request(r) + path + transaction_bytes <= max_request_bytes_;
}

void producer::push(const request_ptr& r) {
  if (context_->counters() != nullptr) r->called = context_->now();
  if (phase_ == phase::closing) return complete(r, cancelled());
  if (r->items.empty()) return complete(r, {});
  if (!fits(*r)) return complete(r, errc::too_large);
  requests_.push_back(r);
  if (phase_ == phase::not_started) {
    run_ = run();
    run_.start();
  } else {
    changed_.notify();
  }
}

void producer::give_up(const request_ptr& r, error_code why) {
  if (std::erase(requests_, r) == 0) {
    r->gave_up_with = why;
    return;
  }
  complete(r, why);
  changed_.notify();
}

void producer::close(error_code why) {
  phase_ = phase::closing;
  complete_all(why);
  const auto self = shared_from_this();
  changed_.notify();
}

void producer::complete(const request_ptr& r, error_code ec) {
  if (auto* const all = context_->counters()) {
    all->queues.push.completed(ec, context_->now() - r->called);
    if (!ec) all->queues.pushed_items.add(r->items.size());
  }
  context_->post([r, ec] { r->complete(ec); });
}

void producer::complete_all(error_code ec) {
  for (const auto& r : std::exchange(requests_, {})) complete(r, ec);
}

task<> producer::run() {
  while (phase_ != phase::closing) {
    if (requests_.empty()) {
      phase_ = phase::idle;
      leave_wait_queue();
      co_await changed_;
      continue;
    }
    if (capacity_ > 0) {
      phase_ = phase::waiting_for_capacity;
      const auto ec = co_await wait_for_capacity();
      if (requests_.empty() || phase_ == phase::closing) continue;
      if (context_->can_restart_after(ec)) continue;  // nothing was sent
      if (ec) {
        complete_all(ec);
        leave_wait_queue();
        continue;
      }
    }
    phase_ = phase::sending;
    co_await send();
  }
  leave_wait_queue();
  co_await transactions_.remove_counter(shared_from_this());
  co_return done;
}

void producer::leave_wait_queue() {
  wait_entry_.leave();
  watch_.forget(*context_, names_->items(), watch_kind::any);
}

// Waits until the queue has capacity for the first push. Pushes that do not wait fail if the queue
// has no capacity for them.
task<error_code> producer::wait_for_capacity() {
  while (phase_ != phase::closing && !requests_.empty()) {
    const auto counted = co_await count_items();
    if (counted.ec || requests_.empty() || has_capacity(counted.items)) co_return counted.ec;
    for (const auto& r : std::exchange(requests_, {}))
      if (r->waits)
        requests_.push_back(r);
      else
        complete(r, errc::lock_busy);
    if (const auto ec = wait_entry_.take_error()) co_return ec;
    wait_entry_.enter();
    if (wait_entry_.is_first() && !watch_.is_set()) {
      if (const auto ec = co_await set_watch()) co_return ec;
      continue;  // the watch does not report earlier changes
    }
    co_await changed_;
    if (wait_entry_.is_overdue()) {
      const auto reading =
          recipes::send(context_, shared_from_this(),
                        requests::exists(context_->defaults(), names_->waiting_producers(), {}));
      const auto wait_queue = co_await reading;
      wait_entry_.restart_check_timer(wait_queue.value);
    }
  }
  co_return error_code{};
}

// A push with more items than the capacity needs an empty queue.
bool producer::has_capacity(std::size_t items) const {
  return items == 0 || items + requests_.front()->items.size() <= capacity_;
}

// The server returns the number of children, but not how many of them are items. Only a listing
// shows that. The result of a listing is used until the number of changes of the folder reaches the
// number of items. So the cost per item does not depend on the length of the queue.
task<producer::item_count> producer::count_items() {
  const auto self = shared_from_this();
  std::optional<pending_reply<std::optional<node_stat>>> reading_folder, reading_identities;
  {
    const single_write in_one_write{*context_};
    reading_folder =
        recipes::send(context_, self, requests::exists(context_->defaults(), names_->items(), {}));
    if (const auto identities = names_->identities(); !identities.empty())
      reading_identities =
          recipes::send(context_, self, requests::exists(context_->defaults(), identities, {}));
  }
  const auto folder = co_await *reading_folder;
  std::size_t own_children = 0;  // the parent of the identity nodes
  if (reading_identities) {
    const auto identities = co_await *reading_identities;
    own_children = identities.value ? 1 : 0;
  }
  if (folder.ec || !folder.value || requests_.empty()) co_return item_count{folder.ec, 0};
  const auto all = static_cast<std::size_t>(folder.value->num_children);
  const auto others = all - std::min(all, own_children);
  const auto items = others - std::min(others, foreign_children_);
  const auto changes = static_cast<std::uint32_t>(folder.value->cversion) -
                       static_cast<std::uint32_t>(listed_cversion_.value_or(0));
  if (has_capacity(items) || (listed_cversion_ && changes < items)) co_return item_count{{}, items};
  co_return co_await list_items();
}

task<producer::item_count> producer::list_items() {
  const auto listing = recipes::send(context_, shared_from_this(),
                                     requests::children(context_->defaults(), names_->items(), {}));
  const auto listed = co_await listing;
  if (listed.ec) co_return item_count{listed.ec == errc::no_node ? error_code{} : listed.ec, 0};
  const auto& children = listed.value.names;
  const auto items = names_->in_order(children).size();
  const auto identities = names_->identities();
  const auto own_children =
      std::count_if(children.begin(), children.end(), [&](const std::string& name) {
        return !identities.empty() && identities.ends_with('/' + name);
      });
  foreign_children_ = children.size() - items - static_cast<std::size_t>(own_children);
  listed_cversion_ = listed.value.stat.cversion;
  co_return item_count{{}, items};
}

// Sets a watch that fires for every child that is created or deleted, without a listing.
task<error_code> producer::set_watch() {
  const auto self = shared_from_this();
  const auto set = [&](watch_lifetime lifetime) -> const watcher& {
    return watch_.set(context_, self, lifetime, [this] { changed_.notify(); });
  };
  const auto adding =
      recipes::send(context_, self,
                    requests::add_watch(context_->defaults(), names_->items(),
                                        watch_mode::persistent, set(watch_lifetime::persistent)));
  const auto added = co_await adding;
  auto ec = added.ec;
  if (ec == errc::unimplemented) {  // a server before 3.6
    const auto listing = recipes::send(
        context_, self,
        requests::children(context_->defaults(), names_->items(), set(watch_lifetime::one_shot)));
    const auto listed = co_await listing;
    ec = listed.ec;
  }
  if (ec) watch_.clear();
  co_return ec == errc::no_node ? error_code{} : ec;
}

// Sends the waiting pushes, as many as fit into one transaction.
task<> producer::send() {
  std::vector<request_ptr> sent;
  transaction t;
  std::size_t items = 0;
  std::size_t bytes = 0;
  while (!requests_.empty()) {
    const auto& next = requests_.front();
    items += next->items.size();
    bytes += size_in_request(*next);
    const bool too_much = items > most_items || bytes > std::min(most_bytes_, max_request_bytes_);
    // The capacity was checked for the first push only.
    if (!sent.empty() && (too_much || capacity_ > 0)) break;
    for (const auto& item : next->items)
      t.create(names_->prefix(next->priority), item, create_mode::persistent_sequential);
    sent.push_back(next);
    requests_.pop_front();
  }
  const auto self = shared_from_this();
  for (;;) {
    const auto result = co_await transactions_.commit(self, t);
    auto ec = result.ec;
    if (ec == errc::no_node && result.failed_part) {
      ec = co_await make_path(context_, self, names_->items(), names_->items_levels(),
                              create_mode::persistent, std::string{names_->folder_data()});
      if (!ec) continue;
    }
    if (ec == errc::too_large && sent.size() > 1) {
      // Each push fits, but together they are larger than the server accepts. None of them had an
      // effect.
      most_bytes_ = always_accepted_bytes;
      send_again(sent);
      co_return done;
    }
    for (const auto& r : sent) complete(r, ec);
    co_return done;
  }
}

// Puts pushes that were sent without effect back into the list of waiting pushes.
void producer::send_again(const std::vector<request_ptr>& sent) {
  for (auto r = sent.rbegin(); r != sent.rend(); ++r)
    if (phase_ == phase::closing)
      complete(*r, cancelled());
    else if ((*r)->gave_up_with)
      complete(*r, (*r)->gave_up_with);
    else
      requests_.push_front(*r);
}

}  // namespace conclave::recipes
