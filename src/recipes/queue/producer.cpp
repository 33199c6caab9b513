#include "recipes/queue/producer.hpp"

#include <algorithm>
#include <utility>

#include "recipes/make_path.hpp"
#include "recipes/single_write.hpp"

namespace conclave::recipes {
namespace {

// Limits of pushes that share a transaction: enough to share one disk sync of the server, not
// enough to delay other clients.
constexpr std::size_t most_items = 256;
constexpr std::size_t most_bytes = std::size_t{256} * 1024;
// The approximate size of a transaction, and of each item in it, without paths, data and ACLs.
constexpr std::size_t transaction_bytes = 128;
constexpr std::size_t item_bytes = 32;
// The size of the larger transaction of a claim, which sets the item aside, without its data: so
// many times the queue's path, two ACLs, and the names of the nodes and of the claim's owner.
constexpr std::size_t paths_of_claim = 6;
constexpr std::size_t names_of_claim = 512;

std::size_t size_of(const acl& all) {
  std::size_t bytes = 4;
  for (const auto& each : all) bytes += 12 + each.scheme.size() + each.id.size();
  return bytes;
}

}  // namespace

producer::producer(std::shared_ptr<session_context> p, std::shared_ptr<const queue_names> names,
                   std::size_t capacity, std::size_t max_request_bytes)
    : context_{std::move(p)},
      names_{std::move(names)},
      capacity_{capacity},
      max_request_bytes_{max_request_bytes},
      transactions_{context_, names_->producers()},
      wait_entry_{context_, names_->waiting_producers(), [this] { changed_.notify(); }} {}

std::size_t producer::size_in_request(const pushing& what) const {
  const auto& defaults = context_->defaults();
  const auto path = defaults.chroot.size() + names_->prefix(what.priority).size();
  std::size_t bytes = 0;
  for (const auto& item : what.items)
    bytes += path + item.size() + size_of(defaults.acl) + item_bytes;
  return bytes;
}

// Whether the items can be pushed and later be claimed within the size limit.
bool producer::fits(const pushing& what) const {
  const auto& defaults = context_->defaults();
  const auto path = defaults.chroot.size() + names_->items().size();
  const auto claim = paths_of_claim * path + 2 * size_of(defaults.acl) + names_of_claim;
  const auto largest = std::max_element(
      what.items.begin(), what.items.end(),
      [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
  return largest->size() + claim <= max_request_bytes_ &&
         size_in_request(what) + path + transaction_bytes <= max_request_bytes_;
}

void producer::push(const pushing_ptr& what) {
  if (closing_) return answer(what, {ECANCELED, boost::system::system_category()});
  if (what->items.empty()) return answer(what, {});
  if (!fits(*what)) return answer(what, errc::too_large);
  waiting_.push_back(what);
  if (!std::exchange(started_, true)) {
    run_ = run();
    run_.start();
  } else {
    changed_.notify();
  }
}

void producer::give_up(const pushing_ptr& what, error_code why) {
  if (std::erase(waiting_, what) == 0) return;
  answer(what, why);
  changed_.notify();
}

void producer::close(error_code why) {
  closing_ = true;
  for (const auto& what : std::exchange(waiting_, {})) answer(what, why);
  const auto self = shared_from_this();
  changed_.notify();
}

void producer::answer(const pushing_ptr& what, error_code ec) {
  context_->post([what, ec] { what->tell(ec); });
}

task<> producer::run() {
  while (!closing_) {
    if (waiting_.empty()) {
      leave_wait_queue();
      co_await changed_;
      continue;
    }
    if (capacity_ > 0) {
      const auto ec = co_await wait_for_room();
      if (waiting_.empty() || closing_) continue;
      if (context_->can_restart_after(ec)) continue;  // nothing was sent
      if (ec) {
        // The items could not be counted, so all waiting pushes fail.
        for (const auto& what : std::exchange(waiting_, {})) answer(what, ec);
        leave_wait_queue();
        continue;
      }
    }
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

// Waits until there is room for the first waiting push. Pushes that do not wait fail as soon as
// there is none.
task<error_code> producer::wait_for_room() {
  while (!closing_ && !waiting_.empty()) {
    const auto there = co_await count_items();
    if (there.ec || waiting_.empty() || has_room(there.items)) co_return there.ec;
    for (const auto& what : std::exchange(waiting_, {}))
      if (what->patient)
        waiting_.push_back(what);
      else
        answer(what, errc::taken);
    if (const auto ec = wait_entry_.take_error()) co_return ec;
    wait_entry_.enter();
    if (wait_entry_.is_first() && !watch_.is_set()) {
      if (const auto ec = co_await watch_for_room()) co_return ec;
      continue;  // the watch does not report earlier changes
    }
    co_await changed_;
  }
  co_return error_code{};
}

// A push that exceeds the capacity by itself needs an empty queue.
bool producer::has_room(std::size_t items) const {
  return items == 0 || items + waiting_.front()->items.size() <= capacity_;
}

// The server returns the number of children, but not how many of them are items. Only a listing
// shows that. Its result is trusted until the folder has changed as often as there are items. So
// the cost per item does not depend on the length of the queue.
task<producer::count> producer::count_items() {
  const auto self = shared_from_this();
  std::optional<pending_reply<std::optional<node_stat>>> asked, asked_inside;
  {
    const single_write in_one_write{*context_};
    asked =
        recipes::send(context_, self, requests::exists(context_->defaults(), names_->items(), {}));
    if (const auto inside = names_->identities(); !inside.empty())
      asked_inside =
          recipes::send(context_, self, requests::exists(context_->defaults(), inside, {}));
  }
  const auto folder = co_await *asked;
  std::size_t ours = 0;  // children that Conclave's consumers created
  if (asked_inside) {
    const auto inside = co_await *asked_inside;
    ours = inside.value ? 1 : 0;
  }
  if (folder.ec || !folder.value || waiting_.empty()) co_return count{folder.ec, 0};
  const auto all = static_cast<std::size_t>(folder.value->num_children);
  const auto children = all - std::min(all, ours);
  const auto items = children - std::min(children, strangers_);
  const auto changes = static_cast<std::uint32_t>(folder.value->cversion) -
                       static_cast<std::uint32_t>(listed_at_.value_or(0));
  if (has_room(items) || (listed_at_ && changes < items)) co_return count{{}, items};
  const auto listing =
      recipes::send(context_, self, requests::children(context_->defaults(), names_->items(), {}));
  const auto listed = co_await listing;
  if (listed.ec) co_return count{listed.ec == errc::no_node ? error_code{} : listed.ec, 0};
  const auto found = names_->in_order(listed.value.names).size();
  const auto inside = names_->identities();
  const auto known = std::count_if(
      listed.value.names.begin(), listed.value.names.end(),
      [&](const std::string& name) { return !inside.empty() && inside.ends_with('/' + name); });
  strangers_ = listed.value.names.size() - found - static_cast<std::size_t>(known);
  listed_at_ = listed.value.stat.cversion;
  co_return count{{}, found};
}

// Sets a watch that fires for every child that is created or deleted, without a listing.
task<error_code> producer::watch_for_room() {
  const auto self = shared_from_this();
  const auto set = [&](watch_lifetime lifetime) -> const watcher& {
    return watch_.set(context_, weak_from_this(), lifetime, [this] { changed_.notify(); });
  };
  const auto asked =
      recipes::send(context_, self,
                    requests::add_watch(context_->defaults(), names_->items(),
                                        watch_mode::persistent, set(watch_lifetime::persistent)));
  const auto added = co_await asked;
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
  std::vector<pushing_ptr> going;
  transaction t;
  std::size_t items = 0;
  std::size_t bytes = 0;
  while (!waiting_.empty()) {
    const auto& next = waiting_.front();
    items += next->items.size();
    bytes += size_in_request(*next);
    const bool too_much = items > most_items || bytes > std::min(most_bytes, max_request_bytes_);
    // With a capacity, room is counted for each push separately.
    if (!going.empty() && (too_much || capacity_ > 0)) break;
    for (const auto& item : next->items)
      t.create(names_->prefix(next->priority), item, create_mode::persistent_sequential);
    going.push_back(next);
    waiting_.pop_front();
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
    for (const auto& each : going) answer(each, ec);
    co_return done;
  }
}

}  // namespace conclave::recipes
