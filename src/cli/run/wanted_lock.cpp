#include "cli/run/wanted_lock.hpp"

#include "cli/exit_code.hpp"
#include "conclave/multi_mutex.hpp"
#include "conclave/mutex.hpp"
#include "conclave/semaphore.hpp"
#include "conclave/shared_mutex.hpp"

namespace conclave::cli {
namespace {

using limit_type = std::optional<std::chrono::milliseconds>;
using done_type = std::function<void(error_code, bool)>;

// How one kind is acquired, with and without a limit.
template <class Kind>
struct way {
  static void wait(Kind& k, auto done) { k.async_lock(std::move(done)); }
  static void try_for(Kind& k, auto limit, auto done) {
    k.async_try_lock_for(limit, std::move(done));
  }
  static hold held(const Kind& k) { return k.hold(); }
};
template <>
struct way<shared_mutex> {
  static void wait(shared_mutex& k, auto done) { k.async_lock_shared(std::move(done)); }
  static void try_for(shared_mutex& k, auto limit, auto done) {
    k.async_try_lock_shared_for(limit, std::move(done));
  }
  static hold held(const shared_mutex& k) { return k.shared_hold(); }
};
template <>
struct way<semaphore> {
  static void wait(semaphore& k, auto done) { k.async_acquire(std::move(done)); }
  static void try_for(semaphore& k, auto limit, auto done) {
    k.async_try_acquire_for(limit, std::move(done));
  }
  static hold held(const semaphore& k) { return k.hold(); }
};

template <class Kind>
class lock_of : public wanted_lock {
 public:
  template <class... Arguments>
  explicit lock_of(Arguments&&... a) : kind_{std::forward<Arguments>(a)...} {}

  void acquire(limit_type limit, done_type done) override {
    if (limit) return way<Kind>::try_for(kind_, *limit, std::move(done));
    way<Kind>::wait(kind_, [done = std::move(done)](error_code ec) { done(ec, !ec); });
  }
  conclave::hold hold() const override { return way<Kind>::held(kind_); }

 private:
  Kind kind_;
};

}  // namespace

void wanted_lock::check(const description& d) {
  if (d.paths.size() > 1 && (d.shared || d.permits != 0))
    throw failure{usage, "several paths are locked exclusively: no --shared, no --permits"};
  if (d.shared && d.permits != 0) throw failure{usage, "--shared and --permits do not go together"};
}

std::unique_ptr<wanted_lock> wanted_lock::make(client& zk, description d) {
  if (d.paths.size() > 1)
    return std::make_unique<lock_of<multi_mutex>>(zk, std::move(d.paths), std::move(d.options));
  auto& path = d.paths.front();
  if (d.permits != 0)
    return std::make_unique<lock_of<semaphore>>(zk, std::move(path), d.permits,
                                                std::move(d.options));
  if (d.shared)
    return std::make_unique<lock_of<shared_mutex>>(zk, std::move(path), std::move(d.options));
  return std::make_unique<lock_of<mutex>>(zk, std::move(path), std::move(d.options));
}

layout parse_layout(const std::string& text) {
  if (text == "kazoo") return layout::kazoo();
  if (text == "curator") return layout::curator();
  if (text == "zookeeper") return layout::zookeeper();
  if (text.find('-') == std::string::npos && text.find('_') == std::string::npos)
    throw failure{usage, "there is no layout '" + text +
                             "'; there are kazoo, curator, zookeeper, and names that begin as you "
                             "say and end with - or _"};
  try {
    return layout::custom(text);
  } catch (const error&) {
    throw failure{usage, "'" + text + "' cannot begin a node's name"};
  }
}

}  // namespace conclave::cli
