// Two thousand short sessions with random actions of the user, the network and the server. Every
// operation must complete exactly once, and no write may be sent twice.
//
// A failure prints its seed. CONCLAVE_SEED=number in the environment runs only that seed.

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <boost/system/errc.hpp>
#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using namespace std::chrono_literals;

// The number of each result. The test fails if a result was too rare.
struct counts {
  int succeeded = 0, lost = 0, aborted = 0, expired = 0, not_connected = 0, repeated_reads = 0;
};

class random_session {
 public:
  random_session(unsigned seed, counts& count)
      : counts_{count}, random_{seed}, loop_{options(seed), "one:1,two:2,three:3"} {}

  void run() {
    for (int step = 0; step < 150 && !loop_.machine().finished(); ++step) {
      act();
      receive_requests();
    }
    // After close(), all operations complete although the server does not answer.
    loop_.close();
    receive_requests();
    loop_.advance(1h);
    EXPECT_TRUE(loop_.machine().finished());
    EXPECT_EQ(loop_.machine().outstanding(), 0u);
    EXPECT_EQ(loop_.machine().watch_count(), 0u);
    for (const auto& [path, op] : operations_) check(path, *op);
  }

 private:
  static client_options options(unsigned seed) {
    auto o = nine_seconds();
    o.renew_expired = seed % 4 != 0;
    o.max_outstanding = seed % 3 == 0 ? 5 : 100;
    o.connect_wait = seed % 5 == 0 ? 2s : 0s;
    if (seed % 2 == 0) o.credentials.emplace_back("digest", secret::from_memory("u:p"));
    return o;
  }

  int up_to(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n + 1)); }

  void act() {
    switch (up_to(15)) {
      case 0:
      case 1:
      case 2: return submit(true);
      case 3:
      case 4: return submit(false);
      case 5:
        if (!operations_.empty()) {
          auto at = operations_.begin();
          std::advance(at, up_to(static_cast<int>(operations_.size()) - 1));
          loop_.cancel(at->second);
        }
        return;
      case 6:
        if (loop_.connected()) loop_.lose_connection();
        return;
      case 7: return loop_.limit_socket(up_to(60));
      case 8: return loop_.limit_socket();
      case 9: return loop_.advance(std::chrono::milliseconds{up_to(4000)});
      case 10:
        if (up_to(3) == 0) garbage();
        return;
      case 11: return loop_.event(up_to(5), up_to(1) == 0 ? "/w/1" : "/");
      case 12:
        if (up_to(30) == 0) loop_.close();
        return;
      default: return serve();
    }
  }

  void submit(bool write) {
    auto path = (write ? "/w/" : "/r/") + std::to_string(++count_);
    auto op = write ? set(path) : read(path);
    const auto state = op->state;
    op->submitted = true;
    std::unique_ptr<operation> moved = std::move(op);
    state->id = moved->id();
    const auto ec = loop_.machine().submit(moved, loop_.now());
    if (ec)  // refused: the machine does not complete it
      moved->complete(ec);
    else
      operations_.emplace(path, state);
    loop_.pump();
  }

  test_operation_ptr read(const std::string& path) {
    const auto w = loop_.journal_watcher("w");
    switch (up_to(5)) {
      case 0: return get(path, w);
      case 1: return exists(path, w);
      case 2: return add_watch(path, watch_mode::recursive, w);
      case 3: return remove_watches(path);
      case 4: return add_auth("digest", path);
      default: return children(path);
    }
  }

  // Half of the garbage looks like a reply, in some cases to a request that has not arrived.
  void garbage() {
    sent_garbage_ = true;
    std::string bytes;
    for (int n = up_to(40); n > 0; --n) bytes.push_back(static_cast<char>(up_to(255)));
    if (up_to(1) == 0)
      loop_.deliver(bytes);
    else
      loop_.send_frame(wire::reply_header{up_to(20) - 8, up_to(1000), -up_to(130)}, bytes);
  }

  void serve() {
    if (loop_.is_connecting()) {
      up_to(3) == 0 ? loop_.refuse() : loop_.accept();
      return;
    }
    if (!loop_.connected()) return;
    if (loop_.machine().state() != session_state::connected) {
      const auto asked = loop_.last_handshake().session_id;
      switch (up_to(9)) {
        case 0: return loop_.refuse_session();
        case 1: return loop_.accept_session(++sessions_, 3000 + up_to(9000));
        default: return loop_.accept_session(asked != 0 ? asked : ++sessions_, 9000);
      }
    }
    for (int n = up_to(4); n > 0 && !unanswered_.empty(); --n) {
      const auto r = unanswered_.front();
      unanswered_.erase(unanswered_.begin());
      if (up_to(5) == 0 && r.xid > 0)
        loop_.answer_error(r, errc::no_node);
      else
        loop_.answer(r);
      receive_requests();
    }
  }

  // Collects the requests that the server received. Requests of an earlier connection are dropped.
  void receive_requests() {
    if (!loop_.connected() || loop_.connections() != connection_) unanswered_.clear();
    connection_ = loop_.connections();
    while (loop_.has_request()) {
      unanswered_.push_back(loop_.take_request());
      const auto& r = unanswered_.back();
      if (r.type == wire::opcode::set_data || r.type == wire::opcode::get_children2)
        ++seen_[r.path()];
    }
    loop_.take_journal();
    loop_.take_commands();
  }

  void check(const std::string& path, const operation_state& op) {
    EXPECT_EQ(op.completions, 1) << path;
    counts_.succeeded += !op.ec;
    counts_.lost += op.ec == error_code{errc::connection_loss};
    counts_.expired += op.ec == error_code{errc::session_expired};
    counts_.not_connected += op.ec == error_code{errc::not_connected};
    counts_.aborted += op.ec == boost::system::errc::operation_canceled;
    if (!path.starts_with("/w/")) {
      counts_.repeated_reads += seen_[path] > 1;
      return;
    }
    EXPECT_LE(seen_[path], 1) << path << " was written twice";
    const bool answered = !op.ec || op.server_error != 0;
    if (answered && !sent_garbage_) {
      EXPECT_EQ(seen_[path], 1) << path;
    }
    if (op.ec == error_code{errc::not_connected}) {
      EXPECT_EQ(seen_[path], 0) << path;
    }
  }

  counts& counts_;
  std::mt19937 random_;
  virtual_loop loop_;
  std::map<std::string, std::shared_ptr<operation_state>> operations_;
  std::map<std::string, int> seen_;
  std::vector<request> unanswered_;
  std::size_t connection_ = 0;
  std::int64_t sessions_ = 0;
  int count_ = 0;
  bool sent_garbage_ = false;
};

TEST(random_faults, every_operation_completes_once) {
  counts count;
  if (const char* seed = std::getenv("CONCLAVE_SEED")) {
    random_session{static_cast<unsigned>(std::stoul(seed)), count}.run();
    return;
  }
  for (unsigned seed = 0; seed < 2000; ++seed) {
    random_session{seed, count}.run();
    ASSERT_FALSE(::testing::Test::HasFailure()) << "replay with CONCLAVE_SEED=" << seed;
  }
  EXPECT_GT(count.succeeded, 1000);
  EXPECT_GT(count.lost, 100);
  EXPECT_GT(count.aborted, 100);
  EXPECT_GT(count.expired, 100);
  EXPECT_GT(count.not_connected, 100);
  EXPECT_GT(count.repeated_reads, 100);
}

}  // namespace
}  // namespace conclave::session
