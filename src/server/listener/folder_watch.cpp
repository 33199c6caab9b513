#include "server/listener/folder_watch.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace conclave::server_impl {

folder_watch::folder_watch(boost::asio::io_context& io, const std::filesystem::path& folder,
                           std::function<void()> changed)
    : descriptor_{io}, changed_{std::move(changed)} {
  const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0) return;
  // Unlinking an open file changes its link count, which inotify reports as IN_ATTRIB.
  constexpr std::uint32_t removal_events = IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF;
  ::inotify_add_watch(fd, folder.c_str(), removal_events | IN_ONLYDIR);
  ::inotify_add_watch(fd, (folder / "lock").c_str(), removal_events);
  boost::system::error_code failed;
  descriptor_.assign(fd, failed);
  if (failed)
    ::close(fd);
  else
    wait();
}

void folder_watch::wait() {
  descriptor_.async_wait(
      boost::asio::posix::descriptor_base::wait_read,
      [this](const boost::system::error_code& failed) {
        if (failed) return;
        std::array<char, 4096> ignored{};
        while (::read(descriptor_.native_handle(), ignored.data(), ignored.size()) > 0) {
        }
        wait();
        changed_();
      });
}

}  // namespace conclave::server_impl
