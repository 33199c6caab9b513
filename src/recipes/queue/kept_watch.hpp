// A watch of a recipe, as long as it is set. Events of a forgotten watch do not count as events of
// the watch that replaced it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "recipes/session_context.hpp"

namespace conclave::recipes {

// Whether the watch fires once or stays set.
enum class watch_lasts : bool { once, on };

class kept_watch {
 public:
  explicit operator bool() const noexcept { return watcher_.has_value(); }

  // Returns the watcher to send with the next request. `here` is this member of the owner. `told`
  // is called inside a session_context::scope when the watch fires or the session ends.
  template <class Owner>
  const watcher& set(std::shared_ptr<session_context> p, std::weak_ptr<Owner> owner,
                     kept_watch Owner::*here, watch_lasts lasts, void (Owner::*told)()) {
    return watcher_.emplace([p = std::move(p), owner = std::move(owner), here, lasts, told,
                             number = ++number_](const watch_event& e) {
      const auto self = owner.lock();
      if (!self) return;
      const session_context::scope inside{*p};
      auto& kept = (*self).*here;
      if (!kept || kept.number_ != number) return;
      if (lasts == watch_lasts::once || e.type == watch_event::kind::session_ended) kept.failed();
      ((*self).*told)();
    });
  }
  // The request failed or the watch has fired, so the server has no such watch.
  void failed() noexcept { watcher_.reset(); }
  void forget(session_context& p, const std::string& path, watch_kind kind) {
    if (const auto w = std::exchange(watcher_, {})) p.forget_watch(path, kind, *w);
  }

 private:
  std::optional<watcher> watcher_;
  std::uint64_t number_ = 0;
};

}  // namespace conclave::recipes
