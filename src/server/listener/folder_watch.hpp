// Notices that the data folder was removed, moved or replaced, by inotify.
#pragma once

#include <filesystem>
#include <functional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace conclave::server_impl {

class folder_watch {
 public:
  // Calls `changed` each time something may have happened to the folder or its lock file, on the
  // io_context's thread. Never, if the system has no inotify instance left; moves of a folder above
  // are not noticed either. So the owner looks by itself from time to time as well.
  folder_watch(boost::asio::io_context& io, const std::filesystem::path& folder,
               std::function<void()> changed);

 private:
  void wait();

  boost::asio::posix::stream_descriptor descriptor_;
  std::function<void()> changed_;
};

}  // namespace conclave::server_impl
