#include <algorithm>
#include <string>
#include <utility>

#include "crowd_lock.hpp"

namespace conclave::bench {
namespace {

// Watchers and handlers run on the context's thread, and all of them have run when the client is
// closed, which happens before this is destroyed.
class naive_lock : public crowd_lock {
 public:
  naive_lock(client& zk, const std::string& path) : zk_(zk), path_(path) {
    changed_ = [this](const watch_event& e) {
      if (e.type == watch_event::kind::children_changed && done_) look();
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
    look();
  }

  void unlock() override {
    zk_.async_remove(path_ + '/' + name_, any_version, [](error_code) {});
    name_.clear();  // a list that was read before this is under way, perhaps
  }

 private:
  void look() {
    zk_.async_children(path_, changed_, [this](error_code ec, const children_result& found) {
      if (!done_) return;  // granted by an earlier look
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

std::unique_ptr<crowd_lock> make_naive_lock(client& zk, const std::string& path) {
  return std::make_unique<naive_lock>(zk, path);
}

}  // namespace conclave::bench
