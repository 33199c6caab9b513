// A release wakes only the next waiter and its successor, which prepares for its own grant. The
// cost does not depend on the number of waiters, and all are granted in order.
#include <atomic>

#include <boost/asio/use_future.hpp>

#include "locks/lock_observer.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

struct cost {
  std::size_t events = 0;
  std::size_t requests = 0;
  std::size_t answers = 0;
  std::uint64_t bytes = 0;
};

// Many contenders of a few sessions, behind one proxy that counts requests and events.
class many_contenders {
 public:
  many_contenders(std::size_t count, const lock_options& o) : observer_{"herd"} {
    for (int i = 0; i < 10; ++i)
      clients_.push_back(std::make_unique<client>(proxy_.connect_string(), with_timeout(60s)));
    holder_.lock();
    for (std::size_t i = 0; i < count; ++i) {
      waiting_.push_back(
          std::make_unique<mutex>(*clients_[i % clients_.size()], observer_.path(), o));
      waiting_.back()->async_lock([this, i](error_code ec) { answered_.put({i, ec}); });
    }
    EXPECT_TRUE(observer_.wait_for(count + 1));
    sync_all();
  }
  ~many_contenders() {
    for (auto& each : clients_) each->close();
  }

  using answer = std::pair<std::size_t, error_code>;
  inbox<answer>& answered() { return answered_; }
  mutex& waiter(std::size_t i) { return *waiting_[i]; }
  mutex& holder() { return holder_; }
  lock_observer& observer() { return observer_; }

  // Replies arrive in order, so all earlier requests and events are done after a sync. Called
  // twice, because an event may cause further requests.
  void sync_all() {
    for (int i = 0; i < 3; ++i)
      for (auto& each : clients_) each->sync();
  }
  template <class F>
  cost measure(F f) {
    sync_all();
    proxy_.reset_counters();
    f();
    sync_all();
    cost c;
    const auto ours = 3 * clients_.size();
    c.events = proxy_.events();
    c.requests = proxy_.client_frames() - ours;
    c.answers = proxy_.server_frames() - ours;
    c.bytes = proxy_.bytes_to_client() + proxy_.bytes_to_server();
    return c;
  }

 private:
  link_proxy proxy_{shared_server().port()};
  lock_observer observer_;
  client near_{shared_server().connect_string()};
  std::vector<std::unique_ptr<client>> clients_;
  inbox<answer> answered_;
  mutex holder_{near_, observer_.path()};
  std::vector<std::unique_ptr<mutex>> waiting_;
};

class herd : public with_and_without_tickets {};
INSTANTIATE_TEST_SUITE_P(with, herd, ::testing::Bool(), tickets_name);

// Expects that all contenders are granted in the order of the wait queue.
void drain(many_contenders& c, std::size_t count) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto next = c.answered().take();
    ASSERT_TRUE(next) << i << " were served, then nobody";
    ASSERT_FALSE(next->second) << next->second.message();
    auto& m = c.waiter(next->first);
    EXPECT_EQ(c.answered().size(), 0u) << "two holders";
    EXPECT_GT(m.fencing_token(), last) << "out of order";
    last = m.fencing_token();
    m.unlock();
  }
  EXPECT_TRUE(c.observer().wait_for(0));
}

TEST_P(herd, a_release_costs_the_same_with_2_50_and_500_waiters) {
  std::vector<cost> costs;
  for (const std::size_t count : {2, 50, 500}) {
    many_contenders c{count, options()};
    std::optional<many_contenders::answer> first;
    costs.push_back(c.measure([&] {
      c.holder().unlock();
      first = c.answered().take();
    }));
    ASSERT_TRUE(first);
    EXPECT_EQ(c.answered().size(), 0u) << "one grant";
    // Put back for drain().
    c.answered().put(*first);
    drain(c, count);
    if (HasFatalFailure()) return;
  }
  for (const auto& each : costs) {
    // The next waiter and its successor, if they have different sessions.
    EXPECT_LE(each.events, GetParam() ? 2u : 1u);
    EXPECT_GE(each.events, 1u);
    EXPECT_LE(each.requests, 4u);
    EXPECT_EQ(each.requests, costs[0].requests);
    EXPECT_EQ(each.answers - each.events, costs[0].answers - costs[0].events);
    // Without tickets, the woken waiter lists the wait queue. Numbers in the record vary in length.
    if (GetParam()) {
      EXPECT_NEAR(static_cast<double>(each.bytes), static_cast<double>(costs[0].bytes), 100);
    }
  }
}

TEST_P(herd, a_deleted_waiter_wakes_two_waiters_and_grants_nothing) {
  for (const std::size_t count : {3, 50, 500}) {
    many_contenders c{count, options()};
    const auto middle = c.observer().contenders()[count / 2];
    const auto spent =
        c.measure([&] { c.observer().zk().remove(c.observer().path() + "/" + middle); });
    const auto out = c.answered().take();
    ASSERT_TRUE(out);
    EXPECT_EQ(out->second, errc::waiter_node_deleted) << "the deleted waiter fails";
    EXPECT_EQ(c.answered().size(), 0u) << "no waiter is granted";
    EXPECT_TRUE(c.holder().held());
    // Waiters of one session share one event.
    EXPECT_LE(spent.events, 3u) << "only the deleted waiter and the two behind it";
    // The removal; four requests of the successor, which looks for its new predecessor; one of the
    // next waiter; three of the deleted waiter, which verifies its node and removes its watches.
    EXPECT_LE(spent.requests, 9u);
    c.holder().unlock();
    drain(c, count - 1);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace conclave::testing
