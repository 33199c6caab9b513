// The watchers that an event calls, and the watches that it uses up.

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "virtual_loop.hpp"

namespace conclave::session {
namespace {

using lines = std::vector<std::string>;

using kind = watch_event::kind;

constexpr kind all_kinds[] = {kind::created, kind::deleted, kind::changed, kind::children_changed};

// Sets a watch of that kind on the path.
void set_watch(virtual_loop& loop, watch_slot slot, const std::string& path, const watcher& w) {
  switch (slot) {
    case watch_slot::data: loop.submit(get(path, w)); break;
    case watch_slot::exist: loop.submit(exists(path, w)); break;
    case watch_slot::child: loop.submit(children(path, w)); break;
    case watch_slot::persistent: loop.submit(add_watch(path, watch_mode::persistent, w)); break;
    case watch_slot::recursive: loop.submit(add_watch(path, watch_mode::recursive, w)); break;
  }
  if (slot == watch_slot::exist)
    loop.answer_error(loop.take_request(), errc::no_node);
  else
    loop.answer(loop.take_request());
}

struct rule {
  const char* name;
  watch_slot slot;
  std::vector<kind> called_for;
  bool once;
};

const std::vector<rule> rules{
    {"data", watch_slot::data, {kind::created, kind::deleted, kind::changed}, true},
    {"exist", watch_slot::exist, {kind::created, kind::deleted, kind::changed}, true},
    {"child", watch_slot::child, {kind::deleted, kind::children_changed}, true},
    {"persistent",
     watch_slot::persistent,
     {kind::created, kind::deleted, kind::changed, kind::children_changed},
     false},
    // It reports changes of each descendant, but no changes of child lists.
    {"recursive", watch_slot::recursive, {kind::created, kind::deleted, kind::changed}, false},
};

TEST(watch_event, reaches_watchers_of_the_matching_kinds) {
  for (const auto& rule : rules) {
    for (const auto k : all_kinds) {
      SCOPED_TRACE(std::string{rule.name} + " event " + std::to_string(static_cast<int>(k)));
      virtual_loop loop;
      loop.attach();
      const auto w = loop.journal_watcher("w");
      set_watch(loop, rule.slot, "/a", w);
      EXPECT_EQ(loop.machine().watch_count(), 1u);
      loop.take_journal();

      const bool called =
          std::find(rule.called_for.begin(), rule.called_for.end(), k) != rule.called_for.end();
      loop.event(k, "/a");
      EXPECT_EQ(loop.take_journal().size(), called ? 1u : 0u);
      const bool used_up = called && rule.once;
      EXPECT_EQ(loop.machine().watch_count(), used_up ? 0u : 1u);
      loop.event(k, "/a");
      EXPECT_EQ(loop.take_journal().size(), called && !rule.once ? 1u : 0u);
    }
  }
}

TEST(watch_event, contains_the_kind_and_the_path) {
  virtual_loop loop;
  loop.attach();
  const auto w = loop.journal_watcher("w");
  set_watch(loop, watch_slot::persistent, "/a", w);
  loop.take_journal();
  for (const auto k : all_kinds) loop.event(k, "/a");
  EXPECT_EQ(loop.take_journal(),
            (lines{"w created /a", "w deleted /a", "w changed /a", "w children_changed /a"}));
}

TEST(watch_event, reaches_only_watchers_of_its_path) {
  for (const auto& rule : rules) {
    SCOPED_TRACE(rule.name);
    virtual_loop loop;
    loop.attach();
    const auto w = loop.journal_watcher("w");
    set_watch(loop, rule.slot, "/a", w);
    loop.take_journal();
    for (const auto k : all_kinds)
      for (const auto* path : {"/", "/ab", "/b", "/b/a"}) loop.event(k, path);
    EXPECT_TRUE(loop.take_journal().empty());
  }
}

TEST(watch_event, below_a_path_reaches_only_recursive_watchers) {
  for (const auto& rule : rules) {
    SCOPED_TRACE(rule.name);
    virtual_loop loop;
    loop.attach();
    const auto w = loop.journal_watcher("w");
    set_watch(loop, rule.slot, "/a", w);
    loop.take_journal();
    loop.event(kind::created, "/a/b/c");
    loop.event(kind::deleted, "/a/b");
    const auto seen =
        rule.slot == watch_slot::recursive ? lines{"w created /a/b/c", "w deleted /a/b"} : lines{};
    EXPECT_EQ(loop.take_journal(), seen);
  }
}

TEST(watch_event, reaches_a_recursive_watch_on_the_root) {
  virtual_loop loop;
  loop.attach();
  const auto w = loop.journal_watcher("w");
  set_watch(loop, watch_slot::recursive, "/", w);
  loop.take_journal();
  loop.event(kind::created, "/");
  loop.event(kind::created, "/a");
  loop.event(kind::changed, "/a/b");
  EXPECT_EQ(loop.take_journal(), (lines{"w created /", "w created /a", "w changed /a/b"}));
}

TEST(watch_event, a_watcher_that_was_added_several_times_is_called_once) {
  virtual_loop loop;
  loop.attach();
  const auto w = loop.journal_watcher("w");
  for (int i = 0; i < 3; ++i)
    for (const auto& rule : rules) set_watch(loop, rule.slot, "/a", w);
  set_watch(loop, watch_slot::recursive, "/", w);
  loop.take_journal();
  loop.event(kind::deleted, "/a");
  EXPECT_EQ(loop.take_journal(), lines{"w deleted /a"});
  loop.event(kind::deleted, "/a");  // only for the persistent watches
  EXPECT_EQ(loop.take_journal(), lines{"w deleted /a"});
}

TEST(watch_event, several_watchers_are_all_called) {
  virtual_loop loop;
  loop.attach();
  const auto v = loop.journal_watcher("v");
  const auto w = loop.journal_watcher("w");
  set_watch(loop, watch_slot::data, "/a", v);
  set_watch(loop, watch_slot::data, "/a", w);
  EXPECT_EQ(loop.machine().watch_count(), 1u);  // one path
  loop.take_journal();
  loop.event(kind::changed, "/a");
  EXPECT_EQ(loop.take_journal(), (lines{"v changed /a", "w changed /a"}));
}

TEST(watch_event, exists_on_an_existing_node_sets_a_data_watch) {
  virtual_loop loop;
  loop.attach();
  const auto w = loop.journal_watcher("w");
  loop.submit(exists("/a", w));
  loop.answer(loop.take_request());
  loop.lose_connection();
  loop.attach();
  const auto r = loop.take_request();
  wire::reader in{r.body};
  const auto watches = in.read<wire::set_watches_request>();
  EXPECT_EQ(watches.data.size(), 1u);
  EXPECT_TRUE(watches.exist.empty());
}

TEST(watch_event, failed_reads_set_no_watch) {
  virtual_loop loop;
  loop.attach();
  const auto w = loop.journal_watcher("w");
  loop.submit(get("/a", w));
  loop.answer_error(loop.take_request(), errc::no_node);
  loop.submit(children("/a", w));
  loop.answer_error(loop.take_request(), errc::no_node);
  loop.submit(exists("/a", w));
  loop.answer_error(loop.take_request(), errc::no_auth);
  loop.submit(add_watch("/a", watch_mode::persistent, w));
  loop.answer_error(loop.take_request(), errc::unimplemented);
  EXPECT_EQ(loop.machine().watch_count(), 0u);
}

TEST(watch_event, other_events_of_the_server_are_ignored) {
  virtual_loop loop;
  loop.attach();
  const auto w = loop.journal_watcher("w");
  set_watch(loop, watch_slot::persistent, "/a", w);
  loop.take_journal();
  for (const int type : {-1, 0, 5, 6, 7, 100, 1000}) loop.event(type, "/a");
  EXPECT_TRUE(loop.take_journal().empty());
  EXPECT_EQ(loop.machine().state(), session_state::connected);
}

TEST(watch_event, has_a_path_without_the_chroot) {
  virtual_loop loop{nine_seconds(), "one:1/app"};
  loop.attach();
  const auto w = loop.journal_watcher("w");
  set_watch(loop, watch_slot::data, "/app/a", w);
  set_watch(loop, watch_slot::child, "/app", w);
  set_watch(loop, watch_slot::persistent, "/app/p", w);
  loop.take_journal();
  loop.event(kind::changed, "/app/a");
  loop.event(kind::children_changed, "/app");
  EXPECT_EQ(loop.take_journal(), (lines{"w changed /a", "w children_changed /"}));
  loop.lose_connection();
  loop.accept();
  loop.refuse_session();
  EXPECT_EQ(loop.take_journal(), (lines{"suspended", "expired", "w session_ended /p"}));
}

}  // namespace
}  // namespace conclave::session
