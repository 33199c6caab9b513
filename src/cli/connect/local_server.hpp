// This user's own server. It is found by its Unix socket and started in the background on demand.
// It exits when it has not been used for a while.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace conclave::cli {

// The process of a server on a Unix socket, as reported by the kernel.
class server_process {
 public:
  // Returns nullopt if no server answers at the socket.
  static std::optional<server_process> at(const std::filesystem::path& socket);
  server_process(server_process&& other) noexcept;
  server_process& operator=(server_process&&) = delete;
  ~server_process();

  pid_t pid() const noexcept { return pid_; }
  bool ended(std::chrono::milliseconds limit) const;
  // Sends SIGTERM to this process. Never signals another process that has reused the pid. Returns
  // false if the process has not ended within the limit.
  bool end(std::chrono::milliseconds limit) const;

 private:
  server_process(pid_t pid, int descriptor) : pid_{pid}, descriptor_{descriptor} {}
  pid_t pid_;
  int descriptor_;  // a pidfd: refers to this process even if the pid is reused
};

// Returns true if a server answers at a Unix socket.
bool server_answers(const std::filesystem::path& socket);

// Throws failure if the folder exists and belongs to another user, is writable by others, or is a
// symbolic link. The server in such a folder could be that of another user.
void require_own_folder(const std::filesystem::path& folder);

// Returns when the server of that folder answers. Starts the server if needed. If several processes
// call this function, one process starts the server and the others wait. If the server does not
// start within the limit, throws a failure with the server's output. Also throws if the folder, its
// files or the server belong to another user.
void ensure_local_server(const std::filesystem::path& folder,
                         std::chrono::milliseconds limit = std::chrono::seconds{30});

}  // namespace conclave::cli
