#include "crowd_lock.hpp"

#include <utility>

#include <conclave/mutex.hpp>
#include <conclave/named_mutex.hpp>

namespace conclave::bench {
namespace {

template <class Lock>
class our_lock : public crowd_lock {
 public:
  our_lock(client& zk, const std::string& path, lock_options options)
      : lock_(zk, path, std::move(options)) {}

  void lock(std::function<void(error_code)> done) override { lock_.async_lock(std::move(done)); }
  void unlock() override { lock_.unlock(); }

 private:
  Lock lock_;
};

}  // namespace

std::unique_ptr<crowd_lock> make_crowd_lock(client& zk, const contest_plan& plan) {
  if (plan.mode == mode::naive) return make_naive_lock(zk, plan.path);
  lock_options options;
  if (plan.mode == mode::named)
    return std::make_unique<our_lock<named_mutex>>(zk, plan.path, options);
  options.tickets = plan.mode != mode::without_tickets;
  return std::make_unique<our_lock<mutex>>(zk, plan.path, options);
}

}  // namespace conclave::bench
