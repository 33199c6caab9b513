// Only the owner of the server and root may use the Unix socket.
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "integration/harness.hpp"
#include "server/raw_session.hpp"
#include "server/serve_process.hpp"

namespace conclave::testing {
namespace {

constexpr unsigned nobody = 65534;

unsigned mode_of(const std::filesystem::path& file) {
  struct stat found {};
  EXPECT_EQ(::stat(file.c_str(), &found), 0) << file;
  return found.st_mode & 07777;
}

enum outcome { let_in = 10, cannot_reach, turned_away, cannot_become_nobody };

// Returns the result of f() in a process of another user, who is in these groups.
template <class F>
int run_as_nobody(const std::vector<gid_t>& groups, F f) {
  const auto child = ::fork();
  if (child == 0) {
    if (::setgroups(groups.size(), groups.data()) != 0 ||
        ::setresgid(nobody, nobody, nobody) != 0 || ::setresuid(nobody, nobody, nobody) != 0)
      ::_exit(cannot_become_nobody);
    try {
      ::_exit(f());
    } catch (const std::exception&) {
      ::_exit(cannot_reach);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

// Tries to connect as another user.
int try_as_nobody(const std::string& address) {
  return run_as_nobody({}, [&] {
    raw_session s{address};
    return s.handshake(10'000) ? let_in : turned_away;
  });
}

class another_user : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user: run this as root";
  }
};

TEST_F(another_user, cannot_reach_the_socket) {
  serve_process server{{"--socket", "run/deep/socket"}};
  EXPECT_EQ(mode_of(server.data()), 0700u);
  EXPECT_EQ(mode_of(server.data() / "conclave.db"), 0600u);
  EXPECT_EQ(mode_of(server.folder() / "run/deep"), 0700u);
  EXPECT_EQ(mode_of(server.socket_file()), 0600u);
  EXPECT_EQ(try_as_nobody(server.socket()), cannot_reach);
}

TEST_F(another_user, is_refused_if_the_path_is_accessible) {
  serve_process server{{"--socket", "open/socket"}};
  std::filesystem::permissions(server.folder() / "open", std::filesystem::perms{0755});
  std::filesystem::permissions(server.socket_file(), std::filesystem::perms{0666});
  EXPECT_EQ(try_as_nobody(server.socket()), turned_away);
  EXPECT_TRUE(server.prints("of user 65534 refused"));
  client zk{server.socket()};
  EXPECT_TRUE(zk.exists("/"));
}

TEST_F(another_user, can_have_its_own_server_which_root_may_use) {
  const temporary_directory home;
  std::filesystem::permissions(home.path(), std::filesystem::perms{0755});
  ASSERT_EQ(::chown(home.path().c_str(), nobody, nobody), 0);
  serve_process server{
      {"--data", home.path() / "data"},
      {"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--pdeathsig", "KILL"}};
  EXPECT_EQ(try_as_nobody(server.socket()), let_in);
  client root{server.socket()};
  EXPECT_TRUE(root.exists("/"));
}

TEST_F(another_user, in_the_group_cannot_use_all_connections) {
  const auto* const group = ::getgrgid(1);  // whatever it is called here
  ASSERT_NE(group, nullptr);
  const std::string name = group->gr_name;
  const temporary_directory open;
  std::filesystem::permissions(open.path(), std::filesystem::perms{0755});
  serve_process server{{"--durability", "none", "--socket", open.path() / "socket",
                        "--socket-group", name, "--max-connections-per-address", "3"}};
  const auto opened_sessions = run_as_nobody({1}, [&] {
    std::vector<std::unique_ptr<raw_session>> all;
    for (int i = 0; i < 6; ++i) {
      all.push_back(std::make_unique<raw_session>(server.socket()));
      if (!all.back()->handshake(10'000)) return i;
    }
    return 6;
  });
  EXPECT_EQ(opened_sessions, 3);
  EXPECT_TRUE(server.prints("refused: too many connections of its user"));
}

}  // namespace
}  // namespace conclave::testing
