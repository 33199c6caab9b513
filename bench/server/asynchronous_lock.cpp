#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

#include "harness/pipeline.hpp"
#include "sessions.hpp"
#include "time_window.hpp"
#include "unawaited_deletes.hpp"
#include "workloads.hpp"

namespace conclave::bench {
namespace {

// Everything on the context's thread, but the constructor.
class locker {
 public:
  locker(client& zk, std::string parent, time_window& window, unawaited_deletes& deletes,
         pipeline& end)
      : zk_(zk), parent_(std::move(parent)), window_(window), deletes_(deletes), end_(end) {
    begin_on_context(zk_, [this] { cycle(); });
  }
  locker(const locker&) = delete;
  locker& operator=(const locker&) = delete;

 private:
  void cycle() {
    const auto begun = time_window::clock::now();
    const auto batch = zk_.begin_batch();
    zk_.async_create(parent_ + "/lock-", lock_token, create_mode::ephemeral_sequential,
                     [this](error_code ec, create_result made) {
                       created_ = ec;
                       node_ = std::move(made.path);
                     });
    zk_.async_get(parent_, [this, begun](error_code ec, const get_result&) {
      if (created_ || ec) {
        std::fprintf(stderr, "a lock cycle failed: %s\n",
                     (created_ ? created_ : ec).message().c_str());
        return end_.completed(false);
      }
      // Answers come in order: the delete before this one was answered, so this does not wait.
      deletes_.start(std::move(node_));
      if (window_.ended(begun))
        cycle();
      else
        end_.completed(true);
    });
  }

  client& zk_;
  std::string parent_;
  time_window& window_;
  unawaited_deletes& deletes_;
  pipeline& end_;
  error_code created_;
  std::string node_;
};

}  // namespace

figures run_asynchronous_lock(const assignment& a) {
  client zk(a.servers);
  await_connection(zk);
  zk.create(a.root);
  unawaited_deletes deletes(zk);
  pipeline end(1);
  time_window window(a);
  const locker load(zk, a.root, window, deletes, end);
  end.wait(time_limit);
  if (deletes.finish() != 0) throw std::runtime_error("deletes failed");
  zk.remove(a.root);  // fails if a lock's node is left
  return window.result();
}

}  // namespace conclave::bench
