#include "recipes/observer.hpp"

#include <algorithm>
#include <vector>

#include "recipes/contender.hpp"
#include "recipes/describe.hpp"
#include "recipes/front.hpp"
#include "recipes/outcome.hpp"
#include "recipes/together.hpp"

namespace conclave::recipes {
namespace {

// Between two looks that the server refused.
constexpr auto longest_rest = std::chrono::seconds{1};

}  // namespace

observer::observer(std::shared_ptr<port> p, std::string path, layout names, callback told)
    : port_{std::move(p)},
      path_{std::move(path)},
      names_{std::move(names)},
      told_{std::move(told)} {
  port_->join(*this);
}

observer::~observer() { end(); }

void observer::end() {
  if (std::exchange(joined_, false)) port_->part(*this);
}

void observer::start() {
  run_ = run();
  run_.start();
}

void observer::stop() {
  over_ = true;
  end();
  news_.poke();
}

task<> observer::run() {
  duration rest = breath;
  while (!over_) {
    stirred_ = session_news_ = false;
    const auto ec = co_await look();
    const auto last_rest = std::exchange(rest, breath);
    if (!ec) {
      while (!over_ && !stirred_) co_await news_;
    } else if (connection_trouble(ec)) {
      while (!over_ && !port_->session().connected) co_await news_;
    } else if (session_is_over(ec)) {
      if (port_->session().over) over_ = true;
    } else if (ec == errc::no_auth) {
      // Asking again and again would not change that.
      while (!over_ && !session_news_) co_await news_;
    } else if (ec != errc::no_node) {  // a server that is overloaded, or worse: it may pass
      co_await pause(last_rest);
      rest = std::min<duration>(last_rest * 2, longest_rest);
    }
    forget_watch();
  }
  end();
  co_return done;
}

// errc::no_node: what was there has gone meanwhile.
task<error_code> observer::look() {
  const auto asked = ask(requests::children(port_->defaults(), path_, {}));
  const auto listed = co_await asked;
  if (listed.ec == errc::no_node) co_return co_await watch_for_path();
  if (listed.ec) co_return listed.ec;
  // Those of another layout are not candidates of this election.
  const auto front = front_of_line(listed.value.names, names_);
  if (front.empty()) co_return co_await watch_for_candidates();
  auto leader = front.front();
  if (front.size() > 1)
    if (const auto ec = co_await oldest_of(front, leader); ec) co_return ec;
  co_return co_await watch_leader(std::move(leader));
}

task<error_code> observer::oldest_of(const std::vector<std::string>& names, std::string& oldest) {
  std::vector<asking<std::optional<node_stat>>> asked;
  {
    const together in_one_write{*port_};
    for (const auto& name : names)
      asked.push_back(ask(requests::exists(port_->defaults(), path_ + '/' + name, {})));
  }
  error_code ec = errc::no_node;
  std::int64_t age = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto got = co_await asked[i];
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
  const auto asked = ask(requests::get(port_->defaults(), leader.node, w));
  const auto got = co_await asked;
  if (got.ec) {
    watch_.reset();
    co_return got.ec;
  }
  describe(leader, got.value.data, got.value.stat);
  tell(leader);
  co_return got.ec;
}

task<error_code> observer::watch_for_candidates() {
  const auto w = new_watch(path_, watch_kind::children);
  const auto asked = ask(requests::children(port_->defaults(), path_, w));
  const auto listed = co_await asked;
  if (listed.ec) watch_.reset();
  if (listed.ec) co_return listed.ec;
  if (!front_of_line(listed.value.names, names_).empty())
    co_return errc::no_node;  // one has come meanwhile
  tell(std::nullopt);
  co_return listed.ec;
}

task<error_code> observer::watch_for_path() {
  const auto w = new_watch(path_, watch_kind::data);
  const auto asked = ask(requests::exists(port_->defaults(), path_, w));
  const auto got = co_await asked;
  if (got.ec) watch_.reset();
  if (got.ec) co_return got.ec;
  if (got.value) co_return errc::no_node;  // it has come meanwhile
  tell(std::nullopt);
  co_return got.ec;
}

void observer::tell(const std::optional<contender_info>& leader) {
  std::optional<std::pair<std::string, std::int64_t>> node;
  if (leader) node.emplace(leader->node, leader->fencing_token);
  if (std::exchange(told_any_, true) && node == last_) return;
  last_ = std::move(node);
  if (!over_) port_->deliver([f = told_, leader] { f(leader); });
}

void observer::session_changed(const session_event& e) {
  using kind = session_event::kind;
  const auto self = shared_from_this();
  switch (e.type) {
    case kind::suspended: return;
    case kind::connected:
    case kind::reconnected: session_news_ = true; break;
    case kind::expired:
    case kind::closed:
    case kind::authentication_failed:
      watch_.reset();
      stirred_ = session_news_ = true;
      if (port_->session().over) over_ = true;
      break;
  }
  news_.poke();
}

// Watchers are called outside of any entry.
const watcher& observer::new_watch(std::string path, watch_kind kind) {
  const auto number = ++watches_;
  watch_ = {std::move(path), kind,
            [weak = weak_from_this(), p = port_, number](const watch_event& e) {
              const auto self = weak.lock();
              if (!self || e.type == watch_event::kind::session_ended) return;
              const port::entry inside{*p};
              if (number != self->watches_) return;
              self->watch_.reset();  // used up
              self->stirred_ = true;
              self->news_.poke();
            }};
  return watch_->w;
}

void observer::forget_watch() {
  if (const auto old = std::exchange(watch_, std::nullopt))
    port_->forget_watch(old->path, old->kind, old->w);
}

task<> observer::pause(duration d) {
  const auto until = port_->now() + d;
  port_->call_at(until, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->news_.poke();
  });
  while (!over_ && port_->now() < until) co_await news_;
  co_return done;
}

}  // namespace conclave::recipes
