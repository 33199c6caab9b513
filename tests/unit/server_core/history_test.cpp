// Random histories of several clients. After every turn, the replies, the events, the tree and the
// stored rows are compared with those of the naive server. The server crashes at any time, also
// between the requests of a turn and their commit.
//
// A failure prints its seed. CONCLAVE_SEED=number in the environment runs only that seed.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "naive_server.hpp"
#include "test_server.hpp"

namespace conclave::server_impl {
namespace {

// The number of each kind of event. The test fails if one was too rare.
struct counts {
  int changes = 0, refused = 0, events = 0, multis = 0, failed_multis = 0, expired = 0, moved = 0,
      reaped = 0, crashes = 0, crashes_in_a_turn = 0, closed = 0;
};

request to_request(const action& a) {
  const auto data = a.data ? std::string_view{*a.data} : std::string_view{};
  const auto access = world(a.permissions);
  switch (a.kind) {
    case action::create: return create(a.path, data, a.flags, access);
    case action::create2: return create2(a.path, data, a.flags, access);
    case action::create_container:
      return create(a.path, data, a.flags, access, wire::opcode::create_container);
    case action::create_ttl: {
      const std::vector<wire::acl_record> records{{a.permissions, "world", "anyone"}};
      return make_request(wire::opcode::create_ttl,
                          wire::create_ttl_request{a.path, data, records, a.flags, a.ttl_ms});
    }
    case action::remove: return remove(a.path, a.version);
    case action::set: return set(a.path, data, a.version);
    case action::set_acl: return set_acl(a.path, access, a.version);
    case action::check: return check(a.path, a.version);
    case action::multi: {
      std::vector<request> parts;
      for (const auto& part : a.parts) parts.push_back(to_request(part));
      return multi(parts);
    }
    case action::get: return get(a.path, a.watch);
    case action::exists: return exists(a.path, a.watch);
    case action::children: return children2(a.path, a.watch);
    case action::ephemerals: return get_ephemerals();
    case action::count: return get_all_children_number(a.path);
    case action::watch_always: return add_persistent_watch(a.path);
    case action::watch_below: return add_recursive_watch(a.path);
    case action::unwatch: return remove_watches(a.path);
  }
  return ping();
}

void expect_same(const outcome& got, const expectation& expected) {
  ASSERT_EQ(got, expected.error);
  if (expected.error != ok) return;
  EXPECT_EQ(got.path, expected.path);
  EXPECT_EQ(got.data, expected.data);
  if (expected.stat) {
    EXPECT_EQ(got.stat, *expected.stat);
  }
  EXPECT_EQ(got.names, expected.names);
  EXPECT_EQ(got.number, expected.number);
  ASSERT_EQ(got.parts.size(), expected.parts.size());
  for (std::size_t i = 0; i < got.parts.size(); ++i) expect_same(got.parts[i], expected.parts[i]);
}

class history {
 public:
  history(std::uint64_t seed, counts& count)
      : counts_{count}, random_{seed}, server_{default_options(), seed} {
    naive_.set_time(server_.now(), server_.wall_ms());
    naive_.start_again();
    observe();
    committed_ = naive_;
  }

  void run(int turns) {
    for (int i = 0; i < turns && !::testing::Test::HasFailure(); ++i) {
      step();
      compare_with_tree();
      compare_with_disk();
    }
    counts_.reaped += naive_.reaped;
  }

  const std::string& transcript() const { return server_.transcript(); }

 private:
  struct participant {
    client* connection = nullptr;
    std::int64_t session = 0;  // also set after the connection is lost
    std::string password;
    std::int64_t seen_zxid = 0;
    std::vector<std::pair<expectation, action::kinds>> expected;
    lines journal;
  };

  int up_to(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n + 1)); }
  bool one_in(int n) { return up_to(n - 1) == 0; }
  static int number(const participant& s) {
    return s.connection == nullptr ? 0 : static_cast<int>(s.connection->id());
  }

  void step() {
    switch (up_to(9)) {
      case 0: return pass(std::chrono::seconds{up_to(4)});
      case 1:
        if (one_in(6)) return pass(std::chrono::seconds{up_to(90)});
        return;
      case 2:
        if (one_in(8)) return crash();
        return;
      case 3:
      case 4: {
        auto& s = participants_[static_cast<std::size_t>(up_to(3))];
        return s.connection == nullptr && (s.session == 0 || one_in(4)) ? begin(s) : turn();
      }
      default: return turn();
    }
  }

  // Several clients, several requests, one commit.
  void turn() {
    server_.begin();
    for (int n = up_to(9); n >= 0; --n) act(participants_[static_cast<std::size_t>(up_to(3))]);
    if (one_in(40)) {
      ++counts_.crashes_in_a_turn;
      naive_ = committed_;
      return crash();
    }
    naive_.end_of_turn();
    note_events();
    server_.end();
    after_turn();
  }

  void act(participant& s) {
    if (s.connection == nullptr) {
      if (s.session != 0 && naive_.sessions().contains(s.session)) reconnect(s);
      return;
    }
    if (s.session == 0) return;  // closed in this turn
    switch (up_to(40)) {
      case 0:
        naive_.disconnect(number(s));
        s.connection->disconnect();
        return drop(s);
      case 1:
        naive_.close_session(s.session);
        note_events();
        s.journal.emplace_back("answer");
        s.expected.emplace_back();
        s.connection->send(close_session());
        ++counts_.closed;
        s.session = 0;
        return;
      case 2: return reconnect(s);
      default: break;
    }
    const auto a = random_action(true);
    auto expected = naive_.perform(s.session, a);
    note_events();
    s.journal.emplace_back("answer");
    count(a, expected);
    s.expected.emplace_back(std::move(expected), a.kind);
    s.connection->send(to_request(a));
  }

  // --- sessions

  static std::int32_t timeout_of(int seconds, std::int64_t session) {
    // Different for each session, so that no two sessions expire at the same time. All other events
    // happen at full seconds.
    return seconds * 1000 + 1 + static_cast<std::int32_t>(session % 997);
  }

  void begin(participant& s) {
    const bool held = one_in(4);
    auto& c = server_.connect({"", held});
    test_server::connect_parameters h;
    h.timeout = std::chrono::milliseconds{0};
    server_.handshake(c, h);  // the timeout depends on the id, so it is set by a reconnect
    naive_.new_session(c.session(), 4000, static_cast<int>(c.id()), held);
    naive_.end_of_turn();
    s = {&c, c.session(), c.handshake()->password, c.last_zxid(), {}, {}};
    c.take_journal();
    server_.begin();
    reconnect(s);
    naive_.end_of_turn();
    server_.end();
    after_turn();
  }

  void reconnect(participant& s) {
    ++counts_.moved;
    if (s.connection != nullptr) drop(s);
    const bool held = one_in(4);
    auto& c = server_.connect({"", held});
    test_server::connect_parameters h;
    const auto timeout = timeout_of(5 + up_to(20), s.session);
    h.timeout = std::chrono::milliseconds{timeout};
    h.session = s.session;
    h.password = s.password;
    h.seen_zxid = s.seen_zxid;
    naive_.reconnect(s.session, timeout, static_cast<int>(c.id()), held);
    server_.handshake(c, h);
    s.connection = &c;
    s.journal = {"greeted"};
  }

  // The output of the lost connection is discarded.
  static void drop(participant& s) {
    s.connection = nullptr;
    s.expected.clear();
    s.journal.clear();
  }

  // --- time

  void pass(std::chrono::milliseconds d) {
    for (const auto until = server_.now() + d; server_.now() < until;) {
      const auto next = server_.core().next_deadline();
      EXPECT_LE(next, naive_.next_deadline()) << "no deadline covers it";
      ASSERT_GT(next, server_.now()) << "the deadline is in the past";
      server_.stall(std::chrono::duration_cast<std::chrono::milliseconds>(std::min(until, next) -
                                                                          server_.now()));
      naive_.set_time(server_.now(), server_.wall_ms());
      const auto sessions = naive_.sessions().size();
      naive_.end_of_turn();
      counts_.expired += static_cast<int>(sessions - naive_.sessions().size());
      note_events();
      server_.turn();
      after_turn();
    }
  }

  void crash() {
    ++counts_.crashes;
    server_.crash();
    naive_.set_time(server_.now(), server_.wall_ms());
    naive_.start_again();
    for (auto& s : participants_) {
      drop(s);
      if (s.session == 0) continue;
      if (!naive_.sessions().contains(s.session)) s.session = 0;
    }
    observe();
  }

  // --- comparing

  void note_events() {
    for (auto& [client, reported] : naive_.take_events()) {
      counts_.events += static_cast<int>(reported.size());
      for (auto& s : participants_)
        if (number(s) == client)
          s.journal.insert(s.journal.end(), reported.begin(), reported.end());
    }
  }

  void count(const action& a, const expectation& expected) {
    if (a.kind == action::multi) {
      const bool failed = !expected.parts.empty() && expected.parts.back().error != ok;
      ++(failed ? counts_.failed_multis : counts_.multis);
    } else if (a.kind < action::multi) {
      ++(expected.error == ok ? counts_.changes : counts_.refused);
    }
  }

  void after_turn() {
    EXPECT_EQ(server_.core().zxid(), naive_.zxid());
    for (auto& s : participants_) {
      if (s.connection == nullptr) continue;
      auto& c = *s.connection;
      for (const auto& [expected, kind] : s.expected) {
        SCOPED_TRACE("request of kind " + std::to_string(kind));
        expect_same(c.next_reply(), expected);
      }
      EXPECT_EQ(c.unread_replies(), 0u);
      auto journal = c.take_journal();
      for (auto& line : journal)
        if (line.starts_with("answer")) line = "answer";
      EXPECT_EQ(journal, s.journal);
      s.expected.clear();
      s.journal.clear();
      s.seen_zxid = std::max(s.seen_zxid, c.last_zxid());
      const bool alive = s.session != 0 && naive_.sessions().contains(s.session);
      EXPECT_EQ(c.closed(), !alive);
      if (!alive) {
        s.session = 0;
        s.connection = nullptr;
      }
    }
    committed_ = naive_;
  }

  // An observer has all permissions and stays connected while the server runs.
  void observe() {
    const bool is_new = observer_ == nullptr;
    observer_ = is_new ? &server_.open_session(40s, from_socket)
                       : &server_.reconnect(*observer_, 40s, from_socket);
    const auto id = static_cast<int>(observer_->id());
    if (is_new)
      naive_.new_session(observer_->session(), 40'000, id, true);
    else
      naive_.reconnect(observer_->session(), 40'000, id, true);
    observer_->ask(auth("digest", "super:secret"));
    committed_ = naive_;
  }

  void compare_with_tree() {
    auto& c = *observer_;
    const auto zxid = server_.core().zxid();
    std::vector<std::string> all;
    for (const auto& [path, n] : naive_.nodes()) all.push_back(path);
    server_.turn([&] {
      for (const auto& path : all) {
        c.send(get(path));
        c.send(children2(path));
        c.send(get_acl(path));
      }
    });
    for (const auto& path : all) {
      SCOPED_TRACE(path);
      const auto& n = naive_.nodes().at(path);
      const auto read = c.next_reply();
      EXPECT_EQ(read, ok);
      EXPECT_EQ(read.data, n.data);
      EXPECT_EQ(read.stat, naive_.stat_of(path));
      EXPECT_EQ(c.next_reply().names, naive_.children_of(path));
      EXPECT_EQ(c.next_reply().acl, world(n.permissions));
    }
    EXPECT_EQ(server_.core().nodes().size(), all.size());
    EXPECT_EQ(server_.core().zxid(), zxid);
  }

  void compare_with_disk() {
    const auto& disk = server_.stored();
    EXPECT_EQ(disk.zxid, naive_.zxid());
    EXPECT_EQ(disk.nodes.size(), naive_.nodes().size());
    std::int64_t bytes = 0;
    for (const auto& [path, n] : naive_.nodes()) {
      SCOPED_TRACE(path);
      ASSERT_TRUE(disk.nodes.contains(path));
      const auto& stored = disk.nodes.at(path);
      node_row expected;
      expected.data = n.data;
      expected.access = std::make_shared<const acl>(world(n.permissions));
      expected.czxid = n.stat.czxid;
      expected.mzxid = n.stat.mzxid;
      expected.ctime_ms = n.stat.ctime;
      expected.mtime_ms = n.stat.mtime;
      expected.version = n.stat.version;
      expected.aversion = n.stat.aversion;
      expected.kind = n.kind;
      expected.owner = n.stat.ephemeral_owner;
      expected.ttl_ms = n.ttl_ms;
      EXPECT_TRUE(stored.row == expected);
      EXPECT_EQ(stored.children, (children_row{n.creates, n.stat.pzxid}));
      bytes += static_cast<std::int64_t>(path.size() + (n.data ? n.data->size() : 0));
    }
    EXPECT_EQ(server_.core().nodes().data_size(), bytes);
    EXPECT_EQ(disk.sessions.size(), naive_.sessions().size());
    for (const auto& [id, s] : naive_.sessions()) {
      ASSERT_TRUE(disk.sessions.contains(id));
      EXPECT_EQ(disk.sessions.at(id).timeout_ms, s.timeout_ms);
    }
  }

  // --- random actions

  std::string random_path() {
    static constexpr const char* names[] = {"/a", "/b", "/c"};
    std::string path;
    for (int depth = one_in(3) ? 2 : up_to(1); depth >= 0; --depth) path += names[up_to(2)];
    if (one_in(25)) return "/";
    // An existing sequential node.
    if (one_in(8) && !naive_.nodes().empty()) {
      auto at = naive_.nodes().begin();
      std::advance(at, up_to(static_cast<int>(naive_.nodes().size()) - 1));
      if (!at->first.starts_with("/zoo")) return at->first;
    }
    return path;
  }

  action random_action(bool alone) {
    action a;
    a.path = random_path();
    if (!one_in(10)) a.data = std::string(static_cast<std::size_t>(up_to(4)), 'x');
    a.permissions = one_in(12) ? up_to(31) : 31;
    const auto version = [&] { return one_in(3) ? up_to(2) : -1; };
    switch (up_to(alone ? 25 : 9)) {
      case 0:
      case 1:
      case 2:
        a.kind = alone && one_in(2) ? action::create2 : action::create;
        a.flags = up_to(3);
        break;
      case 3:
        a.kind = action::create_container;
        a.flags = 4;
        break;
      case 4:
        a.kind = action::create_ttl;
        a.flags = 5 + up_to(1);
        a.ttl_ms = 1 + up_to(100'000);
        break;
      case 5:
      case 6:
        a.kind = action::remove;
        a.version = version();
        break;
      case 7:
      case 8:
        a.kind = action::set;
        a.version = version();
        break;
      case 9:
        a.kind = action::check;
        a.version = version();
        break;
      case 10:
        a.kind = action::set_acl;
        a.version = version();
        a.permissions = one_in(3) ? up_to(31) : 31;
        break;
      case 11:
      case 12:
      case 13:
      case 14:
        a.kind = action::multi;
        for (int n = up_to(5); n > 0; --n) a.parts.push_back(random_action(false));
        break;
      case 15:
      case 16:
      case 17: a.kind = action::get; break;
      case 18:
      case 19: a.kind = action::exists; break;
      case 20:
      case 21: a.kind = action::children; break;
      case 22: a.kind = one_in(2) ? action::ephemerals : action::count; break;
      default:
        a.kind = one_in(2)   ? action::watch_always
                 : one_in(2) ? action::watch_below
                             : action::unwatch;
        break;
    }
    a.watch = one_in(2);
    if (a.path == "/" && (a.kind == action::create || a.kind == action::create2)) a.flags = 2;
    if (a.path == "/" && a.kind != action::get && a.kind != action::set) a.path = "/a";
    return a;
  }

  counts& counts_;
  std::mt19937_64 random_;
  test_server server_;
  naive_server naive_{1000, default_options().reap_interval};
  naive_server committed_ = naive_;
  std::array<participant, 4> participants_;
  client* observer_ = nullptr;
};

constexpr int turns = 300;

TEST(history, matches_the_naive_server) {
  const auto* only = std::getenv("CONCLAVE_SEED");
  const std::uint64_t first = only == nullptr ? 1 : std::strtoull(only, nullptr, 10);
  const std::uint64_t last = only == nullptr ? 60 : first;
  counts t;
  for (auto seed = first; seed <= last && !HasFailure(); ++seed) {
    SCOPED_TRACE("replay with CONCLAVE_SEED=" + std::to_string(seed));
    history{seed, t}.run(turns);
  }
  if (only != nullptr) return;
  EXPECT_GT(t.changes, 3000);
  EXPECT_GT(t.refused, 3000);
  EXPECT_GT(t.events, 500);
  EXPECT_GT(t.multis, 700);
  EXPECT_GT(t.failed_multis, 2000);
  EXPECT_GT(t.expired, 300);
  EXPECT_GT(t.moved, 1000);
  EXPECT_GT(t.closed, 500);
  EXPECT_GT(t.reaped, 100);
  EXPECT_GT(t.crashes, 300);
  EXPECT_GT(t.crashes_in_a_turn, 200);
}

// The same input gives the same output. Nothing may depend on memory addresses or on real time.
TEST(history, is_deterministic) {
  counts t;
  history once{7, t};
  once.run(turns);
  const std::vector<std::string> filler(1000, std::string(100, 'x'));  // changes memory addresses
  history again{7, t};
  again.run(turns);
  EXPECT_GT(once.transcript().size(), 10'000u);
  EXPECT_TRUE(once.transcript() == again.transcript());
}

}  // namespace
}  // namespace conclave::server_impl
