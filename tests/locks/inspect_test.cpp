// Inspection of a tree on a real server: recipes in use, holders, waiters and leftover nodes.
#include "conclave/inspect.hpp"

#include <algorithm>
#include <future>

#include "conclave/contenders.hpp"
#include "conclave/election.hpp"
#include "conclave/mutex.hpp"
#include "conclave/named_mutex.hpp"
#include "conclave/queue.hpp"
#include "conclave/semaphore.hpp"
#include "conclave/shared_mutex.hpp"
#include "locks/wait_for_children.hpp"

namespace conclave::testing {
namespace {

using kind = recipe_info::kind;

class inspecting : public ::testing::Test {
 protected:
  recipe_info at(const std::string& where, const inspect_options& options = {}) {
    for (auto& r : inspect(zk, {path}, options).recipes)
      if (r.path == where) return std::move(r);
    ADD_FAILURE() << where << " is not listed";
    return {};
  }
  std::vector<std::string> unused() {
    std::vector<std::string> all;
    for (const auto& n : find_unused(zk, {path}, std::chrono::system_clock::now() + 1h).nodes)
      all.push_back(n.path.substr(path.size()));
    return all;
  }

  client zk{shared_server().connect_string()};
  client other{shared_server().connect_string()};
  std::string path = fresh_node(zk, "inspect");
};

TEST_F(inspecting, an_empty_tree_has_no_recipes) {
  EXPECT_TRUE(inspect(zk, {path}).recipes.empty());
  EXPECT_TRUE(inspect(zk, {path + "/nothing"}).recipes.empty());
  EXPECT_TRUE(inspect(zk, {path + "/nothing"}).unreadable.empty());
}

TEST_F(inspecting, shows_holders_and_waiters_of_a_lock) {
  lock_options named;
  named.owner = "the first";
  mutex a{zk, path + "/lock", named};
  mutex b{other, path + "/lock"};
  a.lock();
  auto waiting = std::async(std::launch::async, [&] { b.lock(); });
  wait_for_children(zk, path + "/lock", 2);
  const auto lock = at(path + "/lock");
  EXPECT_EQ(lock.what, kind::lock);
  EXPECT_EQ(lock.layout, "curator");
  ASSERT_EQ(lock.contenders.size(), 2u);
  const auto& [holder, waiter] = std::tie(lock.contenders[0], lock.contenders[1]);
  EXPECT_TRUE(holder.holds && holder.readable);
  EXPECT_EQ(holder.owner, "the first");
  EXPECT_EQ(holder.node, a.hold().node());
  EXPECT_EQ(holder.fencing_token, a.fencing_token());
  EXPECT_TRUE(holder.granted && holder.granted->exact());
  EXPECT_FALSE(waiter.holds);
  EXPECT_EQ(waiter.session_id, other.session_id());
  // contenders() returns the same.
  const auto same = contenders(zk, path + "/lock");
  ASSERT_EQ(same.size(), 2u);
  EXPECT_EQ(same[0].node, holder.node);
  EXPECT_EQ(same[1].node, waiter.node);
  a.unlock();
  waiting.get();
  b.unlock();
}

TEST_F(inspecting, distinguishes_the_kinds) {
  shared_mutex rw{zk, path + "/rw"};
  rw.lock_shared();
  election leader{zk, path + "/election"};
  leader.campaign();
  named_mutex named{zk, path + "/named"};
  named.lock();
  const auto rw_info = at(path + "/rw");
  EXPECT_EQ(rw_info.what, kind::read_write_lock);
  ASSERT_EQ(rw_info.contenders.size(), 1u);
  EXPECT_EQ(rw_info.contenders[0].role, layout::role::reader);
  EXPECT_EQ(at(path + "/election").what, kind::election);
  EXPECT_EQ(at(path + "/election").layout, layout::election().name());
  EXPECT_EQ(at(path + "/named").layout, "named");
  EXPECT_STREQ(to_string(kind::read_write_lock), "read-write lock");
}

TEST_F(inspecting, counts_permits) {
  semaphore first{zk, path + "/s", 1};
  semaphore second{other, path + "/s", 1};
  first.acquire();
  auto waiting = std::async(std::launch::async, [&] { second.acquire(); });
  wait_for_children(zk, path + "/s/leases", 2);
  const auto s = at(path + "/s");
  EXPECT_EQ(s.what, kind::semaphore);
  EXPECT_EQ(s.permits, 1);
  ASSERT_EQ(s.contenders.size(), 2u);
  EXPECT_TRUE(s.contenders[0].holds);
  EXPECT_EQ(s.contenders[0].session_id, zk.session_id());
  EXPECT_FALSE(s.contenders[1].holds) << "it has a lease, but no permit";
  EXPECT_EQ(recorded_permits(zk.get(path + "/s")), 1u);
  EXPECT_FALSE(recorded_permits(zk.get(path)));
  const auto permits = permits_in_use(zk, path + "/s");
  ASSERT_EQ(permits.size(), 2u);
  EXPECT_TRUE(permits[0].holds);
  EXPECT_FALSE(permits[1].holds);
  EXPECT_FALSE(permits[1].granted);
  EXPECT_TRUE(permits_in_use(zk, path + "/nothing").empty());
  first.release();
  waiting.get();
  second.release();
}

TEST_F(inspecting, every_holder_of_a_permit_has_a_time_of_the_grant) {
  semaphore s{zk, path + "/s", 2};
  s.acquire();
  s.acquire();
  const auto permits = permits_in_use(other, path + "/s");
  const auto same = at(path + "/s").contenders;
  ASSERT_EQ(permits.size(), 2u);
  ASSERT_EQ(same.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(permits[i].holds && permits[i].granted) << i;
    EXPECT_TRUE(same[i].holds && same[i].granted) << i;
  }
  s.release();
  s.release();
}

// Curator does not record the number of permits.
TEST_F(inspecting, finds_the_waiter_among_permits_of_an_unknown_number) {
  const auto ephemeral = create_mode::ephemeral_sequential;
  for (const auto* folder : {"/s", "/s/leases", "/s/locks"}) zk.create(path + folder);
  zk.create(path + "/s/leases/_c_1-lease-", "holder", ephemeral);
  other.create(path + "/s/leases/_c_2-lease-", "waiter", ephemeral);
  const auto holds = [&] {
    std::vector<bool> all;
    for (const auto& each : permits_in_use(zk, path + "/s")) all.push_back(each.holds);
    return all;
  };
  EXPECT_EQ(holds(), (std::vector<bool>{true, true}));
  EXPECT_TRUE(at(path + "/s").contenders[1].holds);
  other.create(path + "/s/locks/_c_3-lock-", "waiter", ephemeral);
  EXPECT_EQ(holds(), (std::vector<bool>{true, false}));
  const auto s = at(path + "/s").contenders;
  ASSERT_EQ(s.size(), 2u);
  EXPECT_TRUE(s[0].holds);
  EXPECT_FALSE(s[1].holds);
}

TEST_F(inspecting, lists_permits_of_curator) {
  zk.create(path + "/s");
  zk.create(path + "/s/leases");
  zk.create(path + "/s/leases/_c_2bb36c0e-d54d-4b0c-8ed1-7d0f1e6cd5b5-lease-", "theirs",
            create_mode::ephemeral_sequential);
  const auto permits = permits_in_use(zk, path + "/s");
  ASSERT_EQ(permits.size(), 1u);
  EXPECT_EQ(permits[0].owner, "theirs");
}

TEST_F(inspecting, reads_the_position_in_a_wait_queue) {
  const auto ephemeral = create_mode::ephemeral_sequential;
  wait_position_reader reader{zk, path};
  EXPECT_EQ(reader.read().ahead, 0u);
  EXPECT_FALSE(reader.read().holder);
  std::vector<std::string> nodes;
  for (int i = 0; i < 3; ++i)
    nodes.push_back(other.create(path + "/lock-", "other " + std::to_string(i), ephemeral).path);
  EXPECT_EQ(reader.read().ahead, 3u) << "the session has no contender yet";
  zk.create(path + "/lock-", "own", ephemeral);
  for (int i = 0; i < 40; ++i) other.create(path + "/lock-", "", ephemeral);
  auto position = reader.read();
  EXPECT_EQ(position.ahead, 3u);
  ASSERT_TRUE(position.holder);
  EXPECT_EQ(position.holder->owner, "other 0");
  other.remove(nodes[0]);
  position = reader.read();
  EXPECT_EQ(position.ahead, 2u);
  EXPECT_EQ(position.holder->node, nodes[1]);
  other.remove(nodes[1]);
  other.remove(nodes[2]);
  EXPECT_EQ(reader.read().ahead, 0u);
  EXPECT_FALSE(reader.read().holder);
}

TEST_F(inspecting, reads_the_position_in_the_wait_queue_of_a_semaphore) {
  const auto ephemeral = create_mode::ephemeral_sequential;
  for (const auto* folder : {"/leases", "/locks"}) zk.create(path + folder);
  const auto holder = other.create(path + "/leases/lease-", "holder", ephemeral).path;
  other.create(path + "/leases/lease-", "first waiter", ephemeral);
  for (int i = 0; i < 9; ++i) other.create(path + "/locks/lock-", "", ephemeral);
  zk.create(path + "/locks/lock-", "own", ephemeral);
  const auto position = wait_position_reader{zk, path, 1}.read();
  EXPECT_EQ(position.ahead, 10u);
  ASSERT_TRUE(position.holder);
  EXPECT_EQ(position.holder->node, holder);
  EXPECT_EQ(position.holder->owner, "holder");
}

TEST_F(inspecting, finds_no_claims_of_a_queue_without_a_sibling_node) {
  for (const auto l : {queue_layout::zookeeper, queue_layout::kazoo, queue_layout::kazoo_locking})
    EXPECT_TRUE(queue_claims(zk, "/", l).empty());
}

TEST_F(inspecting, shows_a_lock_on_the_path_of_a_queue) {
  mutex m{zk, path + "/both"};
  m.lock();
  queue q{other, path + "/both"};
  const auto kinds = [&] {
    std::vector<std::pair<kind, std::size_t>> all;
    for (const auto& r : inspect(zk, {path}).recipes) all.emplace_back(r.what, r.contenders.size());
    std::sort(all.begin(), all.end());
    return all;
  };
  const std::vector<std::pair<kind, std::size_t>> both{{kind::lock, 1}, {kind::queue, 0}};
  q.push("a");
  EXPECT_EQ(kinds(), both);
  q.pop();
  EXPECT_EQ(kinds(), both);
}

TEST_F(inspecting, counts_items_and_claims) {
  queue jobs{zk, path + "/jobs"};
  jobs.push({"a", "b", "c"});
  const auto claim = jobs.claim();
  const auto q = at(path + "/jobs");
  EXPECT_EQ(q.what, kind::queue);
  EXPECT_EQ(q.layout, "zookeeper");
  EXPECT_EQ(q.queue.items, 3u);
  EXPECT_EQ(q.queue.claimed, 1u);
  ASSERT_EQ(q.contenders.size(), 1u);
  EXPECT_TRUE(q.contenders[0].holds);
  const auto claims = queue_claims(other, path + "/jobs", queue_layout::zookeeper);
  ASSERT_EQ(claims.size(), 1u);
  EXPECT_TRUE(claims[0].node.ends_with('/' + claim.name()));
  EXPECT_EQ(claims[0].owner, q.contenders[0].owner);
  EXPECT_EQ(find_queue_layout(zk, path + "/jobs"), queue_layout::zookeeper);
  EXPECT_FALSE(find_queue_layout(zk, path));
  EXPECT_FALSE(find_queue_layout(zk, path + "/nothing"));
  for (const auto l : {queue_layout::kazoo, queue_layout::kazoo_locking}) {
    queue_options options;
    options.layout = l;
    const auto where = path + "/of-layout-" + std::to_string(static_cast<int>(l));
    queue{zk, where, options}.push("a");
    EXPECT_EQ(find_queue_layout(zk, where), l);
    const auto found = at(where);
    EXPECT_EQ(found.layout, to_string(l));
    EXPECT_EQ(found.queue.items, 1u);
  }
}

TEST_F(inspecting, determines_the_layout_of_a_queue_with_other_nodes) {
  const auto item = create_mode::persistent_sequential;
  zk.create(path + "/mixed");
  zk.create(path + "/mixed/entry-100-", "", item);
  zk.create(path + "/mixed/qn-", "", item);
  EXPECT_EQ(find_queue_layout(zk, path + "/mixed"), queue_layout::zookeeper);
  EXPECT_EQ(at(path + "/mixed").layout, "zookeeper");
  // A folder of another program that happens to be called `entries`.
  zk.create(path + "/mixed/entries");
  zk.create(path + "/mixed/entries/notes");
  EXPECT_EQ(find_queue_layout(zk, path + "/mixed"), queue_layout::zookeeper);
  EXPECT_EQ(at(path + "/mixed").layout, "zookeeper");
  // A queue that happens to be called `entries`.
  zk.create(path + "/plain");
  zk.create(path + "/plain/entries");
  zk.create(path + "/plain/entries/qn-", "", item);
  EXPECT_FALSE(find_queue_layout(zk, path + "/plain"));
  EXPECT_EQ(at(path + "/plain/entries").layout, "zookeeper");
  zk.create(path + "/empty");
  zk.create(path + "/empty/entries");
  EXPECT_EQ(find_queue_layout(zk, path + "/empty"), queue_layout::kazoo_locking);
  EXPECT_TRUE(inspect(zk, {path + "/empty"}).recipes.empty()) << "it may be anything";
}

TEST_F(inspecting, recognizes_the_given_layouts) {
  zk.create(path + "/theirs");
  const auto node =
      zk.create(path + "/theirs/job_", "somebody", create_mode::ephemeral_sequential).path;
  EXPECT_TRUE(inspect(zk, {path}).recipes.empty()) << "it may be anything";
  inspect_options options;
  options.layouts = {layout::custom("job_")};
  const auto lock = at(path + "/theirs", options);
  EXPECT_EQ(lock.layout, "job_");
  ASSERT_EQ(lock.contenders.size(), 1u);
  EXPECT_EQ(lock.contenders[0].node, node);
  EXPECT_EQ(lock.contenders[0].owner, "somebody");
}

TEST_F(inspecting, a_cache_saves_reads_and_shows_changes) {
  const auto cache = std::make_shared<inspection_cache>();
  inspect_options options;
  options.cache = cache;
  for (const auto& p : inspected_paths({path}))
    zk.add_watch(p, watch_mode::recursive, [cache](const watch_event& e) { cache->on_event(e); });
  const auto lock = path + "/lock";
  zk.create(lock);
  const auto create = [&](const std::string& owner) {
    return zk.create(lock + "/lock-", owner, create_mode::ephemeral_sequential).path;
  };
  const auto owners = [&] {
    std::vector<std::string> all;
    for (const auto& c : at(lock, options).contenders) all.push_back(c.owner);
    return all;
  };
  using list = std::vector<std::string>;
  const auto first = create("a");
  create("b");
  EXPECT_EQ(owners(), (list{"a", "b"}));
  EXPECT_EQ(owners(), (list{"a", "b"}));
  EXPECT_EQ(cache->reads(), 2u);
  create("c");
  EXPECT_EQ(owners(), (list{"a", "b", "c"}));
  EXPECT_EQ(cache->reads(), 3u);
  zk.set(first, "changed");
  EXPECT_EQ(owners(), (list{"changed", "b", "c"}));
  EXPECT_EQ(cache->reads(), 4u);
  zk.remove(first);
  EXPECT_EQ(owners(), (list{"b", "c"}));
  EXPECT_EQ(cache->reads(), 4u);
  // After a reconnect, events may be missing.
  cache->on_event({watch_event::kind::possibly_missed, path});
  EXPECT_EQ(owners(), (list{"b", "c"}));
  EXPECT_EQ(cache->reads(), 6u);
}

TEST_F(inspecting, an_unreadable_contender_is_counted) {
  const acl nobody{{permission::all, "digest", "nobody:x"}};
  const auto node =
      zk.create(path + "/lock-", "", {create_mode::ephemeral_sequential, nobody}).path;
  const auto seen = inspect(zk, {path});
  ASSERT_EQ(seen.recipes.size(), 1u);
  ASSERT_EQ(seen.recipes[0].contenders.size(), 1u);
  EXPECT_EQ(seen.recipes[0].contenders[0].node, node);
  EXPECT_FALSE(seen.recipes[0].contenders[0].readable);
  ASSERT_EQ(seen.unreadable.size(), 1u);
  EXPECT_EQ(seen.unreadable[0].path, node);
  EXPECT_EQ(seen.unreadable[0].why, errc::no_auth);
}

// client_options::max_reply_bytes does not limit the listings.
TEST_F(inspecting, lists_more_items_than_a_reply_may_contain) {
  queue jobs{zk, path + "/jobs"};
  for (int i = 0; i < 3; ++i) jobs.push(std::vector<std::string>(100, "x"));
  client_options options;
  options.max_reply_bytes = 2000;
  client limited{shared_server().connect_string(), options};
  const auto seen = inspect(limited, {path});
  EXPECT_TRUE(seen.unreadable.empty());
  ASSERT_EQ(seen.recipes.size(), 1U);
  EXPECT_EQ(seen.recipes[0].queue.items, 300U);
}

TEST_F(inspecting, removes_only_unused_nodes) {
  for (const auto* name : {"/old", "/used", "/again"}) {
    zk.create(path + name);
    zk.remove(zk.create(path + name + "/lock-", "", create_mode::ephemeral_sequential).path);
  }
  zk.create(path + "/never-had-children");
  zk.create(path + "/used/child");
  EXPECT_EQ(unused(), (std::vector<std::string>{"/old", "/again"}));
  EXPECT_TRUE(find_unused(zk, {path}, std::chrono::system_clock::now() - 1h).nodes.empty());
  const auto found = find_unused(zk, {path}, std::chrono::system_clock::now() + 1h).nodes;
  zk.create(path + "/again/child");
  const auto removed = remove_unused(zk, found);
  ASSERT_EQ(removed.size(), 2u);
  EXPECT_EQ(removed[0].what, removal::outcome::removed);
  EXPECT_EQ(removed[1].what, removal::outcome::in_use);
  EXPECT_EQ(removed[1].ec, errc::not_empty);
  EXPECT_FALSE(zk.exists(path + "/old"));
  inspect_options options;
  options.include_unused = true;
  zk.remove(path + "/again/child");
  EXPECT_EQ(at(path + "/again", options).what, kind::unused);
}

// The server does not remove a container that never had a child.
TEST_F(inspecting, lists_the_claims_folder_of_a_queue_without_claims) {
  inbox<bool> created;
  {
    queue jobs{zk, path + "/jobs"};
    jobs.async_claim([](error_code, std::optional<queue_claim>) {});
    const auto taken = path + "/jobs.conclave/taken";
    const watcher w{[&](const watch_event&) { created.put(true); }};
    if (!other.exists(taken, w)) {
      ASSERT_TRUE(created.take()) << "the consumer does not wait";
    }
  }
  const auto all = unused();
  EXPECT_NE(std::find(all.begin(), all.end(), "/jobs.conclave/taken"), all.end());
}

TEST_F(inspecting, does_not_block_the_io_thread) {
  inbox<error_code> got;
  zk.async_get(path, [&](error_code, get_result) {
    got.put(code_of([&] { inspect(zk, {path}); }));
    got.put(code_of([&] { find_unused(zk, {path}, {}); }));
  });
  EXPECT_EQ(got.take(), errc::would_deadlock);
  EXPECT_EQ(got.take(), errc::would_deadlock);
}

TEST_F(inspecting, a_closed_client_is_reported) {
  other.close();
  EXPECT_EQ(code_of([&] { inspect(other, {path}); }), errc::closed);
}

TEST(inspected_names, are_those_of_recipes) {
  for (const auto* name :
       {"lock-0000000001", "_c_1-lock-0000000001", "__READ__0000000001", "n_0000000001",
        "lease-0000000001", "qn-0000000001", "entry-100-0000000001", "jobs.conclave"})
    EXPECT_TRUE(is_recipe_node(name)) << name;
  for (const auto* name : {"lock", "backups", "qn-1", "entry-100", ".conclave", "locks"})
    EXPECT_FALSE(is_recipe_node(name)) << name;
  EXPECT_EQ(inspected_paths({"/a", "/"}),
            (std::vector<std::string>{"/a", "/", "/a.conclave", "/a-__lock__"}));
}

TEST(inspected_names, show_the_recipe_of_a_node) {
  for (const auto* node :
       {"/a/b/lock-0000000001", "/a/b/mylock-0000000001", "/a/b/lock--2147483648", "/a/b/locks",
        "/a/b/locks/lock-0000000001", "/a/b/leases/lease-0000000001", "/a/b/qn-0000000001",
        "/a/b/entries/entry-100-0000000001", "/a/b/taken/entry-100-0000000001", "/a/b.conclave",
        "/a/b.conclave/consumers/x-0000000001", "/a/b-__lock__/0123__lock__0000000001"})
    EXPECT_EQ(recipe_path_of(node), "/a/b") << node;
  EXPECT_EQ(recipe_path_of("/lock-0000000001"), "/");
  for (const auto* node : {"/", "/a", "/a/b", "/a/b/0123456789abcdef"})
    EXPECT_EQ(recipe_path_of(node), node);
  EXPECT_TRUE(is_items_folder("entries"));
  for (const auto* name : {"taken", "locks", "a.conclave", ""})
    EXPECT_FALSE(is_items_folder(name)) << name;
}

}  // namespace
}  // namespace conclave::testing
