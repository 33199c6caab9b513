// The first user of a lock or a queue does not become the owner of its ancestors.
#include <functional>

#include "conclave/election.hpp"
#include "conclave/multi_mutex.hpp"
#include "conclave/mutex.hpp"
#include "conclave/named_mutex.hpp"
#include "conclave/queue.hpp"
#include "conclave/semaphore.hpp"
#include "conclave/shared_mutex.hpp"
#include "integration/harness.hpp"

namespace conclave::testing {
namespace {

client_options as_user(const std::string& name) {
  client_options options;
  options.credentials.emplace_back("digest", secret::from_memory(name + ":secret"));
  return options;
}

struct kind {
  const char* name;
  std::function<void(client&, const std::string& path)> use;
};

const kind kinds[] = {
    {"mutex",
     [](client& zk, const std::string& path) {
       mutex{zk, path}.lock();
     }},
    {"multi_mutex",
     [](client& zk, const std::string& path) {
       multi_mutex both{zk, {path, path + "-and-another"}};
       both.lock();
     }},
    {"shared_mutex",
     [](client& zk, const std::string& path) {
       shared_mutex{zk, path}.lock();
     }},
    {"semaphore",
     [](client& zk, const std::string& path) {
       semaphore{zk, path, 2}.acquire();
     }},
    {"election",
     [](client& zk, const std::string& path) {
       election{zk, path}.campaign();
     }},
    {"popped_queue",
     [](client& zk, const std::string& path) {
       queue q{zk, path};
       q.push("x");
       q.pop();
     }},
    {"claimed_queue",
     [](client& zk, const std::string& path) {
       queue_options o;
       o.layout = queue_layout::kazoo_locking;
       queue q{zk, path, o};
       q.push("x");
       q.claim().complete();
     }},
};

class shared_ancestors : public ::testing::TestWithParam<kind> {
 protected:
  client anybody{shared_server().connect_string()};
  client alice{shared_server().connect_string(), as_user("alice")};
  client bob{shared_server().connect_string(), as_user("bob")};
  const std::string root = fresh_node(anybody, "ancestors");
};

TEST_P(shared_ancestors, are_open_and_the_locks_path_is_private) {
  const auto& use = GetParam().use;
  use(alice, root + "/team/a/x");
  EXPECT_EQ(alice.get_acl(root + "/team").acl, open_acl());
  EXPECT_EQ(alice.get_acl(root + "/team/a").acl, open_acl());
  const auto own = alice.get_acl(root + "/team/a/x").acl;
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(own[0].scheme + ":" + own[0].id.substr(0, 6), "digest:alice:");
  // Other users can create a sibling, but cannot use this path.
  EXPECT_NO_THROW(use(bob, root + "/team/a/y"));
  EXPECT_NO_THROW(use(anybody, root + "/team/z"));
  EXPECT_EQ(code_of([&] { use(bob, root + "/team/a/x"); }), errc::no_auth);
}

TEST_P(shared_ancestors, get_the_configured_default_acl) {
  auto options = as_user("carol");
  options.default_acl = creator_all_acl();
  client carol{shared_server().connect_string(), options};
  GetParam().use(carol, root + "/hers/x");
  EXPECT_EQ(carol.get_acl(root + "/hers").acl[0].scheme, "digest");
}

INSTANTIATE_TEST_SUITE_P(kinds, shared_ancestors, ::testing::ValuesIn(kinds),
                         [](const auto& each) { return each.param.name; });

// Its path is its own node, which a release deletes.
TEST(shared_ancestors_of_a_named_mutex, are_open) {
  const auto where = shared_server().connect_string();
  client anybody{where}, alice{where, as_user("alice")}, bob{where, as_user("bob")};
  const auto root = fresh_node(anybody, "ancestors");
  named_mutex hers{alice, root + "/team/x"};
  hers.lock();
  EXPECT_EQ(alice.get_acl(root + "/team").acl, open_acl());
  EXPECT_EQ(alice.get_acl(root + "/team/x").acl[0].scheme, "digest");
  EXPECT_FALSE((named_mutex{bob, root + "/team/x"}.try_lock()));
  EXPECT_TRUE((named_mutex{bob, root + "/team/y"}.try_lock()));
}

}  // namespace
}  // namespace conclave::testing
