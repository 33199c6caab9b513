#include "recipes/observer.hpp"

#include <algorithm>
#include <vector>

#include "recipes/contender.hpp"
#include "recipes/contender_context.hpp"
#include "recipes/contender_data.hpp"
#include "recipes/error_class.hpp"
#include "recipes/first_contenders.hpp"

namespace conclave::recipes {
observer::observer(std::shared_ptr<session_context> context, std::string path, layout names,
                   callback c)
    : context_{std::move(context)},
      path_{std::move(path)},
      names_{std::move(names)},
      callback_{std::move(c)} {
  context_->add_listener(*this);
}

observer::~observer() { end(); }

void observer::end() {
  if (std::exchange(listens_, false)) context_->remove_listener(*this);
}

void observer::start() {
  run_ = run();
  run_.start();
}

void observer::stop() {
  stopped_ = true;
  end();
  wakeup_.notify();
}

task<> observer::run() {
  duration delay = retry_delay;
  while (!stopped_) {
    watch_fired_ = session_changed_ = false;
    const auto ec = co_await find_leader();
    const auto last_delay = std::exchange(delay, retry_delay);
    if (!ec) {
      while (!stopped_ && !watch_fired_) co_await wakeup_;
    } else if (is_connection_error(ec)) {
      while (!stopped_ && !context_->session().connected) co_await wakeup_;
    } else if (is_session_end(ec)) {
      if (context_->session().end_reason) stopped_ = true;
    } else if (ec == errc::no_auth) {
      // Another attempt on this connection would be refused again, so wait for a new connection or
      // session.
      while (!stopped_ && !session_changed_) co_await wakeup_;
    } else if (ec != errc::no_node) {  // for example from an overloaded server
      co_await pause(last_delay);
      delay = std::min<duration>(last_delay * 2, longest_retry_delay);
    }
    forget_watch();
  }
  end();
  co_return done;
}

// Finds the leader and watches its node. Returns errc::no_node if the node was deleted meanwhile.
task<error_code> observer::find_leader() {
  const auto pending = send(requests::children(context_->defaults(), path_, {}));
  const auto listed = co_await pending;
  if (listed.ec == errc::no_node) co_return co_await watch_for_path();
  if (listed.ec) co_return listed.ec;
  // Contenders of another layout are not candidates of this election.
  const auto front = first_contenders(listed.value.names, names_);
  if (front.empty()) co_return co_await watch_for_candidates();
  auto leader = front.front();
  if (front.size() > 1)
    if (const auto ec = co_await oldest_of(front, leader); ec) co_return ec;
  co_return co_await watch_leader(std::move(leader));
}

task<error_code> observer::oldest_of(const std::vector<std::string>& names, std::string& oldest) {
  std::vector<pending_reply<std::optional<node_stat>>> pending;
  {
    const single_write in_one_write{*context_};
    for (const auto& name : names)
      pending.push_back(send(requests::exists(context_->defaults(), path_ + '/' + name, {})));
  }
  error_code ec = errc::no_node;
  std::int64_t age = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto got = co_await pending[i];
    if (got.ec) ec = got.ec;
    if (got.ec || !got.value || (age != 0 && got.value->czxid > age)) continue;
    if (ec == errc::no_node) ec = {};
    age = got.value->czxid;
    oldest = names[i];
  }
  co_return ec;
}

task<error_code> observer::watch_leader(std::string name) {
  contender_info leader;
  leader.node = path_ + '/' + name;
  leader.holds = true;
  const auto w = new_watch(leader.node, watch_kind::data);
  const auto pending = send(requests::get(context_->defaults(), leader.node, w));
  const auto got = co_await pending;
  if (got.ec) {
    watch_.reset();
    co_return got.ec;
  }
  set_node_info(leader, got.value.data, got.value.stat);
  report(leader);
  co_return got.ec;
}

task<error_code> observer::watch_for_candidates() {
  const auto w = new_watch(path_, watch_kind::children);
  const auto pending = send(requests::children(context_->defaults(), path_, w));
  const auto listed = co_await pending;
  if (listed.ec) watch_.reset();
  if (listed.ec) co_return listed.ec;
  if (!first_contenders(listed.value.names, names_).empty())
    co_return errc::no_node;  // a candidate arrived meanwhile
  report(std::nullopt);
  co_return listed.ec;
}

task<error_code> observer::watch_for_path() {
  const auto w = new_watch(path_, watch_kind::data);
  const auto pending = send(requests::exists(context_->defaults(), path_, w));
  const auto got = co_await pending;
  if (got.ec) watch_.reset();
  if (got.ec) co_return got.ec;
  if (got.value) co_return errc::no_node;  // the path was created meanwhile
  report(std::nullopt);
  co_return got.ec;
}

void observer::report(const std::optional<contender_info>& leader) {
  std::pair<std::string, std::int64_t> node;  // empty if there is no candidate
  if (leader) node = {leader->node, leader->fencing_token};
  if (reported_ == node) return;
  reported_ = std::move(node);
  if (!stopped_) context_->post([f = callback_, leader] { f(leader); });
}

void observer::session_changed(const session_event& e) {
  using kind = session_event::kind;
  const auto self = shared_from_this();
  switch (e.type) {
    case kind::suspended: return;
    case kind::connected:
    case kind::reconnected: session_changed_ = true; break;
    case kind::expired:
    case kind::closed:
    case kind::authentication_failed:
      watch_.reset();
      watch_fired_ = session_changed_ = true;
      if (context_->session().end_reason) stopped_ = true;
      break;
  }
  wakeup_.notify();
}

// The watcher runs outside of any session_context::scope.
const watcher& observer::new_watch(std::string path, watch_kind kind) {
  const auto number = ++watches_;
  watch_ = {std::move(path), kind,
            [weak = weak_from_this(), context = context_, number](const watch_event& e) {
              const auto self = weak.lock();
              if (!self || e.type == watch_event::kind::session_ended) return;
              const session_context::scope inside{*context};
              if (number != self->watches_) return;
              self->watch_.reset();  // a watch fires once
              self->watch_fired_ = true;
              self->wakeup_.notify();
            }};
  return watch_->w;
}

void observer::forget_watch() {
  if (const auto old = std::exchange(watch_, std::nullopt))
    context_->forget_watch(old->path, old->kind, old->w);
}

task<> observer::pause(duration d) {
  const auto until = context_->now() + d;
  context_->call_at(until, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->wakeup_.notify();
  });
  while (!stopped_ && context_->now() < until) co_await wakeup_;
  co_return done;
}

}  // namespace conclave::recipes
