// Being told about changes.
//
// A watch is left with the server by a read (get, exists, children: told once) or by add_watch
// (told every time, until removed). Events arrive on the I/O thread in the order of the changes,
// and before any reply that already shows the change. They end with the session, which is told by a
// last event unless it was this program itself that closed it.
//
// Watches survive a reconnect. What a one-shot watch missed meanwhile is delivered then. The server
// does not do that for watches left by add_watch: their watchers are told possibly_missed instead.
//
// A watcher must not block: it runs on the thread that reads everybody's replies. Starting
// async_ operations from it is fine; a blocking call there throws errc::would_deadlock.
#pragma once

#include <concepts>
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
    changed = 3,            // the node's data
    children_changed = 4,   // a child was added or removed
    session_ended = 100,    // the session expired or was refused, and the watch went with it
    possibly_missed = 101,  // after a reconnect, to watchers of add_watch: look for yourself
    watch_lost = 102,       // the server does not keep this watch: look, and leave it again
  };

  kind type{};
  std::string path;
};

const char* to_string(watch_event::kind k) noexcept;

// A callback with an identity: copies are the same watcher, which is how remove_watch knows it.
// One watcher left several times on one path is called once per change.
//
// In a coroutine, name a watcher before the co_await expression that uses it: g++ 12 destroys
// temporaries of such expressions twice.
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

 private:
  std::shared_ptr<callback> callback_;
};

// What add_watch tells: changes of the node itself and of its list of children, or created,
// deleted and changed of the node and everything below it.
//
// Servers before ZooKeeper 3.9 keep one kind of watch for a path and session, the one left last.
// One-shot watches beside these are taken care of here, but there a client cannot have both modes
// on the same node, nor watch the children once of a node that it watches recursively.
enum class watch_mode { persistent = 0, recursive = 1 };

// Which watches of a path remove_watch takes away.
enum class watch_kind { children = 1, data = 2, any = 3 };

}  // namespace conclave
