// A watch of a producer or consumer, which sets it again and again. Events of an earlier watch do
// not count as events of the watch that replaced it.
//
// All members must be called inside a session_context::scope.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "recipes/session_context.hpp"

namespace conclave::recipes {

enum class watch_lifetime : bool { one_shot, persistent };

class watch_registration {
 public:
  bool is_set() const noexcept { return watcher_.has_value(); }

  // Returns the watcher to send with the next request. The `owner` owns this object. `fired` is
  // called inside a session_context::scope when the watch fires or the session ends.
  const watcher& set(std::shared_ptr<session_context> context, std::weak_ptr<void> owner,
                     watch_lifetime lifetime, std::function<void()> fired) {
    return watcher_.emplace([this, context = std::move(context), owner = std::move(owner), lifetime,
                             fired = std::move(fired), number = ++number_](const watch_event& e) {
      const auto alive = owner.lock();
      if (!alive) return;
      const session_context::scope inside{*context};
      if (!is_set() || number_ != number) return;
      if (lifetime == watch_lifetime::one_shot || e.type == watch_event::kind::session_ended)
        clear();
      fired();
    });
  }
  // Must be called if the request failed. The server then has no such watch.
  void clear() noexcept { watcher_.reset(); }
  void forget(session_context& context, const std::string& path, watch_kind kind) {
    if (const auto w = std::exchange(watcher_, std::nullopt)) context.forget_watch(path, kind, *w);
  }

 private:
  std::optional<watcher> watcher_;
  std::uint64_t number_ = 0;  // counts the watches that were set
};

}  // namespace conclave::recipes
