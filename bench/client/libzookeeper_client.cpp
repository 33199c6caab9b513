#include <array>
#include <condition_variable>
#include <mutex>
#include <stdexcept>

#include <zookeeper/zookeeper.h>

#include "client_library.hpp"
#include "driver/pipeline.hpp"
#include "driver/process.hpp"

namespace conclave::bench {
namespace {

constexpr int session_timeout_ms = 30000;  // the default of our client

void check(int code, const char* what) {
  if (code != ZOK)
    throw std::runtime_error(std::string("libzookeeper: ") + what + ": " + zerror(code));
}

// The data that a completion needs to start the next operation.
struct create_run {
  zhandle_t* handle;
  std::span<const std::string> paths;
  const std::string& data;
  pipeline progress;

  void next() {
    const auto number = progress.next();
    if (!number) return;
    const int code =
        zoo_acreate(handle, paths[*number].c_str(), data.data(), static_cast<int>(data.size()),
                    &ZOO_OPEN_ACL_UNSAFE, 0, &create_run::done, this);
    if (code != ZOK) progress.completed(false);
  }

  static void done(int code, const char*, const void* self) {
    auto* run = static_cast<create_run*>(const_cast<void*>(self));
    run->next();
    run->progress.completed(code == ZOK);
  }
};

struct get_run {
  zhandle_t* handle;
  const std::string& path;
  pipeline progress;

  void next() {
    if (!progress.next()) return;
    const int code = zoo_aget(handle, path.c_str(), 0, &get_run::done, this);
    if (code != ZOK) progress.completed(false);
  }

  static void done(int code, const char*, int, const Stat*, const void* self) {
    auto* run = static_cast<get_run*>(const_cast<void*>(self));
    run->next();
    run->progress.completed(code == ZOK);
  }
};

class libzookeeper_client final : public client_library {
 public:
  libzookeeper_client(const std::string& servers, name_resolution when) {
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    handle_ = zookeeper_init(servers.c_str(), &libzookeeper_client::on_event, session_timeout_ms,
                             nullptr, this, 0);
    if (handle_ == nullptr) throw std::runtime_error("libzookeeper: no handle");
    if (when == name_resolution::on_connecting_only) zoo_set_servers_resolution_delay(handle_, -1);
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, time_limit, [this] { return connected_; })) {
      lock.unlock();
      zookeeper_close(handle_);
      throw std::runtime_error("libzookeeper: no connection");
    }
  }

  ~libzookeeper_client() override { zookeeper_close(handle_); }

  void create(const std::string& path, const std::string& data) override {
    check(zoo_create(handle_, path.c_str(), data.data(), static_cast<int>(data.size()),
                     &ZOO_OPEN_ACL_UNSAFE, 0, nullptr, 0),
          "create");
  }

  void get(const std::string& path) override {
    std::array<char, 1024> buffer;
    int size = static_cast<int>(buffer.size());
    Stat stat;
    check(zoo_get(handle_, path.c_str(), 0, buffer.data(), &size, &stat), "get");
  }

  void create_all(std::span<const std::string> paths, const std::string& data,
                  std::size_t window) override {
    create_run run{handle_, paths, data, pipeline(paths.size())};
    for (std::size_t i = 0; i < window; ++i) run.next();
    run.progress.wait(time_limit);
  }

  void get_all(const std::string& path, std::size_t count, std::size_t window) override {
    get_run run{handle_, path, pipeline(count)};
    for (std::size_t i = 0; i < window; ++i) run.next();
    run.progress.wait(time_limit);
  }

 private:
  static void on_event(zhandle_t*, int type, int state, const char*, void* context) {
    if (type != ZOO_SESSION_EVENT || state != ZOO_CONNECTED_STATE) return;
    auto* self = static_cast<libzookeeper_client*>(context);
    const std::lock_guard lock(self->mutex_);
    self->connected_ = true;
    self->changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool connected_{false};
  zhandle_t* handle_{nullptr};
};

}  // namespace

std::unique_ptr<client_library> make_libzookeeper(const std::string& servers,
                                                  name_resolution when) {
  return std::make_unique<libzookeeper_client>(servers, when);
}

}  // namespace conclave::bench
