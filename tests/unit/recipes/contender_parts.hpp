// The nodes and the hold monitor of a contender, without the contender, in a simulated world.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "recipes/hold_monitor.hpp"
#include "recipes/owned_nodes.hpp"
#include "simulation/world/message_text.hpp"
#include "simulation/world/world.hpp"

namespace conclave::simulated {

using lines = std::vector<std::string>;

// Records the events: "granted", "lost deadline_passed", ...
class event_journal final : public recipes::contender_events {
 public:
  simulated::lines lines;
  void granted() override { lines.emplace_back("granted"); }
  void failed(error_code why) override { lines.push_back("failed " + name_of(why)); }
  void suspended() override { lines.emplace_back("suspended"); }
  void restored() override { lines.emplace_back("restored"); }
  void lost(error_code why) override { lines.push_back("lost " + name_of(why)); }
  void revocation_asked() override { lines.emplace_back("revocation"); }
};

class contender_parts final : public recipes::session_listener,
                              public std::enable_shared_from_this<contender_parts> {
 public:
  contender_parts(simulated::client& c, recipes::lock_request r)
      : client_{c.shared_from_this()},
        context{client_, std::make_shared<const recipes::lock_request>(std::move(r)), journal} {}

  // As a contender does. Call begin() before any other function, and end() after the last one.
  void begin() {
    context.set_owner(weak_from_this());
    nodes.reset(context.request().parents);
    const auto inside = scope();
    client_->add_listener(*this);
  }
  void end() {
    const auto inside = scope();
    monitor.end();
    client_->remove_listener(*this);
  }
  void session_changed(const session_event& e) override {
    using kind = session_event::kind;
    if (e.type == kind::suspended && follows_connection) monitor.connection_lost();
    if (e.type == kind::reconnected && follows_connection) monitor.reconnected();
    if (e.type == kind::expired) context.end_session(errc::session_expired);
    if (e.type == kind::closed) context.end_session(errc::closed);
    context.changed.notify();
  }

  recipes::session_context::scope scope() { return recipes::session_context::scope{*client_}; }
  simulated::client& client() { return *client_; }

  // Starts the task that `f` returns. The result arrives later.
  template <class T>
  std::shared_ptr<std::optional<T>> start(const std::function<recipes::task<T>()>& f) {
    const auto result = std::make_shared<std::optional<T>>();
    const auto inside = scope();
    running_ = run(f(), result);
    running_.start();
    return result;
  }

 private:
  std::shared_ptr<simulated::client> client_;

 public:
  std::shared_ptr<event_journal> journal = std::make_shared<event_journal>();
  recipes::contender_context context;
  recipes::owned_nodes nodes{context};
  recipes::hold_monitor monitor{context, nodes, [this](error_code why) { journal->lost(why); }};
  recipes::owned_nodes::creation creation;
  recipes::owned_nodes::removal_plan plan;
  bool follows_connection = false;  // the monitor is notified of the connection

 private:
  template <class T>
  static recipes::task<> run(recipes::task<T> t, std::shared_ptr<std::optional<T>> result) {
    result->emplace(co_await t);
    co_return recipes::done;
  }
  recipes::task<> running_;  // declared last: destroyed before the members it uses
};

// One client with a contender's parts.
class parts_test : public testing::Test {
 protected:
  explicit parts_test(const world_options& o = {}) : world{o} {
    EXPECT_TRUE(world.wait_until_connected());
    by_hand().create("/a");
    by_hand().create("/b");
  }
  ~parts_test() override {
    if (parts) parts->end();
    parts.reset();
  }

  // Starts with new parts that have these parents.
  void begin(std::vector<std::string> parents = {"/a"}, recipes::lock_request r = {}) {
    if (parts) parts->end();
    r.parents = std::move(parents);
    r.owner = "somebody";
    parts = std::make_shared<contender_parts>(world.client(0), std::move(r));
    parts->begin();
    parts->creation = parts->nodes.new_creation();
  }
  // Runs the task to its end.
  template <class F>
  auto run(F f) {
    using task = decltype(f());
    const auto result = parts->start(std::function<task()>{std::move(f)});
    EXPECT_TRUE(world.run_until([&] { return result->has_value(); }));
    return result->value();
  }
  recipes::owned_nodes::creation_result create() {
    return run([&] { return parts->nodes.create(parts->creation, {}, send_nothing_more_); });
  }
  void reconnect() {
    link().refuse_connections(false);
    EXPECT_TRUE(world.run_until([&] { return link().is_connected(); }));
  }
  void disconnect() {
    link().refuse_connections(true);
    link().disconnect();
    world.advance(std::chrono::milliseconds{1});
  }
  // Another node with the same name.
  void replace_node(std::size_t i = 0) {
    const auto path = nodes()[i].path();
    EXPECT_FALSE(by_hand().remove(path));
    EXPECT_FALSE(by_hand().create(path, "other"));
  }
  recipes::owned_nodes& nodes() { return parts->nodes; }
  client& link() { return world.client(0); }
  direct_client& by_hand() { return world.by_hand(); }

  simulated::world world;
  std::shared_ptr<contender_parts> parts;

 private:
  const std::function<void()> send_nothing_more_;  // outlives the task that calls it
};

}  // namespace conclave::simulated
