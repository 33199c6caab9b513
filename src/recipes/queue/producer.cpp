#include "recipes/queue/producer.hpp"

#include <algorithm>
#include <utility>

#include "recipes/make_path.hpp"

namespace conclave::recipes {
namespace {

// Of pushes that go together: enough to share the server's disk, not enough to hold others up.
constexpr std::size_t most_items = 256;
constexpr std::size_t most_bytes = std::size_t{256} * 1024;
// What the server adds to an item's path and data in a transaction, and more.
constexpr std::size_t overhead = 128;

}  // namespace

producer::producer(std::shared_ptr<port> p, std::shared_ptr<const queue_names> names,
                   std::size_t capacity, std::size_t max_request_bytes)
    : port_{std::move(p)},
      names_{std::move(names)},
      capacity_{capacity},
      max_request_bytes_{max_request_bytes},
      transactions_{port_, names_->beside("producers")},
      turn_{port_, names_->beside("room"), [this] { news_.poke(); }} {}

std::size_t producer::size_in_request(const pushing& what) const {
  std::size_t bytes = 0;
  for (const auto& item : what.items) bytes += names_->items().size() + item.size() + overhead;
  return bytes;
}

void producer::push(const pushing_ptr& what) {
  if (closing_) return answer(what, {ECANCELED, boost::system::system_category()});
  if (what->items.empty()) return answer(what, {});
  if (size_in_request(*what) + overhead > max_request_bytes_) return answer(what, errc::too_large);
  waiting_.push_back(what);
  if (!std::exchange(started_, true)) {
    run_ = run();
    run_.start();
  } else {
    news_.poke();
  }
}

void producer::give_up(const pushing_ptr& what, error_code why) {
  if (std::erase(waiting_, what) == 0) return;
  answer(what, why);
  news_.poke();
}

void producer::close(error_code why) {
  closing_ = true;
  for (const auto& what : std::exchange(waiting_, {})) answer(what, why);
  const auto self = shared_from_this();
  news_.poke();
}

void producer::answer(const pushing_ptr& what, error_code ec) {
  port_->deliver([what, ec] { what->tell(ec); });
}

task<> producer::run() {
  while (!closing_) {
    if (waiting_.empty()) {
      turn_.end();
      co_await news_;
      continue;
    }
    if (capacity_ > 0) {
      const auto ec = co_await wait_for_room();
      if (waiting_.empty() || closing_) continue;
      if (ec) {
        // Without a connection nobody has room.
        const auto told = ec == errc::taken ? 1 : waiting_.size();
        for (std::size_t i = 0; i < told && !waiting_.empty(); ++i) {
          answer(waiting_.front(), ec);
          waiting_.pop_front();
        }
        continue;
      }
    }
    co_await send();
  }
  turn_.end();
  transactions_.leave(shared_from_this());
  co_return done;
}

// For the first that waits.
task<error_code> producer::wait_for_room() {
  while (!closing_ && !waiting_.empty()) {
    const auto asked =
        ask(port_, shared_from_this(), requests::exists(port_->defaults(), names_->items(), {}));
    const auto got = co_await asked;
    if (got.ec || waiting_.empty()) co_return got.ec;
    const auto there = got.value ? static_cast<std::size_t>(got.value->num_children) : 0;
    const auto coming = waiting_.front()->items.size();
    // What is more than the capacity by itself goes into an empty queue.
    if (there == 0 || there + coming <= capacity_) co_return error_code{};
    if (!waiting_.front()->patient) co_return errc::taken;
    if (const auto trouble = turn_.trouble()) co_return trouble;
    turn_.begin();
    if (!turn_.ours()) {
      co_await news_;
      continue;
    }
    const auto ec = co_await watch_for_room(std::min(there, there + coming - capacity_));
    if (ec) co_return ec;
  }
  co_return error_code{};
}

// Until so many of the first items are likely to have gone.
task<error_code> producer::watch_for_room(std::size_t to_go) {
  const auto listing =
      ask(port_, shared_from_this(), requests::children(port_->defaults(), names_->items(), {}));
  const auto listed = co_await listing;
  if (listed.ec == errc::no_node) co_return error_code{};
  if (listed.ec) co_return listed.ec;
  const auto items = names_->in_order(listed.value.names);
  if (items.size() < to_go) co_return error_code{};
  watched_ = names_->item(items[to_go - 1].text);
  item_gone_ = false;
  watch_ = [weak = weak_from_this(), p = port_](const watch_event&) {
    const auto self = weak.lock();
    if (!self) return;
    const port::entry inside{*p};
    self->item_gone_ = true;
    self->news_.poke();
  };
  const auto asked =
      ask(port_, shared_from_this(), requests::get(port_->defaults(), watched_, watch_));
  const auto got = co_await asked;
  if (got.ec) co_return got.ec == errc::no_node ? error_code{} : got.ec;
  const auto first = waiting_.empty() ? nullptr : waiting_.front();
  while (!item_gone_ && !closing_ && turn_.ours() && !waiting_.empty() && waiting_.front() == first)
    co_await news_;
  if (!item_gone_) port_->forget_watch(watched_, watch_kind::data, watch_);
  watch_ = {};
  co_return error_code{};
}

// What waits, as much of it as goes together.
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
    // With a capacity each is counted by itself.
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
      ec = co_await make_path(port_, self, names_->items(), create_mode::persistent);
      if (!ec) continue;
    }
    for (const auto& each : going) answer(each, ec);
    co_return done;
  }
}

}  // namespace conclave::recipes
