// owned_nodes without a contender: what its functions return, and on which connection the nodes
// count as verified.
#include "contender_parts.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using wire::opcode;

class owned_nodes : public parts_test {
 protected:
  owned_nodes() : parts_test{{.session_timeout = 60s}} {}
};

TEST_F(owned_nodes, one_transaction_creates_and_claims_all_nodes) {
  for (const auto& parents : std::vector<lines>{{"/a"}, {"/a", "/b"}}) {
    begin(parents);
    ASSERT_FALSE(create().ec);
    EXPECT_TRUE(nodes().exist());
    EXPECT_NE(nodes().verified_on().connection, 0u);
    EXPECT_EQ(nodes().fencing_token(), nodes().czxid());
    for (const auto& n : nodes()) {
      EXPECT_EQ(by_hand().get(n.path()).stat.czxid, nodes().czxid());
      EXPECT_TRUE(link().registered_nodes.contains(n.path(), nodes().czxid()));
    }
  }
}

TEST_F(owned_nodes, a_refused_creation_names_the_operation_that_failed) {
  transaction missing;
  missing.check("/missing", any_version);
  struct {
    lines parents;
    transaction extra;
    std::size_t failed;
  } const all[]{{{"/a", "/none"}, {}, 1}, {{"/none", "/a"}, {}, 0}, {{"/a"}, missing, 1}};
  for (const auto& each : all) {
    recipes::lock_request r;
    r.extra_operations = each.extra;
    begin(each.parents, r);
    const auto result = create();
    EXPECT_EQ(result.ec, errc::no_node);
    EXPECT_EQ(result.failed_operation, each.failed);
    EXPECT_FALSE(nodes().exist());
    EXPECT_EQ(by_hand().children("/a"), lines{});
  }
}

// exist() is the result. Later requests use the connection on which the node was found.
TEST_F(owned_nodes, resolving_finds_the_node_on_the_new_connection) {
  const std::function<void(error_code)> ignore;
  struct {
    const char* name;
    bool arrives;            // the request reaches the server
    bool deleted;            // somebody deletes the node before it is found
    std::size_t left_nodes;  // on the server
  } const all[]{
      {"executed", true, false, 1}, {"lost", false, false, 0}, {"deleted", true, true, 0}};
  for (const auto& each : all) {
    SCOPED_TRACE(each.name);
    begin();
    each.arrives ? link().drop_reply(opcode::create2) : link().drop_request(opcode::create2);
    link().refuse_connections(true);
    ASSERT_EQ(create().ec, errc::connection_loss);
    EXPECT_FALSE(nodes().exist());
    for (const auto& name : by_hand().children("/a"))
      if (each.deleted) by_hand().remove("/a/" + name);
    link().refuse_connections(false);
    EXPECT_FALSE(run([&] { return nodes().resolve(parts->creation, ignore); }));
    EXPECT_EQ(nodes().exist(), each.left_nodes == 1);
    ASSERT_EQ(by_hand().children("/a").size(), each.left_nodes);
    if (!nodes().exist()) continue;
    EXPECT_EQ(nodes().czxid(), by_hand().get(nodes()[0].path()).stat.czxid);
    EXPECT_EQ(nodes().verified_on().connection, link().machine().connection());
    ASSERT_TRUE(run([&] { return nodes().remove(parts->plan); }).confirmed);
  }
}

TEST_F(owned_nodes, verification_compares_the_czxid_on_a_new_connection) {
  struct {
    const char* name;
    std::function<void()> change;
    bool fails, deleted;
  } const all[]{
      {"unchanged", [] {}, false, false},
      {"written", [&] { by_hand().set(nodes()[0].path(), "x"); }, false, false},
      {"second deleted", [&] { by_hand().remove(nodes()[1].path()); }, false, true},
      {"second replaced", [&] { replace_node(1); }, false, true},
      {"error", [&] { link().replace_reply(opcode::exists, errc::operation_timeout); }, true,
       false},
  };
  for (const auto& each : all) {
    SCOPED_TRACE(each.name);
    begin({"/a", "/b"});
    ASSERT_FALSE(create().ec);
    const auto before = nodes().verified_on().connection;
    disconnect();
    each.change();
    reconnect();
    EXPECT_EQ(bool{run([&] { return nodes().verify(); })}, each.fails);
    EXPECT_EQ(nodes().one_was_deleted(), each.deleted);
    EXPECT_EQ(nodes().verified_on().connection != before, !each.fails && !each.deleted);
  }
}

// The removal continues until the server has confirmed it, and deletes no node of another
// contender.
TEST_F(owned_nodes, removal_is_confirmed_only_if_this_contender_removed_the_node) {
  struct {
    const char* name;
    std::function<void()> before;
    bool must_verify, confirmed, other_left;
  } const all[]{
      {"plain", [] {}, false, true, false},
      {"request lost", [&] { link().drop_request(opcode::remove); }, false, true, false},
      {"reply lost", [&] { link().drop_reply(opcode::remove); }, false, true, false},
      {"server timeout", [&] { link().replace_reply(opcode::remove, errc::operation_timeout); },
       false, true, false},
      {"deleted", [&] { by_hand().remove(nodes()[0].path()); }, false, false, false},
      {"replaced", [&] { replace_node(); }, true, false, true},
      {"replaced while disconnected", [&] { disconnect(), replace_node(), reconnect(); }, false,
       false, true},
      {"expired", [&] { disconnect(), world.advance(2min), reconnect(); }, false, false, false},
  };
  for (const auto& each : all) {
    SCOPED_TRACE(each.name);
    begin();
    ASSERT_FALSE(create().ec);
    const auto path = nodes()[0].path();
    each.before();
    parts->plan.must_verify = each.must_verify;
    const auto result = run([&] { return nodes().remove(parts->plan); });
    EXPECT_EQ(result.confirmed, each.confirmed);
    EXPECT_FALSE(nodes().exist());
    EXPECT_FALSE(link().fault_pending());
    EXPECT_EQ(by_hand().exists(path), each.other_left);
    EXPECT_EQ(link().leftovers(), lines{});
    by_hand().remove(path);
  }
}

}  // namespace
}  // namespace conclave::simulated
