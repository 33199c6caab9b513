#include "runtime/session_listeners.hpp"

#include <utility>

namespace conclave::runtime {

session_listeners::session_listeners(std::shared_ptr<io_loop> loop, callback first)
    : loop_{std::move(loop)} {
  if (!first) return;
  first_ = std::make_shared<listener>();
  first_->call = std::move(first);
  listeners_.push_back(first_);
}

std::shared_ptr<void> session_listeners::add(callback call) {
  if (loop_->in_child()) return nullptr;
  auto entry = std::make_shared<listener>();
  entry->call = std::move(call);
  {
    const std::lock_guard lock{mutex_};
    std::erase_if(listeners_, [](const auto& l) { return l.expired(); });
    listeners_.push_back(entry);
  }
  // The token's deleter waits for a running call. On the I/O thread, the deleter may itself run
  // inside that call.
  return {entry.get(), [entry, weak = std::weak_ptr{loop_}](void*) mutable {
            const auto loop = weak.lock();
            if (loop && !loop->in_child() && !loop->is_current()) {
              const std::lock_guard wait{entry->running};
              entry->call = nullptr;
            }
            entry.reset();
          }};
}

void session_listeners::notify(const session_event& e) {
  std::vector<std::weak_ptr<listener>> all;
  {
    const std::lock_guard lock{mutex_};
    all = listeners_;
  }
  for (const auto& weak : all) {
    const auto l = weak.lock();
    if (!l) continue;
    const std::lock_guard running{l->running};
    if (l->call) l->call(e);
  }
}

}  // namespace conclave::runtime
