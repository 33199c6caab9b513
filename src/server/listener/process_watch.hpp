// Watches the peer process of a Unix socket through a pidfd.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace conclave::server_impl {

class process_watch {
 public:
  process_watch() = default;
  // If the process is in a different PID namespace, or if no descriptor is left, watches nothing.
  // is_available() is then false, and the process counts as running.
  process_watch(boost::asio::io_context& io, pid_t pid);

  bool is_available() const noexcept { return descriptor_ != nullptr; }
  // Calls `f` when the process exits. If the process has already exited, calls `f` as soon as the
  // io_context runs. Requires is_available().
  void async_wait_exit(std::function<void()> f);

 private:
  std::unique_ptr<boost::asio::posix::stream_descriptor> descriptor_;
};

}  // namespace conclave::server_impl
