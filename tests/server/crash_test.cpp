// After the server was killed, all acknowledged changes exist, and zxids never decrease.
//
// The page cache survives a killed process. So this test shows that nothing is acknowledged too
// early and that every start loads everything. server_store_test shows that the data is synced.
#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "integration/harness.hpp"
#include "server/serve_process.hpp"
#include "server/statistics.hpp"

namespace conclave::testing {
namespace {

// Creates and deletes nodes below its own node and records which of them must exist.
class recording_writer {
 public:
  recording_writer(const std::string& address, int number)
      : zk_{address, reconnecting_at_once()},
        root_{"/w" + std::to_string(number)},
        random_(number) {
    zk_.create(root_);
    ephemeral_ = zk_.create(root_ + "-alive", "", create_mode::ephemeral).stat;
    session_ = zk_.session_id();
  }

  void one_change() {
    const auto path = root_ + "/" + std::to_string(random_() % 20);
    auto& known = nodes_[path];
    try {
      if (!known.sure) known = {true, zk_.exists(path).has_value()};
      // The outcome is unknown until the reply arrives.
      known.sure = false;
      if (known.present) {
        zk_.remove(path);
      } else {
        const auto made = zk_.create(path, path).stat;
        EXPECT_GT(made.czxid, last_zxid_) << path;
        last_zxid_ = made.czxid;
      }
      known = {true, !known.present};
      ++acknowledged;
    } catch (const error& e) {
      // NoNode and NodeExists would contradict an acknowledged change.
      EXPECT_EQ(e.code(), errc::connection_loss) << e.what();
      ++interrupted;
    }
  }

  void look() {
    const auto names = zk_.children(root_).names;
    for (const auto& [path, known] : nodes_) {
      if (!known.sure) continue;
      const auto name = path.substr(root_.size() + 1);
      EXPECT_EQ(std::count(names.begin(), names.end(), name), known.present ? 1 : 0) << path;
    }
    EXPECT_EQ(zk_.session_id(), session_);
    EXPECT_EQ(zk_.exists(root_ + "-alive"), ephemeral_);
  }

  std::int64_t last_zxid() const { return last_zxid_; }

  std::atomic<int> acknowledged = 0;
  int interrupted = 0;

 private:
  struct knowledge {
    bool sure = false;
    bool present = false;
  };
  client zk_;
  std::string root_;
  std::minstd_rand random_;
  std::map<std::string, knowledge> nodes_;
  node_stat ephemeral_;
  std::int64_t session_ = 0;
  std::int64_t last_zxid_ = 0;
};

std::int64_t zxid_of(serve_process& server) {
  const auto answer = ask_server(server.port(), "srvr");
  const std::string label = "Zxid: 0x";
  return std::stoll(answer.substr(answer.find(label) + label.size()), nullptr, 16);
}

TEST(killed_server, keeps_acknowledged_changes) {
  constexpr int kills = 12;
  serve_process server{{"--listen", "0"}};
  std::vector<std::unique_ptr<recording_writer>> all;
  for (int i = 1; i <= 3; ++i)
    all.push_back(std::make_unique<recording_writer>(server.socket(), i));

  std::vector<std::jthread> threads;
  for (auto& w : all)
    threads.emplace_back([&w](const std::stop_token& enough) {
      while (!enough.stop_requested()) w->one_change();
    });
  std::minstd_rand random{7};
  std::int64_t zxid = 0;
  for (int i = 0; i < kills; ++i) {
    const auto before = all[0]->acknowledged + all[1]->acknowledged + all[2]->acknowledged;
    const auto some = 30 + static_cast<int>(random() % 100);
    EXPECT_TRUE(eventually([&] {
      return all[0]->acknowledged + all[1]->acknowledged + all[2]->acknowledged > before + some;
    }));
    server.kill();
    server.start_again();
    const auto now = zxid_of(server);
    EXPECT_GT(now, zxid);
    zxid = now;
  }
  for (auto& t : threads) t.request_stop();
  threads.clear();
  int interrupted = 0;
  for (auto& w : all) {
    w->look();
    interrupted += w->interrupted;
    EXPECT_LE(w->last_zxid(), zxid_of(server));
  }
  EXPECT_GT(interrupted, 0) << "no kill hit a pending change";
  RecordProperty("changes_interrupted", interrupted);
  ASSERT_EQ(server.terminate().code, 0);
  server.start_again();
  for (auto& w : all) w->look();
}

// Later fencing tokens must be higher than earlier ones.
TEST(zxid, increases_after_the_folder_was_deleted) {
  serve_process server;
  client zk{server.socket(), reconnecting_at_once()};
  const auto before = zk.create("/token").stat.czxid;
  server.kill();
  std::filesystem::remove_all(server.data());
  server.start_again();
  // The server must accept a client that has seen the old zxids.
  const auto after = [&] {
    while (true) {
      try {
        return zk.create("/token").stat.czxid;
      } catch (const error& e) {
        if (e.code() != errc::session_expired) throw;
      }
    }
  }();
  EXPECT_GT(after, before);
}

TEST(zxid, increases_after_a_restart_without_durability) {
  serve_process server{{"--durability", "none"}};
  std::int64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    {
      client zk{server.socket()};
      const auto now = zk.create("/token").stat.czxid;
      EXPECT_GT(now, last);
      last = now;
    }
    server.kill();
    server.start_again();
  }
}

TEST(zxid, increases_after_a_restart_in_the_same_second) {
  serve_process server{{"--listen", "0"}};
  std::int64_t last = 0;
  for (int i = 0; i < 5; ++i) {
    {
      client zk{server.socket()};
      EXPECT_GT(zk.create("/n" + std::to_string(i)).stat.czxid, last);
    }
    last = zxid_of(server);
    server.terminate();
    server.start_again();
    EXPECT_GE(zxid_of(server), last);
  }
}

}  // namespace
}  // namespace conclave::testing
