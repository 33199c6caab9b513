// The listeners for the session events of one driver.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "conclave/session_event.hpp"
#include "runtime/io_thread.hpp"

namespace conclave::runtime {

class session_listeners {
 public:
  using callback = std::function<void(const session_event&)>;

  // `first` is a listener that stays registered for the lifetime of this object. It may be empty.
  session_listeners(std::shared_ptr<io_loop> loop, callback first);

  // Registers a listener. The returned token keeps it registered. After the token's destructor has
  // returned, the listener is not running and is not called again. If the listener itself destroys
  // the token, its current call continues, but it is not called again. Returns null in a forked
  // child process.
  std::shared_ptr<void> add(callback call);

  // Calls all listeners. Called on the I/O thread with no mutex locked.
  void notify(const session_event& e);

 private:
  struct listener {
    std::mutex running;
    callback call;
  };

  std::shared_ptr<io_loop> loop_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<listener>> listeners_;
  std::shared_ptr<listener> first_;
};

}  // namespace conclave::runtime
