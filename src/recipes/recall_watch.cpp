#include "recipes/recall_watch.hpp"

#include <string>
#include <utility>
#include <vector>

namespace conclave::recipes {
namespace {

// A pending listing of one wait queue.
struct listing {
  pending_reply<children_result> names;
  std::string own_name;  // of this contender's node
  std::size_t index;     // in recall_watch::watched_
};

}  // namespace

void recall_watch::start() {
  if (state_ != state::off) return;
  state_ = state::checking;
  context_.changed.notify();
}

void recall_watch::end() {
  state_ = state::off;
  for (const auto& w : std::exchange(watched_, {}))
    if (!w.fired) context_.session().forget_watch(w.path, watch_kind::children, w.callback);
}

void recall_watch::recall() {
  if (std::exchange(state_, state::recalled) != state::recalled) context_.events().recalled();
}

// The callback runs outside of any session_context::scope, perhaps after end().
watcher recall_watch::make_callback(std::size_t index) {
  return
      [this, index, p = context_.shared_session(), owner = context_.owner()](const watch_event& e) {
        const auto alive = owner.lock();
        if (!alive || e.type == watch_event::kind::session_ended) return;
        const session_context::scope inside{*p};
        if (state_ == state::off || index >= watched_.size()) return;
        watched_[index].fired = true;
        recall();
      };
}

task<> recall_watch::work() {
  std::vector<listing> listings;
  {
    const single_write in_one_write{context_.session()};
    for (auto& n : nodes_) {
      const auto index = watched_.size();
      const auto& w = watched_.emplace_back(watched_path{n.parent, make_callback(index), false});
      listings.push_back({context_.send(requests::children(context_.defaults(), w.path, w.callback),
                                        context_.in_session()),
                          n.name, index});
      listings.back().names.notify(context_.changed);
    }
  }
  for (auto& l : listings) {
    while (!l.names.await_ready() && state_ == state::checking && !context_.interrupted())
      co_await context_.changed;
    if (!l.names.await_ready() || state_ != state::checking) co_return done;
    const auto got = co_await l.names;
    if (got.ec) watched_[l.index].fired = true;  // a failed read sets no watch
    if (got.ec || got.value.names.size() != 1 || got.value.names[0] != l.own_name) {
      recall();
      co_return done;
    }
  }
  state_ = state::alone;
  context_.events().alone();
  co_return done;
}

}  // namespace conclave::recipes
