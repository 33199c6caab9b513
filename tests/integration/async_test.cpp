// The async_ members with each kind of completion token, and cancellation.
#include <thread>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include "integration/harness.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

namespace asio = boost::asio;

class asynchronous : public ::testing::Test {
 protected:
  client zk{shared_server().connect_string()};
  std::string root = fresh_node(zk, "async");
};

TEST_F(asynchronous, callback) {
  inbox<std::string> got;
  zk.async_create(root + "/a", "data", {}, [&](error_code ec, create_result r) {
    EXPECT_FALSE(ec);
    got.put(r.path);
  });
  EXPECT_EQ(got.take(), root + "/a");
}

TEST_F(asynchronous, every_operation_as_a_future) {
  const auto& f = asio::use_future;
  EXPECT_EQ(zk.async_create(root + "/a", "1", {}, f).get().path, root + "/a");
  EXPECT_TRUE(zk.async_exists(root + "/a", f).get());
  EXPECT_EQ(zk.async_get(root + "/a", f).get().data, "1");
  EXPECT_EQ(zk.async_set(root + "/a", "2", 0, f).get().version, 1);
  EXPECT_EQ(zk.async_children(root, f).get().names.size(), 1u);
  zk.async_sync(root, f).get();
  EXPECT_EQ(zk.async_get_acl(root, f).get().acl, open_acl());
  EXPECT_EQ(zk.async_set_acl(root, open_acl(), any_version, f).get().aversion, 1);
  EXPECT_EQ(zk.async_commit(transaction{}.check(root), f).get().parts.size(), 1u);
  EXPECT_EQ(zk.async_read(read_group{}.get(root), f).get().size(), 1u);
  zk.async_add_auth({"digest", secret::from_memory("a:b")}, f).get();
  EXPECT_EQ(zk.async_who_am_i(f).get().size(), 2u);
  EXPECT_TRUE(zk.async_ephemerals(root, f).get().empty());
  EXPECT_EQ(zk.async_count_descendants(root, f).get(), 1);
  watch_recorder seen;
  zk.async_add_watch(root, watch_mode::persistent, seen.get(), f).get();
  zk.async_remove_watch(root, watch_kind::any, seen.get(), f).get();
  zk.async_remove(root + "/a", any_version, f).get();
  zk.async_close(f).get();
  EXPECT_EQ(zk.state(), session_state::closed);
}

TEST_F(asynchronous, a_future_carries_the_error) {
  auto failed = zk.async_get("/none", asio::use_future);
  // When the next request completes, the I/O thread no longer references the exception. TSan does
  // not understand the reference counts of exceptions in libstdc++.
  failed.wait();
  zk.sync();
  try {
    failed.get();
    FAIL();
  } catch (const boost::system::system_error& e) {
    EXPECT_EQ(e.code(), errc::no_node);
  }
}

TEST_F(asynchronous, coroutine_on_a_custom_executor) {
  asio::io_context users;
  std::string data;
  std::thread::id ran_on;
  asio::co_spawn(
      users,
      [&]() -> asio::awaitable<void> {
        co_await zk.async_create(root + "/c", "coroutine", {}, asio::use_awaitable);
        auto result = co_await zk.async_get(root + "/c", asio::use_awaitable);
        data = result.data;
        ran_on = std::this_thread::get_id();
        const auto [ec, none] =
            co_await zk.async_get(root + "/none", asio::as_tuple(asio::use_awaitable));
        EXPECT_EQ(ec, errc::no_node);
      },
      [](std::exception_ptr e) { EXPECT_FALSE(e); });
  users.run();
  EXPECT_EQ(data, "coroutine");
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST_F(asynchronous, deferred_starts_when_awaited) {
  auto later = zk.async_create(root + "/d", "", {}, asio::deferred);
  EXPECT_FALSE(zk.exists(root + "/d"));
  std::move(later)(asio::use_future).get();
  EXPECT_TRUE(zk.exists(root + "/d"));
}

TEST_F(asynchronous, a_pending_operation_keeps_its_handlers_context_running) {
  asio::io_context users;
  bool called = false;
  zk.async_get(root, asio::bind_executor(users.get_executor(),
                                         [&](error_code, get_result) { called = true; }));
  users.run();  // would return at once if nothing were outstanding
  EXPECT_TRUE(called);
}

TEST_F(asynchronous, a_refused_operation_completes_later_not_inside_the_call) {
  inbox<error_code> got;
  std::atomic<bool> returned{false};
  std::mutex hold;
  std::unique_lock lock{hold};
  zk.async_get("not a path", [&](error_code ec, get_result) {
    {
      const std::lock_guard wait{hold};
      EXPECT_TRUE(returned);
    }
    got.put(ec);
  });
  returned = true;
  lock.unlock();
  EXPECT_EQ(got.take(), error_code{errc::invalid_path});
}

TEST_F(asynchronous, a_cancelled_operation_completes_at_once) {
  link_proxy proxy{shared_server().port()};
  client slow{proxy.connect_string()};
  slow.sync();
  proxy.blackhole(true);
  asio::cancellation_signal signal;
  inbox<error_code> got;
  inbox<error_code> after;
  slow.async_create(root + "/x", "", {},
                    asio::bind_cancellation_slot(
                        signal.slot(), [&](error_code ec, create_result) { got.put(ec); }));
  slow.async_get(root, [&](error_code ec, get_result) { after.put(ec); });
  signal.emit(asio::cancellation_type::terminal);
  const auto ec = got.take();
  EXPECT_EQ(ec, asio::error::operation_aborted);
  EXPECT_EQ(*ec, condition::outcome_unknown);
  proxy.blackhole(false);
  EXPECT_EQ(after.take(), error_code{}) << "later answers still find their requests";
  zk.sync(root);
  EXPECT_TRUE(zk.exists(root + "/x")) << "it had been sent";
}

TEST_F(asynchronous, cancelling_resumes_a_coroutine_that_waits_for_a_server) {
  using namespace asio::experimental::awaitable_operators;
  client nowhere{"127.0.0.1:1"};
  asio::io_context users;
  bool timer_won = false;
  asio::co_spawn(
      users,
      [&]() -> asio::awaitable<void> {
        asio::steady_timer timer{users, 20ms};
        auto result = co_await (nowhere.async_get("/", asio::as_tuple(asio::use_awaitable)) ||
                                timer.async_wait(asio::as_tuple(asio::use_awaitable)));
        timer_won = result.index() == 1;
      },
      asio::detached);
  users.run();
  EXPECT_TRUE(timer_won);
}

TEST_F(asynchronous, cancelling_after_completion_has_no_effect) {
  asio::cancellation_signal signal;
  inbox<error_code> got;
  zk.async_get(root, asio::bind_cancellation_slot(signal.slot(),
                                                  [&](error_code ec, get_result) { got.put(ec); }));
  EXPECT_EQ(got.take(), error_code{});
  signal.emit(asio::cancellation_type::all);
  EXPECT_TRUE(zk.exists(root));
  EXPECT_EQ(got.size(), 0u);
}

TEST_F(asynchronous, replies_arrive_in_the_order_of_the_requests) {
  inbox<int> order;
  for (int i = 0; i < 500; ++i) {
    if (i % 3 == 0)
      zk.async_set(root, "x", any_version, [&, i](error_code, node_stat) { order.put(i); });
    else
      zk.async_get(root, [&, i](error_code, get_result) { order.put(i); });
  }
  for (int i = 0; i < 500; ++i) EXPECT_EQ(order.take(), i);
}

TEST_F(asynchronous, a_batch_is_sent_in_one_write) {
  link_proxy proxy{shared_server().port()};
  client counted{proxy.connect_string()};
  counted.sync();
  const auto before = proxy.client_frames();
  inbox<error_code> got;
  {
    const auto together = counted.begin_batch();
    for (int i = 0; i < 10; ++i)
      counted.async_get(root, [&](error_code ec, get_result) { got.put(ec); });
    EXPECT_EQ(got.take(50ms), std::nullopt) << "nothing was sent yet";
    EXPECT_EQ(proxy.client_frames(), before);
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(got.take(), error_code{});
}

TEST_F(asynchronous, closing_completes_everything) {
  link_proxy proxy{shared_server().port()};
  inbox<error_code> reads;
  inbox<error_code> writes;
  {
    client slow{proxy.connect_string(), with_timeout(3s)};
    slow.sync();
    proxy.blackhole(true);
    for (int i = 0; i < 100; ++i) {
      slow.async_get(root, [&](error_code ec, get_result) { reads.put(ec); });
      slow.async_set(root, "", any_version, [&](error_code ec, node_stat) { writes.put(ec); });
    }
  }
  EXPECT_EQ(reads.size(), 100u);
  while (const auto ec = reads.take(0s)) EXPECT_EQ(*ec, error_code{errc::closed});
  EXPECT_EQ(writes.size(), 100u);
  while (const auto ec = writes.take(0s)) EXPECT_EQ(*ec, condition::outcome_unknown);
}

TEST_F(asynchronous, a_client_may_be_destroyed_by_its_own_handler) {
  auto doomed = std::make_unique<client>(shared_server().connect_string());
  inbox<int> gone;
  doomed->async_get(root, [&](error_code, get_result) {
    doomed.reset();
    gone.put(1);
  });
  EXPECT_TRUE(gone.take());
}

TEST_F(asynchronous, a_blocking_call_inside_a_batch_sends_it) {
  const auto together = zk.begin_batch();
  inbox<error_code> got;
  zk.async_get(root, [&](error_code ec, get_result) { got.put(ec); });
  EXPECT_EQ(zk.get(root).data, "");
  EXPECT_EQ(got.take(), error_code{});
}

TEST_F(asynchronous, a_blocking_call_inside_a_large_batch_sends_it_too) {
  client_options options;
  options.max_outstanding = 100;
  client full{shared_server().connect_string(), options};
  full.sync();
  const auto together = full.begin_batch();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 90; ++i) full.async_get(root, [](error_code, get_result) {});
  EXPECT_TRUE(full.exists(root));
  for (int i = 0; i < 100; ++i) full.async_get(root, [](error_code, get_result) {});
  EXPECT_TRUE(full.exists(root)) << "with a backlog full of what the batch holds";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, full.session_timeout() / 3)
      << "only a ping freed it";
}

TEST_F(asynchronous, when_close_returns_every_handler_has_run) {
  context shared;
  for (int i = 0; i < 200; ++i) {
    auto ran = std::make_unique<int>(0);
    client zk2{shared, "127.0.0.1:1"};
    zk2.async_get("not a path", [&](error_code, get_result) { ++*ran; });
    zk2.async_get("/", [&](error_code, get_result) { ++*ran; });
    zk2.close();
    EXPECT_EQ(*ran, 2);
    zk2.async_get("/", [&](error_code, get_result) { ++*ran; });
    zk2.close();
    EXPECT_EQ(*ran, 3);
  }
}

TEST_F(asynchronous, a_batch_may_end_on_another_thread) {
  auto together = std::make_unique<client::batch>(zk.begin_batch());
  inbox<error_code> got;
  zk.async_get(root, [&](error_code ec, get_result) { got.put(ec); });
  std::thread{[&] { together.reset(); }}.join();
  EXPECT_EQ(got.take(), error_code{});
  zk.async_get(root, [&](error_code ec, get_result) { got.put(ec); });
  EXPECT_EQ(got.take(), error_code{}) << "requests are no longer delayed";
}

TEST_F(asynchronous, an_operation_started_after_its_client_was_destroyed_completes) {
  auto doomed = std::make_unique<client>(shared_server().connect_string());
  for (int i = 0; i < 20; ++i) {
    auto later = doomed->async_get(root, asio::deferred);
    if (i == 19) doomed.reset();
    inbox<error_code> got;
    std::move(later)([&](error_code ec, get_result) { got.put(ec); });
    EXPECT_TRUE(got.take());
  }
}

TEST_F(asynchronous, waiting_for_close_can_be_cancelled) {
  link_proxy proxy{shared_server().port()};
  client slow{proxy.connect_string(), with_timeout(60s)};
  slow.sync();
  proxy.blackhole(true);
  asio::cancellation_signal signal;
  inbox<error_code> got;
  slow.async_close(
      asio::bind_cancellation_slot(signal.slot(), [&](error_code ec) { got.put(ec); }));
  EXPECT_EQ(slow.state(), session_state::closed) << "from here on the server may end it";
  EXPECT_LT(slow.session_deadline(), boot_clock::now());
  signal.emit(asio::cancellation_type::terminal);
  EXPECT_EQ(got.take(), asio::error::operation_aborted);
  proxy.blackhole(false);
}

}  // namespace
}  // namespace conclave::testing
