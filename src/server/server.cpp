#include "conclave/server.hpp"

#include <pthread.h>
#include <unistd.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "base/all_signals_blocked.hpp"
#include "server/listener/service.hpp"
#include "server/store/memory_store.hpp"
#include "server/store/sqlite_store.hpp"

namespace conclave {
namespace {

server_impl::storage open(const std::filesystem::path& folder) {
  server_impl::storage s;
  if (folder.empty()) {
    s.backend = std::make_unique<server_impl::memory_store>();
    return s;
  }
  auto on_disk = std::make_unique<server_impl::sqlite_store>(folder);
  if (const auto& d = on_disk->dropped(); d.sessions > 0 || d.ephemeral_nodes > 0)
    s.notice = folder.native() + " is a restored copy; its " + std::to_string(d.sessions) +
               " sessions and " + std::to_string(d.ephemeral_nodes) +
               " ephemeral nodes were removed";
  s.check_folder = [raw = on_disk.get()] { raw->check_folder(); };
  s.shrink = [raw = on_disk.get()] { return raw->shrink(); };
  s.usage = [raw = on_disk.get()] {
    return server_impl::storage::disk_figures{raw->usage(), raw->flush_times()};
  };
  s.backup = [raw = on_disk.get()](const std::filesystem::path& to) { raw->backup(to); };
  s.backend = std::move(on_disk);
  return s;
}

}  // namespace

struct server::state {
  explicit state(server_options options) : log{options.log}, service{options, open(options.data)} {
    const all_signals_blocked inherited;
    thread = std::thread{[this] { run(); }};
  }

  void run() {
    ::pthread_setname_np(::pthread_self(), "conclave-server");
    std::exception_ptr why;
    try {
      service.run();
    } catch (const std::exception& e) {
      why = std::current_exception();
      if (log) log(log_level::error, std::string{"the server stops: "} + e.what());
    }
    const std::lock_guard lock{mutex};
    ended = true;
    failure = why;
    changed.notify_all();
  }

  const log_callback log;
  server_impl::service service;
  const pid_t owner = ::getpid();
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
  std::exception_ptr failure;
  std::thread thread;
};

server::server(server_options options) : state_{std::make_unique<state>(std::move(options))} {}

server::~server() {
  if (::getpid() != state_->owner) {
    static_cast<void>(state_.release());  // in a forked child: the thread exists only in the parent
    return;
  }
  stop();
  state_->thread.join();
}

std::string server::connect_string() const { return addresses().front(); }

const std::vector<std::string>& server::addresses() const noexcept {
  return state_->service.addresses();
}

void server::set_tls(const server_tls_options& options) { state_->service.set_tls(options); }

void server::stop() noexcept { state_->service.stop(); }

void server::wait() {
  std::unique_lock lock{state_->mutex};
  state_->changed.wait(lock, [&] { return state_->ended; });
  if (state_->failure) std::rethrow_exception(state_->failure);
}

}  // namespace conclave
