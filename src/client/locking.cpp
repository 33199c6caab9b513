#include "client/locking.hpp"

#include <limits.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <utility>

#include "recipes/recipe_path.hpp"

namespace conclave::detail {
namespace {

using caller = recipes::lock_object::caller;
using caller_ptr = recipes::lock_object::caller_ptr;
using scope = recipes::session_context::scope;

error_code aborted() { return boost::asio::error::operation_aborted; }
// The error of a call that gives up by itself: its deadline passed, or a stop was requested.
error_code in_vain() { return errc::lock_busy; }

std::string this_process() { return host_name() + ':' + std::to_string(::getpid()); }

// A caller whose thread blocks until the call completes. It lives on that thread's stack.
struct blocked {
  blocked(const lock_pointer& l, role r, bool waits) : lock{l}, who{std::make_shared<caller>()} {
    auto& loop = l->core->driver->loop();
    if (loop.in_child()) throw error{errc::forked, what()};
    if (loop.is_current()) throw error{errc::would_deadlock, what()};
    who->role = r;
    who->waits = waits;
    who->thread = this_thread();
    who->complete = [this](error_code e) {
      ec = e;
      told.set();
    };
    const scope inside{*l->core->recipes};
    // A thread that holds the lock as a reader would wait for itself.
    if (r == role::writer && !l->core->recipes->session().over &&
        l->object->held_by_thread(role::reader, who->thread))
      throw error{errc::upgrade_refused, what()};
    l->object->acquire(who);
  }

  std::string what() const { return lock->verb + (' ' + lock->path); }

  void give_up(error_code why) const {
    const scope inside{*lock->core->recipes};
    lock->object->give_up(who, why);
  }

  // Returns true if the lock is held and false if the call failed with `expected`. Throws any other
  // error.
  bool result(error_code expected) const {
    if (!ec) return true;
    if (ec == expected) return false;
    auto why = who->mismatch;
    if (ec == errc::not_connected)
      why = lock->core->driver->ask(std::string{}, [](const auto& m) { return m.last_failure(); });
    // The contender creates every missing parent except the chroot.
    if (ec == errc::no_node && !lock->core->defaults->chroot.empty())
      why = "the chroot " + lock->core->defaults->chroot + " is missing";
    throw error{ec, why.empty() ? what() : what() + " (" + why + ")"};
  }

  bool acquired_before(deadline d) {
    if (d != at_once && d != no_deadline && !told.wait_until(d)) give_up(in_vain());
    told.wait();
    return result(in_vain());
  }

  const lock_pointer lock;  // keeps the lock if the lock object is destroyed during the call
  caller_ptr who;
  runtime::one_shot told;
  error_code ec;
};

template <class... Arguments>
void call_through(const std::shared_ptr<callback_queue>& told,
                  std::function<void(Arguments...)>& f) {
  if (!f) return;
  f = [told, shared = std::make_shared<const std::function<void(Arguments...)>>(std::move(f))](
          Arguments... arguments) {
    told->push([shared, arguments...] { (*shared)(arguments...); });
    told->run();
  };
}

template <class Result, class Convert>
void start(const lock_pointer& l, receiver<Result> to, role r, deadline d, Convert convert) {
  auto& loop = l->core->driver->loop();
  auto recipient = std::make_shared<detail::recipient<Result>>(loop, std::move(to));
  if (loop.in_child()) return recipient->tell(errc::forked, {});
  const auto who = std::make_shared<caller>();
  who->role = r;
  who->waits = d != at_once;
  who->complete = [recipient, convert, got = who.get()](error_code ec) {
    convert(*recipient, ec, *got);
  };
  const auto give_up = [weak = std::weak_ptr{l}, who_weak = std::weak_ptr{who}](error_code why) {
    const auto lock = weak.lock();
    const auto c = who_weak.lock();
    if (lock && c) lock->object->give_up(c, why);
  };
  recipient->on_cancel([context = l->core->recipes, give_up] {
    const scope inside{*context};
    give_up(aborted());
  });
  const auto context = l->core->recipes;
  scope inside{*context};
  if (d != at_once && d != no_deadline) {
    const auto timer = context->call_at(boot_clock::now() + (d - std::chrono::steady_clock::now()),
                                        [give_up] { give_up(in_vain()); });
    who->complete = [context, timer, complete = std::move(who->complete)](error_code ec) {
      {
        const scope again{*context};
        context->cancel(timer);
      }
      complete(ec);
    };
  }
  l->object->acquire(who);
  tell_later(loop, inside);
}

}  // namespace

void tell_later(runtime::io_loop& loop, recipes::session_context::scope& inside) {
  auto calls = inside.end();
  if (calls.empty()) return;
  boost::asio::post(loop.io(), [calls = std::move(calls)] {
    for (const auto& f : calls) f();
  });
}

std::uint64_t this_thread() noexcept {
  // Unlike the system's thread ids, these ids are never reused after a thread has ended.
  static std::atomic<std::uint64_t> last{0};
  thread_local const std::uint64_t id = ++last;
  return id;
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return host.data();
}

lock_pointer make_lock(client& c, std::string path, recipes::lock_request t,
                       std::optional<recipes::lock_request> gate, lock_options options,
                       recipes::progress_callback f) {
  if (options.owner.empty()) options.owner = this_process();
  auto l = std::make_shared<lock_handle>();
  l->core = core_access::of(c);
  l->path = std::move(path);
  call_through(l->told, options.on_enqueued);
  call_through(l->told, options.on_acquired);
  call_through(l->told, options.on_released);
  call_through(l->told, options.on_suspended);
  call_through(l->told, options.on_restored);
  call_through(l->told, options.on_lost);
  call_through(l->told, options.on_revocation);
  l->object = std::make_shared<recipes::lock_object>(l->core->recipes, std::move(t),
                                                     std::move(gate), options, std::move(f));
  return l;
}

lock_pointer make_lock(client& c, std::vector<std::string> paths, role r, lock_options options) {
  for (const auto& path : paths) recipes::require_recipe_path("lock", path, options.layout);
  if (options.layout.name_prefix(r).empty() ||
      (r == role::writer && options.layout.name_prefix(role::reader).empty()))
    throw error{errc::invalid_argument, "lock " + paths[0] + ": the layout is for other locks"};
  recipes::lock_request t;
  t.parents = std::move(paths);
  t.layout = options.layout;
  t.role = r;
  std::string all;
  for (const auto& path : t.parents) all += (all.empty() ? "" : ", ") + path;
  return make_lock(c, std::move(all), std::move(t), std::nullopt, std::move(options));
}

void lock(const lock_pointer& l, role r) {
  blocked call{l, r, true};
  call.told.wait();
  call.result(error_code{});
}

bool lock(const lock_pointer& l, role r, std::stop_token stop) {
  return lock_to_hold(l, r, std::move(stop)).has_value();
}

std::optional<hold> lock_to_hold(const lock_pointer& l, role r, std::stop_token stop) {
  if (stop.stop_requested()) return std::nullopt;
  blocked call{l, r, true};
  {
    const std::stop_callback on_stop{std::move(stop), [&] { call.give_up(in_vain()); }};
    call.told.wait();
  }
  if (!call.result(in_vain())) return std::nullopt;
  return hold{call.who->hold};
}

bool try_lock(const lock_pointer& l, role r, deadline d) {
  blocked call{l, r, d != at_once};
  return call.acquired_before(d);
}

scoped_hold scoped_lock(const lock_pointer& l, role r, deadline d) {
  blocked call{l, r, d != at_once};
  if (!call.acquired_before(d)) return {};
  return {l, hold{call.who->hold}};
}

void unlock(const lock_pointer& l, role r) noexcept {
  if (l->core->driver->loop().in_child()) return;
  const scope inside{*l->core->recipes};
  l->object->release(r, this_thread());
}

void unlock(const lock_pointer& l, const hold& h) noexcept {
  if (l->core->driver->loop().in_child()) return;
  const scope inside{*l->core->recipes};
  l->object->release_hold(h.fencing_token());
}

void abandon(const lock_pointer& l) noexcept {
  if (l->core->driver->loop().in_child()) return;
  const scope inside{*l->core->recipes};
  l->object->close(aborted());
}

void end(const lock_pointer& l) noexcept {
  if (l->core->driver->loop().in_child()) return;
  abandon(l);
  l->told->close();
}

hold hold_of(const lock_pointer& l, role r) {
  if (l->core->driver->loop().in_child()) return hold{};
  const scope inside{*l->core->recipes};
  return hold{l->object->hold(r, this_thread())};
}

void start_lock(const lock_pointer& l, receiver<void> to, role r) {
  start(l, std::move(to), r, no_deadline,
        [](recipient<void>& who, error_code ec, const caller&) { who.tell(ec, {}); });
}

void start_try_lock(const lock_pointer& l, receiver<bool> to, role r, deadline d) {
  start(l, std::move(to), r, d, [](recipient<bool>& who, error_code ec, const caller&) {
    who.tell(ec == in_vain() ? error_code{} : ec, !ec);
  });
}

void start_scoped_lock(const lock_pointer& l, receiver<scoped_hold> to, role r, deadline d) {
  start(l, std::move(to), r, d, [l](recipient<scoped_hold>& who, error_code ec, const caller& got) {
    if (ec) return who.tell(ec == in_vain() ? error_code{} : ec, {});
    who.tell({}, scoped_hold{l, hold{got.hold}});
  });
}

void start_downgradable_lock(const lock_pointer& l, receiver<downgradable_hold> to) {
  start(l, std::move(to), role::writer, no_deadline,
        [l](recipient<downgradable_hold>& who, error_code ec, const caller& got) {
          if (ec) return who.tell(ec, {});
          who.tell({}, downgradable_hold{l, hold{got.hold}});
        });
}

void start_unlock(const lock_pointer& l, receiver<void> to, role r) {
  auto& loop = l->core->driver->loop();
  const auto who = std::make_shared<recipient<void>>(loop, std::move(to));
  if (loop.in_child()) return who->tell(errc::forked, {});
  scope inside{*l->core->recipes};
  l->object->release(r, 0, [who] { who->tell({}, {}); });
  tell_later(loop, inside);
}

void start_resign(const lock_pointer& l, receiver<void> to) {
  auto& loop = l->core->driver->loop();
  const auto who = std::make_shared<recipient<void>>(loop, std::move(to));
  if (loop.in_child()) return who->tell(errc::forked, {});
  scope inside{*l->core->recipes};
  l->object->close(aborted());
  l->object->when_all_gone([who] { who->tell({}, {}); });
  tell_later(loop, inside);
}

void downgrade(const lock_pointer& l) {
  auto& loop = l->core->driver->loop();
  const auto what = "downgrade " + l->path;
  if (loop.in_child()) throw error{errc::forked, what};
  if (loop.is_current()) throw error{errc::would_deadlock, what};
  blocking_call<void> call;
  start_downgrade(l, &call);
  call.done.wait();
  if (call.ec) throw error{call.ec, what};
}

void start_downgrade(const lock_pointer& l, receiver<void> to) {
  auto& loop = l->core->driver->loop();
  const auto who = std::make_shared<recipient<void>>(loop, std::move(to));
  if (loop.in_child()) return who->tell(errc::forked, {});
  scope inside{*l->core->recipes};
  l->object->downgrade([who](error_code ec) { who->tell(ec, {}); });
  tell_later(loop, inside);
}

}  // namespace conclave::detail
