// Backups of a running server.
#include <grp.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>

#include "integration/harness.hpp"
#include "server/serve_process.hpp"

namespace conclave::testing {
namespace {

TEST(serve_backup, of_a_busy_server_can_be_served_from_another_folder) {
  serve_process server;
  client zk{server.socket()};
  zk.create("/n", "root");
  zk.create("/n/locked", "", create_options{create_mode::persistent, read_only_acl()});

  // Creates /n/0, /n/1, ... until stopped.
  std::atomic<int> created = 0;
  std::jthread load{[&](const std::stop_token& enough) {
    client busy{server.socket()};
    for (int i = 0; !enough.stop_requested(); created = ++i)
      busy.create("/n/" + std::to_string(i), "data of it");
  }};
  while (created < 50) std::this_thread::yield();
  const int before = created;
  const auto file = server.folder() / "copy.db";
  const auto run = run_conclave({"serve", "--data", server.data(), "--backup", file.string()});
  const int after = created;
  load.request_stop();
  load.join();
  ASSERT_EQ(run.status.code, 0) << run.text;
  EXPECT_EQ(run.text, file.string() + "\n");
  struct stat found {};
  ASSERT_EQ(::stat(file.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600u);

  const temporary_directory elsewhere;
  std::filesystem::create_directory(elsewhere.path() / "data");
  std::filesystem::copy(file, elsewhere.path() / "data/conclave.db");
  serve_process restored{{"--data", elsewhere.path() / "data"}};
  client copy{restored.socket()};
  const auto names = copy.children("/n").names;
  const auto count = static_cast<int>(names.size()) - 1;
  EXPECT_GE(count, before);
  EXPECT_LE(count, after + 1) << "the last node may not have been counted yet";
  for (int i = 0; i < count; ++i)
    ASSERT_EQ(copy.get("/n/" + std::to_string(i)).data, "data of it") << "no gaps";
  EXPECT_EQ(copy.get_acl("/n/locked").acl, read_only_acl());
  EXPECT_EQ(*copy.exists("/n/0"), *zk.exists("/n/0"));
  const auto token = copy.create("/new").stat.czxid;
  EXPECT_GT(token, zk.create("/new").stat.czxid)
      << "zxids must increase, although the copy is older than the original";
  EXPECT_LT(token, std::int64_t{1} << 53) << "readers of JSON would round it";
}

// The session released the lock after the backup, so it would not release it again.
TEST(serve_backup, contains_no_session_and_no_ephemeral_node) {
  serve_process server;
  client zk{server.socket(), with_timeout(30s)};
  session_recorder events{zk};
  zk.create("/held", "", create_mode::ephemeral);
  const auto file = server.folder() / "copy.db";
  const auto run = run_conclave({"serve", "--data", server.data(), "--backup", file.string()});
  ASSERT_EQ(run.status.code, 0) << run.text;
  zk.remove("/held");

  server.kill();
  std::filesystem::rename(server.data(), server.folder() / "old");
  std::filesystem::create_directory(server.data());
  std::filesystem::copy(file, server.data() / "conclave.db");
  server.start_again();
  EXPECT_TRUE(
      server.prints("is a restored copy; its 1 sessions and 1 ephemeral nodes were removed"));
  EXPECT_TRUE(events.wait_for(session_event::kind::expired));
  client other{server.socket()};
  EXPECT_FALSE(other.exists("/held"));
}

TEST(serve_backup, does_not_overwrite_files) {
  serve_process server;
  const auto file = server.folder() / "copy.db";
  const auto foreign = server.folder() / "copy.db.part";
  std::ofstream{foreign} << "mine";
  const auto victim = server.folder() / "victim";
  std::ofstream{victim} << "precious";
  const auto run = run_conclave({"serve", "--data", server.data(), "--backup", file.string()});
  EXPECT_EQ(run.status.code, 0) << run.text;
  EXPECT_EQ(read_file(foreign), "mine");
  // A symbolic link counts as an existing file.
  std::filesystem::create_symlink(victim, server.folder() / "link.db");
  std::filesystem::create_symlink(server.folder() / "nothing", server.folder() / "dangling.db");
  for (const auto* name : {"link.db", "dangling.db"}) {
    const auto refused =
        run_conclave({"serve", "--data", server.data(), "--backup", server.folder() / name});
    EXPECT_EQ(refused.status.code, 1) << name << refused.text;
  }
  EXPECT_EQ(read_file(victim), "precious");
  EXPECT_FALSE(std::filesystem::exists(server.folder() / "nothing"));
  for (const auto& entry : std::filesystem::directory_iterator{server.folder()})
    EXPECT_TRUE(entry.path().extension() != ".part" || entry.path() == foreign) << entry.path();
}

TEST(serve_backup, is_allowed_for_the_owner_of_the_server_but_not_for_its_group) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user: run this as root";
  const auto* const group = ::getgrgid(1);  // whatever it is called here
  ASSERT_NE(group, nullptr);
  const std::string name = group->gr_name;
  const temporary_directory open;
  std::filesystem::permissions(open.path(), std::filesystem::perms{0777});
  serve_process server{{"--socket", open.path() / "socket", "--socket-group", name}};
  const auto stolen = open.path() / "stolen.db";
  const argument_list as_member{"setpriv", "--reuid", "65534", "--regid", "65534", "--groups", "1"};
  const auto member = run_conclave(
      {"serve", "--socket", server.socket_file(), "--data", "/none", "--backup", stolen},
      as_member);
  EXPECT_EQ(member.status.code, 1) << member.text;
  EXPECT_TRUE(member.contains("the backup failed: only root and user 0")) << member.text;
  EXPECT_FALSE(std::filesystem::exists(stolen));
  const auto root = run_conclave({"serve", "--socket", server.socket_file(), "--backup", stolen});
  EXPECT_EQ(root.status.code, 0) << root.text;
}

TEST(serve_backup, reports_the_reason_of_a_failure) {
  serve_process server;
  const auto backup = [&](const std::string& to) {
    return run_conclave({"serve", "--data", server.data(), "--backup", to});
  };
  const auto there = (server.folder() / "output").string();
  const auto exists = backup(there);
  EXPECT_EQ(exists.status.code, 1);
  EXPECT_TRUE(exists.contains(there + " exists already; choose another name")) << exists.text;
  const auto nowhere = backup(server.folder() / "no/such/folder/copy.db");
  EXPECT_EQ(nowhere.status.code, 1);
  EXPECT_TRUE(nowhere.contains("conclave: the backup failed: ")) << nowhere.text;
  EXPECT_TRUE(client{server.socket()}.exists("/"));

  serve_process in_memory{{"--durability", "none"}};
  const auto nothing = run_conclave(
      {"serve", "--data", in_memory.data(), "--backup", in_memory.folder() / "copy.db"});
  EXPECT_EQ(nothing.status.code, 1);
  EXPECT_TRUE(nothing.contains("this server keeps nothing on disk")) << nothing.text;

  server.kill();
  const auto nobody = backup(server.folder() / "copy.db");
  EXPECT_EQ(nobody.status.code, 69);
  EXPECT_TRUE(nobody.contains("check that it runs, and with which --socket; try: conclave serve"))
      << nobody.text;
}

}  // namespace
}  // namespace conclave::testing
