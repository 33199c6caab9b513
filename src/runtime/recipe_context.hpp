// Runs the recipes on a session: implements recipes::session_context on a session_driver.
#pragma once

#include <memory>
#include <optional>
#include <random>

#include "recipes/session_context.hpp"
#include "runtime/session_driver.hpp"

namespace conclave::runtime {

class recipe_context final : public recipes::session_context,
                             public std::enable_shared_from_this<recipe_context> {
 public:
  static std::shared_ptr<recipe_context> make(std::shared_ptr<session_driver> driver,
                                              std::shared_ptr<const requests::defaults> d);
  recipe_context(std::shared_ptr<session_driver> driver,
                 std::shared_ptr<const requests::defaults> d);
  ~recipe_context() override;

  void submit(std::unique_ptr<session::operation> op) override;
  void forget_watch(const std::string& path, watch_kind kind, const watcher& w) override;
  void cork() override { driver_->begin_batch(open_batches::kind::recipe); }
  void uncork() override { driver_->end_batch(open_batches::kind::recipe); }
  // session() and now() may be called from any thread.
  session_view session() const override { return clock_->session(); }
  recipes::time_point now() const override { return clock_->now(); }
  std::shared_ptr<const recipes::session_clock> clock() const override { return clock_; }
  void call_soon(std::function<void()> f) override;
  std::uint64_t random() override { return random_(); }

 private:
  io_loop& loop() const { return driver_->loop(); }
  void wake_at(recipes::time_point when) override;
  void arm(recipes::time_point when);

  struct driver_clock final : session_clock {
    explicit driver_clock(std::shared_ptr<session_driver> d) : driver{std::move(d)} {}
    session_view session() const override;
    recipes::time_point now() const override { return boot_clock::now(); }
    recipes::time_point early_deadline() const override { return driver->early_deadline(); }
    std::chrono::nanoseconds coarse_time() const override;
    std::shared_ptr<session_driver> driver;
  };

  std::shared_ptr<session_driver> driver_;
  std::shared_ptr<const driver_clock> clock_;
  std::shared_ptr<void> listening_;
  // Used and cancelled only on the I/O thread. A pending timer would keep the I/O thread running.
  struct pending_timer {
    std::optional<boot_timers::handle> set;
    recipes::time_point when = recipes::time_point::max();
  };
  std::shared_ptr<pending_timer> pending_timer_ = std::make_shared<pending_timer>();
  std::mt19937_64 random_;
};

}  // namespace conclave::runtime
