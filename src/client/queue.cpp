#include "conclave/queue.hpp"

#include <unistd.h>

#include <map>
#include <tuple>
#include <utility>

#include "client/call.hpp"
#include "client/contenders.hpp"
#include "client/locking.hpp"
#include "recipes/make_path.hpp"
#include "recipes/queue/consumer.hpp"
#include "recipes/queue/front_reader.hpp"
#include "recipes/queue/producer.hpp"
#include "recipes/recipe_path.hpp"

namespace conclave {
namespace client_impl {

using detail::claim_pointer;
using detail::queue_pointer;

// A consumer, and one of its users.
struct used_consumer {
  std::shared_ptr<recipes::consumer> consumer;
  std::shared_ptr<recipes::queue_user> user;
};

struct queue_handle {
  core_pointer core;
  std::string path;
  std::shared_ptr<const recipes::queue_names> names;
  std::shared_ptr<recipes::producer> producer;
  used_consumer popping;
  used_consumer claiming;
};

// Path, layout, whether items are claimed, largest number of attempts, and owner of the claims.
using consumer_key = std::tuple<std::string, queue_layout, bool, int, std::string>;

// Queue objects with the same key share a consumer, so that many of them cost the server no more
// than one.
struct shared_consumers {
  std::map<consumer_key, std::weak_ptr<recipes::consumer>> by_key;
};

struct claim_handle {
  core_pointer core;
  std::shared_ptr<recipes::claim> claim;
};

namespace {

using recipes::consumer;
using consumer_caller = consumer::caller;

consumer_key key_of(const recipes::queue_names& names, const consumer::options& o) {
  return {names.items(), names.layout(), o.mode == consumer::mode::claim, o.max_attempts, o.owner};
}

used_consumer use_consumer(const queue_handle& q, const consumer::options& o) {
  auto& all = q.core->consumers;
  if (!all) all = std::make_shared<shared_consumers>();
  auto& known = all->by_key[key_of(*q.names, o)];
  auto c = known.lock();
  if (!c) known = c = std::make_shared<consumer>(q.core->recipes, q.names, o);
  return {c, c->add_user()};
}

void leave_consumer(const queue_handle& q, const used_consumer& used) {
  auto& c = *used.consumer;
  c.remove_user(used.user, aborted());
  if (c.is_closed()) q.core->consumers->by_key.erase(key_of(c.names(), c.configuration()));
}

// Starts a call in which a consumer acquires one item. convert(item) returns the result of the
// call.
template <class Result, class Convert>
void start_acquiring(const queue_pointer& q, used_consumer queue_handle::*which,
                     receiver<std::optional<Result>> to, deadline d, Convert convert) {
  using result = std::optional<Result>;
  start_waiting<result>(q->core, std::move(to), d, [&](const recipe_call_ptr<result>& call) {
    const auto who = std::make_shared<consumer_caller>();
    who->user = ((*q).*which).user;
    who->waits = d != at_once;
    who->complete = [call, convert](error_code ec,
                                    std::optional<recipes::consumer::acquired_item> got) {
      result item;
      if (got) item.emplace(convert(std::move(*got)));
      call->complete(ec == not_acquired() ? error_code{} : ec, std::move(item));
    };
    const auto from = ((*q).*which).consumer;
    if (which == &queue_handle::claiming || !q->names->claims_only())
      from->acquire(who);
    else
      q->core->recipes->post([who] { who->complete(errc::invalid_argument, {}); });
    return [weak = std::weak_ptr{from}, who_weak = std::weak_ptr{who}](error_code why) {
      const auto c = weak.lock();
      const auto w = who_weak.lock();
      if (c && w) c->give_up(w, why);
    };
  });
}

void start_acquiring(const queue_pointer& q, receiver<std::optional<queue_item>> to, deadline d) {
  start_acquiring<queue_item>(
      q, &queue_handle::popping, std::move(to), d,
      [](recipes::consumer::acquired_item got) { return std::move(got.item); });
}

void start_acquiring(const queue_pointer& q, receiver<std::optional<queue_claim>> to, deadline d) {
  start_acquiring<queue_claim>(q, &queue_handle::claiming, std::move(to), d,
                               [core = q->core](recipes::consumer::acquired_item got) {
                                 return queue_claim{std::make_shared<claim_handle>(
                                     claim_handle{core, std::move(got.claim)})};
                               });
}

// Acquires an item. Blocks this thread until an item is available, the deadline has passed or a
// stop is requested.
template <class Result>
std::optional<Result> acquire_blocking(const queue_pointer& q, const std::string& what, deadline d,
                                       std::stop_token stop = {}) {
  if (stop.stop_requested()) return std::nullopt;
  using result = std::optional<Result>;
  return run_blocking<result>(
      what + q->path, q->core, [&](receiver<result> to) { start_acquiring(q, std::move(to), d); },
      d, std::move(stop));
}

// Like children_of(), but returns nullopt if the client is not permitted to read the node.
std::optional<std::vector<std::string>> readable_children(const queue_handle& q,
                                                          const std::string& path) {
  try {
    return children_of(q.core, path);
  } catch (const error& e) {
    if (e.code() != errc::no_auth) throw;
    return std::nullopt;
  }
}

// Returns true if the queue has a different layout, whose items are in another node. `children` are
// the children of this layout's node for the items.
bool is_elsewhere(const queue_handle& q, const std::vector<std::string>& children) {
  const auto other = q.names->other_place_of_items(children, !children.empty());
  if (other.empty()) return false;
  const auto others = readable_children(q, other);  // it may belong to another program
  return others && q.names->is_elsewhere(children, *others);
}

// Creates the folder for the items and the nodes above it.
void make_folder(const queue_handle& q, const std::string& what) {
  const auto& path = q.names->items();
  for (auto& level : recipes::levels_of(*q.core->defaults, path, q.names->items_levels())) try {
      block(what, q.core, &detail::start_create, level.path,
            std::string{level.path == path ? q.names->folder_data() : ""},
            create_options{create_mode::persistent, std::move(level.acl)});
    } catch (const error& e) {
      // If a level already exists, the client may lack the permission to create nodes under its
      // parent. So only an error for the last level counts.
      if (level.path == path && e.code() != errc::node_exists) throw;
    }
}

queue_pointer make_queue(client& c, std::string path, queue_options o) {
  recipes::require_recipe_path("queue", path);
  if (o.owner.empty()) o.owner = host_name() + ':' + std::to_string(::getpid());
  auto q = std::make_shared<queue_handle>();
  q->core = core_access::of(c);
  q->path = path;
  q->names = std::make_shared<recipes::queue_names>(std::move(path), o.layout);
  const auto most =
      q->core->driver->ask(std::size_t{0}, [](const auto& m) { return m.max_request_bytes(); });
  q->producer = std::make_shared<recipes::producer>(q->core->recipes, q->names, o.capacity, most);
  in_recipes(q->core, [&] {
    q->popping = use_consumer(*q, {});
    q->claiming = use_consumer(*q, {consumer::mode::claim, o.max_attempts, o.owner});
  });
  return q;
}

}  // namespace

}  // namespace client_impl

using client_impl::aborted;
using client_impl::acquire_blocking;
using client_impl::block;
using client_impl::children_of;
using client_impl::in_recipes;
using client_impl::is_elsewhere;
using client_impl::keep_in_child;
using client_impl::leave_consumer;
using client_impl::not_acquired;
using client_impl::readable_children;
using client_impl::recipe_call_ptr;
using client_impl::run_blocking;
using client_impl::start_acquiring;
using client_impl::start_in_recipes;
using client_impl::start_waiting;

void detail::start_push(const queue_pointer& q, receiver<bool> to, std::vector<std::string> items,
                        int priority, deadline d) {
  start_waiting<bool>(q->core, std::move(to), d, [&](const recipe_call_ptr<bool>& call) {
    const auto what = std::make_shared<recipes::producer::push_request>();
    what->items = std::move(items);
    what->priority = priority;
    what->waits = d != at_once;
    what->complete = [call](error_code ec) {
      call->complete(ec == not_acquired() ? error_code{} : ec, !ec);
    };
    if (priority == default_priority ||
        (q->names->has_priorities() && priority >= 0 && priority < 1000))
      q->producer->push(what);
    else
      q->core->recipes->post([what] { what->complete(errc::invalid_argument); });
    return [weak = std::weak_ptr{q->producer}, what_weak = std::weak_ptr{what}](error_code why) {
      const auto p = weak.lock();
      const auto w = what_weak.lock();
      if (p && w) p->give_up(w, why);
    };
  });
}

void detail::start_front(const queue_pointer& q, receiver<std::optional<queue_item>> to) {
  using result = std::optional<queue_item>;
  start_in_recipes<result>(q->core, std::move(to), [&](const recipe_call_ptr<result>& call) {
    std::make_shared<recipes::front_reader>(
        q->core->recipes, q->names,
        [call](error_code ec, result item) { call->complete(ec, std::move(item)); })
        ->start();
  });
}

void detail::start_pop(const queue_pointer& q, receiver<std::optional<queue_item>> to, deadline d) {
  start_acquiring(q, std::move(to), d);
}

void detail::start_claim(const queue_pointer& q, receiver<std::optional<queue_claim>> to,
                         deadline d) {
  start_acquiring(q, std::move(to), d);
}

void detail::start_complete(const claim_pointer& c, receiver<void> to) {
  start_in_recipes(c->core, std::move(to), [&](const recipe_call_ptr<void>& call) {
    c->claim->complete([call](error_code ec) { call->complete(ec); });
  });
}

queue::queue(client& c, std::string path, queue_options options)
    : state_{client_impl::make_queue(c, std::move(path), std::move(options))} {}

queue::~queue() {
  keep_in_child(*state_->core, state_);
  in_recipes(state_->core, [&] {
    state_->producer->close(aborted());
    leave_consumer(*state_, state_->popping);
    leave_consumer(*state_, state_->claiming);
  });
}

void queue::push(std::string data, int priority) {
  push(detail::single_item(std::move(data)), priority);
}
void queue::push(std::vector<std::string> items, int priority) {
  push_before(std::move(items), priority, detail::no_deadline);
}
bool queue::try_push(std::string data, int priority) {
  return try_push(detail::single_item(std::move(data)), priority);
}
bool queue::try_push(std::vector<std::string> items, int priority) {
  return push_before(std::move(items), priority, detail::at_once);
}
bool queue::push_before(std::vector<std::string> items, int priority, detail::deadline d) {
  return run_blocking<bool>(
      "push to " + state_->path, state_->core,
      [&](auto to) { detail::start_push(state_, std::move(to), std::move(items), priority, d); },
      d);
}

std::optional<queue_item> queue::front() {
  return run_blocking<std::optional<queue_item>>(
      "front of " + state_->path, state_->core,
      [&](auto to) { detail::start_front(state_, std::move(to)); });
}

std::size_t queue::size() const {
  const auto what = "size of " + state_->path;
  const auto stat =
      block(what, state_->core, &detail::start_exists, state_->names->items(), watcher{});
  const auto count = static_cast<std::size_t>(stat ? stat->num_children : 0);
  // A queue of a different layout has few children at the path where this layout has its items.
  constexpr std::size_t most_folders = 3;
  if (count <= most_folders) {
    const auto children = readable_children(*state_, state_->names->items());
    if (children && is_elsewhere(*state_, *children)) throw error{errc::layout_mismatch, what};
  }
  if (count == 0) return 0;
  const auto inside = state_->names->identities();
  const bool ours =
      !inside.empty() && block(what, state_->core, &detail::start_exists, inside, watcher{});
  return count - (ours ? 1 : 0);
}

std::vector<std::string> queue::names() const {
  const auto what = "names of " + state_->path;
  const auto children = children_of(state_->core, state_->names->items());
  if (state_->names->has_only_another_layout(children) || is_elsewhere(*state_, children))
    throw error{errc::layout_mismatch, what};
  std::vector<std::string> all;
  for (auto& item : state_->names->in_order(children)) all.push_back(std::move(item.text));
  return all;
}

std::string queue::item_path(const std::string& name) const { return state_->names->item(name); }

queue_item queue::pop() {
  return *acquire_blocking<queue_item>(state_, "pop from ", detail::no_deadline);
}
std::optional<queue_item> queue::pop(std::stop_token stop) {
  return acquire_blocking<queue_item>(state_, "pop from ", detail::no_deadline, std::move(stop));
}
std::optional<queue_item> queue::try_pop() { return pop_before(detail::at_once); }
std::optional<queue_item> queue::pop_before(detail::deadline d) {
  return acquire_blocking<queue_item>(state_, "pop from ", d);
}

queue_claim queue::claim() {
  return std::move(*acquire_blocking<queue_claim>(state_, "claim from ", detail::no_deadline));
}
std::optional<queue_claim> queue::claim(std::stop_token stop) {
  return acquire_blocking<queue_claim>(state_, "claim from ", detail::no_deadline, std::move(stop));
}
std::optional<queue_claim> queue::try_claim() { return claim_before(detail::at_once); }
std::optional<queue_claim> queue::claim_before(detail::deadline d) {
  return acquire_blocking<queue_claim>(state_, "claim from ", d);
}

std::vector<queue_item> queue::set_aside() const {
  const auto what = "items set aside of " + state_->path;
  const auto folder = state_->names->set_aside();
  auto items = state_->names->set_aside_in_order(children_of(state_->core, folder));
  std::vector<queue_item> all;
  for (auto next = items.begin(); next != items.end();) {
    constexpr std::ptrdiff_t at_once = 8;  // an item can be large
    read_group group;
    for (auto i = next; i != items.end() && i - next < at_once; ++i)
      group.get(folder + '/' + i->text);
    for (auto& got : block(what, state_->core, &detail::start_read, group)) {
      auto& item = *next++;
      if (got.ec == errc::no_node) continue;  // another client restored or discarded it
      if (got.ec) throw error{got.ec, what};
      all.push_back({std::move(item.text), std::move(got.data), item.priority});
    }
  }
  return all;
}

void queue::restore(const queue_item& item) {
  const auto& [core, names] = std::tie(state_->core, state_->names);
  const auto what = "restore " + item.name;
  const auto parsed = names->parse_set_aside(item.name);
  if (!parsed)
    throw error{errc::invalid_argument, what + ": not the name of an item that was set aside"};
  const auto from = names->set_aside() + '/' + item.name;
  for (;;) {
    auto kept = block(what, core, &detail::start_get, from, watcher{});
    transaction t;
    t.remove(from, kept.stat.version)
        .create(names->prefix(parsed->priority), std::move(kept.data),
                create_mode::persistent_sequential);
    try {
      block(what, core, &detail::start_commit, std::move(t));
      return;
    } catch (const transaction_error& e) {
      if (e.code() == errc::bad_version) continue;  // another client has written the node
      if (e.code() != errc::no_node || e.failed_part() == 0) throw;
    }
    client_impl::make_folder(*state_, what);
  }
}

void queue::discard(const queue_item& item) {
  const auto what = "discard " + item.name;
  try {
    block(what, state_->core, &detail::start_remove, state_->names->set_aside() + '/' + item.name,
          any_version);
  } catch (const error& e) {
    if (e.code() != errc::no_node) throw;
  }
}

// --- queue_claim

queue_claim& queue_claim::operator=(queue_claim&& other) noexcept {
  if (this != &other) {
    release();
    state_ = std::move(other.state_);
  }
  return *this;
}
queue_claim::~queue_claim() { release(); }

const detail::claim_pointer& queue_claim::claimed() const {
  if (!state_) throw error{errc::lock_lost, "queue_claim: the claim is empty"};
  return state_;
}

const std::string& queue_claim::data() const { return claimed()->claim->item().data; }
const std::string& queue_claim::name() const { return claimed()->claim->item().name; }
int queue_claim::priority() const { return claimed()->claim->item().priority; }
int queue_claim::attempts() const { return claimed()->claim->attempts(); }

void queue_claim::complete() {
  run_blocking<void>("complete " + name(), claimed()->core,
                     [&](auto to) { detail::start_complete(state_, std::move(to)); });
}

void queue_claim::release() noexcept {
  if (!state_) return;
  keep_in_child(*state_->core, state_);
  in_recipes(state_->core, [&] { state_->claim->release(); });
}

hold queue_claim::hold() const {
  return state_ ? conclave::hold{state_->claim->hold()} : conclave::hold{};
}

}  // namespace conclave
