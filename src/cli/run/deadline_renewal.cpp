#include "cli/run/deadline_renewal.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace conclave::cli {

using namespace std::chrono_literals;

boot_clock::time_point certain_until(const hold& held, const client& zk) {
  // The clock is read first. Otherwise, a pause of this process between the two lines would make
  // the result later than the deadline.
  const auto now = boot_clock::now();
  const std::chrono::nanoseconds longest = zk.session_timeout();
  return now + std::min(held.remaining(), longest - longest / 10);
}

struct deadline_renewal::state : std::enable_shared_from_this<state> {
  state(const client& of, hold h, std::function<void(boot_clock::time_point)> f)
      : zk{of}, held{std::move(h)}, pass_on{std::move(f)}, timer{of.get_executor()} {}

  void renew() {
    auto pause = std::chrono::nanoseconds{1s};
    {
      const std::lock_guard lock{mutex};
      if (!pass_on) return;
      pass_on(certain_until(held, zk));
      pause = std::clamp<std::chrono::nanoseconds>(zk.session_timeout() / 30, 5ms, pause);
    }
    timer.expires_after(pause);
    timer.async_wait([self = shared_from_this()](const auto& ec) {
      if (!ec) self->renew();
    });
  }

  const client& zk;
  const hold held;
  std::mutex mutex;
  std::function<void(boot_clock::time_point)> pass_on;  // empty after the end
  boost::asio::steady_timer timer;                      // used only on the I/O thread
};

deadline_renewal::deadline_renewal(const client& zk, hold held,
                                   std::function<void(boot_clock::time_point)> pass_on)
    : state_{std::make_shared<state>(zk, std::move(held), std::move(pass_on))} {
  boost::asio::post(zk.get_executor(), [s = state_] { s->renew(); });
}

deadline_renewal::~deadline_renewal() {
  {
    const std::lock_guard lock{state_->mutex};
    state_->pass_on = nullptr;
  }
  // A pending timer would keep the I/O thread running.
  boost::asio::post(state_->timer.get_executor(), [s = state_] { s->timer.cancel(); });
}

}  // namespace conclave::cli
