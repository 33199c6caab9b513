// This user's own server: found by its Unix socket, started in the background by whoever needs it,
// and gone again when nobody has used it for a while.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace conclave::cli {

// A server on a Unix socket: its process, by the kernel's word.
class server_process {
 public:
  // None if nobody answers there.
  static std::optional<server_process> at(const std::filesystem::path& socket);
  server_process(server_process&& other) noexcept;
  server_process& operator=(server_process&&) = delete;
  ~server_process();

  pid_t pid() const noexcept { return pid_; }
  bool ended(std::chrono::milliseconds limit) const;
  // The answer to a four-letter word, as far as it comes within the limit; 0: however long it
  // takes. None, and errno says why, if nobody is there.
  static std::optional<std::string> ask(const std::filesystem::path& socket,
                                        const std::string& word,
                                        std::chrono::milliseconds limit = std::chrono::seconds{2});
  // SIGTERM to exactly this process; false if it did not end in time.
  bool end(std::chrono::milliseconds limit) const;

 private:
  server_process(pid_t pid, int descriptor) : pid_{pid}, descriptor_{descriptor} {}
  pid_t pid_;
  int descriptor_;  // refers to the process, even if its number is given to another
};

// Whether somebody answers at a Unix socket.
bool answers(const std::filesystem::path& socket);

// Throws failure if there is a folder that is not this user's own, or that somebody else can write
// to, or a symbolic link. What is in another user's folder is another user's server.
void expect_own_folder(const std::filesystem::path& folder);

// Returns when the server of that folder answers: it did already, or was started here, or by
// another one of the programs that came at the same time. Throws failure with what the server said
// if it does not start within the limit, and if the folder, its files or the server are not this
// user's.
void ensure_local_server(const std::filesystem::path& folder,
                         std::chrono::milliseconds limit = std::chrono::seconds{30});

}  // namespace conclave::cli
