#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/pipeline.hpp"
#include "sessions.hpp"
#include "time_window.hpp"
#include "workloads.hpp"

namespace conclave::bench {
namespace {

// One session's lock. After its construction everything happens on the context's thread.
class cycler {
 public:
  cycler(client& zk, std::string parent, time_window& window, pipeline& all)
      : zk_(zk), parent_(std::move(parent)), window_(window), all_(all) {
    begin_on_context(zk_, [this] { acquire(); });
  }
  cycler(const cycler&) = delete;
  cycler& operator=(const cycler&) = delete;

 private:
  void acquire() {
    begun_ = time_window::clock::now();
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
      if (window_.ended(begun_))
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
  time_window& window_;
  pipeline& all_;
  time_window::clock::time_point begun_;
  error_code created_;
  std::string node_;
};

}  // namespace

figures run_lock_cycles(const assignment& a) {
  context shared;
  const auto sessions = open_sessions(shared, a.servers, a.sessions);
  const auto parent_of = [&](std::size_t i) { return a.root + "/lock" + std::to_string(i); };
  auto& first = *sessions.front();
  first.create(a.root);
  for (std::size_t i = 0; i < sessions.size(); ++i) first.create(parent_of(i));

  pipeline all(sessions.size());
  time_window window(a);
  std::vector<std::unique_ptr<cycler>> cyclers;
  for (std::size_t i = 0; i < sessions.size(); ++i)
    cyclers.push_back(std::make_unique<cycler>(*sessions[i], parent_of(i), window, all));
  all.wait(time_limit);

  for (std::size_t i = 0; i < sessions.size(); ++i) first.remove(parent_of(i));
  first.remove(a.root);
  return window.result();
}

}  // namespace conclave::bench
