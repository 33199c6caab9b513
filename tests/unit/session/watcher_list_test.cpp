#include "session/watcher_list.hpp"

#include <algorithm>
#include <ctime>

#include <gtest/gtest.h>

namespace conclave::session {
namespace {

std::vector<watcher> make_watchers(std::size_t count) {
  std::vector<watcher> all;
  for (std::size_t i = 0; i < count; ++i) all.emplace_back([](const watch_event&) {});
  return all;
}

std::vector<watcher> content_of(const watcher_list& list) {
  std::vector<watcher> all;
  list.for_each([&](const watcher& w) { all.push_back(w); });
  return all;
}

// Few watchers are searched, many have an index.
TEST(watcher_list, has_each_watcher_once_in_order) {
  for (const std::size_t count : {1, 16, 17, 1000}) {
    const auto all = make_watchers(count);
    watcher_list list;
    for (const auto& w : all) list.add(w);
    for (const auto& w : all) list.add(w);
    EXPECT_EQ(list.size(), count);
    EXPECT_EQ(content_of(list), all);
  }
}

TEST(watcher_list, removes_all_watchers_of_the_program) {
  for (const std::size_t count : {2, 16, 40, 1000}) {
    const auto all = make_watchers(count);
    watcher_list list;
    std::vector<watcher> of_program, of_library;
    for (std::size_t i = 0; i < count; ++i) {
      const auto owner = i % 2 == 0 ? watch_owner::program : watch_owner::library;
      list.add(all[i], owner);
      (owner == watch_owner::program ? of_program : of_library).push_back(all[i]);
    }
    EXPECT_TRUE(list.remove(of_program.front()));
    of_program.erase(of_program.begin());
    EXPECT_EQ(list.remove_all_of_program(), of_program);
    EXPECT_EQ(content_of(list), of_library);
    EXPECT_EQ(list.size(), of_library.size());
    EXPECT_TRUE(list.remove_all_of_program().empty());
    for (const auto& w : of_library) EXPECT_TRUE(list.remove(w));
    EXPECT_TRUE(list.empty());
  }
}

TEST(watcher_list, removes_watchers_and_keeps_the_order) {
  for (const std::size_t count : {4, 16, 17, 40, 1000}) {
    auto remaining = make_watchers(count);
    watcher_list list;
    for (const auto& w : remaining) list.add(w);
    const auto added_later = make_watchers(3);
    for (std::size_t step = 0; !remaining.empty(); ++step) {
      const auto at = remaining.begin() + static_cast<std::ptrdiff_t>(step * 7 % remaining.size());
      const auto w = *at;
      remaining.erase(at);
      EXPECT_TRUE(list.remove(w));
      EXPECT_FALSE(list.remove(w));
      if (step < added_later.size()) {
        list.add(added_later[step]);
        remaining.push_back(added_later[step]);
      }
      ASSERT_EQ(content_of(list), remaining);
      ASSERT_EQ(list.size(), remaining.size());
    }
    EXPECT_TRUE(list.empty());
  }
}

// With a search for each of them, this would take minutes.
TEST(watcher_list, costs_the_same_for_each_of_many_watchers) {
  const auto all = make_watchers(200'000);
  const auto before = std::clock();
  watcher_list list;
  for (const auto& w : all) list.add(w);
  for (const auto& w : all) EXPECT_TRUE(list.remove(w));
  EXPECT_TRUE(list.empty());
  EXPECT_LT((std::clock() - before) / CLOCKS_PER_SEC, 10);
}

}  // namespace
}  // namespace conclave::session
