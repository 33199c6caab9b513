// Watches notify a program when nodes change.
//
// The reads get, exists and children set a one-shot watch if a watcher is passed. add_watch() sets
// a persistent watch, which lasts until it is removed. Watch events arrive on the I/O thread in the
// order of the changes, and before any reply that shows the change. Watches end with the session.
// The last event of a watch reports this, unless the program itself closed the client.
//
// Watches survive a reconnect. One-shot watches then deliver the events that they missed. The
// server does not deliver missed events of persistent watches, so their watchers receive
// possibly_missed instead.
//
// Watchers run on the I/O thread and must not block. They may start async_ operations. A blocking
// call in a watcher throws errc::would_deadlock.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace conclave {

struct watch_event {
  enum class kind {
    created = 1,
    deleted = 2,
    changed = 3,            // the node's data changed
    children_changed = 4,   // a child was created or deleted
    session_ended = 100,    // the session ended, and the watch with it
    possibly_missed = 101,  // for persistent watches, after a reconnect: read the node again
    watch_lost = 102,  // the server did not set this watch: read the node and set the watch again
  };

  kind type{};
  std::string path;
};

const char* to_string(watch_event::kind k) noexcept;

// A callback with an identity. Copies compare equal, so remove_watch() can find the watcher. A
// watcher that is set several times on one path is called once per change.
//
// In a coroutine, store the watcher in a named variable before the co_await expression that uses
// it. g++ 12 destroys temporaries in such expressions twice.
class watcher {
 public:
  using callback = std::function<void(const watch_event&)>;

  watcher() = default;  // no watch

  template <class F>
    requires(!std::same_as<std::remove_cvref_t<F>, watcher> &&
             std::invocable<F&, const watch_event&>)
  watcher(F&& f) : callback_{std::make_shared<callback>(std::forward<F>(f))} {}

  explicit operator bool() const noexcept { return callback_ != nullptr; }
  void operator()(const watch_event& event) const { (*callback_)(event); }
  friend bool operator==(const watcher&, const watcher&) = default;

  // For unordered containers of watchers.
  struct hash {
    std::size_t operator()(const watcher& w) const noexcept {
      return std::hash<std::shared_ptr<callback>>{}(w.callback_);
    }
  };

 private:
  std::shared_ptr<callback> callback_;
};

// What add_watch() reports. `persistent` reports changes of the node and of its list of children.
// `recursive` reports that the node or any node below it was created, deleted or changed.
//
// Servers before ZooKeeper 3.9 keep only one kind of watch per path and session, the one set last.
// On these servers, a client cannot use both modes on one node. It also cannot set a one-shot watch
// on the children of a node that it watches recursively. Other one-shot watches work.
enum class watch_mode { persistent = 0, recursive = 1 };

// Selects which watches of a path remove_watch() removes.
enum class watch_kind { children = 1, data = 2, any = 3 };

}  // namespace conclave
