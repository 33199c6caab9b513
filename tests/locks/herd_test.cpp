// One release wakes the next waiter and, to get ready, the one behind it, at the same cost however
// many wait; and all are served in order.
#include <atomic>

#include <boost/asio/use_future.hpp>

#include "locks/contest.hpp"
#include "support/link_proxy.hpp"

namespace conclave::testing {
namespace {

struct cost {
  std::size_t events = 0;
  std::size_t requests = 0;
  std::size_t answers = 0;
  std::uint64_t bytes = 0;
};

// Many contenders over a few sessions, all of them behind one proxy that counts.
class crowd {
 public:
  crowd(std::size_t count, const lock_options& o) : line_{"herd"} {
    for (int i = 0; i < 10; ++i)
      clients_.push_back(std::make_unique<client>(proxy_.connect_string(), with_timeout(60s)));
    holder_.lock();
    for (std::size_t i = 0; i < count; ++i) {
      waiting_.push_back(std::make_unique<mutex>(*clients_[i % clients_.size()], line_.path(), o));
      waiting_.back()->async_lock([this, i](error_code ec) { answered_.put({i, ec}); });
    }
    EXPECT_TRUE(line_.wait_for(count + 1));
    settle();
  }
  ~crowd() {
    for (auto& each : clients_) each->close();
  }

  using answer = std::pair<std::size_t, error_code>;
  inbox<answer>& answered() { return answered_; }
  mutex& waiter(std::size_t i) { return *waiting_[i]; }
  mutex& holder() { return holder_; }
  onlooker& line() { return line_; }

  // Answers come in order: what had been sent to a client, or asked by it, is over then. Twice,
  // since what came first may have made it ask.
  void settle() {
    for (int i = 0; i < 3; ++i)
      for (auto& each : clients_) each->sync();
  }
  template <class F>
  cost measure(F f) {
    settle();
    proxy_.reset_counters();
    f();
    settle();
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
  onlooker line_;
  client near_{shared_server().connect_string()};
  std::vector<std::unique_ptr<client>> clients_;
  inbox<answer> answered_;
  mutex holder_{near_, line_.path()};
  std::vector<std::unique_ptr<mutex>> waiting_;
};

class herd : public with_and_without_tickets {};
INSTANTIATE_TEST_SUITE_P(with, herd, ::testing::Bool(), tickets_name);

// Grants everybody in turn, and expects the order of the line.
void drain(crowd& c, std::size_t count) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto next = c.answered().take();
    ASSERT_TRUE(next) << i << " were served, then nobody";
    ASSERT_FALSE(next->second) << next->second.message();
    auto& m = c.waiter(next->first);
    EXPECT_EQ(c.answered().size(), 0u) << "two at once";
    EXPECT_GT(m.fencing_token(), last) << "out of order";
    last = m.fencing_token();
    m.unlock();
  }
  EXPECT_TRUE(c.line().wait_for(0));
}

TEST_P(herd, a_release_costs_the_same_with_2_50_and_500_waiters) {
  std::vector<cost> costs;
  for (const std::size_t count : {2, 50, 500}) {
    crowd c{count, options()};
    std::optional<crowd::answer> first;
    costs.push_back(c.measure([&] {
      c.holder().unlock();
      first = c.answered().take();
    }));
    ASSERT_TRUE(first);
    EXPECT_EQ(c.answered().size(), 0u) << "granted to one";
    // Given back, to be served once more by drain().
    c.answered().put(*first);
    drain(c, count);
    if (HasFatalFailure()) return;
  }
  for (const auto& each : costs) {
    // The next one and the one behind it, if these are of two sessions.
    EXPECT_LE(each.events, GetParam() ? 2u : 1u);
    EXPECT_GE(each.events, 1u);
    EXPECT_LE(each.requests, 4u);
    EXPECT_EQ(each.requests, costs[0].requests);
    EXPECT_EQ(each.answers - each.events, costs[0].answers - costs[0].events);
    // Without tickets the woken one reads the line. Numbers in the record have more or fewer
    // digits.
    if (GetParam()) {
      EXPECT_NEAR(static_cast<double>(each.bytes), static_cast<double>(costs[0].bytes), 100);
    }
  }
}

TEST_P(herd, a_waiter_that_goes_wakes_its_neighbours_and_grants_nobody) {
  for (const std::size_t count : {3, 50, 500}) {
    crowd c{count, options()};
    const auto middle = c.line().contenders()[count / 2];
    const auto spent = c.measure([&] { c.line().zk().remove(c.line().path() + "/" + middle); });
    const auto out = c.answered().take();
    ASSERT_TRUE(out);
    EXPECT_EQ(out->second, errc::waiter_node_deleted) << "the deleted one is told";
    EXPECT_EQ(c.answered().size(), 0u) << "nobody is granted anything";
    EXPECT_TRUE(c.holder().held());
    // Of one session they are told by one event.
    EXPECT_LE(spent.events, 3u) << "only the deleted one and two behind it";
    // The removal itself; four by the one behind, to find whom to wait for now; one by the next;
    // three by the deleted one, which makes sure and takes its watches away.
    EXPECT_LE(spent.requests, 9u);
    c.holder().unlock();
    drain(c, count - 1);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace conclave::testing
