#include "base/process_binding.hpp"

#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <set>

#include <gtest/gtest.h>

namespace conclave {
namespace {

TEST(process_binding, depends_on_both_processes) {
  const auto number = process_binding(10, 20);
  EXPECT_EQ(process_binding(10, 20), number);
  EXPECT_EQ(
      (std::set{number, process_binding(20, 10), process_binding(10, 21), process_binding(11, 20)}
           .size()),
      4u);
}

TEST(process_binding, is_positive_and_differs_from_earlier_protocol_versions) {
  for (pid_t p = 1; p < 2000; ++p) EXPECT_GT(process_binding(p, 1), 1);
}

TEST(process_binding, is_absent_for_an_unknown_process) {
  EXPECT_EQ(process_binding(0, 20), 0);
  EXPECT_EQ(process_binding(10, 0), 0);
}

// Every container has a process 1.
TEST(process_binding, differs_between_pid_namespaces) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  // unshare() applies to later children, so an extra process calls it.
  const auto between = ::fork();
  if (between == 0) {
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(1);
    const auto inside = ::fork();
    if (inside == 0) {
      const auto number = process_binding(1, 1);
      ::_exit(::write(pipe[1], &number, sizeof number) == sizeof number ? 0 : 1);
    }
    ::waitpid(inside, nullptr, 0);
    ::_exit(0);
  }
  ::close(pipe[1]);
  std::int32_t there = 0;
  ASSERT_EQ(::read(pipe[0], &there, sizeof there), static_cast<ssize_t>(sizeof there));
  ::close(pipe[0]);
  ::waitpid(between, nullptr, 0);
  EXPECT_GT(there, 1);
  EXPECT_NE(there, process_binding(1, 1));
}

TEST(peer_process, is_the_process_that_created_the_other_end) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
  EXPECT_EQ(peer_process(pair[0]), ::getpid());
  for (const int fd : pair) ::close(fd);
  EXPECT_EQ(peer_process(-1), 0);
}

}  // namespace
}  // namespace conclave
