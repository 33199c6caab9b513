#include "server/listener/process_watch.hpp"

#include <sys/syscall.h>
#include <unistd.h>

namespace conclave::server_impl {

process_watch::process_watch(boost::asio::io_context& io, pid_t pid) {
  // The peer still has the connection open, so its pid is not reused yet. If the peer exits right
  // now, the pid may belong to a new process. The session then ends at its timeout.
  const auto fd = pid > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1;
  if (fd < 0) return;
  auto descriptor = std::make_unique<boost::asio::posix::stream_descriptor>(io);
  boost::system::error_code ec;
  descriptor->assign(fd, ec);
  if (ec)
    ::close(fd);
  else
    descriptor_ = std::move(descriptor);
}

void process_watch::async_wait_exit(std::function<void()> f) {
  descriptor_->async_wait(boost::asio::posix::descriptor_base::wait_read,
                          [f = std::move(f)](const boost::system::error_code& ec) {
                            if (!ec) f();
                          });
}

}  // namespace conclave::server_impl
