#include "asynchronous_locks.hpp"

#include <algorithm>
#include <utility>

#include <conclave/mutex.hpp>
#include <conclave/named_mutex.hpp>

#include "lock_load.hpp"

namespace conclave::bench {
namespace {

template <class Lock>
class conclave_lock final : public asynchronous_lock {
 public:
  conclave_lock(client& zk, const std::string& path, lock_options options)
      : lock_(zk, path, std::move(options)) {}

  void lock(std::function<void(error_code)> done) override { lock_.async_lock(std::move(done)); }
  void unlock() override { lock_.unlock(); }

 private:
  Lock lock_;
};

// Watchers and handlers run on the context's thread. When close() of the client returns, all of
// them have run. The client is closed before this object is destroyed.
class naive_lock final : public asynchronous_lock {
 public:
  naive_lock(client& zk, const std::string& path) : zk_(zk), path_(path) {
    changed_ = [this](const watch_event& e) {
      if (e.type == watch_event::kind::children_changed && done_) list();
    };
  }

  void lock(std::function<void(error_code)> done) override {
    done_ = std::move(done);
    const auto batch = zk_.begin_batch();
    zk_.async_create(path_ + "/lock-", "", create_mode::ephemeral_sequential,
                     [this](error_code ec, const create_result& made) {
                       if (ec) return finish(ec);
                       name_ = made.path.substr(path_.size() + 1);
                     });
    list();
  }

  void unlock() override {
    zk_.async_remove(path_ + '/' + name_, any_version, [](error_code) {});
    name_.clear();  // the reply with an older list may still arrive
  }

 private:
  void list() {
    zk_.async_children(path_, changed_, [this](error_code ec, const children_result& found) {
      if (!done_) return;  // granted by an earlier list
      if (ec) return finish(ec);
      if (*std::min_element(found.names.begin(), found.names.end()) == name_) finish({});
    });
  }

  void finish(error_code ec) {
    if (const auto done = std::exchange(done_, nullptr)) done(ec);
  }

  client& zk_;
  std::string path_;
  watcher changed_;
  std::string name_;
  std::function<void(error_code)> done_;
};

}  // namespace

std::unique_ptr<asynchronous_lock> make_asynchronous_lock(client& zk, const std::string& mode_name,
                                                          const std::string& path) {
  if (mode_name == mode::naive) return std::make_unique<naive_lock>(zk, path);
  lock_options options;
  if (mode_name == mode::named)
    return std::make_unique<conclave_lock<named_mutex>>(zk, path, options);
  options.tickets = mode_name != mode::without_tickets;
  return std::make_unique<conclave_lock<mutex>>(zk, path, options);
}

}  // namespace conclave::bench
