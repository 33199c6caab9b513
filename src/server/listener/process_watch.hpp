// Whether the process at the other end of a Unix socket lives, by the kernel's word.
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
  // Nothing can be known of a process in another pid namespace, or if descriptors have run out:
  // then it counts as living.
  process_watch(boost::asio::io_context& io, pid_t pid);

  bool is_available() const noexcept { return descriptor_ != nullptr; }
  // Calls `f` once the process has ended, at once if it has.
  void async_wait_exit(std::function<void()> f);

 private:
  std::unique_ptr<boost::asio::posix::stream_descriptor> descriptor_;
};

}  // namespace conclave::server_impl
