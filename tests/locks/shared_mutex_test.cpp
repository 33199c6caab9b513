// conclave::shared_mutex on a real server.
#include "conclave/shared_mutex.hpp"

#include <atomic>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include <boost/asio/use_future.hpp>

#include "locks/wait_for_children.hpp"

namespace conclave::testing {
namespace {

class shared_mutex_test : public ::testing::Test {
 protected:
  client zk{shared_server().connect_string()};
  client other{shared_server().connect_string()};
  std::string path = fresh_node(zk, "shared");
  shared_mutex a{zk, path};
  shared_mutex b{other, path};
};

TEST_F(shared_mutex_test, readers_hold_it_together_and_a_writer_alone) {
  const std::shared_lock one{a};
  {
    const std::shared_lock two{b};
    EXPECT_TRUE(a.shared_hold().held());
    EXPECT_TRUE(b.shared_hold().held());
    EXPECT_FALSE(b.hold().held());
    EXPECT_THROW(static_cast<void>(b.try_lock()), error);
  }
  EXPECT_FALSE(b.try_lock());
  wait_for_children(zk, path, 1);  // otherwise the node of b's attempt would count as c's
  client third{shared_server().connect_string()};
  shared_mutex c{third, path};
  auto writing = std::async(std::launch::async, [&] { c.lock(); });
  wait_for_children(zk, path, 2);
  EXPECT_FALSE(b.try_lock_shared()) << "a writer is before it";
  a.unlock_shared();
  writing.get();
  EXPECT_FALSE(b.try_lock_shared_for(50ms));
  c.unlock();
  EXPECT_TRUE(b.try_lock_shared_for(10s));
  b.unlock_shared();
  a.lock_shared();  // for the guard
}

TEST_F(shared_mutex_test, one_object_can_be_held_shared_several_times) {
  a.lock_shared();
  a.lock_shared();
  wait_for_children(zk, path, 2);
  a.unlock_shared();
  wait_for_children(zk, path, 1);
  EXPECT_FALSE(b.try_lock());
  a.unlock_shared();
  EXPECT_TRUE(b.try_lock_for(10s));
  b.unlock();
}

TEST_F(shared_mutex_test, a_reader_that_wants_to_write_is_refused) {
  a.lock_shared();
  try {
    a.lock();
    ADD_FAILURE() << "not refused";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::upgrade_refused);
    EXPECT_NE(std::string{e.what()}.find("has a shared hold"), std::string::npos) << e.what();
  }
  a.unlock_shared();
  a.lock();
  a.unlock();
}

// Each hold of one object belongs to the thread that acquired it.
TEST_F(shared_mutex_test, a_thread_releases_its_own_hold) {
  a.lock_shared();
  const auto first = a.shared_hold();
  std::jthread{[&] {
    a.lock_shared();
    const auto second = a.shared_hold();
    EXPECT_NE(second.node(), first.node());
    a.unlock_shared();
    EXPECT_FALSE(second.held());
    EXPECT_EQ(code_of([&] { static_cast<void>(a.try_lock()); }), error_code{})
        << "it reads nothing";
  }}.join();
  EXPECT_TRUE(first.held());
  EXPECT_EQ(code_of([&] { static_cast<void>(a.try_lock()); }), errc::upgrade_refused);
  a.unlock_shared();
  EXPECT_FALSE(first.held());
}

TEST_F(shared_mutex_test, async_unlock_shared_releases_an_asynchronously_acquired_hold) {
  using boost::asio::use_future;
  a.lock_shared();
  const auto first = a.shared_hold();
  a.async_lock_shared(use_future).get();
  EXPECT_EQ(a.shared_hold().node(), first.node()) << "that of this thread";
  a.async_unlock_shared(use_future).get();
  EXPECT_TRUE(first.held());
  std::jthread{[&] { a.unlock_shared(); }}.join();  // any thread may
  EXPECT_FALSE(first.held());
}

TEST_F(shared_mutex_test, a_downgrade_grants_the_lock_to_readers_but_to_no_writer) {
  a.lock();
  const auto token = a.hold().fencing_token();
  std::atomic<bool> written = false;
  client third{shared_server().connect_string()};
  shared_mutex c{third, path};
  auto writer = std::async(std::launch::async, [&] {
    b.lock();
    written = true;
    b.unlock();
  });
  wait_for_children(zk, path, 2);
  auto reader = std::async(std::launch::async, [&] {
    c.lock_shared();
    EXPECT_TRUE(written) << "it came after the writer";
    c.unlock_shared();
  });
  wait_for_children(zk, path, 3);
  a.downgrade();
  EXPECT_FALSE(a.hold().held());
  EXPECT_TRUE(a.shared_hold().held());
  EXPECT_EQ(a.shared_hold().fencing_token(), token);
  EXPECT_TRUE(zk.exists(a.shared_hold().node()));
  zk.commit(a.shared_hold().fenced(transaction{}));
  other.sync(path);
  EXPECT_FALSE(written);
  a.unlock_shared();
  writer.get();
  reader.get();
  EXPECT_TRUE(written);
  wait_for_children(zk, path, 0);
}

TEST_F(shared_mutex_test, a_downgrade_without_a_hold_fails) {
  EXPECT_THROW(a.downgrade(), error);
  a.lock_shared();
  EXPECT_THROW(a.downgrade(), error);
  a.unlock_shared();
}

TEST_F(shared_mutex_test, readers_see_complete_writes) {
  int left = 0;
  int right = 0;  // always equal outside of a write
  std::vector<std::jthread> all;
  for (int i = 0; i < 2; ++i) {
    all.emplace_back([&] {
      client mine{shared_server().connect_string()};
      shared_mutex m{mine, path};
      for (int k = 0; k < 40; ++k) {
        const std::unique_lock guard{m};
        ++left;
        ++right;
      }
    });
    all.emplace_back([&] {
      client mine{shared_server().connect_string()};
      shared_mutex m{mine, path};
      for (int k = 0; k < 40; ++k) {
        const std::shared_lock guard{m};
        EXPECT_EQ(left, right);
      }
    });
  }
  all.clear();
  EXPECT_EQ(left, 80);
}

TEST_F(shared_mutex_test, works_asynchronously) {
  using boost::asio::use_future;
  a.async_lock(use_future).get();
  auto reading = b.async_lock_shared(use_future);
  wait_for_children(zk, path, 2);
  a.async_downgrade(use_future).get();
  reading.get();
  a.async_unlock_shared(use_future).get();
  EXPECT_FALSE(a.async_try_lock_for(30ms, use_future).get());
  b.async_unlock_shared(use_future).get();
  EXPECT_TRUE(zk.children(path).names.empty());
}

TEST_F(shared_mutex_test, every_layout_has_readers_and_writers) {
  for (const auto& layout : {layout::curator(), layout::kazoo(), layout::zookeeper(),
                             layout::custom_shared("*-R-", "*-W-", "host1")}) {
    lock_options options;
    options.layout = layout;
    const auto own = path + "/" + layout.name_prefix(layout::role::reader);
    shared_mutex x{zk, own, options};
    shared_mutex y{other, own, options};
    x.lock_shared();
    y.lock_shared();
    EXPECT_TRUE(zk.exists(x.shared_hold().node()));
    y.unlock_shared();
    EXPECT_FALSE(y.try_lock());
    x.unlock_shared();
    y.lock();
    EXPECT_FALSE(x.try_lock_shared());
    y.unlock();
  }
  lock_options exclusive_only;
  exclusive_only.layout = layout::custom("mine-");
  EXPECT_THROW(shared_mutex(zk, path, exclusive_only), error);
}

}  // namespace
}  // namespace conclave::testing
