// Uses inotify to watch the data folder for removal, renaming and replacement.
#pragma once

#include <filesystem>
#include <functional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

namespace conclave::server_impl {

class folder_watch {
 public:
  // Calls `changed` on the io_context's thread when the folder or its lock file may have changed.
  // Never calls it if no inotify instance is available, or if only a parent folder was renamed. So
  // the owner must also check the folder periodically.
  folder_watch(boost::asio::io_context& io, const std::filesystem::path& folder,
               std::function<void()> changed);

 private:
  void wait();

  boost::asio::posix::stream_descriptor descriptor_;
  std::function<void()> changed_;
};

}  // namespace conclave::server_impl
