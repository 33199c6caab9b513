// Many threads on one client, and clients that are created and destroyed concurrently.
#include <atomic>
#include <thread>
#include <vector>

#include "integration/harness.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

TEST(threads, one_client_serves_many_threads) {
  client zk{shared_server().connect_string()};
  const auto root = fresh_node(zk, "threads");
  std::vector<std::thread> all;
  for (int t = 0; t < 8; ++t) {
    all.emplace_back([&, t] {
      const auto mine = zk.create(root + "/" + std::to_string(t), "0").path;
      for (int i = 0; i < 100; ++i) {
        zk.set(mine, std::to_string(i), i);
        EXPECT_EQ(zk.get(mine).data, std::to_string(i));
      }
    });
  }
  for (auto& t : all) t.join();
  EXPECT_EQ(zk.children(root).stat.num_children, 8);
}

TEST(threads, calls_from_many_threads_survive_connection_losses) {
  link_proxy proxy{shared_server().port()};
  client zk{proxy.connect_string()};
  const auto root = fresh_node(zk, "disconnects");
  std::atomic<bool> stop{false};
  std::atomic<int> answered{0};
  std::atomic<int> unknown{0};
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t) {
    all.emplace_back([&] {
      while (!stop) {
        const auto ec = code_of([&] { zk.set(root, "x"); });
        // A write that was not sent before an earlier write was lost is not sent.
        if (ec && ec != errc::not_connected) {
          EXPECT_EQ(ec, condition::outcome_unknown) << ec.message();
          ++unknown;
        }
        answered += !ec;
        EXPECT_FALSE(code_of([&] { zk.get(root); }));
      }
    });
  }
  for (int i = 0; i < 15; ++i) {
    proxy.drop_links(i % 2 == 0 ? link_proxy::ending::fin : link_proxy::ending::reset);
    // Waits until the threads work again.
    for (const int before = answered; answered < before + 4;) zk.sync();
  }
  stop = true;
  for (auto& t : all) t.join();
  const auto version = zk.get(root).stat.version;
  EXPECT_GE(version, answered.load());
  EXPECT_LE(version, answered + unknown) << "no write happened twice";
}

TEST(threads, clients_can_be_created_and_destroyed_on_one_context) {
  context shared;
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t) {
    all.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        client zk{shared, shared_server().connect_string()};
        if (i % 2 == 0) {
          EXPECT_TRUE(zk.exists("/"));
        }
        auto listening = zk.on_session_event([](const session_event&) {});
        client moved = std::move(zk);
        moved.async_get("/", [](error_code, get_result) {});
      }
    });
  }
  for (auto& t : all) t.join();
}

TEST(threads, a_listener_is_not_called_after_its_subscription_was_destroyed) {
  link_proxy proxy{shared_server().port()};
  client zk{proxy.connect_string()};
  for (int i = 0; i < 20; ++i) {
    auto alive = std::make_unique<std::atomic<bool>>(true);
    auto listening = zk.on_session_event([&](const session_event&) { EXPECT_TRUE(*alive); });
    proxy.drop_links();
    listening = subscription{};
    *alive = false;
    alive.reset();  // the sanitizers would detect a late call
  }
}

}  // namespace
}  // namespace conclave::testing
