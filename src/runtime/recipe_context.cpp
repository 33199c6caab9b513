#include "runtime/recipe_context.hpp"

#include <ctime>
#include <utility>

#include <boost/asio/post.hpp>

#include "session/paths.hpp"

namespace conclave::runtime {
namespace {

// A request whose result is ignored.
class ignored_operation final : public session::operation {
 public:
  explicit ignored_operation(requests::request<requests::nothing> r) : operation{r.type, r.rule} {
    frame = std::move(r.frame);
    beyond_limits = true;
  }
  bool read_reply(const wire::reply_header&, wire::reader&) override { return true; }
  void complete(error_code) noexcept override {}
};

std::mt19937_64 seeded() {
  std::random_device device;
  std::seed_seq seed{device(), device(), device(), device(), device(), device(), device()};
  return std::mt19937_64{seed};
}

}  // namespace

std::shared_ptr<recipe_context> recipe_context::make(std::shared_ptr<session_driver> driver,
                                                     std::shared_ptr<const requests::defaults> d) {
  auto p = std::make_shared<recipe_context>(driver, std::move(d));
  p->listening_ = driver->listen([weak = std::weak_ptr{p}](const session_event& e) {
    if (const auto self = weak.lock()) self->session_changed(e);
  });
  return p;
}

recipe_context::recipe_context(std::shared_ptr<session_driver> driver,
                               std::shared_ptr<const requests::defaults> d)
    : session_context{std::move(d)},
      driver_{std::move(driver)},
      clock_{std::make_shared<driver_clock>(driver_)},
      random_{seeded()} {}

void recipe_context::submit(std::unique_ptr<session::operation> op) {
  if (const auto ec = driver_->submit(op, false)) driver_->refuse(std::move(op), ec);
}

void recipe_context::forget_watch(const std::string& path, watch_kind kind, const watcher& w) {
  std::unique_ptr<session::operation> op =
      std::make_unique<ignored_operation>(requests::remove_watch(defaults(), path, kind));
  const auto full = session::with_chroot(defaults().chroot, path);
  static_cast<void>(driver_->submit_watch_removal(op, kind, full, w, false));
}

recipe_context::session_view recipe_context::driver_clock::session() const {
  const auto now = driver->status();
  return {now.session_id, now.connected, now.end_reason, now.deadline};
}

std::chrono::nanoseconds recipe_context::driver_clock::coarse_time() const {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
}

void recipe_context::call_soon(std::function<void()> f) {
  boost::asio::post(loop().io(), [self = shared_from_this(), f = std::move(f)] {
    const scope inside{*self};
    f();
  });
}

void recipe_context::wake_at(recipes::time_point when) {
  if (loop().is_current()) return arm(when);
  boost::asio::post(loop().io(), [weak = weak_from_this(), when] {
    if (const auto self = weak.lock()) self->arm(when);
  });
}

void recipe_context::arm(recipes::time_point when) {
  if (when >= pending_timer_->when) return;
  if (pending_timer_->set) loop().timers().cancel(*pending_timer_->set);
  pending_timer_->when = when;
  pending_timer_->set = loop().timers().arm(when, [weak = weak_from_this(), a = pending_timer_] {
    *a = {};
    if (const auto self = weak.lock()) self->time_passed(boot_clock::now());
  });
}

recipe_context::~recipe_context() {
  if (loop().in_child()) return;
  boost::asio::post(loop().io(), [driver = driver_, a = pending_timer_] {
    if (a->set) driver->loop().timers().cancel(*a->set);
  });
}

}  // namespace conclave::runtime
