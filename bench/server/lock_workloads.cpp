#include <atomic>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "driver/pipeline.hpp"
#include "driver/process.hpp"
#include "driver/zookeeper.hpp"
#include "measured_interval.hpp"
#include "workloads.hpp"

namespace conclave::bench {
namespace {

// The lock cycles of one session. All functions except the constructor run on the context's thread.
class session_cycles {
 public:
  session_cycles(client& zk, std::string parent, measured_interval& interval, pipeline& all)
      : zk_(zk), parent_(std::move(parent)), interval_(interval), all_(all) {
    run_on_context(zk_, [this] { acquire(); });
  }
  session_cycles(const session_cycles&) = delete;
  session_cycles& operator=(const session_cycles&) = delete;

 private:
  void acquire() {
    begun_ = measured_interval::clock::now();
    const auto batch = zk_.begin_batch();
    zk_.async_create(parent_ + "/lock-", lock_token, create_mode::ephemeral_sequential,
                     [this](error_code ec, create_result made) {
                       created_ = ec;
                       node_ = std::move(made.path);
                     });
    zk_.async_children(parent_, [this](error_code ec, const children_result& found) {
      if (created_ || ec || found.names.size() != 1) return fail(created_ ? created_ : ec);
      release();
    });
  }

  void release() {
    zk_.async_remove(node_, any_version, [this](error_code ec) {
      if (ec) return fail(ec);
      if (interval_.operation_done(begun_))
        acquire();
      else
        all_.completed(true);
    });
  }

  void fail(error_code ec) {
    std::fprintf(stderr, "a lock cycle failed: %s\n",
                 ec ? ec.message().c_str() : "not exactly one contender");
    all_.completed(false);
  }

  client& zk_;
  std::string parent_;
  measured_interval& interval_;
  pipeline& all_;
  measured_interval::clock::time_point begun_;
  error_code created_;
  std::string node_;
};

// Deletes that no operation waits for until the end of the round. Only one thread may call start().
// If too many deletes are in flight, start() blocks.
class unawaited_deletes {
 public:
  explicit unawaited_deletes(client& zk) : zk_(zk) {}
  unawaited_deletes(const unawaited_deletes&) = delete;
  unawaited_deletes& operator=(const unawaited_deletes&) = delete;

  void start(std::string path) {
    until_at_most(most - 1);
    outstanding_.fetch_add(1);
    zk_.async_remove(std::move(path), any_version, [this](error_code ec) {
      if (ec) failed_.fetch_add(1);
      outstanding_.fetch_sub(1);
      outstanding_.notify_all();
    });
  }

  // Waits for all deletes and returns how many of them failed.
  std::size_t finish() {
    until_at_most(0);
    return failed_;
  }

 private:
  static constexpr std::size_t most = 64;

  void until_at_most(std::size_t limit) {
    for (auto now = outstanding_.load(); now > limit; now = outstanding_.load())
      outstanding_.wait(now);
  }

  client& zk_;
  std::atomic<std::size_t> outstanding_{0};
  std::atomic<std::size_t> failed_{0};
};

// Returns the path of the node. The reply to the create arrives first, so one wait is enough for
// both.
std::string acquire(client& zk, const std::string& parent) {
  error_code created = errc::connection_loss;
  std::string node;
  {
    const auto batch = zk.begin_batch();
    zk.async_create(parent + "/lock-", lock_token, create_mode::ephemeral_sequential,
                    [&](error_code ec, create_result made) {
                      created = ec;
                      node = std::move(made.path);
                    });
    zk.get(parent);
  }
  if (created) throw error(created, "create");
  return node;
}

// The lock cycles of one client. All functions except the constructor run on the context's thread.
class asynchronous_cycles {
 public:
  asynchronous_cycles(client& zk, std::string parent, measured_interval& interval,
                      unawaited_deletes& deletes, pipeline& end)
      : zk_(zk), parent_(std::move(parent)), interval_(interval), deletes_(deletes), end_(end) {
    run_on_context(zk_, [this] { cycle(); });
  }
  asynchronous_cycles(const asynchronous_cycles&) = delete;
  asynchronous_cycles& operator=(const asynchronous_cycles&) = delete;

 private:
  void cycle() {
    const auto begun = measured_interval::clock::now();
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
      // Replies arrive in order. The previous delete was already answered, so this does not block.
      deletes_.start(std::move(node_));
      if (interval_.operation_done(begun))
        cycle();
      else
        end_.completed(true);
    });
  }

  client& zk_;
  std::string parent_;
  measured_interval& interval_;
  unawaited_deletes& deletes_;
  pipeline& end_;
  error_code created_;
  std::string node_;
};

}  // namespace

figures run_lock_cycles(const round_task& task) {
  context shared;
  const auto sessions = open_sessions(task.sessions, task.servers, shared);
  const auto parent_of = [&](std::size_t i) { return task.root + "/lock" + std::to_string(i); };
  auto& first = *sessions.front();
  first.create(task.root);
  for (std::size_t i = 0; i < sessions.size(); ++i) first.create(parent_of(i));

  pipeline all(sessions.size());
  measured_interval interval(task);
  std::vector<std::unique_ptr<session_cycles>> loads;
  for (std::size_t i = 0; i < sessions.size(); ++i)
    loads.push_back(std::make_unique<session_cycles>(*sessions[i], parent_of(i), interval, all));
  all.wait(time_limit);

  for (std::size_t i = 0; i < sessions.size(); ++i) first.remove(parent_of(i));
  first.remove(task.root);
  return interval.result();
}

figures run_blocking_lock(const round_task& task, delete_mode mode) {
  client zk(task.servers);
  await_connection(zk);
  zk.create(task.root);
  unawaited_deletes unawaited(zk);
  measured_interval interval(task);
  for (auto begun = measured_interval::clock::now();; begun = measured_interval::clock::now()) {
    auto node = acquire(zk, task.root);
    if (mode == delete_mode::awaited)
      zk.remove(std::move(node));
    else
      unawaited.start(std::move(node));
    if (!interval.operation_done(begun)) break;
  }
  if (unawaited.finish() != 0) throw std::runtime_error("deletes failed");
  zk.remove(task.root);  // fails if a node of a lock still exists
  return interval.result();
}

figures run_asynchronous_lock(const round_task& task) {
  client zk(task.servers);
  await_connection(zk);
  zk.create(task.root);
  unawaited_deletes unawaited(zk);
  pipeline end(1);
  measured_interval interval(task);
  const asynchronous_cycles load(zk, task.root, interval, unawaited, end);
  end.wait(time_limit);
  if (unawaited.finish() != 0) throw std::runtime_error("deletes failed");
  zk.remove(task.root);  // fails if a node of a lock still exists
  return interval.result();
}

}  // namespace conclave::bench
