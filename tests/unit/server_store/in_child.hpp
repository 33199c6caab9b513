// Runs a function in a child process, which may change its user or its mounts, or be killed.
#pragma once

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <functional>
#include <string>

#include <gtest/gtest.h>

namespace conclave::testing {

// Returns the message of the exception that `what` throws, or an empty string.
inline std::string in_child(const std::function<void()>& what) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const auto child = ::fork();
  if (child == 0) {
    std::string said;
    try {
      what();
    } catch (const std::exception& error) {
      said = error.what();
    }
    static_cast<void>(!::write(ends[1], said.data(), said.size()));
    ::_exit(0);  // without destructors and exit handlers of the parent
  }
  ::close(ends[1]);
  std::string said;
  char buffer[500];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    said.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  int status = -1;
  ::waitpid(child, &status, 0);
  return status == 0 ? said
                     : said + " (the child ended with status " + std::to_string(status) + ')';
}

inline constexpr unsigned nobody = 65534;

// Permissions do not restrict root, so another user, who owns the folder, runs the function.
inline std::string as_owner_without_privileges(const std::filesystem::path& folder,
                                               const std::function<void()>& what) {
  if (::geteuid() == 0) {
    EXPECT_EQ(::chmod(folder.parent_path().c_str(), 0711), 0);
    EXPECT_EQ(::chown(folder.c_str(), nobody, nobody), 0);
    for (const auto& entry : std::filesystem::recursive_directory_iterator{folder}) {
      EXPECT_EQ(::lchown(entry.path().c_str(), nobody, nobody), 0);
    }
  }
  return in_child([&what] {
    if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setresgid(nobody, nobody, nobody) ||
                             ::setresuid(nobody, nobody, nobody) != 0)) {
      throw std::runtime_error{"cannot become nobody"};
    }
    what();
  });
}

}  // namespace conclave::testing
