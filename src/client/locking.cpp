#include "client/locking.hpp"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "client/call.hpp"
#include "recipes/contender_data.hpp"
#include "recipes/lock_kinds.hpp"
#include "recipes/recipe_path.hpp"
#include "recipes/thread_holds.hpp"

namespace conclave {
namespace client_impl {
namespace {

using caller = recipes::lock_object::caller;

std::string this_process() { return host_name() + ':' + std::to_string(::getpid()); }

// True if a result of this type can represent that the lock was not acquired.
template <class Result>
constexpr bool can_be_empty = !std::is_void_v<Result> && !std::is_same_v<Result, downgradable_hold>;

// Returns an explanation of a caller's error, or an empty string.
std::string explanation(error_code ec, const caller& who, const requests::defaults& defaults) {
  // The contender creates every missing parent except the chroot.
  if (ec == errc::no_node && !defaults.chroot.empty())
    return "the chroot " + defaults.chroot + " does not exist; create it";
  return who.mismatch;
}

// Returns what the data of a waiter's node says about this call.
std::string describe_wait(const lock_handle& l, bool blocking, bool has_time_limit) {
  if (!l.in_wait_graph) return {};
  wait_info w;
  w.has_time_limit = has_time_limit;
  w.permits = l.permits;
  if (l.held_while_waiting)
    w.task = l.held_while_waiting();
  else if (blocking)
    w.task = recipes::holds_of_this_thread();
  return recipes::format_wait(w);
}

// Called on the thread that makes the call, without the session's mutex.
std::shared_ptr<recipes::acquisition_trace> begin_trace(const lock_handle& l, role r, deadline d) {
  const auto& tracer = l.core->recipes->tracer();
  if (!tracer || l.core->forked()) return nullptr;
  return recipes::acquisition_trace::begin(*tracer, {l.object->kind(), r, l.path, d != at_once});
}

// This thread has acquired the lock with a blocking call.
void note_acquired(const lock_handle& l, const std::optional<hold>& h) {
  if (h && l.in_wait_graph) recipes::add_hold_of_this_thread(*h);
}

// Starts a call that acquires the lock. If it succeeds, convert(hold) returns the result of the
// call.
enum class can_be_stopped { no, yes };
template <class Result, class Convert>
void start(const lock_pointer& l, receiver<Result> to, role r, deadline d, Convert convert,
           can_be_stopped stoppable = can_be_stopped::no) {
  const bool blocking = std::holds_alternative<blocking_call<Result>*>(to);
  auto wait = describe_wait(*l, blocking, d != no_deadline || stoppable == can_be_stopped::yes);
  if (!blocking) note_movable_hold(l);
  auto trace = begin_trace(*l, r, d);
  start_waiting<Result>(l->core, std::move(to), d, [&](const recipe_call_ptr<Result>& call) {
    const auto& core = *l->core;
    const auto who = std::make_shared<caller>();
    who->role = r;
    who->waits = d != at_once;
    who->has_deadline = d != at_once && d != no_deadline;
    who->trace = std::move(trace);
    who->thread = call->blocking() ? this_thread() : 0;
    who->wait = std::move(wait);
    who->complete = [call, convert, defaults = core.defaults, got = who.get()](error_code ec) {
      if (!ec) return call->complete({}, convert(hold{got->hold}));
      const bool empty = can_be_empty<Result> && ec == not_acquired();
      call->complete(empty ? error_code{} : ec, {}, explanation(ec, *got, *defaults));
    };
    if (l->ended) l->object->refuse(who, aborted());
    // A thread that holds the lock as a reader would wait for itself.
    else if (call->blocking() && r == role::writer &&
             l->object->held_by_thread(role::reader, who->thread) &&
             !core.recipes->session().end_reason)
      l->object->refuse(who, errc::upgrade_refused);
    else
      l->object->acquire(who);
    return [weak = std::weak_ptr{l}, who_weak = std::weak_ptr{who}](error_code why) {
      const auto lock = weak.lock();
      const auto c = who_weak.lock();
      if (lock && c) lock->object->give_up(c, why);
    };
  });
}

// There can be thousands of paths, so the message names only the first ones.
std::string list_for_message(const std::vector<std::string>& paths) {
  constexpr std::size_t most = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, paths.size()); ++i)
    text += (i == 0 ? "" : ", ") + paths[i];
  if (paths.size() > most) text += " and " + std::to_string(paths.size() - most) + " more";
  return text;
}

// Calls start(receiver) and blocks this thread until the call completes. Keeps the lock alive,
// because the lock object may be destroyed in the meantime.
template <class Result, class Start>
Result run(const lock_pointer l, Start start, deadline d = no_deadline, std::stop_token stop = {}) {
  return run_blocking<Result>(l->verb + (' ' + l->path), l->core, start, d, std::move(stop));
}

using local_result = recipes::lock_object::local_result;

// Calls on the I/O thread and in a forked child process must fail, even if the lock is kept.
bool may_acquire_locally(const lock_handle& l, role r) noexcept {
  auto& loop = l.core->driver->loop();
  return l.keeps && r != role::reader && !loop.in_child() && !loop.is_current();
}

}  // namespace

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

lock_pointer make_lock(client& c, std::string path, recipes::lock_request request,
                       std::optional<recipes::lock_request> admission, lock_options options,
                       recipes::progress_callback on_progress) {
  const bool grants_locally = options.keep_for.count() > 0 || options.local_handoffs > 0;
  if (grants_locally && request.granted_when != recipes::lock_request::rule::first_in_wait_queue)
    throw error{errc::invalid_argument,
                "lock " + path + ": keep_for and local_handoffs need a lock with a wait queue"};
  if (options.owner.empty()) options.owner = this_process();
  auto l = std::make_shared<lock_handle>();
  l->core = core_access::of(c);
  l->in_wait_graph = request.data == recipes::lock_request::data_format::with_id;
  if (request.granted_when == recipes::lock_request::rule::permits) l->permits = request.permits;
  l->held_while_waiting = std::exchange(options.held_while_waiting, {});
  l->keeps = options.keep_for > std::chrono::nanoseconds{0};
  // A longer time could not be added to the current time.
  options.keep_for =
      std::min<std::chrono::nanoseconds>(options.keep_for, std::chrono::hours{24 * 365 * 100});
  l->path = std::move(path);
  l->object = std::make_shared<recipes::lock_object>(
      l->core->recipes, std::move(request), std::move(admission), options, std::move(on_progress));
  return l;
}

lock_pointer make_lock(client& c, std::vector<std::string> paths, role r, lock_options options) {
  for (const auto& path : paths) recipes::require_recipe_path("lock", path, options.layout);
  if (options.layout.name_prefix(r).empty() ||
      (r == role::writer && options.layout.name_prefix(role::reader).empty()))
    throw error{errc::invalid_argument,
                "lock " + paths[0] + ": the layout has no names for this kind of lock"};
  auto request = recipes::lock_of(std::move(paths), options.layout, r);
  auto names = list_for_message(request.parents);
  return make_lock(c, std::move(names), std::move(request), std::nullopt, std::move(options));
}

static void lock_at_server(const lock_pointer& l, role r);

void lock(const lock_pointer& l, role r) {
  if (!may_acquire_locally(*l, r)) return lock_at_server(l, r);
  recipes::add_unknown_hold_of_this_thread();
  if (l->object->try_acquire_locally() == local_result::acquired) return;
  const auto alive = l;  // the lock object may be destroyed while this thread waits
  if (!alive->object->acquire_locally()) lock_at_server(alive, r);
}

static void lock_at_server(const lock_pointer& l, role r) {
  const auto alive = l;  // the lock object may be destroyed while this thread waits
  note_acquired(*alive, lock_to_hold(alive, r, {}));
}

bool lock(const lock_pointer& l, role r, std::stop_token stop) {
  if (!stop.stop_requested() && may_acquire_locally(*l, r)) {
    recipes::add_unknown_hold_of_this_thread();
    if (l->object->try_acquire_locally() == local_result::acquired) return true;
  }
  const auto alive = l;  // the lock object may be destroyed while this thread waits
  const auto got = lock_to_hold(alive, r, std::move(stop));
  note_acquired(*alive, got);
  return got.has_value();
}

std::optional<hold> lock_to_hold(const lock_pointer& l, role r, std::stop_token stop) {
  if (stop.stop_requested()) return std::nullopt;
  using result = std::optional<hold>;
  const auto stoppable = stop.stop_possible() ? can_be_stopped::yes : can_be_stopped::no;
  return run<result>(
      l,
      [&](receiver<result> to) {
        start(
            l, std::move(to), r, no_deadline, [](hold h) { return result{std::move(h)}; },
            stoppable);
      },
      no_deadline, std::move(stop));
}

bool try_lock(const lock_pointer& l, role r, deadline d) {
  if (may_acquire_locally(*l, r)) {
    recipes::add_unknown_hold_of_this_thread();
    const auto got = l->object->try_acquire_locally();
    if (got == local_result::acquired) return true;
    if (got == local_result::in_use && d == at_once) {
      l->object->note_local_contention();
      return false;
    }
  }
  using result = std::optional<hold>;
  const auto alive = l;  // the lock object may be destroyed while this thread waits
  const auto got = run<result>(
      alive,
      [&](receiver<result> to) {
        start(alive, std::move(to), r, d, [](hold h) { return result{std::move(h)}; });
      },
      d);
  note_acquired(*alive, got);
  return got.has_value();
}

void note_movable_hold(const lock_pointer& l) noexcept {
  if (l->in_wait_graph) recipes::add_hold_of_unknown_task();
}

scoped_hold scoped_lock(const lock_pointer& l, role r, deadline d) {
  note_movable_hold(l);
  return run<scoped_hold>(
      l, [&](receiver<scoped_hold> to) { detail::start_scoped_lock(l, std::move(to), r, d); }, d);
}

void downgrade(const lock_pointer& l) {
  run_blocking<void>("downgrade " + l->path, l->core,
                     [&](receiver<void> to) { detail::start_downgrade(l, std::move(to)); });
}

void unlock(const lock_pointer& l, role r) noexcept {
  if (may_acquire_locally(*l, r) && l->object->release_locally()) return;
  in_recipes(l->core, [&] { l->object->release(r, this_thread()); });
}

void unlock(const lock_pointer& l, const hold& h) noexcept {
  keep_in_child(*l->core, l);
  if (const auto* state = h.state()) in_recipes(l->core, [&] { l->object->release_hold(*state); });
}

void abandon(const lock_pointer& l) noexcept {
  in_recipes(l->core, [&] { l->object->close(aborted()); });
}

void end(const lock_pointer& l) noexcept {
  keep_in_child(*l->core, l);
  in_recipes(l->core, [&] { l->ended = true; });
  abandon(l);
  const auto& callbacks = l->object->callbacks();
  if (callbacks && !l->core->forked()) callbacks->close();
}

hold hold_of(const lock_pointer& l, role r) {
  return in_recipes(l->core, [&] { return hold{l->object->hold(r, this_thread())}; });
}

}  // namespace client_impl

using client_impl::aborted;
using client_impl::recipe_call_ptr;
using client_impl::start;
using client_impl::start_in_recipes;

void detail::start_lock(const lock_pointer& l, receiver<void> to, layout::role r) {
  start(l, std::move(to), r, no_deadline, [](const hold&) { return std::monostate{}; });
}

void detail::start_try_lock(const lock_pointer& l, receiver<bool> to, layout::role r, deadline d) {
  start(l, std::move(to), r, d, [](const hold&) { return true; });
}

void detail::start_scoped_lock(const lock_pointer& l, receiver<scoped_hold> to, layout::role r,
                               deadline d) {
  start(l, std::move(to), r, d, [l](hold h) { return scoped_hold{l, std::move(h)}; });
}

void detail::start_downgradable_lock(const lock_pointer& l, receiver<downgradable_hold> to) {
  start(l, std::move(to), layout::role::writer, no_deadline, [l](hold h) {
    return downgradable_hold{l, std::move(h)};
  });
}

void detail::start_unlock(const lock_pointer& l, receiver<void> to, layout::role r) {
  start_in_recipes(l->core, std::move(to), [&](const recipe_call_ptr<void>& call) {
    l->object->release(r, 0, [call] { call->complete({}); });
  });
}

void detail::start_resign(const lock_pointer& l, receiver<void> to) {
  start_in_recipes(l->core, std::move(to), [&](const recipe_call_ptr<void>& call) {
    l->object->close(aborted());
    l->object->when_all_gone([call] { call->complete({}); });
  });
}

void detail::start_downgrade(const lock_pointer& l, receiver<void> to) {
  start_in_recipes(l->core, std::move(to), [&](const recipe_call_ptr<void>& call) {
    l->object->downgrade([call](error_code ec) { call->complete(ec); },
                         call->blocking() ? client_impl::this_thread() : 0);
  });
}

}  // namespace conclave
