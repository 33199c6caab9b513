// conclave::metrics and conclave::tracer with real threads and a server in the same process.
#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include <boost/asio/bind_cancellation_slot.hpp>

#include "conclave/conclave.hpp"
#include "conclave/server.hpp"
#include "integration/harness.hpp"
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::testing {
namespace {

class client_metrics : public ::testing::Test {
 protected:
  client_options counted() const {
    client_options o;
    o.metrics = counts;
    return o;
  }
  metrics_snapshot::lock_counts locks() const { return counts->snapshot().of(lock_kind::lock); }
  static lock_options keeping() {
    lock_options o;
    o.keep_for = 60s;
    return o;
  }

  const std::shared_ptr<metrics> counts = std::make_shared<metrics>();
  server local;
  client zk{local.connect_string(), counted()}, other{local.connect_string(), counted()};
};

TEST_F(client_metrics, count_the_calls_of_all_clients) {
  mutex m{zk, "/lock"}, same{other, "/lock"};
  m.lock();
  EXPECT_FALSE(same.try_lock());
  EXPECT_FALSE(same.try_lock_for(1ms));
  std::stop_source stop;
  std::jthread stopping{[&] {
    while (locks().waiting == 0) std::this_thread::yield();
    stop.request_stop();
  }};
  EXPECT_FALSE(same.lock(stop.get_token()));
  boost::asio::cancellation_signal signal;
  inbox<error_code> cancelled;
  same.async_lock(boost::asio::bind_cancellation_slot(signal.slot(),
                                                      [&](error_code ec) { cancelled.put(ec); }));
  signal.emit(boost::asio::cancellation_type::terminal);
  EXPECT_TRUE(cancelled.take());
  m.unlock();
  same.lock();
  const auto s = locks();
  EXPECT_EQ(s.acquired, 2u);
  EXPECT_EQ(s.contended, 1u);
  EXPECT_EQ(s.timed_out, 1u);
  EXPECT_EQ(s.cancelled, 2u);
  EXPECT_EQ(s.failed, 0u);
  EXPECT_EQ(s.waiting, 0u);
  EXPECT_EQ(s.holding, 1u);
  EXPECT_EQ(s.wait.total(), 2u);
  EXPECT_EQ(s.hold.total(), 1u);
  EXPECT_GT(s.hold.sum, 0.001);
  other.close();
  EXPECT_EQ(locks().lost.closed, 1u);
  EXPECT_EQ(counts->snapshot().sessions.started, 2u);
}

TEST_F(client_metrics, count_requests) {
  const auto before = counts->snapshot().requests;
  zk.create("/a", "data");
  zk.get("/a");
  EXPECT_THROW(zk.get("/missing"), error);
  EXPECT_FALSE(zk.exists("/missing"));
  const auto after = counts->snapshot().requests;
  EXPECT_EQ(after.succeeded - before.succeeded, 3u);
  EXPECT_EQ(after.refused - before.refused, 1u);
  EXPECT_EQ(after.latency.total() - before.latency.total(), 4u);
  EXPECT_GT(after.latency.sum, before.latency.sum);
}

TEST_F(client_metrics, count_every_local_grant_of_several_threads) {
  constexpr std::uint64_t threads = 4, rounds = 20'000;
  mutex m{zk, "/lock", keeping()};
  std::uint64_t warm_up = 0;
  for (; locks().untimed == 0; ++warm_up) const std::scoped_lock guard{m};
  {
    std::vector<std::jthread> all;
    for (std::uint64_t i = 0; i < threads; ++i)
      all.emplace_back([&] {
        for (std::uint64_t n = 0; n < rounds; ++n) const std::scoped_lock guard{m};
      });
  }
  const auto s = locks();
  EXPECT_EQ(s.acquired, warm_up + threads * rounds);
  EXPECT_GT(s.untimed, threads * rounds / 2);
  EXPECT_EQ(s.wait.total(), s.acquired - s.untimed);
  m.lock();
  std::thread{[&] { EXPECT_FALSE(m.try_lock()); }}.join();
  EXPECT_EQ(locks().contended, 1u);
  m.unlock();
}

TEST_F(client_metrics, promtool_accepts_the_text) {
  mutex m{zk, "/lock"};
  const std::scoped_lock guard{m};
  queue jobs{zk, "/jobs"};
  jobs.push("one");
  jobs.claim().complete();
  const temporary_directory folder;
  const auto text = folder.path() / "text", output = folder.path() / "output";
  std::ofstream{text} << prometheus_text(counts->snapshot());
  child_options check{{"sh", "-c", "exec promtool check metrics < \"$0\"", text.string()}};
  check.output = output;
  child_process promtool{check};
  const auto status = promtool.wait(wait_limit);
  std::ifstream in{output};
  const std::string said{std::istreambuf_iterator<char>{in}, {}};
  ASSERT_TRUE(status);
  EXPECT_EQ(status->code, 0) << said;
  EXPECT_EQ(said, "");
}

TEST_F(client_metrics, may_outlive_the_clients) {
  {
    client short_lived{local.connect_string(), counted()};
    mutex m{short_lived, "/lock", keeping()};
    for (int i = 0; i < 10; ++i) const std::scoped_lock guard{m};
  }
  EXPECT_EQ(locks().acquired, 10u);
}

// --- tracer

// Records the calls. The functions of `throwing` throw after that.
struct recorded_spans {
  struct acquisition final : acquisition_tracer {
    explicit acquisition(recorded_spans& r) : record{r} {}
    ~acquisition() override { record.note("end"); }
    void end_acquire(acquire_outcome o, const error_code& ec) override {
      record.note(std::string{to_string(o)} + (ec ? ": " + ec.message() : ""));
      record.fail_if(functions::acquisition);
    }
    void begin_hold(const hold& h) override {
      record.token = h.fencing_token();
      record.note(h.held() ? "holds" : "does not hold");
      record.fail_if(functions::acquisition);
    }
    void end_hold(const error_code& why) override {
      record.note(why ? "lost: " + why.message() : "released");
      record.fail_if(functions::acquisition);
    }
    recorded_spans& record;
  };
  struct tracer final : conclave::tracer {
    explicit tracer(recorded_spans& r) : record{r} {}
    std::unique_ptr<acquisition_tracer> begin_acquire(const lock_call& call) override {
      record.thread = std::this_thread::get_id();
      record.note(std::string{to_string(call.kind)} + ' ' + call.path + (call.waits ? "" : " try"));
      record.fail_if(functions::tracer);
      if (record.traces) return std::make_unique<acquisition>(record);
      return nullptr;
    }
    recorded_spans& record;
  };

  enum class functions { none, tracer, acquisition };
  void note(const std::string& what) { notes.put(what); }
  void fail_if(functions which) const {
    if (throwing == which) throw std::runtime_error{"a failing tracer"};
  }
  // Returns the next notes.
  std::vector<std::string> take(std::size_t n) {
    std::vector<std::string> all;
    for (; all.size() < n; all.push_back(notes.take().value_or("nothing")))
      ;
    return all;
  }

  inbox<std::string> notes;
  std::atomic<std::thread::id> thread;
  std::atomic<std::int64_t> token{0};
  std::atomic<functions> throwing{functions::none};
  bool traces = true;
};

class lock_tracer : public ::testing::Test {
 protected:
  using lines = std::vector<std::string>;
  client_options traced() {
    client_options o;
    o.tracer = std::make_shared<recorded_spans::tracer>(record);
    return o;
  }
  recorded_spans record;
  server local;
  client zk{local.connect_string(), traced()}, other{local.connect_string()};
};

TEST_F(lock_tracer, receives_the_steps_in_order) {
  mutex m{zk, "/lock"};
  m.lock();
  EXPECT_EQ(record.take(3), (lines{"lock /lock", "acquired", "holds"}));
  EXPECT_EQ(record.thread.load(), std::this_thread::get_id());
  EXPECT_EQ(record.token, m.fencing_token());
  m.unlock();
  EXPECT_EQ(record.take(2), (lines{"released", "end"}));
  EXPECT_EQ(record.notes.size(), 0u);
}

TEST_F(lock_tracer, receives_the_outcome_of_calls_that_fail) {
  mutex held{other, "/lock"};
  const std::scoped_lock guard{held};
  mutex m{zk, "/lock"};
  EXPECT_FALSE(m.try_lock());
  EXPECT_EQ(record.take(3), (lines{"lock /lock try", "contended", "end"}));
  EXPECT_FALSE(m.try_lock_for(1ms));
  EXPECT_EQ(record.take(3), (lines{"lock /lock", "timed_out", "end"}));
  shared_mutex rw{zk, "/rw"};
  rw.lock_shared();
  EXPECT_EQ(record.take(3), (lines{"read_write_lock /rw", "acquired", "holds"}));
  EXPECT_THROW(rw.lock(), error);
  EXPECT_EQ(record.take(3),
            (lines{"read_write_lock /rw", "failed: " + error_code{errc::upgrade_refused}.message(),
                   "end"}));
  rw.unlock_shared();
}

TEST_F(lock_tracer, receives_the_reason_of_a_loss) {
  semaphore s{zk, "/permits", 1};
  s.acquire();
  zk.close();
  EXPECT_EQ(record.take(3), (lines{"semaphore /permits", "acquired", "holds"}));
  EXPECT_EQ(record.take(1), (lines{"lost: " + error_code{errc::closed}.message()}));
}

TEST_F(lock_tracer, receives_every_hold_of_a_kept_lock) {
  lock_options o;
  o.keep_for = 60s;
  mutex m{zk, "/lock", o};
  std::int64_t last = 0;
  for (int kept = 0; kept < 10;) {
    m.lock();
    kept += std::exchange(last, m.fencing_token()) == last;
    m.unlock();
    EXPECT_EQ(record.take(5), (lines{"lock /lock", "acquired", "holds", "released", "end"}));
  }
}

TEST_F(lock_tracer, may_throw) {
  using functions = recorded_spans::functions;
  mutex m{zk, "/lock"};
  record.throwing = functions::tracer;
  m.lock();
  m.unlock();
  EXPECT_EQ(record.take(1), (lines{"lock /lock"}));
  record.throwing = functions::acquisition;
  m.lock();
  EXPECT_TRUE(m.held());
  EXPECT_EQ(record.take(3), (lines{"lock /lock", "acquired", "holds"}));
  m.unlock();
  EXPECT_EQ(record.take(2), (lines{"released", "end"}));
  record.throwing = functions::none;
}

TEST_F(lock_tracer, may_return_null) {
  record.traces = false;
  mutex m{zk, "/lock"};
  m.lock();
  m.unlock();
  EXPECT_EQ(record.take(1), (lines{"lock /lock"}));
  EXPECT_EQ(record.notes.size(), 0u);
}

}  // namespace
}  // namespace conclave::testing
