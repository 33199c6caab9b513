#include "client/locking.hpp"

#include <limits.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "session/paths.hpp"

namespace conclave::detail {
namespace {

using caller = recipes::lock_object::caller;
using caller_ptr = recipes::lock_object::caller_ptr;
using entry = recipes::port::entry;

error_code aborted() { return boost::asio::error::operation_aborted; }
// What a timed call is told when its time is up: somebody else has the lock.
error_code late() { return errc::taken; }

std::string this_process() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return std::string{host.data()} + ':' + std::to_string(::getpid());
}

// A caller whose thread waits for its answer, on that thread's stack.
struct blocked {
  blocked(const lock_pointer& l, bool patient) : lock{l}, who{std::make_shared<caller>()} {
    auto& loop = l->core->driver->loop();
    if (loop.in_child()) throw error{errc::forked, "lock " + l->path};
    if (loop.is_current()) throw error{errc::would_deadlock, "lock " + l->path};
    who->patient = patient;
    who->tell = [this](error_code e) {
      ec = e;
      told.set();
    };
    const entry inside{*l->core->port};
    l->object->acquire(who);
  }

  void give_up(error_code why) const {
    const entry inside{*lock->core->port};
    lock->object->give_up(who, why);
  }

  // Whether it is held; throws what else can be the matter than `expected`.
  bool result(error_code expected) const {
    if (!ec) return true;
    if (ec == expected) return false;
    auto what = "lock " + lock->path;
    if (ec == errc::not_connected) {
      const auto why =
          lock->core->driver->ask(std::string{}, [](const auto& m) { return m.last_failure(); });
      if (!why.empty()) what += " (" + why + ")";
    }
    throw error{ec, what};
  }

  const lock_pointer& lock;
  caller_ptr who;
  runtime::one_shot told;
  error_code ec;
};

// A handler must not be called before the call that started it has returned.
void tell_later(runtime::io_loop& loop, entry& inside) {
  auto calls = inside.end();
  if (calls.empty()) return;
  boost::asio::post(loop.io(), [calls = std::move(calls)] {
    for (const auto& f : calls) f();
  });
}

template <class Result, class Convert>
void start(const lock_pointer& l, receiver<Result> to, deadline d, Convert convert) {
  auto& loop = l->core->driver->loop();
  auto recipient = std::make_shared<detail::recipient<Result>>(loop, std::move(to));
  if (loop.in_child()) return recipient->tell(errc::forked, {});
  const auto who = std::make_shared<caller>();
  who->patient = d != at_once;
  who->tell = [recipient, convert](error_code ec) { convert(*recipient, ec); };
  const auto give_up = [weak = std::weak_ptr{l}, who_weak = std::weak_ptr{who}](error_code why) {
    const auto lock = weak.lock();
    const auto c = who_weak.lock();
    if (lock && c) lock->object->give_up(c, why);
  };
  recipient->on_cancel([port = l->core->port, give_up] {
    const entry inside{*port};
    give_up(aborted());
  });
  const auto port = l->core->port;
  entry inside{*port};
  if (d != at_once && d != no_deadline)
    port->call_at(boot_clock::now() + (d - std::chrono::steady_clock::now()),
                  [give_up] { give_up(late()); });
  l->object->acquire(who);
  tell_later(loop, inside);
}

}  // namespace

lock_pointer make_lock(client& c, std::vector<std::string> paths, layout::role role,
                       lock_options options) {
  for (const auto& path : paths)
    if (!session::valid_path(path) || path == "/") throw error{errc::invalid_path, "lock " + path};
  if (options.layout.name_prefix(role).empty())
    throw error{errc::invalid_argument, "lock " + paths[0] + ": the layout is for other locks"};
  if (options.owner.empty()) options.owner = this_process();
  auto l = std::make_shared<lock_handle>();
  l->core = core_access::of(c);
  l->path = paths[0];
  l->object =
      std::make_shared<recipes::lock_object>(l->core->port, std::move(paths), role, options);
  return l;
}

void lock(const lock_pointer& l) {
  blocked call{l, true};
  call.told.wait();
  call.result(error_code{});
}

bool lock(const lock_pointer& l, std::stop_token stop) {
  if (stop.stop_requested()) return false;
  blocked call{l, true};
  {
    const std::stop_callback on_stop{std::move(stop), [&] { call.give_up(aborted()); }};
    call.told.wait();
  }
  return call.result(aborted());
}

bool try_lock(const lock_pointer& l, deadline d) {
  blocked call{l, d != at_once};
  if (d != at_once && d != no_deadline && !call.told.wait_until(d)) call.give_up(late());
  call.told.wait();
  return call.result(late());
}

void unlock(const lock_pointer& l) noexcept {
  if (l->core->driver->loop().in_child()) return;
  const entry inside{*l->core->port};
  l->object->release();
}

void abandon(const lock_pointer& l) noexcept {
  if (l->core->driver->loop().in_child()) return;
  const entry inside{*l->core->port};
  l->object->close(aborted());
}

hold hold_of(const lock_pointer& l) {
  if (l->core->driver->loop().in_child()) return hold{};
  const entry inside{*l->core->port};
  return hold{l->object->hold()};
}

void start_lock(const lock_pointer& l, receiver<void> to) {
  start(l, std::move(to), no_deadline, [](recipient<void>& r, error_code ec) { r.tell(ec, {}); });
}

void start_try_lock(const lock_pointer& l, receiver<bool> to, deadline d) {
  start(l, std::move(to), d,
        [](recipient<bool>& r, error_code ec) { r.tell(ec == late() ? error_code{} : ec, !ec); });
}

void start_unlock(const lock_pointer& l, receiver<void> to) {
  auto& loop = l->core->driver->loop();
  const auto r = std::make_shared<recipient<void>>(loop, std::move(to));
  if (loop.in_child()) return r->tell(errc::forked, {});
  entry inside{*l->core->port};
  l->object->release([r] { r->tell({}, {}); });
  tell_later(loop, inside);
}

}  // namespace conclave::detail
