// A contender's watch on one node.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "recipes/contender_context.hpp"

namespace conclave::recipes {

class node_watch {
 public:
  enum class state {
    unset,  // no watch is set
    set,
    changed,  // the node changed or must be read again; the watch may have fired
    deleted,  // the node was deleted, or another node has its name
  };
  explicit node_watch(contender_context& c, watch_kind kind = watch_kind::data)
      : context_{&c}, kind_{kind} {}

  state current() const noexcept { return watched_ ? watched_->current : state::unset; }
  bool deleted() const noexcept { return current() == state::deleted; }
  bool changed() const noexcept { return current() == state::changed; }
  // Returns true if no watch will report the next change. The node must then be read again.
  bool must_read() const noexcept {
    return current() == state::unset || current() == state::changed;
  }

  // Returns the watcher to send with a read of this path. Sets the state to `set`, unless the node
  // was deleted.
  watcher set(const std::string& path) {
    auto& w = watched();
    if (!w.callback) {
      w.path = path;
      w.callback = make_callback();
    }
    if (w.current != state::deleted) w.current = state::set;
    return w.callback;
  }
  // Call if the read has failed. A failed read sets no watch.
  void read_failed() {
    auto& w = watched();
    w.callback = {};
    if (w.current != state::deleted) w.current = state::unset;
  }
  void mark_changed() {
    if (!deleted()) watched().current = state::changed;
  }
  // If no watch is set on the node, marks the node as changed, so that it is read again.
  void request_read() {
    if (current() == state::unset) mark_changed();
  }
  void mark_deleted() { watched().current = state::deleted; }
  // Removes the watch. Watch events that are still pending have no effect.
  void forget() {
    const auto w = std::exchange(watched_, {});
    if (w && w->callback && w->current != state::deleted)
      context_->session().forget_watch(w->path, kind_, w->callback);
  }

 private:
  struct watched_node {
    std::string path;
    watcher callback;  // empty if no read was sent or the read failed
    state current = state::unset;
  };

  watched_node& watched() {
    if (!watched_) watched_ = std::make_shared<watched_node>();
    return *watched_;
  }

  // The callback runs outside of any session_context::scope. It may still run after forget() and
  // then has no effect.
  watcher make_callback() const {
    return [c = context_, p = context_->shared_session(), owner = context_->owner(),
            weak = std::weak_ptr{watched_}](const watch_event& e) {
      const auto alive = owner.lock();
      // All contenders receive the end of the session through session_changed().
      if (!alive || e.type == watch_event::kind::session_ended) return;
      const session_context::scope inside{*p};
      const auto w = weak.lock();
      if (!w || e.path != w->path || w->current == state::deleted) return;
      w->current = e.type == watch_event::kind::deleted ? state::deleted : state::changed;
      c->changed.notify();
    };
  }

  contender_context* context_;
  watch_kind kind_;
  std::shared_ptr<watched_node> watched_;
};

}  // namespace conclave::recipes
